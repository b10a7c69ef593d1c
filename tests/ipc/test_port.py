"""A port of a real process: logins, requests, handlers, deferred answers, broadcasts, connections that end badly."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from kshell.ipc import conversation
from kshell.session import Session
from kshell.store import codec
from kshell.values.base.build import string as text
from kshell.values.base.core import NIL, List, Value
from tests.ipc.processes import Client, Server, eventually, framed
from tests.support import warm

Q = Session()

SCRIPT = """
f:{x+y}
got:()
.z.po:{got,:enlist(`open;x;.z.u)}
.z.pc:{got,:enlist(`close;x;.z.w)}
later:{-30!(::);waits::.z.w;}
asksback:{-30!(::);waits::.z.w;pong::.z.w"ping";}
"""


def shown(x: Value) -> str:
    return Q.show(x)


@pytest.mark.parametrize(
    ("login", "answer"),
    [
        (b"me:pw\x06\0", 6), (b"me:pw\x03\0", 3), (b"anonymous\x03\0", 3), (b":\x03\0", 3), (b"\x03\0", 3), (b"user:password\0", 0),
        (b"me:p:w:x\x05\0", 5), (b"me\x04\0", 3), (b"me\x1f\0", 6), (b"\xff\xfe:pw\x01\0", 1), (b"\0", 0),
    ],
)
def test_a_login_is_answered_by_one_byte(server: Server, login: bytes, answer: int) -> None:
    made = Client(server.port, login)
    assert made.capability == bytes((answer,))
    assert made.ask(text("1+1")) == 2
    made.close()


def test_a_login_may_come_byte_by_byte(server: Server) -> None:
    made = Client(server.port, b"")
    for byte in b"slow:pw\x03\0":
        made.socket.sendall(bytes((byte,)))
    assert made.bytes(1) == b"\x03"
    assert made.ask(text("string .z.u")).a.tobytes() == b"slow"  # type: ignore[union-attr]
    made.close()


def test_requests(client: Client) -> None:
    assert client.ask(text("1+1")) == 2
    assert client.ask(List([Q.run("`f"), 2, 3])) == 5
    assert client.ask(List([Q.run("{x*y}"), 6, 7])) == 42
    assert shown(client.ask(text("([]a:1 2;b:`x`y)"))) == "a b\n---\n1 x\n2 y"
    assert client.ask(text("")) is NIL
    for wrong, error in (("1+`a", "type"), ("nothing", "nothing"), ("'`mine", "mine"), ("(", "(")):
        with pytest.raises(ValueError, match=f"^{error.replace('(', '[(]')}"):
            client.ask(text(wrong))
    assert client.ask(text("2+2")) == 4


@pytest.mark.sampled(2)
def test_a_result_that_cannot_travel_is_an_error(client: Client) -> None:
    for line in ("module(`linear;2;1)", "(1;module(`linear;2;1))"):
        with pytest.raises(ValueError, match=r"^type: expected a value, given a module"):
            client.ask(text(line))
    assert shown(client.ask(text("tensor tensor 1 2 3e"))) == "1 2 3e"


def test_pieces_and_many_at_once(client: Client) -> None:
    """A request that comes byte by byte, and a hundred in one write, whose answers come in order."""
    for byte in framed(1, codec.encode(text("3+4"))):
        client.socket.sendall(bytes((byte,)))
    assert client.message() == (2, codec.encode(7))
    client.socket.sendall(b"".join(framed(1, codec.encode(text(f"{i}+1"))) for i in range(100)))
    assert [client.message() for _ in range(100)] == [(2, codec.encode(i + 1)) for i in range(100)]


def test_asynchronous_messages_are_not_answered(client: Client) -> None:
    client.send(0, text("asked:5"))
    client.send(0, text("'fault"))
    assert client.ask(text("asked")) == 5


def test_a_context_of_its_own(client: Client) -> None:
    assert client.ask(text("`long$.z.w")) > 2
    assert client.ask(text(".z.w in .z.H")) is True
    assert client.ask(text(".z.w in key .z.W")) is True
    assert shown(client.ask(text("`p`f`z#-38!.z.w"))) == 'p| "q"\nf| "t"\nz| 0b'
    assert client.ask(text(".z.a")).v == 0x7F000001  # type: ignore[union-attr]
    client.send(0, text("\\d .other"))
    assert client.ask(text("system\"d\"")) == Q.run("`.")


def test_opened_and_closed(server: Server, client: Client) -> None:
    other = Client(server.port, b"guest:x\x06\0")
    n = int(other.ask(text("`long$.z.w")))  # type: ignore[call-overload]
    other.close()
    assert eventually(lambda: client.ask(text(f"(`close;{n}i;0i) in got")) is True)
    assert client.ask(text(f"(`open;{n}i;`guest) in got")) is True


def test_deferred_answers(server: Server, client: Client) -> None:
    waiting = Client(server.port)
    waiting.send(1, text("later[]"))
    assert eventually(lambda: client.ask(text("`waits in key`.")) is True)
    waiting.send(1, text("1+1"))  # others are answered meanwhile
    assert waiting.message()[1][-8:] == (2).to_bytes(8, "little")
    client.ask(text("-30!(waits;0b;42)"))
    assert waiting.message()[1][-8:] == (42).to_bytes(8, "little")
    with pytest.raises(ValueError, match="was not expecting a response msg"):
        client.ask(text("-30!(waits;0b;42)"))
    with pytest.raises(ValueError, match="domain"):
        client.ask(text("-30!(9999i;0b;42)"))
    with pytest.raises(ValueError, match="late"):
        waiting.ask(text("{-30!(::);-30!(.z.w;1b;\"late\");}[]"))
    waiting.send(1, text("{-30!(::);-30!(.z.w;0b;8);'broken}[]"))  # it has its answer
    assert waiting.message()[1][-8:] == (8).to_bytes(8, "little")
    with pytest.raises(ValueError, match="broken"):
        waiting.ask(text("{-30!(::);'broken}[]"))
    assert waiting.ask(text("5")) == 5
    waiting.close()


def test_a_request_inside_one_whose_answer_is_deferred(server: Server, client: Client) -> None:
    """The deferral is that of the request that asked for it."""
    waiting = Client(server.port)
    waiting.send(1, text("asksback[]"))
    assert waiting.message()[0] == 1  # its ping
    assert waiting.ask(text("6*7")) == 42
    waiting.send(2, 5)
    assert eventually(lambda: client.ask(text("@[get;`pong;0]")) == 5)
    client.ask(text("-30!(waits;0b;43)"))
    assert waiting.message()[1][-8:] == (43).to_bytes(8, "little")
    waiting.close()


@pytest.mark.sampled(2)
def test_broadcast(server: Server, client: Client) -> None:
    others = [Client(server.port, login) for login in (b"a\x03\0", b"b\x06\0")]
    numbers = [int(other.ask(text("`long$.z.w"))) for other in others]  # type: ignore[call-overload]
    client.ask(text(f"-25!({numbers[0]} {numbers[1]}i;(`upd;1 2 3))"))
    assert others[0].message() == others[1].message()
    assert client.ask(text(f"-25!({numbers[0]} {numbers[1]}i;::)")) is NIL
    with pytest.raises(ValueError, match="9999 is not an ipc handle"):
        client.ask(text(f"-25!({numbers[0]} 9999i;1)"))
    with pytest.raises(ValueError, match="type"):
        client.ask(text(f"-25!({numbers[0]} {numbers[1]}i;module(`linear;2;1))"))
    for other in others:
        other.send(1, text("7"))
        assert other.message()[0] == 2  # nothing came before it
        other.close()


@pytest.mark.parametrize(
    "data",
    [b"\7" * 64, framed(1, b"\x15\0\0\0\0\0"), framed(1, b"\7\0\xff\xff\xff\x7f"), framed(5, b"\xf9" + bytes(8)), framed(1, b"")[:8]],
    ids=["noise", "type", "count", "kind", "empty"],
)
def test_bad_messages_end_their_connection_only(server: Server, client: Client, data: bytes) -> None:
    bad = Client(server.port)
    bad.socket.sendall(data)
    assert bad.ended()
    assert client.ask(text("1+1")) == 2


def test_handlers_replace_the_defaults(tmp_path: Path) -> None:
    server = Server(
        tmp_path,
        '.z.pg:{$[10h=type x;"text ",x;x]}\n.z.ps:{seen::x}\n.z.bm:{bad::x}\n.z.pw:{[u;p](u=`good)and p~"secret"}\n-1"set";\n',
    )
    assert server.line() == "set"  # clients are let in between the lines of a script
    refused = Client(server.port, b"bad:secret\x06\0")
    assert refused.capability == b""
    good = Client(server.port, b"good:secret\x06\0")
    assert good.ask(text("1+1")).a.tobytes() == b"text 1+1"  # type: ignore[union-attr]
    good.send(0, text("1+1"))
    assert good.ask(List([Q.run("`a"), 1])).items[1] == 1  # type: ignore[union-attr]
    server.say("seen")
    assert server.line() == '"1+1"'
    worse = Client(server.port, b"good:secret\x06\0")
    worse.socket.sendall(b"\2" * 20)
    assert worse.ended()
    server.say("(type bad 0;bad 1)")
    assert "'badmsg" in server.line()
    assert server.line() == "-6h"
    assert server.line().startswith("0x0202")
    good.close()
    server.end()


def test_a_login_that_is_too_long_is_refused(server: Server) -> None:
    made = Client(server.port, b"")
    made.socket.sendall(b"x" * (1 << 17))
    assert made.ended()


def test_many_idle_connections(server: Server, client: Client) -> None:
    idle = [Client(server.port) for _ in range(200)]
    assert client.ask(text("count .z.H")) >= 201  # type: ignore[operator]
    for made in idle:
        made.close()
    assert eventually(lambda: client.ask(text("count .z.H")) == 1)


def test_connections_that_end_within_a_message(server: Server, client: Client) -> None:
    data = framed(1, codec.encode(Q.run("til 1000")))
    for end in (1, 7, 8, 9, 100, len(data) - 1):
        made = Client(server.port)
        made.socket.sendall(data[:end])
        made.close()
    assert client.ask(text("1+1")) == 2
    assert eventually(lambda: client.ask(text("count .z.H")) == 1)


def test_a_slow_reader_stops_nobody(server: Server, client: Client) -> None:
    slow = Client(server.port)
    slow.send(1, text("20000000#0x00"))
    assert client.ask(text("1+1")) == 2
    kind, body = slow.message()
    assert kind == 2 and len(body) == 20_000_006
    slow.close()


def test_a_client_that_leaves_before_its_answer_ends_nothing(server: Server, client: Client) -> None:
    """The write that finds its connection closed is an error, and no signal that ends the process."""
    name = f"{os.environ['QUDSPATH']}/kx.{server.port}"
    for _ in range(5):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gone:
            gone.connect(name)
            gone.sendall(b"me\x06\0")
            gone.recv(1)
            gone.sendall(framed(1, codec.encode(text("{x}each til 10000"))) * 3)
    assert client.ask(text("1+1")) == 2
    assert server.process.poll() is None


def test_forms_of_the_port() -> None:
    session = Session()
    try:
        assert session.run("\\p").v == 0
        session.run("\\p 0W")
        port = session.run('system"p"').v
        assert 32768 <= port <= 60999
        session.run(f"\\p {port + 1}/{port + 20}")
        assert port < session.run("\\p").v <= port + 20
        session.run("\\p -0W")
        assert session.run("\\p").v < 0
        for words, error in (("5000x", "expected"), ("99999", "above"), ("nosuchservice", "no service"), ("0.0.0.0:0W", "other machines")):
            with pytest.raises(Exception, match=error):
                session.run(f"\\p {words}")
        taken = socket.create_server(("127.0.0.1", 0))
        with pytest.raises(Exception, match="Address already in use"):
            session.run(f"\\p {taken.getsockname()[1]}")
        taken.close()
        assert session.run("\\p").v < 0  # what was listened on stays
    finally:
        session.run("\\p 0")
    assert session.run("\\p").v == 0


def test_the_end_of_input_is_not_the_end(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text("\\p 0W\n-1 string system\"p\";\n.z.pc:{ended::x}\n")
    process = warm.Process(
        [sys.executable, "-m", "kshell", "-q", "s.q"], stdin=warm.DEVNULL, stdout=warm.PIPE, cwd=tmp_path
    )
    assert process.stdout is not None
    client = Client(int(process.stdout.readline()))
    assert eventually(lambda: client.ask(text("`ended in key`.")) is True)
    client.send(0, text("exit 3"))
    assert process.wait(20) == 3


def test_the_unix_socket_beside_the_port(server: Server) -> None:
    session = Session()
    h = session.run(f"hopen`:unix://{server.port}")
    assert session.run(f"{h.v} \"1+1\"") == 2  # type: ignore[union-attr]
    assert session.run(f"{h.v} \".z.a\"").v == 0  # type: ignore[union-attr]
    session.run(f"hclose {h.v}")  # type: ignore[union-attr]


def test_nothing_is_left_of_a_port(tmp_path: Path) -> None:
    """The file of the unix socket goes with the process, and with the port."""
    folder = Path(os.environ["QUDSPATH"])
    with Server(tmp_path) as server:
        place = folder / f"kx.{server.port}"
        assert place.is_socket() and place.stat().st_mode & 0o777 == 0o600
        server.end()
        assert not place.exists()
    session = Session()
    port = session.listen()
    assert (folder / f"kx.{port}").is_socket()
    session.listen(0)
    assert not (folder / f"kx.{port}").exists()


def test_other_protocols_are_closed_at_once(server: Server) -> None:
    made = Client(server.port, b"")
    made.socket.settimeout(5)
    made.socket.sendall(b"\x16\x03\x01\x00\xa5\x01")
    assert made.ended()


@pytest.mark.sampled(2)
def test_a_begun_message_without_progress_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "STALLED", 0.2)
    session = Session()
    port = session.listen()
    idle, stalled = Client(port, b""), Client(port, b"")
    for made in (idle, stalled):
        made.socket.sendall(b"me\x06\0")
    session.serve(0.1)
    stalled.socket.sendall(b"\1\1\0\0\x40\0\0\0")
    session.serve(1.5)
    assert session.run("count .z.H") == 1
    assert stalled.bytes(1) == b"\x06" and stalled.ended()
    session.listen(0)


def test_the_log(tmp_path: Path) -> None:
    with Server(tmp_path, '.z.pw:{[u;p]u=`good}\n-1"set";\n', ("--log", str(tmp_path / "log"))) as server:
        assert server.line() == "set"
        Client(server.port, b"good\x06\0").close()
        Client(server.port, b"\x1b[2Jbad\x06\0").close()
        noisy = Client(server.port, b"good\x06\0")
        noisy.socket.sendall(b"\7" * 20)
        assert noisy.ended()
        assert eventually(lambda: "badmsg" in (tmp_path / "log").read_text())
    text = (tmp_path / "log").read_text()
    assert "listen" in text and "good open" in text and "\\x1b[2Jbad access" in text and "\x1b" not in text
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


@pytest.mark.sampled(2)
def test_options_of_the_command(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("plain:secret\nmd5:5ebe2294ecd0e0f08eab7690d2a6ee69\nsha:e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4\n")
    users.chmod(0o600)
    with Server(tmp_path, "f:{x+1}\n", ("-U", str(users), "-b")) as server:
        for user in ("plain", "md5", "sha"):
            made = Client(server.port, f"{user}:secret".encode() + b"\x06\0")
            assert made.capability == b"\x06"
            assert made.ask(text("f 1")) == 2
            for refused in ("x:1", "system\"ls\"", "`:f set 1", "exit 1"):
                with pytest.raises(ValueError, match=r"noupdate|access"):
                    made.ask(text(refused))
            made.close()
        for login in (b"plain:wrong", b"nobody:secret", b"plain", b"md5:5ebe2294ecd0e0f08eab7690d2a6ee69", b""):
            assert Client(server.port, login + b"\x06\0").capability == b""
    users.chmod(0o666)
    done = warm.run([sys.executable, "-m", "kshell", "-q", "-U", str(users), "-p", "0W"], stdin=warm.DEVNULL, capture_output=True)
    assert done.returncode == 2 and "can be written by others" in done.stderr


def test_the_port_of_an_option(tmp_path: Path) -> None:
    process = warm.Process(
        [sys.executable, "-m", "kshell", "-q", "-p", "0W"], stdin=warm.PIPE, stdout=warm.PIPE, cwd=tmp_path
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write('-1 string system"p";\n')
    process.stdin.flush()
    client = Client(int(process.stdout.readline()))
    assert client.ask(text("1+1")) == 2
    process.stdin.write("exit 4\n")
    process.stdin.flush()
    assert process.wait(20) == 4


def test_what_becomes_of_a_clients_error(tmp_path: Path) -> None:
    with Server(tmp_path, "f:{x+`a}\n") as server:
        client = Client(server.port)
        with pytest.raises(ValueError, match="type"):
            client.ask(text("f 1"))
        client.ask(text('system"e 2"'))
        with pytest.raises(ValueError, match="type"):
            client.ask(text("f 1"))
        assert server.line() == "'type"  # once
        client.ask(text('system"e 01"'))
        with pytest.raises(ValueError, match="type"):
            client.ask(text("f 1"))
        server.say("-1 string system\"e\";")
        assert "'type" not in iter(server.line, "1")  # the error was sent, not printed, and nothing waits
