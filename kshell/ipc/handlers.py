"""Handling of connections by q code: the `.z` handlers, and answers to messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from kshell import registry
from kshell.errors import QError, QExit, first_line
from kshell.ipc import bounds, peer, wire
from kshell.ipc.connection import Connection
from kshell.ipc.network import Network
from kshell.ipc.users import Users
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import NIL, Atom, List, Value, Vec, sym, text_of
from kshell.values.engine.apply import apply, apply1

NESTED = 32  # maximum depth of nested handlers


class Host(Protocol):
    """What the port needs of its session."""

    names: Any  # its variables: values/change/names.py

    def handle(self, work: Callable[..., Any], *args: Any, restricted: bool = False) -> Any:
        """Execute a message in the session, restricted if requested; errors are QErrors."""

    def warn(self, text: str) -> None:
        """Text to standard error."""

    def error_lines(self, error: QError) -> list[str]:
        """The text of an error at the console."""


class Handlers:
    """Answers to the events of a network, by the q code of a session."""

    def __init__(self, session: Host) -> None:
        self.session = session
        self.network = Network(self)
        self.serving: list[
            Connection | None
        ] = []  # whose messages are being handled, the last one innermost
        self.users: Users | None = None
        self.read_only = False  # may connections change nothing?
        self._asked = False  # is it a request that is being handled?
        self._deferring = False  # did its handler defer the answer?
        self._fault = ""  # what is wrong with the bytes of the message

    @property
    def client(self) -> Connection | None:
        """The connection whose message is being handled."""
        return self.serving[-1] if self.serving else None

    def restrict(self, users: str, read_only: bool, log: str) -> None:
        """Let only the users in a file connect, if one is named, and change nothing, if `read_only`; write what happens
        on the port to a log, if one is named."""
        if users:
            self.users = Users(users)
        self.read_only = self.read_only or read_only
        if log:
            self._open_log(log)

    def _open_log(self, path: str) -> None:
        problem: OSError | None = None
        try:
            self.network.log.open(path)
            return
        except OSError as e:
            problem = e
        raise QError(f"{path}. OS reports: {problem.strerror}")

    # ------------------------------------------------------------ events of the network

    def admit(self, connection: Connection, user: str, password: str) -> bool:
        """Is the user of this process at the other end, or one who is in the file of users, and does `.z.pw` agree?"""
        if self.users is not None:
            if not self.users.admits(user, password):
                return False
        elif self._find(".z.pw") is None and not peer.trusted(peer.user_of(connection.sock)):
            return False
        if self._find(".z.pw") is None:
            return True
        answer = self._call(connection, self._apply_name, ".z.pw", (sym(user), string(password)))
        return answer is True

    def opened(self, connection: Connection) -> None:
        """Call `.z.po`."""
        self._notify(connection, ".z.po", connection.handle)

    def gone(self, connection: Connection) -> None:
        """Call `.z.pc`; the handle is no longer a connection."""
        self._notify(None, ".z.pc", connection.handle)

    def bad(self, connection: Connection, data: bytes) -> None:
        """Call `.z.bm` with the handle and the bytes, and say so on the console."""
        if self._find(".z.bm") is not None:
            message = List([Atom(T.I, connection.handle), Vec(T.X, np.frombuffer(data, np.uint8))])
            self._call(connection, self._apply_name, ".z.bm", (message,))
        self.session.warn(f"'badmsg from handle {connection.handle}\n")

    def message(self, connection: Connection, data: bytes | bytearray) -> None:
        """Execute one message."""
        kind = wire.header(data).kind
        if kind == wire.RESPONSE:
            self.network.log.add("response that nobody waits for", connection.handle)
            return
        self.carry_out(connection, kind, data)

    def carry_out(self, connection: Connection, kind: int, data: bytes | bytearray) -> None:
        """Evaluate a request by `.z.pg`, or an asynchronous message by `.z.ps`, and answer the request."""
        if len(self.serving) >= NESTED:
            if kind == wire.SYNC:
                self.network.send(connection, wire.error("stack"))
            return
        before = self._asked, self._deferring
        self._asked, self._deferring = kind == wire.SYNC, False
        try:
            error = self._evaluated(connection, kind, data)
            if error is not None and kind == wire.SYNC and not connection.closed:
                self._answer_error(connection, error)
        finally:
            self._asked, self._deferring = before

    def _answer_error(self, connection: Connection, error: str) -> None:
        """Send the error of a handler, unless it deferred its answer and has given it already."""
        if self._deferring and not connection.deferred:
            return
        connection.deferred -= self._deferring
        self.network.send(connection, wire.error(error))

    def _evaluated(self, connection: Connection, kind: int, data: bytes | bytearray) -> str | None:
        """Evaluate a message and answer it; the text of an error, if there was one."""
        try:
            answer = self._run(connection, self._answered, connection, kind, data)
            fault, self._fault = self._fault, ""
            if fault:
                raise wire.BadMessage(fault)
            if answer is not None and not connection.closed:
                self.network.send(connection, answer)
            return None
        except QExit:
            raise
        except QError as e:
            text = e.text
            if kind == wire.ASYNC:
                self.session.warn("\n".join(self.session.error_lines(e)) + "\n")
        return text

    def _answered(self, connection: Connection, kind: int, data: bytes | bytearray) -> bytes | None:
        """The response to a message; None if there is to be none now."""
        try:
            x = bounds.value(connection, data)
        except wire.BadMessage as e:  # it must not be taken for an error of q
            self._fault = str(e)
            return None
        handler = self._find(".z.pg" if kind == wire.SYNC else ".z.ps")
        out = apply1(handler, x) if handler is not None else evaluate(x)
        if kind == wire.ASYNC or self._deferring:
            return None
        return wire.message(wire.RESPONSE, out, connection.capability, connection.packed)

    # ------------------------------------------------------------ deferred answers

    def defer(self) -> None:
        """Let the request that is being handled have its answer later; outside of one nothing happens."""
        if self.client is not None and self._asked and not self._deferring:
            self._deferring = True
            self.client.deferred += 1

    def respond(self, handle: int, failed: bool, x: Value) -> None:
        """Send a deferred answer."""
        connection = self.network.connections.get(handle)
        if connection is None:
            raise QError("domain")
        if not connection.deferred:
            raise QError(f"Handle {handle} was not expecting a response msg")
        if failed:
            data = wire.error(error_text(x))
        else:
            data = wire.message(wire.RESPONSE, x, connection.capability, connection.packed)
        connection.deferred -= 1
        self.network.send(connection, data)

    # ------------------------------------------------------------ q code

    def _find(self, name: str) -> Value | None:
        return self.session.names.find(name)

    def _apply_name(self, name: str, args: tuple[Value, ...]) -> Value:
        handler = self._find(name)
        return NIL if handler is None else apply(handler, list(args))

    def _notify(self, connection: Connection | None, name: str, handle: int) -> None:
        if self._find(name) is not None:
            self._call(connection, self._apply_name, name, (Atom(T.I, handle),))

    def _call(self, connection: Connection | None, work: Callable[..., Value], *args: Any) -> Any:
        """work(*args) on behalf of a connection; its error is printed, and gives None."""
        try:
            return self._run(connection, work, *args)
        except QError as e:
            problem = e
        self.session.warn("\n".join(self.session.error_lines(problem)) + "\n")
        return None

    def _run(self, connection: Connection | None, work: Callable[..., Any], *args: Any) -> Any:
        """work(*args) on behalf of a connection: in the root namespace, restricted if connections may not change
        anything."""
        self.serving.append(connection)
        names = self.session.names
        before, names.current = names.current, "."
        try:
            return self.session.handle(work, *args, restricted=self.read_only)
        except QExit:
            if not self.read_only:
                raise
        finally:
            self.serving.pop()
            names.current = before
        raise QError("access: exit")


def evaluate(x: Value) -> Value:
    """The value of a message: of text, of a list of a function and its arguments, of anything else itself."""
    return registry.known("verb", "value").fns[1](x)


def error_text(x: Value) -> str:
    """The text of an error that is given as a string or a symbol; anything else is 'type."""
    return first_line(text_of(x), 1 << 16)
