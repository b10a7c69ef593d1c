"""The conversation on one connection, in the protocol that its first bytes chose."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from typing import Protocol as Protocol_

if TYPE_CHECKING:
    from kshell.ipc.connection import Connection
    from kshell.ipc.network import Network
    from kshell.values.base.core import Value

TURN_MESSAGES, TURN_TIME = 64, 0.02  # of one connection in one turn: messages, seconds
STALLED = 60.0  # seconds without progress after which what has begun is given up
LINGER = 2.0  # seconds that the other side has to close after the last answer


class Conversation(Protocol_):
    """A protocol on one connection: the network reads its bytes and writes them, this gives them a meaning."""

    letter: str  # what -38! says: q, or w for WebSockets; empty if it is no handle of q
    takes_turns: bool  # is nothing that comes in handled while an answer waits to be sent?

    def handle(self) -> bool:
        """Handle what came in, up to a turn's share; is there more?"""

    def due(self) -> float | None:
        """When something must happen if nothing comes in, in seconds of the monotonic clock."""

    def overdue(self) -> None:
        """That time has come."""

    def drained(self) -> None:
        """All that was queued is written."""

    def gone(self) -> None:
        """The other side ended the connection, which was open, or it ended because of a fault of the other side."""

    def over(self) -> None:
        """The conversation ends, whoever ended it."""

    def encoded(self, x: Value) -> bytes:
        """The bytes that send a value without waiting for an answer; 'type if it cannot be sent."""

    def goodbye(self) -> bytes:
        """The bytes that end the conversation, if the protocol has any."""


class Quiet:
    """A conversation that sends and expects nothing; others say what is different."""

    letter = ""
    takes_turns = False

    def __init__(self, network: Network, connection: Connection) -> None:
        self.network, self.connection = network, connection
        self._queued, self._wrote = 0, 0.0  # bytes that wait to be written, and since when as many

    def untaken(self) -> float:
        """Until when the other side has to take some of what is queued."""
        if self.connection.queued != self._queued:
            self._queued, self._wrote = self.connection.queued, time.monotonic()
        return self._wrote + STALLED

    def due(self) -> float | None:
        return None

    def overdue(self) -> None:
        return None

    def drained(self) -> None:
        return None

    def gone(self) -> None:
        return None

    def over(self) -> None:
        return None

    def encoded(self, x: Value) -> bytes:
        raise NotImplementedError

    def goodbye(self) -> bytes:
        return b""


class Farewell(Quiet):
    """The end of a conversation whose last answer is on its way: what comes in is thrown away until the other side
    closes, so that the answer is not lost with it."""

    def __init__(self, network: Network, connection: Connection, why: str) -> None:
        super().__init__(network, connection)
        self.why, self._end = why, time.monotonic() + LINGER

    def handle(self) -> bool:
        incoming = self.connection.incoming
        incoming.take(len(incoming))
        if self.connection.ended and not self.connection.outgoing:
            self.network.drop(self.connection, self.why)
        return False

    def due(self) -> float | None:
        return self.untaken() if self.connection.outgoing else self._end

    def overdue(self) -> None:
        late = "answer not taken in time" if self.connection.outgoing else ""
        self.network.drop(self.connection, late or self.why)

    def drained(self) -> None:
        self._end = time.monotonic() + LINGER
        self.connection.finish()
        self.network.time(self.connection)
