"""Who may connect: the rules of a port, and the delays after logins that failed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from kshell.ipc import peer
from kshell.ipc.connection import Connection
from kshell.ipc.users import Token, Users

FAILURES = 3  # from this many on, the next login of the same peer has to wait
DELAY = 1.0  # seconds that it waits
FORGOTTEN = 60.0  # seconds after which failures are forgotten
PEERS = 10_000  # maximum peers whose failures are kept


class Answer(Enum):
    """The answer of the rules to a login; the text of a refusal says why."""

    YES = "yes"
    ASK = "if .z.pw agrees"
    NO = "access"
    UNSAFE = "access: a password without TLS from another machine"
    NAME = "access: the user name is too long, or there were too many new ones"


@dataclass
class Rules:
    """The rules from the command line. `is_open` lets everyone who reaches the port in without a password,
    `plain` takes passwords from other machines without TLS."""

    users: Users | None = None
    token: Token | None = None
    is_open: bool = False
    plain: bool = False

    @property
    def guarded(self) -> bool:
        """Do other machines need a password, or was it asked for that they do not?"""
        return self.is_open or self.users is not None or self.token is not None


class Gate:
    """Decides about logins by the rules."""

    def __init__(self) -> None:
        self.rules = Rules()
        self._failures: dict[str, tuple[int, float]] = {}  # by peer: number, time of the last

    def answer(
        self, connection: Connection, user: str, password: str, asks: bool, certified: bool = False
    ) -> Answer:
        """May this user connect? `asks`: is there a `.z.pw`? `certified`: did the client need a certificate?"""
        rules = self.rules
        protected = connection.local or connection.secure or rules.plain
        if password and not protected:
            return Answer.UNSAFE
        if rules.token is not None and rules.token.is_password(password):
            return Answer.YES
        if rules.users is not None:
            known = rules.users.admits(user, password)
            return (Answer.ASK if asks else Answer.YES) if known else Answer.NO
        if asks:
            return Answer.ASK
        free = rules.is_open or certified or peer.trusted(connection.owner)
        return Answer.YES if free else Answer.NO

    def note(self, connection: Connection, admitted: bool) -> None:
        """Note how a login ended."""
        if admitted and not self._failures:
            return
        who, now = _who(connection), time.monotonic()
        if admitted:
            self._failures.pop(who, None)
            return
        number, last = self._failures.pop(who, (0, now))
        self._failures[who] = (number + 1 if now - last < FORGOTTEN else 1), now
        if len(self._failures) > PEERS:
            del self._failures[next(iter(self._failures))]

    def delayed(self, connection: Connection) -> bool:
        """Must the login of a peer wait, because its last ones failed?"""
        if not self._failures:
            return False
        number, last = self._failures.get(_who(connection), (0, 0.0))
        return number >= FAILURES and time.monotonic() < last + DELAY


def _who(connection: Connection) -> str:
    """The user of a connection from this machine, the address of another one."""
    return f"user {connection.owner}" if connection.owner is not None else connection.host
