"""The conversation with one page that shows the training: it is told the state again and again, and asks queries."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from typing import Protocol as Protocol_

from kshell import registry
from kshell.errors import QError
from kshell.ipc.web.websocket import Receiver, WebSocket
from kshell.values.base.build import string
from kshell.values.base.core import Value, text_of

if TYPE_CHECKING:
    from kshell.ipc.connection import Connection

EVERY = 1.0  # seconds between two states
SHARE = 20  # a state that takes long comes more rarely: this many times what it took passes until the next
ANSWER = 1 << 16  # characters of the answer to a query
EVENTS = 50  # last events of the log


class Host(Receiver, Protocol_):
    """The source of what the page shows."""

    def training(self, connection: Connection, what: str, seen: dict[str, int]) -> dict[str, Any]:
        """What the handler of the k-api says; QError if that cannot be told."""

    def query(self, connection: Connection, text: str) -> str:
        """The console's text of the value of a query; QError if it fails."""


class Watch(WebSocket):
    """One page that watches. It is no handle of q."""

    letter = ""

    def __init__(self, host: Host, connection: Connection, frames: Any) -> None:
        super().__init__(host, connection, frames)
        self.host = host
        self._seen: dict[str, int] = {}
        self._next = time.monotonic()
        self._watching = False  # is the k-api there, and does it keep losses for us?

    def due(self) -> float:
        return min(self._next, super().due() or self._next)

    def overdue(self) -> None:
        if time.monotonic() < self._next:
            super().overdue()
            return
        start = time.monotonic()
        if not self.connection.outgoing:  # a page that does not read is told nothing more
            self.say({"kind": "state", **self._state()})
        now = time.monotonic()
        self._next = now + max(EVERY, SHARE * (now - start))

    def _state(self) -> dict[str, Any]:
        """The live objects, the end of the log, and whether queries may change anything."""
        if not self._watching and registry.find("handler", "training") is not None:
            self._watching = True
            self._tell("watch")
        events = list(self.network.log.events)[-EVENTS:]
        log = [{"at": e.at, "handle": e.handle, "user": e.user, "what": e.what} for e in events]
        return {
            "at": time.time(),
            "reads": self.connection.reads,
            "log": log,
            **self._tell("state"),
        }

    def _tell(self, what: str) -> dict[str, Any]:
        try:
            return self.host.training(self.connection, what, self._seen)
        except QError as e:
            return {"problem": e.text}

    def say(self, message: dict[str, Any]) -> None:
        """Send a message to the page."""
        self.network.send(self.connection, self.encoded(string(json.dumps(message))))

    def received(self, x: Value) -> None:
        """A message of the page: a query, which is answered under its number. Anything else is ignored."""
        asked = _parsed(x)
        number, text = asked.get("number"), asked.get("query")
        if number.__class__ is not int or text.__class__ is not str:
            return
        try:
            answer, failed = self.host.query(self.connection, text), False
        except QError as e:
            answer, failed = f"'{e.text}", True
        if not self.connection.closed:
            self.say(
                {"kind": "answer", "number": number, "text": answer[:ANSWER], "failed": failed}
            )

    def gone(self) -> None:
        return None

    def over(self) -> None:
        if self._watching:
            self._watching = False
            self._tell("leave")


def _parsed(x: Value) -> dict[str, Any]:
    """The JSON object in a message; empty if there is none."""
    try:
        found = json.loads(text_of(x))
    except (ValueError, RecursionError, QError):
        return {}
    return found if isinstance(found, dict) else {}


def told(what: str, seen: dict[str, int]) -> dict[str, Any]:
    """What the k-api tells of the training; nothing before it is loaded."""
    entry = registry.find("handler", "training")
    return {} if entry is None else dict(entry.fns[2](what, seen))
