"""Processes that start at once: each is forked from one that has imported torch and the k-api.

`run` and `Process` take what subprocess.run and Popen take, of `python -m NAME ..`, `python -c TEXT ..` and
`python FILE ..`, and give what a process of its own gives. What a test says of starting (what is imported when, how much
memory that takes, variables that torch reads as it is loaded) needs subprocess.

Read as a script it is the process that they are forked from. It runs nothing itself, so that generators, handles and
caches are those of a new process, and it has one thread.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

ROOT = Path(__file__).parents[2]
PIPE, DEVNULL, STDOUT = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT
# run once in a process that ends: what it has imported then is imported before others are forked
USED = ("net:module seq(`sequential;(`linear;`a;2;2);`relu;(`linear;`b;2;2));o:opt(`adam;net;.01);m:model(net;loss`mse;o);"
        "backward Sum forward(net;3 2#1e);step o;sched(o;`steplr;1);svd 2 2#1 2 3 4f;fft 1 2f;k:(state net;state o);"
        "snapshot`:all;help`til;-8!([]a:1 2);@[value;\"1+`a\";{}];.[{x+y};(1;`a);{}]")
MORE = ("torch", "kshell.session", "kshell.k_api", "kshell.shell.script", "kshell.shell.prompt", "kshell.parallel.launch", "kshell.parallel.console",
        "kshell.parallel.shards", "kshell.embedding")


# ------------------------------------------------------------------ who asks


class Server:
    """The process that forks, as the one that asks sees it."""

    def __init__(self) -> None:
        self.channel, there = socket.socketpair()
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "TORCH_CPP_LOG_LEVEL": "ERROR"}
        self.process = subprocess.Popen([sys.executable, "-P", __file__, "kshell", str(there.fileno())], env=env,
                                        pass_fds=[there.fileno()], stdin=DEVNULL)
        there.close()
        self.answers = self.channel.makefile("r")

    def fork(self, request: dict[str, Any], files: list[int]) -> int:
        """The process id of a new process that has these files."""
        data = json.dumps(request).encode()
        socket.send_fds(self.channel, [len(data).to_bytes(8, "little")], files)
        self.channel.sendall(data)
        return int(self.answers.readline())

    def close(self) -> None:
        self.answers.close()
        self.channel.close()
        self.process.wait(30)


SERVER: list[Server] = []


def server() -> Server:
    if not SERVER:
        SERVER.append(Server())
    return SERVER[0]


def close() -> None:
    """At the end of the tests: the process that forks ends."""
    while SERVER:
        SERVER.pop().close()


class Process:
    """A process that was forked for `args`, with the attributes and methods of Popen. Its texts are str. On a
    `terminal`, its input, it is the first of a session."""

    def __init__(self, args: Sequence[object], *, stdin: int | None = None, stdout: int | None = None,
                 stderr: int | None = None, cwd: str | os.PathLike[str] | None = None, text: bool = True,
                 env: Mapping[str, str] | None = None, start_new_session: bool = False, terminal: bool = False) -> None:
        assert args[0] == sys.executable and text
        self.args = [str(a) for a in args]
        self.returncode: int | None = None
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        theirs, shut = [], []
        for n, (name, given) in enumerate((("stdin", stdin), ("stdout", stdout), ("stderr", stderr))):
            if given == PIPE:
                ends = os.pipe()
                setattr(self, name, os.fdopen(ends[not n], "r" if n else "w"))
                given = ends[bool(n)]
                shut.append(given)
            elif given == DEVNULL:
                given = os.open(os.devnull, os.O_RDWR)
                shut.append(given)
            theirs.append(theirs[1] if given == STDOUT else n if given is None else given)
        self._ended, told = os.pipe()
        request = {"args": self.args, "cwd": os.path.abspath(cwd or "."), "env": dict(os.environ if env is None else env),
                   "session": start_new_session or terminal, "terminal": terminal}
        self.pid = server().fork(request, [*theirs, told])
        for file in (*shut, told):
            os.close(file)

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            with open(self._ended) as file:
                self.returncode = int(file.read())
        return self.returncode

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        until = None if timeout is None else time.monotonic() + timeout
        found = ["", ""]

        def read(n: int, file: IO[str]) -> None:
            found[n] = file.read()

        def write(file: IO[str]) -> None:
            with contextlib.suppress(BrokenPipeError), file:
                file.write(input or "")

        at_work = [threading.Thread(target=read, args=(n, file)) for n, file in enumerate((self.stdout, self.stderr)) if file]
        if self.stdin and not self.stdin.closed:
            at_work.append(threading.Thread(target=write, args=(self.stdin,)))
        for thread in at_work:
            thread.daemon = True
            thread.start()
        for thread in at_work:
            thread.join(None if until is None else max(0, until - time.monotonic()))
            if thread.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if until is None else max(0, until - time.monotonic()))
        return found[0], found[1]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def run(args: Sequence[object], *, input: str | None = None, timeout: float | None = None, check: bool = False,
        capture_output: bool = False, **given: Any) -> subprocess.CompletedProcess[str]:
    if input is not None:
        given["stdin"] = PIPE
    if capture_output:
        given["stdout"] = given["stderr"] = PIPE
    p = Process(args, **given)
    try:
        out, err = p.communicate(input, timeout)
    except BaseException:
        p.kill()
        p.wait()
        raise
    done = subprocess.CompletedProcess(p.args, p.wait(), out, err)
    if check:
        done.check_returncode()
    return done


# ------------------------------------------------------------------ the process that forks


def imported() -> list[str]:
    """The names of the modules that a session imports which uses something of all."""
    reads, writes = os.pipe()
    if not os.fork():
        from kshell.session import Session

        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Session(out=io.StringIO(), err=io.StringIO()).run(USED)
        with open(writes, "w") as file:
            json.dump([*sys.modules], file)
        os._exit(0)
    os.close(writes)
    with open(reads) as file:
        names: list[str] = json.load(file)
    os.wait()
    return names


def serve(channel: socket.socket) -> None:
    """Fork for each request, tell the process id, and in the end the exit code."""
    told: dict[int, int] = {}  # of each process the file that its exit code is written to

    def ended(*_: object) -> None:
        for pid in [*told]:
            try:
                found, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # another signal came meanwhile, and this was called for it, too
                continue
            if found:
                file = told.pop(pid)
                with contextlib.suppress(BrokenPipeError):
                    os.write(file, b"%d" % os.waitstatus_to_exitcode(status))
                os.close(file)

    signal.signal(signal.SIGCHLD, ended)
    while size := (got := socket.recv_fds(channel, 8, 4))[0]:
        left, data = int.from_bytes(size, "little"), b""
        while len(data) < left:
            data += channel.recv(left - len(data))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        pid = os.fork()
        if not pid:
            become(json.loads(data), got[1])
        told[pid] = got[1][3]
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        for file in got[1][:3]:
            os.close(file)
        channel.sendall(b"%d\n" % pid)


def become(request: dict[str, Any], files: list[int]) -> NoReturn:
    """In the new process: be what was asked for."""
    import numpy as np

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    if request["session"]:
        os.setsid()
    for n in range(3):
        os.dup2(files[n], n)
    os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1 if os.path.exists("/proc/self/fd") else 256)
    if request["terminal"]:
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    streams(bool(os.environ.get("PYTHONUNBUFFERED")))
    np.random.seed()
    leave(request["args"])


def streams(unbuffered: bool) -> None:
    """Make the standard streams of the files that are there now."""
    for n, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        if n and unbuffered:
            made: Any = io.TextIOWrapper(io.FileIO(n, "w", closefd=False), old.encoding, old.errors, write_through=True)
        else:
            made = os.fdopen(n, "w" if n else "r", 1 if n == 2 else -1, old.encoding, old.errors, closefd=False)
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)


def leave(args: list[str]) -> NoReturn:
    """Run what the arguments ask for, and end without taking torch down."""
    code: object = 0
    try:
        start(args)
    except SystemExit as e:
        code = e.code
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(int(code or 0))


def start(args: list[str]) -> None:
    """Do what the interpreter does with its arguments."""
    sys.orig_argv = args
    if args[1] == "-m":
        sys.argv = args[2:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(args[2], run_name="__main__", alter_sys=True)
    elif args[1] == "-c":
        sys.argv = ["-c", *args[3:]]
        sys.path.insert(0, "")
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(args[2], "<string>", "exec"), sys.modules["__main__"].__dict__)
    else:
        sys.argv = args[1:]
        sys.path.insert(0, str(Path(args[1]).resolve().parent))
        runpy.run_path(args[1], run_name="__main__")


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[2]))
    for name in MORE:
        importlib.import_module(name)
    for name in imported():
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    serve(channel)


if __name__ == "__main__":
    main()
