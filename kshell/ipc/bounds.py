"""Limits on what the messages of one connection may use of this process."""

from __future__ import annotations

from collections.abc import Collection

from kshell.errors import QError
from kshell.ipc import wire
from kshell.ipc.connection import Connection
from kshell.values.base.core import Value
from kshell.values.base.symbols import POOL, SYMBOLS
from kshell.values.session import memory

NEW_SYMBOLS = 10_000_000  # that one connection may bring: a symbol is kept as long as the process
NAME = 256  # maximum bytes of the name of a user or a header
STRANGERS = 100_000  # new symbols that all clients together may bring before they are let in


def room() -> int:
    """The bytes that a message may have: what `-w`, or else the machine, leaves."""
    return min(memory.left(), memory.physical())


class _Room:
    """The memory that is left for the values of a message."""

    def __init__(self) -> None:
        self.left = memory.left()

    def need(self, n: int) -> None:
        """A value needs n bytes: 'wsfull if they are not there."""
        self.left -= n
        if self.left < 0:
            raise QError("wsfull")


def value(connection: Connection, data: bytes | bytearray) -> Value:
    """The value in a message that came on a connection, as `wire.value`; 'wsfull if it would need more memory than is
    left, BadMessage if the connection has brought more new symbols than it may."""
    is_small = len(data) < wire.SMALL and not data[2]
    known = len(SYMBOLS)
    try:
        try:
            return wire.value(data, None if is_small else _Room().need)
        finally:
            connection.symbols += len(SYMBOLS) - known
            if connection.symbols > NEW_SYMBOLS:
                raise wire.BadMessage(f"more than {NEW_SYMBOLS} new symbols")
    except wire.BadMessage as e:
        e.data = data
        raise


class Strangers:
    """The names that clients bring before they are let in. q code is given them as symbols, which are kept as long as
    the process; so there is a limit for all of them together, after which only known names are taken."""

    def __init__(self) -> None:
        self._new = 0

    def may_bring(self, connection: Connection, names: Collection[str]) -> bool:
        """May a client bring these names? If so, they count."""
        if any(len(name.encode("utf-8", "surrogateescape")) > NAME for name in names):
            return False
        new = sum(name not in POOL for name in names)
        if new and self._new + new > STRANGERS:
            return False
        self._new += new
        connection.symbols += new
        return True
