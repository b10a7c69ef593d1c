"""Clients of HTTP and WebSockets for a session that serves in this process, or for another one."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kshell.session import Session


@contextmanager
def serving(*lines: str) -> Iterator[tuple[Session, int]]:
    """A session that listens and serves in a thread of its own."""
    session, port, over = Session(), 0, threading.Event()
    started = threading.Event()

    def serve() -> None:
        nonlocal port
        for line in lines:
            session.run(line)
        port = session.listen()
        started.set()
        while not over.is_set():
            session.serve(0.02)
        session.end_ipc()

    thread = threading.Thread(target=serve)
    thread.start()
    assert started.wait(20)
    try:
        yield session, port
    finally:
        over.set()
        thread.join(20)


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


def logged(session: Session, text: str, seconds: float = 5.0) -> bool:
    """Is there a line in the log with this text, in time?"""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any(text in event.what for event in session.ipc.network.log.events):
            return True
        time.sleep(0.01)
    return False
