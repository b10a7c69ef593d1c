"""The prompt of a client: its lines run as at a prompt of this process, with the debugger, and what they print is the
answer."""

from __future__ import annotations

import io
import socket
from typing import Any

from kshell.errors import QError, QExit
from kshell.ipc import address, bounds, wire
from kshell.ipc.connection import Connection
from kshell.ipc.listener import Listeners
from kshell.ipc.port import Port
from kshell.parse import split_script
from kshell.shell import debugger
from kshell.shell.run_line import print_error, prompt_text
from kshell.values.base.build import string
from kshell.values.base.core import List, Value, text_of
from kshell.values.base.symbols import Sym

LINE = ".run.line"  # the name by which a client asks for a line, with its text, and rows and columns of its console
SMALLEST, LARGEST = 10, 2000  # rows and columns


class Listening(Listeners):
    """The unix socket of a program, as a network listens on it."""

    def __init__(self, sock: socket.socket) -> None:
        self.place, self.host, self.port = address.place("0"), "", 0
        self.sockets, self.names, self._file = [sock.dup()], set(), ""


class Console(Port):
    """The port of a session in a program: it also runs the lines of a prompt, each as the outermost work."""

    def __init__(self, session: Any, sock: socket.socket) -> None:
        super().__init__(session)
        self.sock = sock  # the program's unix socket
        self.updates: Any = None  # the log of edits
        self._spaces: dict[int, str] = {}  # the namespace of each client's prompt
        self._is_request = False  # is a request of q's protocol being handled?
        self._awaits = ""  # what that waits for
        self._later: list[tuple[str, Connection, bytes]] = []  # such requests

    def carry_out(self, connection: Connection, kind: int, data: bytes | bytearray) -> None:
        if kind == wire.SYNC and connection.ended:
            return  # whoever asked is gone, and does not want it any more
        self._is_request, self._awaits = kind == wire.SYNC, ""
        asked = self._line_in(connection, data) if kind == wire.SYNC else None
        if asked is None:
            super().carry_out(connection, kind, data)
        else:
            answer = List([string(text) for text in self._typed(connection, *asked)])
            if not connection.closed and not self._awaits:
                self.network.send(
                    connection, wire.message(wire.RESPONSE, answer, connection.capability)
                )
        self._is_request = False
        if self._awaits:
            self._later.append((self._awaits, connection, bytes(data)))

    # ------------------------------------------------------------ requests that are put off

    def put_off(self, awaited: str) -> None:
        """Let the request that is being handled be handled again later; nobody sees what it gives now."""
        if not self._is_request:
            raise QError("whole: only a request can wait for the other processes")
        self._awaits = awaited

    def resume(self, awaited: str) -> None:
        """Handle the requests again that wait for something."""
        due = [later for later in self._later if later[0] == awaited]
        self._later = [later for later in self._later if later[0] != awaited]
        for _, connection, data in due:
            if not connection.closed:
                self.carry_out(connection, wire.SYNC, data)

    def _answer_error(self, connection: Connection, error: str) -> None:
        if not self._awaits:
            super()._answer_error(connection, error)

    def listen(self, words: str) -> None:
        """Do what `\\p words` asks for; the program's own socket stays."""
        super().listen(words)
        own = Listening(self.sock)
        if self.network.listening is None:
            self.network.listen(own)
            return
        self.network.listening.sockets += own.sockets
        self.network.listen_too(own.sockets[0])

    def between(self, statements: bool = False) -> None:
        """Nobody is answered in the middle of another's query: that may be undone."""

    def _line_in(
        self, connection: Connection, data: bytes | bytearray
    ) -> tuple[str, int, int] | None:
        """The line that a request is about, with rows and columns; None if it is about none."""
        if LINE.encode() not in data[:64]:
            return None
        try:
            x = bounds.value(connection, data)
        except (wire.BadMessage, QError):
            return None  # it is said elsewhere
        items: list[Value] = x.items if isinstance(x, List) else []
        if len(items) != 4 or not (isinstance(items[0], Sym) and items[0].s == LINE):
            return None
        try:
            return text_of(items[1]), int(items[2]), int(items[3])  # type: ignore[arg-type]
        except (QError, TypeError, ValueError):
            return None

    def _typed(
        self, connection: Connection, text: str, rows: int, columns: int
    ) -> tuple[str, str, str]:
        """What a line prints on the two streams of the console, and the prompt for the next one."""
        session: Any = self.session
        shown, warned = io.StringIO(), io.StringIO()
        before = session.out, session.err, session.interactive, session.names.current
        session.out, session.err, session.interactive = shown, warned, True
        session.names.current = self._spaces.get(connection.handle, ".")
        session.settings.c = _within(rows), _within(columns)
        session.read_only = self._restricted(connection)
        self.serving.append(connection)
        levels = len(session.suspended)
        try:
            for _, statement in split_script(text, typed=True):
                if self._enter(statement):
                    break
            if self._awaits:
                del session.suspended[levels:]
            prompt = prompt_text(session)
        finally:
            self.serving.pop()
            self._spaces[connection.handle], session.read_only = session.names.current, False
            session.out, session.err, session.interactive, session.names.current = before
        return shown.getvalue(), warned.getvalue(), prompt

    def _enter(self, statement: str) -> bool:
        """Run a statement as an edit, or a query; was there an error?"""
        session: Any = self.session
        problem = None
        try:
            if session.suspended:
                return bool(self.updates.attempt(statement, debugger.enter, session, statement))
            self.updates.attempt(statement, session.enter, statement)
        except QExit:
            problem = QError("access: exit", hint="the program is not yours to end; \\\\ leaves it")
        except QError as e:
            problem = e
        if problem is not None:
            print_error(session, problem)
        return problem is not None

    def gone(self, connection: Connection) -> None:
        self._spaces.pop(connection.handle, None)
        self.session.suspended.clear()
        super().gone(connection)


def _within(n: int) -> int:
    return min(max(n, SMALLEST), LARGEST)
