"""A program that listens, as a process of its own: `python -m tests.attach.program TEXT [SECONDS]`. A step takes so many
seconds; with 0 all of the time is one safe point. With `deaf` it listens only after SIGUSR1."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

from kshell.attach import place
from kshell.session import Session
from tests.support import warm

# a line that fails opens a debugger, which only its prompt tells of
Q = r"""
.run.size:0 0
.run.prompt:"q)"
.run.failed:{.run.prompt:"q))";("";"'",x,"\n";.run.prompt)}
.run.line:{[t;r;c] .run.size:r,c; $[t~enlist"\\"; [.run.prompt:"q)"; ("";"";"q)")]; @[{(.Q.s value x;"";.run.prompt)}; t; .run.failed]]}
.run.offers:{[b;a] w:last" "vs b; n:string system"v"; n:n where n like w,"*"; (n;count[n]#count w;count[n]#enlist"theirs")}
.run.status:{"device ",string .run.size 1}
losses:1 2 3
lossy:4
"""


class At:
    """Sockets, as those of a port are."""

    def __init__(self, sock: socket.socket) -> None:
        self.place, self.host, self.port = SimpleNamespace(reads=False), "", 0
        self.sockets, self.names = [sock], set[str]()

    def close(self) -> None:
        self.sockets[0].close()


class Training:
    """What the process does."""

    def __init__(self, text: str, seconds: float) -> None:
        self.text, self.seconds = text, seconds
        self.session = Session()
        for line in Q.strip().split("\n"):
            self.session.run(line)
        self.step, self.since = 0, time.monotonic()
        signal.signal(signal.SIGINT, self.session.interrupt)

    def listen(self, *_: object) -> None:
        self.session.use_ipc().network.listen(At(place.listen(place.socket_of(os.getpid()))))
        sock = place.listen(place.where_of(os.getpid()))
        threading.Thread(target=self.tell, args=(sock,), daemon=True).start()

    def tell(self, sock: socket.socket) -> None:
        sock.setblocking(True)
        while True:
            client, _ = sock.accept()
            with client, suppress(OSError):
                if client.recv(10) == b"stop\n":
                    os.kill(os.getpid(), signal.SIGINT)
                client.sendall(self.state().to_json().encode())

    def state(self) -> place.State:
        since = time.monotonic() - self.since if self.step else None
        stack = ["train.py:88 loss.backward()", "/usr/lib/python3.11/site-packages/torch/autograd.py:5 run()"]
        return place.State(os.getpid(), "ann", self.text, self.step, since, 0.0, ["cpu"], 1 << 20, -1,
                           "training" if self.step else "before the first step", stack, 0)

    def run(self) -> None:
        while not self.seconds:
            self.session.serve(60)
            time.sleep(0.01)
        while True:
            time.sleep(self.seconds)
            self.step, self.since = self.step + 1, time.monotonic()
            for _ in range(4 if self.session.ipc else 0):
                self.session.ipc.network.turn(0.0)


class Program:
    """Such a process, as the tests see it."""

    def __init__(self, text: str = "train.py --lr .1", seconds: float = 0.0, *words: str) -> None:
        self.process = warm.Process([sys.executable, "-m", "tests.attach.program", text, str(seconds), *words], stdout=warm.PIPE)
        self.pid = self.process.pid
        assert self.process.stdout is not None and self.process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def main() -> None:
    training = Training(sys.argv[1], float(sys.argv[2]))
    if "deaf" in sys.argv:
        signal.signal(signal.SIGUSR1, training.listen)
    else:
        training.listen()
    print("ready", flush=True)
    training.run()


if __name__ == "__main__":
    main()
