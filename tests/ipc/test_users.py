"""Who may connect, and what those may do who are let in: users, tokens, delays, confinement, time limits."""

from __future__ import annotations

import base64
import inspect
import os
import select
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.ipc import entry, peer
from kshell.ipc.entry import Answer, Gate, Rules
from kshell.ipc.handlers import Handlers
from kshell.ipc.users import Token, Users, scrypt
from kshell.session import Session
from kshell.values.base.build import string as text
from kshell.values.session.restrict import confinement
from tests.ipc.processes import Client, Server, eventually
from tests.support import warm


def users_file(folder: Path, content: str = "me:secret\n") -> Path:
    path = folder / "users"
    path.write_text(content)
    path.chmod(0o600)
    return path


# ------------------------------------------------------------------ -u: files below the current folder, no programs


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("confined") / "inside"
    folder.mkdir()
    (folder.parent / "outside").write_text("secret\n")
    (folder / "there").write_text("1 2 3\n")
    (folder / "code.py").write_text("print('escaped')\n")
    (folder / "out").symlink_to(folder.parent / "outside")
    running = Server(folder, "a:1;.z.ph:{x}\n\\t 3600000\n", ("-u", "1"))
    yield running
    running.end()


REFUSED = [
    'system"ls"', 'value"\\\\ls"', "exit 0", "value\"\\\\\\\\\"", "hdel`:there", "hopen`:there", "hopen`:new", "hopen`:fifo://there", "read0`:../outside", "read1`:/etc/passwd",
    "read0`:out", "key`:..", "key`:/etc", "get`:/etc/passwd", "`:../new 0:enlist\"ab\"", "`:../new set 1", "`:/tmp/kshell_never set 1", "hcount`:/etc/passwd", "`:out 0:enlist\"ab\"",
    'system"cd .."', "setenv[`QUDSPATH;\"/\"]", 'system"l ../outside"', 'system"1 ../log"', "(`:../new;17;2;6)set 1", "save`:../a", "{read0`:../outside}peach 1 2", "logto`:../log",
    "ckpt`:../outside", "snapshot`:../new", "(enlist\"*\";\":\")0:`:/etc/passwd", "-19!(`:there;`:../new;17;2;6)", ".Q.fs[{x};`:/etc/passwd]",
    "read0`:/proc/self/root/etc/hostname", 'read0`$":/usr/share/zoneinfo/../../../etc/hostname"', "read1`:/proc/self/environ", "read1`:/proc/self/status",
    "(enlist\"*\";\":\")0:`:/proc/self/root/etc/passwd", '(enlist"c";enlist 1)1:(`:/proc/self/root/etc/passwd;0;5)', ".Q.fs[{x};`:/proc/self/root/etc/passwd]", "hcount`:/etc/hostname",
    "hcount`:out", 'system"l /proc/self/root/etc/passwd"', "-11!`:/proc/self/root/etc/passwd", 'system"l code.py"', "\\l code.py",
    ".z.ts:{r::1}", "`.z.exit set{r::1}", "@[`.z;`pg;:;{x}]", ".[`.z;();:;(enlist`pw)!enlist{[u;p]1b}]", "`.z upsert`ps`pc!(value;value)", ".z.vs:{r::x}",
    'system"d .z";value"ts:{r::1}"', 'system"d .z";value"ts[`a]:1"', 'system"d .z";value"{ts::x}1"', "delete ph from`.z", 'system"x .z.ph"', ".z.ph,:1", 'system"t 100"', "\\t 0",
]  # fmt: skip


@pytest.mark.parametrize("line", REFUSED)
def test_what_confined_clients_may_not_do(confined: Server, line: str) -> None:
    client = Client(confined.port)
    with pytest.raises(ValueError, match=r"^access: "):
        client.ask(text(line))
    client.close()


def test_what_confined_clients_may_do(confined: Server) -> None:
    client = Client(confined.port)
    assert client.ask(text("a:2;a+1")) == 3
    assert client.ask(text("count read0`:there")) == 1
    assert client.ask(text("`:new set 1 2;get[`:new]~1 2")) is True
    assert client.ask(text("`:t/ set([]v:1 2);exec sum v from get`:t/")) == 3
    assert client.ask(text('.z.zd:17 2 6;delete zd from`.z;system"t til 3"')) >= 0  # type: ignore[operator]
    assert client.ask(text('system"P 5";6h=type system"P"')) is False
    confined.say('-1 system"echo hello";')  # the console may
    assert confined.line() == "hello"
    client.close()


def test_a_snapshot_brings_confined_clients_no_callbacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session()
    session.run(".z.ts:{r::1};a:1;b:2;system\"t 60000\";snapshot`:all;system\"t 0\";system\"x .z.ts\";a:5")
    with confinement(), pytest.raises(QError, match=r"^access: \.z"):
        session.run("resume`:all")
    session.run("snapshot`:timeless;system\"t 60000\"")
    with confinement(), pytest.raises(QError, match=r"^access: \\t"):
        session.run("resume`:timeless")
    assert session.run("a") == 5 and session.names.find(".z.ts") is None and session.timer.interval == 60000


def test_confined_clients_bring_no_python_code(tmp_path: Path) -> None:
    """What a client writes is not what kshell imports later, although Python looks in the current folder first."""
    (tmp_path / "show.py").write_text("import sys\nprint(sum(folder in ('', sys.argv[-1].rpartition('/')[0]) for folder in sys.path))\n")
    with Server(tmp_path, "\\l show.py\n", ("-u", "1")) as server:
        assert server.line() == "0"


# ------------------------------------------------------------------ -u FILE, -U FILE, \u


def test_u_with_a_file_is_both(tmp_path: Path) -> None:
    with Server(tmp_path, "", ("-u", str(users_file(tmp_path)))) as server:
        assert Client(server.port, b"me:wrong\x06\0").capability == b""
        client = Client(server.port, b"me:secret\x06\0")
        with pytest.raises(ValueError, match="access"):
            client.ask(text('system"ls"'))
        assert client.ask(text("x:1;x")) == 1


def test_every_rule_can_be_set_from_python() -> None:
    rules = {name: p.default for name, p in inspect.signature(Session.restrict_clients).parameters.items()}
    assert rules == {name: p.default for name, p in inspect.signature(Handlers.restrict).parameters.items()}
    session = Session()
    session.restrict_clients(**{name: True for name, default in rules.items() if default is False})
    port = session.ipc
    assert (port.read_only, port.confined, port.logs_queries, port.gate.rules.is_open, port.gate.rules.plain) == (True,) * 5
    session.end_ipc()


def test_the_file_is_read_again(tmp_path: Path) -> None:
    path = users_file(tmp_path)
    session = Session()
    session.restrict_clients(users=str(path))
    rules = session.ipc.gate.rules
    assert rules.users.admits("me", "secret") and not rules.users.admits("you", "other")
    users_file(tmp_path, "you:other\n")
    session.run("\\u")
    assert rules.users.admits("you", "other") and not rules.users.admits("me", "secret")
    path.chmod(0o622)
    with pytest.raises(QError, match="can be written by others"):
        session.run("\\u")
    assert rules.users.admits("you", "other")


@pytest.mark.parametrize("words", [("-u", "1", "-U", "f"), ("-U", "f", "-u", "f"), ("-u", "f", "-u", "1"), ("-u",)])
def test_u_excludes_the_other_u(words: tuple[str, ...]) -> None:
    done = warm.run([sys.executable, "-m", "kshell", *words], stdin=warm.DEVNULL, capture_output=True)
    assert done.returncode == 2 and "-u" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("password", ["$scrypt$AAAA$AAAA", "5ebe2294ecd0e0f08eab7690d2a6ee69", "secret", ""])
def test_passwords_of_a_file(tmp_path: Path, password: str) -> None:
    users = Users(str(users_file(tmp_path, f"me:{password}\n")))
    assert users.admits("me", "secret") == (password in ("secret", "5ebe2294ecd0e0f08eab7690d2a6ee69"))
    assert users.admits("me", "") == (not password)


# ------------------------------------------------------------------ tokens


def test_a_token_lets_any_user_in(tmp_path: Path) -> None:
    path, users = tmp_path / "token", users_file(tmp_path)
    with Server(tmp_path, "", ("--token", str(path), "-U", str(users))) as server:
        assert path.stat().st_mode & 0o777 == 0o600
        token = path.read_bytes().strip()
        assert len(token) >= 43  # 32 bytes as text
        client = Client(server.port, b"anyone:" + token + b"\x06\0")
        assert client.ask(text("string .z.u")).a.tobytes() == b"anyone"  # type: ignore[union-attr]
        assert Client(server.port, b"anyone:" + token[:-1] + b"\x06\0").capability == b""
        assert Client(server.port, b"me:secret\x06\0").capability == b"\x06"


def test_a_token_is_kept_and_must_be_secret(tmp_path: Path) -> None:
    path = str(tmp_path / "token")
    Token(path)
    first = Path(path).read_text()
    assert Token(path).is_password(first.strip()) and not Token(path).is_password("")
    Path(path).chmod(0o640)
    with pytest.raises(QError, match="can be read by others"):
        Token(path)
    Path(path).chmod(0o600)
    Path(path).write_text("\n")
    with pytest.raises(QError, match="expected a token"):
        Token(path)


# ------------------------------------------------------------------ the rules


class Peer:
    """What the rules look at of a connection."""

    def __init__(self, local: bool = True, secure: bool = False) -> None:
        self.local, self.secure, self.owner = local, secure, None


@pytest.mark.parametrize(
    ("rules", "local", "secure", "own", "password", "asks", "expected"),
    [
        ({}, True, False, True, "", False, Answer.YES),
        ({}, True, False, False, "", False, Answer.NO),
        ({}, True, False, False, "x", True, Answer.ASK),
        ({}, False, False, False, "", False, Answer.NO),
        ({}, False, False, False, "", True, Answer.ASK),
        ({}, False, False, False, "x", True, Answer.UNSAFE),
        ({}, False, True, False, "x", True, Answer.ASK),
        ({"plain": True}, False, False, False, "x", True, Answer.ASK),
        ({"is_open": True}, False, False, False, "", False, Answer.YES),
        ({"is_open": True}, True, False, False, "", False, Answer.YES),
        ({"is_open": True}, False, False, False, "x", False, Answer.UNSAFE),
        ({"users": True}, True, False, True, "", False, Answer.NO),
        ({"users": True}, True, False, False, "secret", False, Answer.YES),
        ({"users": True}, True, False, False, "secret", True, Answer.ASK),
        ({"users": True, "is_open": True}, True, False, False, "", False, Answer.NO),
        ({"users": True}, False, True, False, "secret", False, Answer.YES),
        ({"users": True}, False, False, False, "secret", False, Answer.UNSAFE),
    ],
)
def test_rules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rules: dict[str, bool], local: bool, secure: bool, own: bool, password: str, asks: bool, expected: Answer
) -> None:
    monkeypatch.setattr(peer, "trusted", lambda user: own)
    gate = Gate()
    given = Users(str(users_file(tmp_path))) if rules.pop("users", False) else None
    gate.rules = Rules(users=given, **rules)
    assert gate.answer(Peer(local, secure), "me", password, asks) is expected  # type: ignore[arg-type]


def test_after_three_failures_the_next_login_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "DELAY", 0.4)
    session = Session()
    session.restrict_clients(users=str(users_file(tmp_path)))
    port = session.listen()

    def tried(password: bytes) -> float:
        client, start = Client(port, b""), time.monotonic()
        client.socket.sendall(b"me:" + password + b"\x06\0")
        while time.monotonic() < start + 5 and not select.select([client.socket], [], [], 0)[0]:
            session.serve(0.02)
        assert client.socket.recv(1) == (b"\x06" if password == b"secret" else b"")
        return time.monotonic() - start

    assert all(tried(b"wrong") < 0.3 for _ in range(3))
    assert tried(b"wrong") > 0.3
    assert tried(b"secret") > 0.3
    assert tried(b"secret") < 0.3  # the failures are forgotten
    session.listen(0)


def test_a_login_that_waits_takes_no_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes behind a login that has to wait is bounded, and does not let it pass."""
    monkeypatch.setattr(entry, "DELAY", 30.0)
    session = Session()
    session.restrict_clients(users=str(users_file(tmp_path)))
    port = session.listen()
    for _ in range(3):
        failed = Client(port, b"")
        failed.socket.sendall(b"me:wrong\x06\0")
        session.serve(0.1)
        assert failed.ended()
    waiting = Client(port, b"")
    waiting.socket.sendall(b"me:secret\x06\0" + bytes(1 << 17))
    session.serve(0.2)
    assert waiting.ended()
    assert any("bad login" in event.what for event in session.ipc.network.log.events)
    session.listen(0)


def test_addresses_that_others_reach_are_open_only_if_asked_for(tmp_path: Path) -> None:
    session = Session()
    with pytest.raises(QError, match="lets other machines in"):
        session.run("\\p 0.0.0.0:0W")
    session.restrict_clients(is_open=True)
    warned: list[str] = []
    session.warn = warned.append  # type: ignore[method-assign]
    session.run("\\p 0.0.0.0:0W")
    said = [event.what for event in session.ipc.network.log.events]
    assert any("open to everybody" in what for what in said) and any("not encrypted" in what for what in said)
    assert "not encrypted" in warned[0]
    session.listen(0)


def test_two_refusals_of_a_client_that_tries_twice_are_one_line(tmp_path: Path) -> None:
    with Server(tmp_path, "", ("-U", str(users_file(tmp_path)), "--log", str(tmp_path / "log"))) as server:
        for login in (b"me:wrong\x06\0", b"me:wrong\0", b"you:wrong\x06\0"):
            assert Client(server.port, login).capability == b""
        assert eventually(lambda: "you access" in (tmp_path / "log").read_text())
    lines = [line for line in (tmp_path / "log").read_text().splitlines() if line.endswith(" access")]
    assert len(lines) == 2 and "127.0.0.1:" in lines[0] and "wrong" not in "".join(lines)


# ------------------------------------------------------------------ the time limit


@pytest.mark.sampled(2)
def test_a_call_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    with Server(tmp_path, "loop:{while[1b;x+1]}\nstubborn:{@[loop;0;{x}];loop 0}\n", ("-T", "1")) as server:
        client = Client(server.port)
        for call in ("loop 0", "{x}each{while[1b;x]}each til 3"):
            start = time.monotonic()
            with pytest.raises(ValueError, match=r"^stop$"):
                client.ask(text(call))
            assert 0.8 < time.monotonic() - start < 8
        with pytest.raises(ValueError, match=r"^stop$"):
            client.ask(text("stubborn 0"))
        assert client.ask(text("1+1")) == 2
        server.say("sum{x}each til 10")  # the console has no limit
        assert server.line() == "45"


def test_the_limit_stops_the_call_within_longer_work(tmp_path: Path) -> None:
    script = "loop:{while[1b;x+1]}\n"
    with Server(tmp_path, script, ("-T", "1")) as server:
        client = Client(server.port)
        client.send(1, text("loop 0"))
        server.say('m:0;do[200;value"m+:1"];-1 string m;')
        kind, body = client.message()
        assert (kind, body) == (2, b"\x80stop\0")
        assert server.line() == "200"


# ------------------------------------------------------------------ negative ports


def test_clients_of_a_negative_port_update_nothing() -> None:
    session = Session()
    session.run("a:1")
    session.run("\\p -0W")
    port = -session.run("\\p").v  # type: ignore[union-attr]
    assert port > 0
    client = Client(port, b"")
    client.socket.sendall(b"me\x06\0")
    session.serve(0.1)
    assert client.bytes(1) == b"\x06"
    for line in ("a::2", "a+1", "exit 1"):
        client.send(1, text(line))
    session.serve(0.3)
    assert client.message() == (2, b"\x80noupdate: `. `a\0")
    assert client.message()[1][-8:] == (2).to_bytes(8, "little")
    assert client.message()[1].startswith(b"\x80access")
    session.run("a::3")  # whoever is at the console may
    session.listen(0)


def test_read_only_clients_do_not_write_to_the_console(tmp_path: Path) -> None:
    with Server(tmp_path, "", ("-b",)) as server:
        client = Client(server.port)
        for line in ('-1"x"', '2"x"', '1"\x1b[2J"'):
            with pytest.raises(ValueError, match="noupdate: handle"):
                client.ask(text(line))
        assert client.ask(text('system"_"')) is True
        server.say('-1"mine";')
        assert server.line() == "mine"


def test_only_ones_own_processes_and_roots_are_trusted() -> None:
    left, right = socket.socketpair()
    assert peer.user_of(left) == os.getuid()
    left.close()
    right.close()
    assert peer.trusted(os.getuid()) and peer.trusted(0)
    assert not peer.trusted(None) and not peer.trusted(os.getuid() + 12345)


# ------------------------------------------------------------------ the file of users: scrypt, owner


@pytest.mark.parametrize("stored", ["$scrypt$abc$xyz", "$scrypt$", "$scrypt$AAAA", "$scrypt$AAAA$", "$scrypt$$AAAA", "$scrypt$AA?A$AAAA"])
def test_a_malformed_password_is_an_error_of_the_file(tmp_path: Path, stored: str) -> None:
    path = users_file(tmp_path)
    users = Users(str(path))
    users_file(tmp_path, f"you:other\nme:{stored}\n")
    with pytest.raises(QError, match=r"users, line 2: expected \$scrypt\$SALT\$KEY"):
        users.read()
    assert users.admits("me", "secret")  # those of before


def test_a_login_of_anybody_does_the_same_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the time that it takes would tell who is in the file."""
    calls: list[bytes] = []

    def counted(password: bytes, salt: bytes) -> bytes:
        calls.append(salt)
        return scrypt(password, salt)

    monkeypatch.setattr("kshell.ipc.users.scrypt", counted)
    key = base64.b64encode(scrypt(b"pw", b"salt")).decode()
    users = Users(str(users_file(tmp_path, f"slow:$scrypt${base64.b64encode(b'salt').decode()}${key}\nplain:pw\n")))
    for name, password, known in (("slow", "pw", True), ("slow", "x", False), ("plain", "pw", True), ("plain", "x", False), ("nobody", "pw", False), ("nobody", "", False)):
        calls.clear()
        assert users.admits(name, password) is known
        assert len(calls) == 1
    calls.clear()
    assert Users(str(users_file(tmp_path, "plain:pw\n"))).admits("nobody", "pw") is False and not calls


def test_files_of_other_users_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, token = users_file(tmp_path), tmp_path / "token"
    Token(str(token))
    if os.getuid():
        monkeypatch.setattr(os, "getuid", lambda: 4242)
    else:
        os.chown(path, 4242, -1)
        os.chown(token, 4242, -1)
    for made, file in ((Users, path), (Token, token)):
        with pytest.raises(QError, match=f"access: {file} belongs to another user"):
            made(str(file))
