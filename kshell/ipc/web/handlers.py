"""Requests of HTTP by the q code of a session: who may ask, and the handlers that answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.errors import QError
from kshell.ipc import bounds, peer
from kshell.ipc.conversation import Conversation
from kshell.ipc.training.pages import PLACE, page
from kshell.ipc.training.watch import Watch, told
from kshell.ipc.web import same_site
from kshell.ipc.web.http import MISSING, Answer, Http, available
from kshell.ipc.web.request import Refused, Request, login, parts, response
from kshell.ipc.web.websocket import WebSocket, accepted
from kshell.values.base import types as T
from kshell.values.base.build import data_of, string
from kshell.values.base.core import (
    NIL,
    Dict,
    List,
    Value,
    Vec,
    atom_t,
    raw,
    seq_items,
    sym_vec,
    text_of,
)
from kshell.values.base.symbols import sym

if TYPE_CHECKING:
    from kshell.ipc.connection import Connection
    from kshell.ipc.network import Network

SHOWN = 1 << 10  # bytes of a body that the log shows
KEEP = 10.0  # seconds for which a connection stays after a file of the page of the training
_HANDLERS = {"GET": ".z.ph", "HEAD": ".z.ph", "POST": ".z.pp"}
_OTHERS = ("OPTIONS", "PUT", "PATCH", "DELETE")  # answered by .z.pm
_CHALLENGE = {"WWW_Authenticate": 'Basic realm="kshell"'}


class Web:
    """The part of the port that answers HTTP."""

    if TYPE_CHECKING:
        network: Network
        session: Any
        read_only: bool
        strangers: bounds.Strangers
        logs_queries: bool

        def admit(self, connection: Connection, user: str, password: str) -> bool: ...
        def delayed(self, connection: Connection) -> bool: ...
        def _find(self, name: str) -> Value | None: ...
        def _apply_name(self, name: str, args: tuple[Value, ...]) -> Value: ...
        def _run(
            self, connection: Connection | None, work: Callable[..., Any], *args: Any
        ) -> Any: ...
        def _call(
            self, connection: Connection | None, work: Callable[..., Value], *args: Any
        ) -> Any: ...
        def _log(self, connection: Connection, what: str) -> None: ...
        def _log_query(self, connection: Connection, kind: str, x: Value) -> None: ...
        def _notify(self, connection: Connection | None, name: str, handle: int) -> None: ...

    queries: dict[tuple[str, int], str]  # the last query of each client on a page
    keep = 0.0  # seconds for which `.h.ka` asked, in the request that is being answered

    def web(self, connection: Connection) -> Conversation | None:
        """The conversation with a client of HTTP; None, and a line in the log, if the packages for it are missing."""
        if available():
            return Http(self, connection)
        self._log(connection, MISSING)
        return None

    # ------------------------------------------------------------ who may ask

    def reads_body(self, connection: Connection, request: Request) -> bool:
        """`.z.ac` is given the text of the request as `.z.pp` is, but of a body only its first bytes."""
        if not request.brings_body or self._find(".z.ac") is None:
            return False
        self._check_site(connection, request)
        self._handled(request)
        return True

    def enter(self, connection: Connection, request: Request) -> None:
        """Refuse requests that pages of other sites make, and those of users who are not let in; `.z.ac` decides who
        is, or basic access by the file of users and `.z.pw`."""
        self._check_site(connection, request)
        if self._find(".z.ac") is not None:
            self._by_handler(connection, request)
        else:
            self._basic(connection, request)
        if not request.upgrades:  # a WebSocket has a line of its own
            self._note(connection)
        self._handled(request)

    def _check_site(self, connection: Connection, request: Request) -> None:
        hosts = self._hosts(connection) | self.network.names
        same_site.check(request, hosts, self._listed(".h.ORIGINS"))

    def _note(self, connection: Connection) -> None:
        """Write to the log that a client was let in: once for each user on a connection."""
        speaker = connection.conversation
        if isinstance(speaker, Http) and speaker.noted != connection.user:
            speaker.noted = connection.user
            self._log(connection, "open HTTP")

    def _handled(self, request: Request) -> None:
        """Refuse a request that has no handler."""
        if request.upgrades:
            if request.text != PLACE and self._find(".z.ws") is None:
                raise Refused("501 Not Implemented", ".z.ws is not set")
            return
        name = _handler(request)
        if not name:
            raise Refused("501 Not Implemented", f"method {request.method}")
        if self._find(name) is None:
            raise Refused("405 Method Not Allowed", f"{name} is not set", Allow=self._allowed())

    def _hosts(self, connection: Connection) -> set[str]:
        """The hosts that a request may name: the one of `-p`, those of .h.HOSTS, the address it came to. 0.0.0.0 is
        none: any page may send requests there, and they come to this machine."""
        hosts = self._listed(".h.HOSTS")
        if self.network.listening is not None:
            hosts.add(self.network.listening.host.lower())
        if not connection.unix:
            own = str(connection.sock.getsockname()[0])
            hosts.add(own.removeprefix("::ffff:"))
        return {host for host in hosts if host.strip("0.:")}

    def _listed(self, name: str) -> set[str]:
        """The texts that a variable lists, in small letters."""
        x = self._find(name)
        if x is None:
            return set()
        try:
            items = [x] if atom_t(x) or (x.__class__ is Vec and x.t == T.C) else seq_items(x)
            return {text_of(item).lower() for item in items}
        except QError:
            return set()

    def _by_handler(self, connection: Connection, request: Request) -> None:
        """Do what `.z.ac` says."""
        if not self.strangers.may_bring(connection, {name for name, _ in request.headers}):
            raise Refused("429 Too Many Requests", "access: there were too many new header names")
        problem = ""
        try:
            answer = self._run(connection, self._apply_name, ".z.ac", (List(_asked(request)),))
            code, text = [*seq_items(answer), NIL, NIL][:2]
            number, word = (raw(code) if atom_t(code) in (T.H, T.I, T.J) else -1), text_of(text)
        except QError as e:
            problem = e.text
        if problem:
            raise Refused("500 Internal Server Error", f".z.ac: {problem}")
        if number == 1:
            connection.user = word
        elif number == 4:
            self._basic(connection, request)
        elif number == 2:
            raise Answered(word.encode("utf-8", "surrogateescape"))
        elif number == 0:
            raise Refused("401 Unauthorized", "access", **_CHALLENGE)
        else:
            raise Refused(
                "500 Internal Server Error", f".z.ac: expected 0, 1, 2 or 4, given {code}"
            )

    def _basic(self, connection: Connection, request: Request) -> None:
        """Basic access: user and password must be those of a user; as long as there is no list of users, none are
        needed for what the same user of this machine asks, nor from a client that had to have a certificate."""
        speaker = connection.conversation
        header = request.header("authorization")
        if isinstance(speaker, Http) and speaker.known and speaker.known[0] == header:
            connection.user = speaker.known[1]
            return
        if self.delayed(connection):
            raise Refused(
                "429 Too Many Requests", "access: too many logins failed", retry_after="1"
            )
        given = login(request)
        user, password = given or ("", "")
        certified = connection.channel is not None and connection.channel.certified
        is_known = given is not None or connection.local or certified
        if not is_known or not self.admit(connection, user, password):
            raise Refused("401 Unauthorized", "access", **_CHALLENGE)
        connection.user = user
        if isinstance(speaker, Http):
            speaker.known = header, user

    # ------------------------------------------------------------ answers

    def answer(self, connection: Connection, request: Request) -> Answer | None:
        """The answer to a request, by the handler of its method; None if the connection is a WebSocket from now on."""
        if self.logs_queries:
            body = request.body[:SHOWN].decode("utf-8", "surrogateescape")
            self._log(connection, f"{request.method} {request.target} {body}".rstrip())
        if request.upgrades:
            self._upgrade(connection, request)
            return None
        own = page(request)
        if own is not None:
            return Answer(own, KEEP if request.keeps else 0.0)
        self.keep, problem = 0.0, ""
        try:
            data = self._run(connection, self._answer, request)
        except QError as e:
            problem = e.text
        if problem:
            return Answer(response("500 Internal Server Error", problem))
        stays = request.keeps and parts(data).ends
        return Answer(data, self.keep if stays else 0.0)

    def _answer(self, request: Request) -> bytes:
        """The result of the handler of a request."""
        return data_of(self._apply_name(_handler(request), (asked(request),)))

    # ------------------------------------------------------------ WebSockets

    def _upgrade(self, connection: Connection, request: Request) -> None:
        """Make a connection a WebSocket, and call `.z.wo`; or let the training page watch."""
        if request.text == PLACE:
            self._watch(connection, request)
            return
        data, frames, packed = accepted(request)
        self.network.send(connection, data)
        self.begin(connection, frames, packed)
        self._notify(connection, ".z.wo", connection.handle)

    def begin(self, connection: Connection, frames: Any, packed: bool) -> None:
        """A connection is a WebSocket: it is a handle of q from now on."""
        connection.conversation = WebSocket(self, connection, frames)
        connection.open, connection.packed, connection.greeted = True, packed, True
        self.network.add(connection)
        self._log(connection, "open websocket")

    def websocket_message(self, connection: Connection, x: Value) -> None:
        """Call `.z.ws`; its error is shown on the console."""
        self._log_query(connection, "websocket", x)
        self._call(connection, self._apply_name, ".z.ws", (x,))

    def websocket_gone(self, connection: Connection) -> None:
        """Call `.z.wc`; the handle is no longer a connection."""
        self._notify(None, ".z.wc", connection.handle)

    # ------------------------------------------------------------ the page of the training

    def _watch(self, connection: Connection, request: Request) -> None:
        """Let a page watch the training. Its queries may change something only if the port allows that to clients,
        and its user is the one of this process or has logged in."""
        data, frames, _ = accepted(request)
        own = peer.trusted(connection.owner)
        connection.reads = connection.reads or self.read_only or not (own or connection.user)
        self.network.send(connection, data)
        connection.conversation = Watch(self, connection, frames)
        connection.open = True
        self.network.time(connection)
        self._log(connection, "open training page")

    def training(self, connection: Connection, what: str, seen: dict[str, int]) -> dict[str, Any]:
        """What the k-api tells a page of the training."""
        return dict(self.session.handle(told, what, seen))

    def query(self, connection: Connection, text: str) -> str:
        """The console's text of the value of a query of a page."""
        self._log_query(connection, "training page", string(text))
        return str(self._run(connection, self._shown, text))

    def _shown(self, text: str) -> str:
        value = registry.known("verb", "value").fns[1](string(text))
        return "" if value is NIL else self.session.show(value)

    # ------------------------------------------------------------ texts

    def _allowed(self) -> str:
        others = _OTHERS if self._find(".z.pm") is not None else ()
        return ", ".join(
            [method for method, name in _HANDLERS.items() if self._find(name)] + [*others]
        )


def _handler(request: Request) -> str:
    """The name of the handler of a request; empty if its method has none."""
    return ".z.pm" if request.method in _OTHERS else _HANDLERS.get(request.method, "")


def asked(request: Request) -> Value:
    """The argument of a handler; a method without a handler of its own comes first."""
    given = _asked(request)
    return List([sym(request.method), *given] if request.method in _OTHERS else given)


def _asked(request: Request) -> list[Value]:
    """The target without its slash and, behind a blank, the body; the headers."""
    text = request.text.encode("ascii")
    if request.method not in ("GET", "HEAD", "OPTIONS", "DELETE") or request.body:
        text = b" ".join((text, request.body))
    headers: dict[str, str] = {}
    for name, value in request.headers:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    named = Dict(sym_vec(list(headers)), List([string(value) for value in headers.values()]))
    return [string(text), named]


class Answered(Refused):
    """A request that `.z.ac` has answered itself."""

    def __init__(self, data: bytes) -> None:
        super().__init__("by .z.ac", "access")
        self._data = data

    @property
    def data(self) -> bytes:
        return self._data
