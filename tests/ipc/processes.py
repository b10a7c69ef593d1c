"""A kshell that listens, as a process of its own, and a bare client that knows only the bytes."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kshell.store import codec
from kshell.values.base.core import Value
from tests.support import warm

LOGIN = b"user:\x06\0"
START = "\\p 20000/32000\n-1 string system\"p\";\n"


class Server:
    """A kshell that runs a script and listens; `say` gives it lines at its console. It is forked from one that has
    imported torch; what a test says of imports or memory is started `by` subprocess.Popen."""

    def __init__(self, folder: Path, script: str = "", args: tuple[str, ...] = (), by: Any = warm.Process) -> None:
        path = folder / "server.q"
        path.write_text(START + script)
        self.process = by(
            [sys.executable, "-m", "kshell", "-q", *args, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def end(self) -> str:
        """End it; what it had printed."""
        self.process.terminate()
        output, _ = self.process.communicate(timeout=20)
        return output


class Client:
    """A connection to a port, byte by byte."""

    def __init__(self, port: int, login: bytes = LOGIN) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if login:
            self.socket.sendall(login)
            self.capability = self.socket.recv(100)

    def send(self, kind: int, x: Value) -> None:
        self.socket.sendall(framed(kind, codec.encode(x)))

    def bytes(self, n: int) -> bytes:
        """The next n bytes; fewer at the end."""
        data = b""
        while len(data) < n:
            part = self.socket.recv(n - len(data))
            if not part:
                break
            data += part
        return data

    def message(self) -> tuple[int, bytes]:
        """The kind and the body of the next message."""
        head = self.bytes(8)
        if not head:
            raise EOFError
        (size,) = struct.unpack_from("<I", head, 4)
        return head[1], self.bytes(size - 8)

    def ask(self, x: Value, decode: Callable[[bytes], Value] = codec.decode) -> Value:
        """The answer to a request, read by `decode`; an error as a ValueError."""
        self.send(1, x)
        kind, body = self.message()
        assert kind == 2
        if body[0] == 0x80:
            raise ValueError(body[1:-1].decode())
        return decode(body)

    def ended(self) -> bool:
        """Has the other side closed the connection?"""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.socket.close()


def framed(kind: int, body: bytes, order: int = 1) -> bytes:
    """A message around a body."""
    return bytes((order, kind, 0, 0)) + struct.pack("<I" if order else ">I", 8 + len(body)) + body


def eventually(check: object, seconds: float = 10.0) -> bool:
    """Does check() become true in time?"""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False
