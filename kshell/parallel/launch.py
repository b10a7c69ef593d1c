"""One command line on several processes of this machine: they are started, watched, and ended when one fails.

The ranks are forked, so they share what the launcher has imported before. None of that may start a thread or a GPU:
neither would be in a forked process.
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

GRACE = 5.0  # seconds between asking a rank to end and ending it
LISTEN = "KSHELL_LISTEN_FD"  # rank 0: the socket at which the ranks meet, opened here so that nobody else can take it
PARENT = "KSHELL_PARENT"  # the launcher's process id; ranks end with it


def threads_for(n: int) -> int:
    """How many threads each of n ranks may use, so that they do not wait for one another."""
    return max(1, (os.cpu_count() or 1) // n)


def loopback() -> str:
    """The name of the loopback interface, empty if it is not known."""
    names = [name for _, name in socket.if_nameindex()] if hasattr(socket, "if_nameindex") else []
    return next((name for name in ("lo", "lo0") if name in names), "")


def shared(n: int, given: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that n ranks share beside those given."""
    made = {"WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n), "MASTER_ADDR": "127.0.0.1"}
    name = loopback()
    for key, value in (
        ("OMP_NUM_THREADS", str(threads_for(n))),
        ("GLOO_SOCKET_IFNAME", name),
        ("TORCH_CPP_LOG_LEVEL", "ERROR"),
    ):  # failures are errors of q
        if value and key not in given:
            made[key] = value
    return made


def describe(code: int) -> str:
    """How a process ended that did not end well."""
    if code >= 0:
        return f"failed with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


class Rank:
    """A forked process: `code` is what it ended with, as subprocess counts (negative: a signal), None before."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None
        self._ended = threading.Event()

    def watch(self, tell: Callable[[], None]) -> None:
        """Wait for its end in a thread of its own, and tell."""

        def wait() -> None:
            _, status = os.waitpid(self.pid, 0)
            self.code = os.waitstatus_to_exitcode(status)
            self._ended.set()
            tell()

        threading.Thread(target=wait, daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Has it ended, if need be after so many seconds?"""
        return self._ended.wait(seconds)

    def send(self, signum: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signum)


def launch(n: int, run: Callable[[], NoReturn], console: bool = False) -> int:
    """Call `run`, which ends its process, on n processes of this machine. The exit code is 0, or that of the first that
    fails (128 and the number of the signal that killed it): which it was is written to standard error, and the others
    are ended. From a `console` of all they leave with the same code, and that is no failure."""
    gc.freeze()  # the collector would write to every page of what is shared
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
    """The process of a rank, forked: it runs."""
    launcher = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        np.random.seed()  # q's own generator starts equal in every process
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
    """The terminal's modes afterwards are those before: a rank that was killed at the prompt cannot see to that."""
    try:
        import termios

        before = termios.tcgetattr(0)
    except (ImportError, OSError, termios.error):
        yield
        return
    try:
        yield
    finally:
        # of a process that is no longer in front the terminal would ask who it is
        if os.tcgetpgrp(0) == os.getpgrp():
            termios.tcsetattr(0, termios.TCSADRAIN, before)


def _watch(ranks: Sequence[Rank], ended: queue.SimpleQueue[int], console: bool) -> int:
    """Wait until all have ended well or one has not; `ended` tells which have ended."""
    stops = 0

    def ask(signum: int, frame: object) -> None:
        raise SystemExit(128 + signum)

    before = {s: signal.signal(s, ask) for s in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # the terminal sends it to the ranks too, and they decide
    try:
        for _ in ranks:
            r = ended.get()
            code = ranks[r].code
            if code:
                if console and code > 0 and _all_end(ranks, code):
                    return code
                print(f"kshell: rank {r} {describe(code)}", file=sys.stderr, flush=True)
                return code if code > 0 else 128 - code
    except SystemExit as e:
        stops = int(e.code or 1)
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
        _end(ranks)
    return stops


def _all_end(ranks: Sequence[Rank], code: int) -> bool:
    """Do all end with this code by themselves?"""
    until = time.monotonic() + GRACE
    return all(
        rank.wait(max(0.0, until - time.monotonic())) and rank.code == code for rank in ranks
    )


def _end(ranks: Sequence[Rank]) -> None:
    """End those that still run, and wait for them."""
    for rank in ranks:
        rank.send(signal.SIGTERM)
    until = time.monotonic() + GRACE
    for rank in ranks:
        if not rank.wait(max(0.0, until - time.monotonic())):
            rank.send(signal.SIGKILL)
            rank.wait()
