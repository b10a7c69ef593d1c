"""A connection to the q session in a program, which answers when the program comes to a safe point."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kshell.attach import place
from kshell.errors import QError
from kshell.ipc import client, wire
from kshell.ipc.connection import Closed
from kshell.values.base.core import Value

TICK = 0.2  # seconds between calls of what is told how long an answer takes
STOPS = 2.0  # seconds in which a request that is told to stop must be answered
ENDS = 1.0  # seconds in which a program that ends stops listening
GONE = (ConnectionRefusedError, FileNotFoundError)  # what connecting raises if nobody listens
GIVEN_UP = "there is no answer: what the program has not begun with may still run"

Taker = Callable[[Any], object]  # called with a value or a QError
Waiting = Callable[[float], object]


class Ended(QError):
    """The program has ended; `unanswered`: in the middle of a request."""

    def __init__(self, text: str, unanswered: bool) -> None:
        super().__init__(text)
        self.unanswered = unanswered


class Late(QError):
    """There is no answer in time."""


def _idle(seconds: float) -> None:
    """In place of what shows that an answer takes long."""


class Attached:
    """A client of the program with a process id. Nothing but a wait for an answer takes long: connecting does not, as
    the login goes out with the first request."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._takers: deque[Taker] = deque()  # of the answers that are awaited
        self.connection = client.connect_at(place.socket_of(pid))  # OSError if it does not listen

    def ask(self, request: Value, waiting: Waiting = _idle, limit: float | None = None) -> Value:
        """The answer to a request, for which it waits `limit` seconds, and calls `waiting` with the seconds so far
        again and again. An error of the request is an error here; Late if there is no answer in time. Ctrl-C stops
        the request in the program, and is 'stop if there is no answer to it soon."""
        answers: list[Value | QError] = []
        interrupted = False
        try:
            self.send(request, answers.append)
            self._wait(answers, waiting, limit)
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            self._stop(answers)
        if not answers:
            raise QError("stop", hint=GIVEN_UP) if interrupted else Late("timeout")
        answer = answers[0]
        if isinstance(answer, QError):
            raise answer
        return answer

    def send(self, request: Value, take: Taker) -> None:
        """Send a request without waiting; a later turn calls `take` with the answer, or the error."""
        self.turn()
        if self.connection.ended or self.connection.closed:
            self._connect_again()
        self.connection.queue(wire.message(wire.SYNC, request))
        self._takers.append(take)
        self.turn()

    def turn(self) -> None:
        """Write what waits to go out, and take what has come in."""
        connection = self.connection
        if connection.closed:
            return
        try:
            with suppress(Closed):
                connection.write()
            connection.read()
            while client.is_open(connection) and (data := connection.incoming.message()):
                if data[wire.KIND] == wire.RESPONSE and self._takers:
                    self._takers.popleft()(_read(data))
        except wire.BadMessage:
            connection.ended = True

    @property
    def waits(self) -> bool:
        """Is an answer awaited?"""
        return bool(self._takers)

    def close(self) -> None:
        """End the connection. Requests that are not answered are given up."""
        self._takers.clear()
        self.connection.close()

    def has_ended(self) -> bool:
        """Has the program ended, or does it listen no more? One that is ending is given some time."""
        wait, end = 0.05, time.monotonic() + ENDS
        while _listens(self.pid):
            if time.monotonic() + wait > end:
                return False
            time.sleep(wait)
            wait *= 2
        return True

    def _wait(self, answers: list[Value | QError], waiting: Waiting, limit: float | None) -> None:
        """Wait for an answer, at most `limit` seconds."""
        start = time.monotonic()
        while not (answers or self.connection.closed):
            passed = time.monotonic() - start
            if self.connection.ended:
                self._lost()
            if limit is not None and passed >= limit:
                return
            if not self.connection.wait(TICK if limit is None else min(TICK, limit - passed)):
                waiting(time.monotonic() - start)
            self.turn()

    def _stop(self, answers: list[Value | QError]) -> None:
        """Let the program stop what runs in it; if that gives no answer, the request is given up, and the connection
        with it."""
        with suppress(KeyboardInterrupt, OSError):
            place.asked(self.pid, "stop")
            self._wait(answers, _idle, STOPS)
        if not answers:
            self.close()

    def _lost(self) -> None:
        """The connection has ended before an answer came."""
        connection = self.connection
        self.close()
        if self.has_ended():
            raise Ended(f"close handle: {connection.handle}", unanswered=True)
        raise QError(f"close handle: {connection.handle}" if connection.open else "access")

    def _connect_again(self) -> None:
        problem = ""
        self.close()
        try:
            self.connection = client.connect_at(place.socket_of(self.pid))
            return
        except OSError as e:
            problem, is_over = f"hop. OS reports: {e.strerror}", isinstance(e, GONE)
        raise Ended(problem, unanswered=False) if is_over else QError(problem)


def _listens(pid: int) -> bool:
    try:
        client.connect_at(place.socket_of(pid)).close()
        return True
    except GONE:
        return False
    except OSError:  # too many others ask
        return True


def _read(data: bytes | bytearray) -> Value | QError:
    """The value, or the error, in a response."""
    try:
        return wire.value(data)
    except wire.Remote as e:
        return QError(str(e))
    except QError as e:
        return e
