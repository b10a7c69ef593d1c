"""The conversation in q's own protocol: requests, answers and asynchronous messages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kshell.ipc import conversation, wire

if TYPE_CHECKING:
    from kshell.ipc.connection import Connection
    from kshell.values.base.core import Value

BAD = 1 << 20  # bytes of a bad message that .z.bm is given


class Messages(conversation.Quiet):
    """Messages of q, after the login."""

    letter = "q"

    def handle(self) -> bool:
        """Handle the messages that came in, up to a turn's share; are there more?"""
        connection, network = self.connection, self.network
        incoming = connection.incoming
        end = time.monotonic() + conversation.TURN_TIME
        for _ in range(conversation.TURN_MESSAGES):
            try:
                data = incoming.message() if incoming.buffer else None
                if data is None:
                    if connection.ended:
                        network.lost(connection, connection.fault or "close")
                    return False
                network.protocol.message(connection, data)
            except wire.BadMessage as e:
                network.protocol.bad(connection, bad_bytes(connection, e))
                network.lost(connection, f"badmsg: {e}")
                return False
            if connection.closed:
                return False
            if time.monotonic() > end:
                break
        return True

    def due(self) -> float | None:
        """A message that has begun must go on."""
        connection = self.connection
        return connection.since + conversation.STALLED if connection.incoming.buffer else None

    def overdue(self) -> None:
        self.network.lost(self.connection, "message not complete in time")

    def gone(self) -> None:
        self.network.protocol.gone(self.connection)

    def encoded(self, x: Value) -> bytes:
        connection = self.connection
        return wire.message(wire.ASYNC, x, connection.capability, connection.packed)


def bad_bytes(connection: Connection, problem: wire.BadMessage) -> bytes:
    """The start of what came in on a connection and is no message."""
    return bytes(problem.data[:BAD]) or connection.incoming.starts(BAD)
