"""One command line on several processes of this machine: they are started, watched, and ended when one fails.

The ranks are forked, so they share what the launcher has imported. Nothing imported may start a thread or use a GPU:
neither would exist in a forked process.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

import numpy as np

GRACE = 5.0  # seconds between asking a rank to exit and killing it
LISTEN = "KSHELL_LISTEN_FD"  # rank 0: the socket where the ranks meet, opened here so that nobody else can take it
PARENT = "KSHELL_PARENT"  # the launcher's process id; ranks exit with it


def threads_for(n: int) -> int:
    """The number of threads for each of n ranks, chosen so that they do not compete."""
    return max(1, (os.cpu_count() or 1) // n)


def loopback() -> str:
    """The name of the loopback interface, empty if unknown."""
    names = [name for _, name in socket.if_nameindex()] if hasattr(socket, "if_nameindex") else []
    return next((name for name in ("lo", "lo0") if name in names), "")


def shared(n: int, given: Mapping[str, str]) -> dict[str, str]:
    """Additional environment variables shared by n ranks."""
    made = {"WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n), "MASTER_ADDR": "127.0.0.1"}
    name = loopback()
    # failures become q errors
    for key, value in (
        ("OMP_NUM_THREADS", str(threads_for(n))),
        ("GLOO_SOCKET_IFNAME", name),
        ("TORCH_CPP_LOG_LEVEL", "ERROR"),
    ):
        if value and key not in given:
            made[key] = value
    return made


def describe(code: int) -> str:
    """Describe how a process failed."""
    if code >= 0:
        return f"failed with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


class Rank:
    """A forked process: `code` is its exit code, as in subprocess (negative: a signal), None while it runs."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None
        self._ended = threading.Event()

    def watch(self, tell: Callable[[], None]) -> None:
        """Wait for its end in a separate thread, and report."""

        def wait() -> None:
            _, status = os.waitpid(self.pid, 0)
            self.code = os.waitstatus_to_exitcode(status)
            self._ended.set()
            tell()

        threading.Thread(target=wait, daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Has it ended, at the latest after so many seconds?"""
        return self._ended.wait(seconds)

    def send(self, signum: int) -> None:
        """Send it a signal, if it is still running."""
        if self.code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signum)


def launch(n: int, run: Callable[[], NoReturn], console: bool = False) -> int:
    """Call `run`, which ends its process, in n processes of this machine. The exit code is 0, or that of the first that
    fails (128 plus the signal number if it was killed): that process is named on standard error, and the others are
    ended. With a shared `console`, all leave with the same code, which is not a failure."""
    gc.freeze()  # the collector would write to every shared page
    with socket.create_server(("127.0.0.1", 0), backlog=max(128, n)) as meeting:
        ranks = []
        try:
            for r in range(n):
                ranks.append(Rank(_fork(r, meeting, run)))
        except OSError as e:
            print(f"kshell: rank {len(ranks)} cannot be started: {e.strerror}", file=sys.stderr)
    ended: queue.SimpleQueue[int] = queue.SimpleQueue()
    for r, rank in enumerate(ranks):
        rank.watch(lambda r=r: ended.put(r))  # type: ignore[misc]
    if len(ranks) < n:
        _end(ranks)
        return 1
    with _terminal():
        return _watch(ranks, ended, console)


def _fork(r: int, meeting: socket.socket, run: Callable[[], NoReturn]) -> int:
    """The forked process of a rank, running."""
    launcher = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        np.random.seed()  # q's own generator starts out the same in every process
        if "torch" in sys.modules:
            sys.modules["torch"].default_generator.seed()
        os.environ.update(
            {
                "RANK": str(r),
                "LOCAL_RANK": str(r),
                "MASTER_PORT": str(meeting.getsockname()[1]),
                PARENT: str(launcher),
            }
        )
        if r:
            meeting.close()
            with open(os.devnull) as nothing:
                os.dup2(nothing.fileno(), 0)
        else:
            os.environ[LISTEN] = str(meeting.detach())
        run()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(1)


@contextmanager
def _terminal() -> Iterator[None]:
    """Restore the terminal's modes afterwards: a rank killed at the prompt cannot."""
    try:
        import termios

        before = termios.tcgetattr(0)
    except (ImportError, OSError, termios.error):
        yield
        return
    try:
        yield
    finally:
        # a background process would be stopped by the terminal
        if os.tcgetpgrp(0) == os.getpgrp():
            termios.tcsetattr(0, termios.TCSADRAIN, before)


def _watch(ranks: Sequence[Rank], ended: queue.SimpleQueue[int], console: bool) -> int:
    """Wait until all have ended well or one has not; `ended` tells which have ended."""
    stops, failure = 0, ""

    def ask(signum: int, frame: object) -> None:
        raise SystemExit(128 + signum)

    before = {s: signal.signal(s, ask) for s in (signal.SIGTERM, signal.SIGHUP)}
    # the terminal also sends it to the ranks, and they decide
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for _ in ranks:
            r = ended.get()
            code = ranks[r].code
            if code:
                if console and code > 0 and _all_end(ranks, code):
                    return code
                failure = f"kshell: rank {r} {describe(code)}"
                return code if code > 0 else 128 - code
    except SystemExit as e:
        stops = int(e.code or 1)
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
        _end(ranks)
        if failure:  # the last line, whatever the others say while they end
            print(failure, file=sys.stderr, flush=True)
    return stops


def _all_end(ranks: Sequence[Rank], code: int) -> bool:
    """Do all exit with this code by themselves?"""
    until = time.monotonic() + GRACE
    return all(
        rank.wait(max(0.0, until - time.monotonic())) and rank.code == code for rank in ranks
    )


def _end(ranks: Sequence[Rank]) -> None:
    """End those still running, and wait for them."""
    for rank in ranks:
        rank.send(signal.SIGTERM)
    until = time.monotonic() + GRACE
    for rank in ranks:
        if not rank.wait(max(0.0, until - time.monotonic())):
            rank.send(signal.SIGKILL)
            rank.wait()
