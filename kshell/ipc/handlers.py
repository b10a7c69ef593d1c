"""Handling of connections by q code: the `.z` handlers, and answers to messages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType
from typing import Any, Protocol

import numpy as np

from kshell import registry
from kshell.errors import QError, QExit, first_line
from kshell.ipc import bounds, wire
from kshell.ipc.connection import Connection
from kshell.ipc.entry import Answer, Gate
from kshell.ipc.network import LOGIN_TIME, Network
from kshell.ipc.time_limit import time_limit
from kshell.ipc.updates import Updates
from kshell.ipc.users import Token, Users
from kshell.ipc.web.handlers import Web
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import NIL, Atom, List, Value, Vec, text_of
from kshell.values.base.symbols import sym
from kshell.values.engine.apply import apply, apply1
from kshell.values.session import interrupts
from kshell.values.session.restrict import confinement

STACKS = 2  # the setting e that shows the stack of a client's error
SHOWN = 1 << 10  # items of a vector that the log shows
NESTED = 32  # maximum depth of nested handlers


class Host(Protocol):
    """The parts of a session that the port needs."""

    names: Any  # its variables: values/change/names.py
    settings: Any  # T, the time limit of a client's call: lang/session/settings.py
    hosted: bool  # does a program own the process, so that a client's `exit` is refused?

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """Stop what runs, as Ctrl-C does."""

    def handle(self, work: Callable[..., Any], *args: Any, restricted: bool = False) -> Any:
        """Execute a message in the session, restricted if requested; errors are QErrors."""

    def evaluate(self, text: str) -> Any:
        """The value of q text."""

    def show(self, x: Value) -> str:
        """The console's text of a value."""

    def warn(self, text: str) -> None:
        """Text to standard error."""

    def error_lines(self, error: QError) -> list[str]:
        """The text of an error at the console."""


class Handlers(Web):
    """Answers to the events of a network, by the q code of a session."""

    def __init__(self, session: Host) -> None:
        self.session = session
        self.network = Network(self)
        self.network.room = bounds.room
        self.queries = {}
        # whose messages are being handled, the last one innermost
        self.serving: list[Connection | None] = []
        self.gate = Gate()
        self.strangers = bounds.Strangers()
        self.read_only = False  # may connections change nothing?
        self.confined = False  # may they use only files of the current folder, and run nothing?
        self.logs_queries = False  # are messages written to the log?
        self.updates: Updates | None = None  # the log of what they changed, under -l and -L
        self._asked = False  # is it a request that is being handled?
        self._deferring = False  # did its handler defer the answer?
        # what is wrong with the bytes of the message
        self._fault: wire.BadMessage | None = None

    @property
    def client(self) -> Connection | None:
        """The connection whose message is being handled."""
        return self.serving[-1] if self.serving else None

    @property
    def refuses_exit(self) -> bool:
        """Is it a connection's q code that runs, and may that not end the process?"""
        return bool(self.serving) and (
            self.confined or self.session.hosted or self._restricted(self.client)
        )

    def _restricted(self, connection: Connection | None) -> bool:
        """May a connection change nothing?"""
        return connection is not None and (self.read_only or connection.reads)

    def restrict(
        self,
        users: str = "",
        read_only: bool = False,
        log: str = "",
        token: str = "",
        confined: bool = False,
        is_open: bool = False,
        plain: bool = False,
        log_queries: bool = False,
    ) -> None:
        """Set the rules that `Session.restrict_clients` explains, beside those that are set already."""
        rules = self.gate.rules
        if log:
            self._open_log(log)
        rules.users = Users(users) if users else rules.users
        rules.token = Token(token) if token else rules.token
        rules.is_open, rules.plain = rules.is_open or is_open, rules.plain or plain
        self.read_only, self.confined = self.read_only or read_only, self.confined or confined
        self.logs_queries = self.logs_queries or log_queries
        if is_open:
            self.network.log.add("open to everybody: no password is asked for")

    def read_users(self) -> None:
        """Read the file of users again, if there is one."""
        if self.gate.rules.users is not None:
            self.gate.rules.users.read()
            self.network.log.add("the file of users was read")

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
        """Do the rules let this user in, and does `.z.pw` agree?"""
        asks = self._find(".z.pw") is not None
        certified = connection.channel is not None and connection.channel.certified
        answer = self.gate.answer(connection, user, password, asks, certified)
        admitted = answer is Answer.YES
        if answer is Answer.ASK and not self.strangers.may_bring(connection, (user,)):
            answer = Answer.NAME
        if answer is Answer.ASK:
            arguments = sym(user), string(password)
            limit = self.session.settings.T or LOGIN_TIME
            said = self._call(connection, self._apply_name, ".z.pw", arguments, limit=limit)
            admitted = said is True
        if answer in (Answer.UNSAFE, Answer.NAME):
            connection.refusal = answer.value
        if user or password:
            self.gate.note(connection, admitted)
        return admitted

    def delayed(self, connection: Connection) -> bool:
        """Must the login of this connection wait, because the peer's last ones failed?"""
        return self.gate.delayed(connection)

    def opened(self, connection: Connection) -> None:
        """Call `.z.po`."""
        self._notify(connection, ".z.po", connection.handle)

    def gone(self, connection: Connection) -> None:
        """Call `.z.pc`; the handle is no longer a connection."""
        self._notify(None, ".z.pc", connection.handle)

    def bad(self, connection: Connection, data: bytes) -> None:
        """Call `.z.bm`, and say so on the console."""
        self._show_bad(connection, data)
        self.session.warn(f"'badmsg from handle {connection.handle}\n")

    def _show_bad(self, connection: Connection, data: bytes) -> None:
        """Call `.z.bm` with the handle and the bytes."""
        if self._find(".z.bm") is not None:
            message = List([Atom(T.I, connection.handle), Vec(T.X, np.frombuffer(data, np.uint8))])
            self._call(connection, self._apply_name, ".z.bm", (message,))

    def message(self, connection: Connection, data: bytes | bytearray) -> None:
        """Execute one message."""
        kind = data[wire.KIND]
        if kind == wire.RESPONSE:
            self._log(connection, "unexpected response")
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
            fault, self._fault = self._fault, None
            if fault is not None:
                raise fault
            if answer is not None and not connection.closed:
                self.network.send(connection, answer)
            return None
        except QExit:
            raise
        except QError as e:
            text = e.text
            if kind == wire.ASYNC or self.session.settings.e == STACKS:
                self.session.warn("\n".join(self.session.error_lines(e)) + "\n")
        return text

    def _answered(self, connection: Connection, kind: int, data: bytes | bytearray) -> bytes | None:
        """The response to a message; None if there is to be none now."""
        handler = self._find(".z.pg" if kind == wire.SYNC else ".z.ps")
        text = wire.text_in(data) if handler is None and self._is_plain else None
        if text is not None:
            out = self.session.evaluate(str(text, "utf-8", "surrogateescape"))
        else:
            try:
                x = bounds.value(connection, data)
            except wire.BadMessage as e:  # it must not be taken for an error of q
                self._fault = e
                return None
            out = self._value_of(connection, kind, handler, x)
        if kind == wire.ASYNC or self._deferring:
            return None
        return wire.message(wire.RESPONSE, out, connection.capability, connection.packed)

    @property
    def _is_plain(self) -> bool:
        """Are messages carried out, and nothing else done about them?"""
        return self.updates is None and not self.logs_queries

    def _value_of(
        self, connection: Connection, kind: int, handler: Value | None, x: Value
    ) -> Value:
        """The value of what a message asks for."""
        if self.logs_queries:
            self._log_query(connection, "sync" if kind == wire.SYNC else "async", x)
        work: Callable[..., Value] = evaluate if handler is None else apply1
        given = self.session if handler is None else handler
        if self.updates is None:
            return work(given, x)
        return self.updates.carry_out(x, work, given, x)

    # ------------------------------------------------------------ the log of updates

    def log_updates(self, base: str, synced: bool) -> None:
        """Log updates from now on; messages wait until `replay_updates` has brought back what the log holds."""
        self.updates = Updates(self.session.names, base, synced)

    def replay_updates(self) -> None:
        """Bring back what clients changed, under the rules that hold for them now."""
        assert self.updates is not None
        removed = self.updates.replay(
            lambda x: self._run(None, evaluate, self.session, x, limit=0.0)
        )
        if removed:
            self.session.warn(
                f"{self.updates.log}: the last message was incomplete, its {removed} bytes were cut off\n"
            )

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
        """What is assigned to a name of `.z`, else what it is by default; None if nothing."""
        names = self.session.names
        if name[3:] in names.spaces.get(".z", ()) or registry.find("name", name):
            return names.find(name)
        return None

    def _apply_name(self, name: str, args: tuple[Value, ...]) -> Value:
        handler = self._find(name)
        return NIL if handler is None else apply(handler, list(args))

    def _notify(self, connection: Connection | None, name: str, handle: int) -> None:
        if self._find(name) is not None:
            self._call(connection, self._apply_name, name, (Atom(T.I, handle),))

    def _call(
        self,
        connection: Connection | None,
        work: Callable[..., Value],
        *args: Any,
        limit: float | None = None,
    ) -> Any:
        """work(*args) on behalf of a connection; its error is printed, and gives None."""
        try:
            return self._run(connection, work, *args, limit=limit)
        except QError as e:
            problem = e
        self.session.warn("\n".join(self.session.error_lines(problem)) + "\n")
        return None

    def _run(
        self,
        connection: Connection | None,
        work: Callable[..., Any],
        *args: Any,
        limit: float | None = None,
    ) -> Any:
        """work(*args) on behalf of a connection: in the root namespace, for at most `limit` seconds (else those of
        `\\T`), restricted if it may not change anything. Handlers of what has ended (no connection) run on behalf of
        this process."""
        restricted = self._restricted(connection)
        seconds = self.session.settings.T if limit is None else limit
        self.serving.append(connection)
        names = self.session.names
        before, names.current = names.current, "."
        problem = "stop"
        reached: list[float] = []
        try:
            if not self.confined and seconds <= 0:
                return self.session.handle(work, *args, restricted=restricted)
            with ExitStack() as limits:
                if self.confined:
                    limits.enter_context(confinement())
                reached = limits.enter_context(time_limit(self.session.interrupt, seconds))
                return self.session.handle(work, *args, restricted=restricted)
        except KeyboardInterrupt:  # inside of other work, which goes on
            interrupts.forget()
        except QExit as e:
            # SIGTERM comes from outside
            if e.code == interrupts.LEAVES or not (
                restricted or self.confined or self.session.hosted
            ):
                raise
            problem = "access: exit"
        finally:
            self.serving.pop()
            names.current = before
            if reached and connection is not None:
                self._log(connection, f"stopped after {seconds} seconds")
        raise QError(problem)

    def _log(self, connection: Connection, what: str) -> None:
        self.network.log.add(what, connection.handle, connection.peer, connection.user)

    def _log_query(self, connection: Connection, kind: str, x: Value) -> None:
        """Write what a client sent to the log."""
        if x.__class__ is Vec:
            x = Vec(x.t, x.a[:SHOWN])
        text = text_of(x) if x.__class__ is Vec and x.t == T.C else self.session.show(x)
        self._log(connection, f"{kind} {text}")


def evaluate(session: Host, x: Value) -> Value:
    """The value of a message, as of the verb `value`: of text, of a list of a function and its arguments, of anything
    else itself."""
    if x.__class__ is Vec and x.t == T.C:
        return session.evaluate(text_of(x))
    return registry.known("verb", "value").fns[1](x)


def error_text(x: Value) -> str:
    """The text of an error that is given as a string or a symbol; anything else is 'type."""
    return first_line(text_of(x), 1 << 16)
