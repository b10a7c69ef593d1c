"""The log of a port: as a table, in a file, on standard error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kshell.ipc import log
from kshell.session import Session
from kshell.values.base.build import string as text
from tests.ipc.processes import Client, Server, eventually
from tests.ipc.test_http import basic
from tests.ipc.test_training_page import ask
from tests.ipc.test_websocket import BytesMessage, Talk, TextMessage
from tests.ipc.web import reply
from tests.support import warm


def test_the_events_as_a_table() -> None:
    session = Session()
    assert session.run('count system"portlog"') == 0
    port = session.listen()
    client = Client(port, b"")
    client.socket.sendall(b"me\x1b[2J:pw\x06\0")
    session.serve(0.1)
    client.socket.sendall(b"\7" * 20)
    session.serve(0.1)
    session.run('t:system"portlog"')
    assert session.show(session.run("cols t")) == "`time`handle`peer`user`event"
    assert session.show(session.run("type each t`time`handle")) == "12 6h"
    assert session.run("(exec event from t)[1]~\"open\"") is True
    assert session.run("all(exec time from t)within .z.p+-00:01 00:01") is True
    assert session.show(session.run("(exec user from t)1")) == '"me\\\\x1b[2J"'
    assert session.run('(last exec event from t)like"badmsg*"') is True
    assert session.run('(exec peer from t)[1]like"127.0.0.1:*"') is True
    session.listen(0)


def test_only_the_last_events_are_kept() -> None:
    events = log.Log()
    for k in range(log.MOST + 5):
        events.add(f"event {k}")
    assert len(events.table()) == log.MOST
    assert events.events[0].what == "event 5"


def test_queries_are_written_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Server(tmp_path, "", ("--log", str(path), "--log-queries")) as server:
        client = Client(server.port, b"me:secret\x06\0")
        client.ask(text("1+1"))
        client.ask(text("count" + '"' + "x" * 3000 + '"'))
        client.send(0, text("a:\n1"))
        client.ask(text("(+;2;3)"))
        assert eventually(lambda: "(+;2;3)" in path.read_text())
    lines = path.read_text().splitlines()
    assert any(line.endswith(" me sync 1+1") for line in lines)
    assert any(line.endswith("async a:\\x0a1") for line in lines)
    assert max(map(len, lines)) < 1200 and "secret" not in path.read_text()


def test_limits_are_written(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Server(tmp_path, "", ("--log", str(path), "-T", "1", "-w", "500"), by=subprocess.Popen) as server:
        client = Client(server.port)
        with pytest.raises(ValueError, match="stop"):
            client.ask(text("while[1b;1]"))
        big = Client(server.port)
        big.socket.sendall(b"\1\1\0\0\xff\xff\xff\xff")
        assert big.ended()
        long = Client(server.port, b"")
        long.socket.sendall(b"x" * (1 << 17))
        assert long.ended()
        assert eventually(lambda: "nothing ends within" in path.read_text())
    written = path.read_text()
    assert "stopped after 1 seconds" in written and "4294967295 bytes, the limit is " in written


def test_the_log_on_standard_error(tmp_path: Path) -> None:
    process = warm.Process(
        [sys.executable, "-m", "kshell", "-q", "--log", "-", "-p", "0W"], stdin=warm.PIPE, stderr=warm.PIPE, cwd=tmp_path
    )
    assert process.stderr is not None
    assert " - - listen localhost:" in process.stderr.readline()
    process.communicate("exit 0\n", timeout=20)


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    with Server(tmp_path, "", ("--log", "/dev/full")) as server:
        client = Client(server.port)
        assert client.ask(text("1+1")) == 2
        assert client.ask(text('sum(exec event from system"portlog")like"the log: No space left*"')).v == 1  # said once
        assert server.end() == ""


def test_a_log_that_can_be_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = log.Log()
    events.open(str(tmp_path / "log"))
    raw = events._file
    for what, file in (("one", raw), ("two", sys.__stdin__), ("three", sys.__stdin__), ("four", raw), ("five", sys.__stdin__)):
        events._file = file
        events.add(what)
    assert [line.split()[-1] for line in (tmp_path / "log").read_text().splitlines()] == ["one", "four"]
    assert [event.what.startswith("the log: ") for event in events.events] == [False, False, True, False, False, False, True]


def test_the_log_is_private_and_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("before\n")
    path.chmod(0o644)
    events = log.Log()
    events.open(str(path))
    events.add("é\ud800 €", user="ann")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().startswith(b"before\n") and path.read_bytes().endswith(" - ann é\\xd800 €\n".encode())


def test_a_refusal_hides_others_for_a_second_only(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("kshell.ipc.log.time.time", lambda: now[0])
    events = log.Log()
    for _ in range(10):
        events.add("access", 5, "1.2.3.4:9", "bob")
        now[0] += 0.9
    assert len(events.events) == 5


def test_what_browsers_send_is_written_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "log"
    script = '.z.ws:{neg[.z.w]x}\n.z.pp:{.h.hy[`txt;"ok"]}\n'
    with Server(tmp_path, script, ("--log", str(path), "--log-queries")) as server:
        assert reply(server.port, "GET", "/?1%2B1", headers=basic("ann:secret"))[0] == 200
        assert reply(server.port, "POST", "/p", b"some\nbody")[0] == 200
        assert reply(server.port, "POST", "/long", b"x" * 5000)[0] == 200
        talk = Talk(server.port)
        for message in (TextMessage("said"), BytesMessage(b"\x00\x01")):
            talk.say(message)
            talk.event()
        page = Talk(server.port, "/train")
        ask(page, "1+2")
        talk.close()
        page.close()
    lines = path.read_text().splitlines()
    for peer, user, what in (("127.0.0.1:", "ann", "GET /?1%2B1"), ("127.0.0.1:", "-", "POST /p some\\x0abody"), ("127.0.0.1:", "-", "websocket said"),
                             ("127.0.0.1:", "-", "websocket 0x0001"), ("127.0.0.1:", "-", "training page 1+2"), ("127.0.0.1:", "-", "open websocket"),
                             ("127.0.0.1:", "-", "open training page"), ("127.0.0.1:", "ann", "open HTTP"), ("127.0.0.1:", "-", "open HTTP")):  # fmt: skip
        assert any(line.split(" ", 2)[2].startswith(peer) and line.endswith(f" {user} {what}") for line in lines), what
    assert max(map(len, lines)) < 1200 and "secret" not in path.read_text()


def test_without_being_asked_nothing_that_browsers_send_is_written(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Server(tmp_path, "", ("--log", str(path))) as server:
        assert reply(server.port, "GET", "/?1%2B1")[0] == 200
    assert "1%2B1" not in path.read_text() and "open HTTP" in path.read_text()
