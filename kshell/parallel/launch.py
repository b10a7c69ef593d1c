"""One command line on several processes of this machine: they are started, watched, and ended when one fails.

torch is not needed here, so a launcher costs little beside its ranks.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

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


def environment(rank: int, n: int, port: int, given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a rank."""
    made = dict(given)
    made.update({"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n),
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), PARENT: str(os.getpid())})
    made.setdefault("OMP_NUM_THREADS", str(threads_for(n)))
    made.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # what goes wrong is an error of q
    name = loopback()
    if name:
        made.setdefault("GLOO_SOCKET_IFNAME", name)
    return made


def describe(code: int) -> str:
    """How a process ended that did not end well."""
    if code >= 0:
        return f"failed with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def launch(n: int, words: Sequence[str], console: bool = False) -> int:
    """Run `kshell words` on n processes of this machine. The exit code is 0, or that of the first that fails (128 and
    the number of the signal that killed it): which it was is written to standard error, and the others are ended. From
    a `console` of all they leave with the same code, and that is no failure."""
    with socket.create_server(("127.0.0.1", 0), backlog=max(128, n)) as meeting:
        meeting.set_inheritable(True)
        port = meeting.getsockname()[1]
        ranks = []
        try:
            for r in range(n):
                ranks.append(_start(r, n, port, meeting.fileno(), words))
        except OSError as e:
            _end(ranks)
            print(f"kshell: rank {len(ranks)} cannot be started: {e.strerror}", file=sys.stderr)
            return 1
    with _terminal():
        return _watch(ranks, console)


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


def _start(r: int, n: int, port: int, meeting: int, words: Sequence[str]) -> subprocess.Popen[bytes]:
    env = environment(r, n, port, os.environ)
    if r == 0:
        env[LISTEN] = str(meeting)
    return subprocess.Popen([sys.executable, "-m", "kshell", *words], env=env, pass_fds=[meeting] if r == 0 else [],
                            stdin=None if r == 0 else subprocess.DEVNULL)


def _watch(ranks: Sequence[subprocess.Popen[bytes]], console: bool) -> int:
    """Wait until all have ended well or one has not."""
    ended: queue.SimpleQueue[int] = queue.SimpleQueue()

    def wait(r: int) -> None:
        ranks[r].wait()
        ended.put(r)

    for r in range(len(ranks)):
        threading.Thread(target=wait, args=(r,), daemon=True).start()
    stops = 0

    def ask(signum: int, frame: object) -> None:
        raise SystemExit(128 + signum)

    before = {s: signal.signal(s, ask) for s in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the ranks too, and they decide
    try:
        for _ in ranks:
            r = ended.get()
            code = ranks[r].returncode
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


def _all_end(ranks: Sequence[subprocess.Popen[bytes]], code: int) -> bool:
    """Do all end with this code by themselves?"""
    until = time.monotonic() + GRACE
    for p in ranks:
        try:
            if p.wait(max(0.0, until - time.monotonic())) != code:
                return False
        except subprocess.TimeoutExpired:
            return False
    return True


def _end(ranks: Sequence[subprocess.Popen[bytes]]) -> None:
    """End those that still run, and wait for them."""
    running = [p for p in ranks if p.poll() is None]
    for p in running:
        p.terminate()
    until = time.monotonic() + GRACE
    for p in running:
        try:
            p.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
