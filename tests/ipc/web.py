"""Clients of HTTP and WebSockets for a session that serves in this process, or for another one."""

from __future__ import annotations

import http.client
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kshell.session import Session


class Served:
    """A session that serves in a thread of its own; lines are run there, between messages."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._jobs: queue.Queue[tuple[Callable[[Session], Any], queue.Queue[Any]]] = queue.Queue()
        self._over, started = threading.Event(), threading.Event()
        self.port = 0

        def serve() -> None:
            session = self.session = Session()
            for line in lines:
                session.run(line)
            self.port = session.listen()
            started.set()
            while not self._over.is_set():
                session.serve(0.01)
                while not self._jobs.empty():
                    self._do(session)
            session.end_ipc()

        self._thread = threading.Thread(target=serve)
        self._thread.start()
        assert started.wait(20)

    def _do(self, session: Session) -> None:
        work, answer = self._jobs.get()
        try:
            answer.put((work(session), None))
        except Exception as e:
            answer.put((None, e))

    def do(self, work: Callable[[Session], Any]) -> Any:
        """work(session), in its thread."""
        answer: queue.Queue[Any] = queue.Queue()
        self._jobs.put((work, answer))
        value, problem = answer.get(timeout=60)
        if problem is not None:
            raise problem
        return value

    def run(self, line: str) -> Any:
        return self.do(lambda session: session.run(line))

    def show(self, x: Any) -> str:
        return self.session.show(x)

    @property
    def network(self) -> Any:
        return self.session.ipc.network

    def end(self) -> None:
        self._over.set()
        self._thread.join(20)


@contextmanager
def serving(*lines: str) -> Iterator[tuple[Served, int]]:
    """A session that listens and serves, and its port."""
    served = Served(lines)
    try:
        yield served, served.port
    finally:
        served.end()


def reply(port: int, method: str, target: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Status and body of the answer to one request."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        client.request(method, target, body, headers or {})
        answer = client.getresponse()
        return answer.status, answer.read()
    finally:
        client.close()


class Raw:
    """A connection byte by byte."""

    def __init__(self, port: int, data: bytes = b"") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.send(data)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def all(self) -> bytes:
        """What comes until the other side ends."""
        found = b""
        while part := self._part():
            found += part
        return found

    def _part(self) -> bytes:
        try:
            return self.socket.recv(1 << 16)
        except ConnectionResetError:
            return b""

    def until(self, mark: bytes) -> bytes:
        """What comes up to some bytes."""
        found = b""
        while mark not in found and (part := self._part()):
            found += part
        return found

    def close(self) -> None:
        self.socket.close()


def logged(session: Served, text: str, seconds: float = 5.0) -> bool:
    """Is there a line in the log with this text, in time?"""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any(text in event.what for event in list(session.network.log.events)):
            return True
        time.sleep(0.01)
    return False
