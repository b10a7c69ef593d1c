"""A console for several processes: process 0 sends each line to all, every process runs it, and errors are known to all
before the next line.

All of this goes through the job's store rather than the group, so it works even when the group does not.
"""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple

from kshell.parallel import collect, group

GRACE = 1.0  # seconds that processes may continue after a failure or Ctrl-C before their connections are closed
_IDLE = timedelta(seconds=20)
_SLICE = timedelta(milliseconds=100)
_SERVED = timedelta(milliseconds=20)  # between looks at what comes in on a port
_PART = timedelta(seconds=10)
_TICK = 0.05


# how a line ended on a process: the text of its error, or its exit code
End = tuple[str, int | None]


class Outcome(NamedTuple):
    """How a line ended on all processes: errors with the numbers of the processes, and the exit code."""

    errors: dict[str, list[int]]
    exit: int | None


class Console:
    """The lines of a job, from the first one; each process has a console."""

    def __init__(self) -> None:
        self.rank, self.world = group.rank(), group.world()
        self.store = group.store()
        self.n = 0  # the line's number
        self.watch = _Watch(self)

    # ------------------------------------------------------------ lines

    def give(self, kind: str, text: str = "") -> None:
        """Process 0: start a line."""
        self._forget(self.n - 2)  # not every process may have read the outcome of the last line yet
        self.store.set(self.key("line"), json.dumps([kind, text]))

    def take(self, meanwhile: Callable[[], bool]) -> tuple[str, str]:
        """Another process: wait for the next line. `meanwhile` is called now and then, and at short intervals once it
        says that it has something to do."""
        key = self.key("line")
        while not self._there([key], _SERVED if meanwhile() else _IDLE):
            pass
        kind, text = json.loads(self.store.get(key))
        return kind, text

    def run(self, work: Callable[[], End]) -> Outcome:
        """Run the line on every process, and find out how it ended on all. If they lost contact, the group is
        recreated."""
        before = group.calls(), collect.POINTS[0]
        with self.watch:
            error, left = work()
            points = collect.POINTS[0] - before[1]
            if error or left is not None:
                self.store.set(self.key("failed"), "1")
            self.store.set(
                self.key("end", self.rank),
                json.dumps([error, left, self.watch.cut, group.calls() - before[0], points]),
            )
            if self.rank == 0:
                self._judge()
            key = self.key("outcome")
            while not self._there([key], _SLICE):
                pass
            errors, code, renew = json.loads(self.store.get(key))
        if code is not None:
            self.part()
        elif renew:
            group.renew()
        self.n += 1
        return Outcome(errors, code)

    def part(self) -> None:
        """Leave after a line: process 0, which holds the store, last."""
        if self.rank:
            self.store.set(self.key("gone", self.rank), "1")
        else:
            with suppress(RuntimeError):
                self._there([self.key("gone", r) for r in range(1, self.world)], _PART)

    def _judge(self) -> None:
        """Process 0: wait for all, and tell them how the line ended."""
        ends: dict[int, list[Any]] = {}
        for r in range(self.world):
            key = self.key("end", r)
            while not self._there([key], _SLICE):
                pass
            ends[r] = json.loads(self.store.get(key))
        first = {key: value for key, value in ends.items() if value[0] and not value[2]} or {
            key: value for key, value in ends.items() if value[0]
        }
        errors: dict[str, list[int]] = {}
        for r in sorted(first):
            errors.setdefault(first[r][0], []).append(r)
        code = next((value[1] for _, value in sorted(ends.items()) if value[1] is not None), None)
        cut = any(value[2] for value in ends.values())
        apart = bool(errors) and (
            len({value[3] for value in ends.values()}) > 1
            or any(value[4] for value in ends.values())
        )
        self.store.set(self.key("outcome"), json.dumps([errors, code, cut or apart]))

    # ------------------------------------------------------------ keys

    def key(self, *parts: Any) -> str:
        """A key for this line."""
        return "/".join(map(str, ("console", self.n, *parts)))

    def _there(self, keys: list[str], wait: timedelta) -> bool:
        """Are these keys set, now or before the timeout?"""
        import torch.distributed as dist

        try:
            self.store.wait(keys, wait)
            return True
        except dist.DistNetworkError:
            raise
        except dist.DistStoreError:
            return False

    def _forget(self, n: int) -> None:
        """Delete the keys of an old line, which every process is past."""
        if n >= 0:
            for last in (
                "line",
                "outcome",
                "failed",
                "stop",
                *(f"end/{r}" for r in range(self.world)),
            ):
                self.store.delete_key(f"console/{n}/{last}")


class _Watch:
    """Watches, while a line runs, for what its thread cannot see while blocked in a call: Ctrl-C, here or at another
    process, and failures of other processes. Soon afterwards it closes the connections, so that no call waits forever.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.cut = False  # were the connections closed during this line?
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._running = threading.Event()
        self._idle = threading.Event()
        self._old = -1
        threading.Thread(target=self._watch, daemon=True).start()

    def __enter__(self) -> None:
        self.cut = False
        self._old = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._idle.clear()
        self._running.set()

    def __exit__(self, *_: Any) -> None:
        self._running.clear()
        os.write(self._writer, b"\0")
        self._idle.wait()
        signal.set_wakeup_fd(self._old)

    def _watch(self) -> None:
        while True:
            self._running.wait()
            with suppress(RuntimeError):  # the store is gone, and with it the job
                self._line()
            self._idle.set()
            while self._running.is_set():
                time.sleep(_TICK)

    def _line(self) -> None:
        store, stop, failed = (
            self.console.store,
            self.console.key("stop"),
            self.console.key("failed"),
        )
        since, own = 0.0, False
        while self._running.is_set():
            if select.select([self._reader], [], [], _TICK)[0] and signal.SIGINT in os.read(
                self._reader, 64
            ):
                own = True
                store.set(stop, "1")
            stopped = store.check([stop])
            if stopped and not own:  # at another terminal
                own = True
                os.kill(os.getpid(), signal.SIGINT)
            if not since and (stopped or store.check([failed])):
                since = time.monotonic()
            if since and not self.cut and time.monotonic() - since > GRACE:
                self.cut = True
                group.cut()
