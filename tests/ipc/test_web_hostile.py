"""Clients that send noise: whatever comes, the process goes on, others are answered, and no handler runs."""

from __future__ import annotations

import os
import random

import pytest

from tests.ipc.processes import eventually
from tests.ipc.test_websocket import Talk, frame
from tests.ipc.web import Raw, reply, serving

wsproto_events = pytest.importorskip("wsproto.events")

VALID = b"POST /a?b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nAccept-Encoding: gzip\r\nX: y\r\n\r\nhello"
CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"


def damaged(data: bytes, dice: random.Random) -> bytes:
    """The data with some bytes changed, cut out, put in or repeated; how it begins stays, so that it is HTTP."""
    made = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(5, len(made))
        kind = dice.randrange(4)
        if kind == 0:
            made[at] = dice.randrange(256)
        elif kind == 1:
            del made[at : at + dice.randint(1, 20)]
        elif kind == 2:
            made[at:at] = bytes(dice.randrange(256) for _ in range(dice.randint(1, 8)))
        else:
            made[at:at] = made[max(5, at - 30) : at]
        if len(made) < 7:
            made += b"0123456789"
    return bytes(made)


def test_damaged_requests() -> None:
    dice = random.Random(5)
    with serving('.z.ac:{(0;"")}', ".z.ph:.z.pp:.z.pm:{ran::1}") as (session, port):
        for i in range(300):
            raw = Raw(port)
            raw.socket.settimeout(0.02)
            try:
                raw.send(damaged(CHUNKED if i % 2 else VALID, dice))
                raw.all()
            except (TimeoutError, ConnectionError, BrokenPipeError):
                pass
            raw.close()
        assert session.run("`ran in key`.") is False
        assert reply(port, "GET", "/")[0] == 401


def test_damaged_frames() -> None:
    dice = random.Random(6)
    with serving(".z.ws:{got::x}", "got:0") as (session, port):
        for i in range(150):
            talk = Talk(port, deflate=bool(i % 2))
            whole = talk.state.send(wsproto_events.TextMessage("some text é " * 20)) + frame(2, os.urandom(40))
            data = bytearray(whole)
            for _ in range(dice.randint(1, 5)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            try:
                talk.raw.send(bytes(data[: dice.randint(1, len(data))]))
            except OSError:
                pass
            talk.close()
        talk = Talk(port)
        talk.say(wsproto_events.TextMessage("last"))
        assert eventually(lambda: session.run('got~"last"') is True)
        assert eventually(lambda: session.run("count .z.H") == 1)  # the others have ended
        talk.close()
        assert eventually(lambda: session.run("count .z.H") == 0)


def test_many_that_never_finish() -> None:
    with serving('.z.ph:{.h.hy[`txt;"ok"]}') as (_, port):
        half = [Raw(port, VALID[:cut]) for cut in range(5, len(VALID), 1)]
        assert reply(port, "GET", "/") == (200, b"ok")
        for raw in half:
            raw.close()
        assert reply(port, "GET", "/") == (200, b"ok")
