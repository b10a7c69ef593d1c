"""Messages whose bytes were changed: through a stream and the decoder, and sent to a port."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.ipc import wire
from kshell.session import Session
from kshell.values.session import context
from tests.ipc.processes import Client, Server, eventually
from tests.ipc.test_wire import VALUES
from tests.store.test_atomic import mutated, status

LIMIT = 1 << 16  # bytes of one message


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    token = context.enter(session)
    yield session
    context.leave(token)


def messages(session: Session) -> list[bytes]:
    """Whole messages of every form, plain and compressed."""
    values = [session.run(text) for text in VALUES]
    long = [session.run(text) for text in ("1000#til 10", "200#([]a:1 2;b:`x`y)", "500#enlist\"text\"")]
    return [*(wire.message(wire.SYNC, x) for x in values), *(wire.message(wire.ASYNC, x, 3, packed=True) for x in long),
            wire.error("type")]


@pytest.mark.parametrize("n", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_changed_messages_are_values_or_bad(session: Session, n: int) -> None:
    """Each is a value, an error of q, or a bad message; nothing else happens and nothing stays."""
    rng = random.Random(n)
    good = messages(session)
    before, outcomes = status("VmRSS"), Counter[str]()
    for i in range(n):
        stream = wire.Stream(LIMIT)
        stream.feed(mutated(rng, rng.choice(good)))
        try:
            whole = stream.message()
            outcomes["part" if whole is None else "value" if wire.value(whole) is not None else "none"] += 1
        except (wire.BadMessage, wire.Remote, QError) as e:
            outcomes[type(e).__name__] += 1
        assert i % 1000 or session.run("1+1") == 2
    assert sum(outcomes.values()) == n and set(outcomes) >= {"part", "value", "BadMessage", "Remote"}, outcomes
    assert not outcomes["none"]
    # symbols that were read stay
    assert status("VmRSS") - before < (32 << 20) + 200 * n


@pytest.mark.parametrize("n", [300, pytest.param(20_000, marks=pytest.mark.slow)])
def test_changed_messages_end_their_connection_alone(session: Session, tmp_path: Path, n: int) -> None:
    """Sent to a port, some at a time: another client is answered all the while, and no connection stays."""
    rng = random.Random(n)
    good = messages(session)
    with Server(tmp_path, ".z.pg:{count x};.z.ps:{count x}\n", ("--log", "log")) as server:
        assert server.process.stdout is not None
        threading.Thread(target=server.process.stdout.read, daemon=True).start()  # it says a lot about bad messages
        watch = Client(server.port)
        for i in range(n // 5):
            client = Client(server.port)
            with suppress(OSError):
                for _ in range(5):
                    client.socket.sendall(mutated(rng, rng.choice(good)))
            client.close()
            assert i % 20 or watch.ask(session.run("1 2 3")) == 3
        server.say(".z.pg:value")
        assert eventually(lambda: watch.ask(session.run("\"count .z.H\"")) == 1)
        watch.close()
    lines = (tmp_path / "log").read_text().splitlines()
    assert any("bytes" in line for line in lines)
