"""HTTP on the port: handlers and their arguments, access, limits, clients that are slow, broken or of another site."""

from __future__ import annotations

import base64
import gzip
import http.client
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.ipc import conversation
from kshell.ipc.web import http as kshell_http
from kshell.ipc.web.request import Request, prepared
from tests.ipc.processes import Server
from tests.ipc.web import Raw, Served, logged, reply, serving

HANDLERS = (
    '.z.ph:{seen::x;.h.hy[`txt;"ph ",x 0]}',
    '.z.pp:{seen::x;.h.hy[`txt;"pp ",x 0]}',
    '.z.pm:{seen::x;.h.hy[`txt;"pm ",(string x 0)," ",x 1]}',
)


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Served, int]]:
    with serving(*HANDLERS) as made:
        yield made


@pytest.mark.parametrize(
    ("method", "target", "body", "answer"),
    [
        ("GET", "/", None, "ph "), ("GET", "/?1+1", None, "ph ?1+1"), ("GET", "/t.csv?select%20from%20t", None, "ph t.csv?select%20from%20t"),
        ("POST", "/", b"a=1", "pp  a=1"), ("POST", "/path?x", b"\xff\x00", b"pp path?x \xff\x00"), ("POST", "/e", None, "pp e "),
        ("OPTIONS", "/o", None, "pm OPTIONS o"), ("PUT", "/p", b"xyz", "pm PUT p xyz"), ("PATCH", "/p", b"", "pm PATCH p "), ("DELETE", "/d", None, "pm DELETE d"),
        ("HEAD", "/h", None, ""),
    ],
)
def test_methods_go_to_their_handlers(site: tuple[Served, int], method: str, target: str, body: bytes | None, answer: str | bytes) -> None:
    expected = answer if isinstance(answer, bytes) else answer.encode()
    assert reply(site[1], method, target, body) == (200, expected)


def test_headers_are_a_dictionary(site: tuple[Served, int]) -> None:
    session, port = site
    reply(port, "GET", "/x", headers={"X-Own-Letters": "some value"})
    assert session.run('(last seen)`$"X-Own-Letters"').a.tobytes() == b"some value"
    assert session.run("type each(key last seen;seen 0)").a.tolist() == [11, 10]


def test_handlers_have_a_context() -> None:
    with serving('.z.ph:{ctx::(.z.w;.z.a;.z.u);.h.hy[`txt;"ok"]}') as (session, port):
        assert reply(port, "GET", "/") == (200, b"ok")
        handle, address, user = session.run("ctx").items
        assert handle.v > 2 and address.v == 0x7F000001 and user.s == ""
        assert session.run(".z.w").v == 0
        assert session.run("count .z.H") == 0  # a request of HTTP is no handle


def test_failures_are_answers() -> None:
    with serving(".z.ph:{$[x[0]~\"nn\";42;x[0]~\"bb\";\"x\"$.h.hy[`txt;\"bytes\"];'`broken]}") as (_, port):
        assert reply(port, "GET", "/") == (500, b"broken\n")
        assert reply(port, "GET", "/nn") == (500, b"type\n")
        assert reply(port, "GET", "/bb") == (200, b"bytes")
        assert reply(port, "POST", "/", b"")[0] == 405
        assert reply(port, "PUT", "/", b"")[0] == 405


@pytest.mark.sampled(2)
def test_a_connection_is_kept_by_ka() -> None:
    with serving('.z.ph:{r:ssr[.h.hy[`txt;x 0];"close";.h.ka "I"$x 0];r}') as (session, port):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for _ in range(3):
            client.request("GET", "/600")
            assert client.getresponse().read() == b"600"
            assert client.sock is not None
        own = client.sock.getsockname()
        client.request("GET", "/600")
        client.getresponse().read()
        assert client.sock.getsockname() == own
        assert client.sock.recv(1) == b""  # after 600 ms of idleness
        assert logged(session, "idle")
        client.close()
        client.request("GET", "/0")
        assert client.getresponse().read() == b"0"
        assert client.sock is None or client.sock.recv(1) == b""


def test_requests_in_one_write_are_answered_in_order() -> None:
    with serving('.z.ph:{ssr[.h.hy[`txt;x 0];"close";.h.ka 5000]}', '.z.pp:{ssr[.h.hy[`txt;x 0];"close";.h.ka 5000]}') as (_, port):
        gets = b"".join(b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % i for i in range(100))
        post = b"POST /p HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        last = b"GET /end HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        raw = Raw(port, gets + post + last)
        bodies = [part.split(b"\r\n\r\n")[1] for part in raw.all().split(b"HTTP/1.1 200 OK\r\n")[1:]]
        assert bodies == [b"%d" % i for i in range(100)] + [b"p abcde", b"end"]


def test_a_request_may_come_byte_by_byte(site: tuple[Served, int]) -> None:
    raw = Raw(site[1])
    for byte in b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody":
        raw.send(bytes((byte,)))
        time.sleep(0.001)
    assert raw.all().endswith(b"pp slow body")


def test_expect_continue(site: tuple[Served, int]) -> None:
    raw = Raw(site[1], b"POST /c HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
    assert raw.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    raw.send(b"body")
    assert raw.all().endswith(b"pp c body")


def test_long_answers_to_queries_are_compressed() -> None:
    with serving('.z.ph:{.h.hy[`txt;("J"$last"?"vs x 0)#"a"]}') as (_, port):
        for target, accepted, packed in (("/?5000", "gzip, br", True), ("/?5000", "br", False), ("/?10", "gzip", False), ("/5000", "gzip", False)):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            client.request("GET", target, headers={"Accept-Encoding": accepted})
            answer = client.getresponse()
            body = answer.read()
            assert (answer.getheader("Content-Encoding") == "gzip") is packed
            assert (gzip.decompress(body) if packed else body) == b"a" * int(target.strip("/?"))
            client.close()


HEAD = b"HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET /\x01 " + HEAD + b"\r\n", 400), (b"GET / " + HEAD + b"A: 1\r\n b\r\n\r\n", 400),
        (b"POST / " + HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST / " + HEAD + b"Content-Length: -3\r\n\r\n", 400), (b"POST / " + HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400),
        (b"GET / " + HEAD + b"A: b\r\n" * 101 + b"\r\n", 431), (b"GET / " + HEAD + b"A: " + b"b" * 70_000, 431),
        (b"POST / " + HEAD + b"Content-Length: 2000000000\r\n\r\n", 413), (b"POST / " + HEAD + b"Transfer-Encoding: other\r\n\r\n", 501),
        (b"POST / " + HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400), (b"GET / FTP/9\r\n\r\n", 400),
    ],
)
def test_broken_requests_end_their_connection_only(site: tuple[Served, int], data: bytes, status: int) -> None:
    answer = Raw(site[1], data).all()
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert logged(site[0], f"HTTP {status}")
    assert reply(site[1], "GET", "/") == (200, b"ph ")


def test_slow_clients_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kshell_http, "HEAD_TIME", 0.3)
    monkeypatch.setattr(conversation, "STALLED", 0.3)
    with serving(*HANDLERS) as (session, port):
        for data in (b"GET / HTTP", b"POST / " + HEAD + b"Content-Length: 10\r\n\r\nab"):
            raw = Raw(port, data)
            assert raw.all().startswith(b"HTTP/1.1 408 ")
        assert logged(session, "request not complete in time")


def test_a_client_that_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "STALLED", 0.3)
    with serving(".z.ph:{.h.hy[`txt;50000000#\"a\"]}") as (session, port):
        raw = Raw(port, b"GET / " + HEAD + b"\r\n")
        assert logged(session, "answer not taken in time")
        assert not session.network.others
        raw.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:80"}, 200), ({"Host": "127.0.0.1"}, 200), ({"Host": "[::1]:5000"}, 200), ({"Host": "evil.example"}, 403), ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "named.example"}, 200), ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Host": "localhost:99", "Origin": "http://localhost:99"}, 200),
        ({"Host": "localhost:99", "Origin": "http://localhost:98"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200), ({"Sec-Fetch-Site": "none"}, 200), ({"Origin": "https://good.example", "Sec-Fetch-Site": "cross-site"}, 200),
    ],
)
def test_pages_of_other_sites_are_kept_out(headers: dict[str, str], status: int) -> None:
    lists = ('.h.HOSTS:`named.example', '.h.ORIGINS:enlist`$"https://good.example"', "n:0")
    with serving(*lists, '.z.ac:{n+:1;(1;"u")}', '.z.ph:{n+:1;.h.hy[`txt;"ok"]}') as (session, port):
        assert reply(port, "GET", "/", headers=headers)[0] == status
        assert session.run("n") == (2 if status == 200 else 0)  # no q ran for the others


def test_the_access_handler() -> None:
    with serving(
        '.z.ph:{.h.hy[`txt;string .z.u]}',
        '.z.ac:{act::x;$[x[0]~"yes";(1;"kim");x[0]~"no";(0;"");x[0]~"own";(2;.h.hn["418 Teapot";`txt;"tea"]);x[0]~"basic";(4;"");x[0]~"odd";7;\'`bad]}',
        '.z.pw:{[u;p](u=`ann)and p~"s:e"}',
    ) as (session, port):
        assert reply(port, "GET", "/yes") == (200, b"kim")
        assert session.run("type each act").a.tolist() == [10, 99]
        assert reply(port, "GET", "/no")[0] == 401
        assert reply(port, "GET", "/own") == (418, b"tea")
        assert reply(port, "GET", "/odd")[0] == 500
        assert reply(port, "GET", "/fails")[0] == 500
        assert reply(port, "GET", "/basic")[0] == 401
        assert reply(port, "GET", "/basic", headers=basic("ann:s:e")) == (200, b"ann")
        assert reply(port, "GET", "/basic", headers=basic("ann:x"))[0] == 401


def test_the_access_handler_of_a_post_is_given_its_text() -> None:
    """As `.z.pp` is: the target, a blank and the body, of a long one its first 64 KiB."""
    with serving(
        '.z.ac:{act::x;n+:1;$[x[0]like"*secret*";(1;"kim");(0;"")]}', "n:0",
        '.z.pp:{pp::x;.h.hy[`txt;string .z.u]}', '.z.pm:{.h.hy[`txt;x 1]}',
    ) as (session, port):  # fmt: skip
        assert reply(port, "POST", "/a", b"the secret") == (200, b"kim")
        assert session.run('act[0]~"a the secret"') is True and session.run("act~pp") is True
        assert reply(port, "POST", "/a", b"the word")[0] == 401
        assert reply(port, "PUT", "/a", b"secret") == (200, b"a secret")
        assert session.run('act[0]~"a secret"') is True  # the method of .z.pm is not in it
        assert reply(port, "POST", "/a", b"") == (401, b"access\n")
        assert session.run('act[0]~"a "') is True
        assert reply(port, "POST", "/a", b"secret" + b"x" * 200_000) == (200, b"kim")
        assert session.run("count each(act 0;pp 0)").a.tolist() == [2 + (1 << 16), 2 + 200_006]
        chunked = b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nsec\r\n3\r\nret\r\n0\r\n\r\n"
        assert Raw(port, chunked).all().endswith(b"kim")
        asked = session.run("n")
        for headers in ({"Host": "other.example"}, {"Sec-Fetch-Site": "cross-site"}):  # refused before its body is read
            raw = Raw(port, b"POST /a HTTP/1.1\r\n" + b"".join(f"{k}: {v}\r\n".encode() for k, v in ({"Host": "localhost"} | headers).items()) + b"Content-Length: 9\r\n\r\n")
            assert raw.all().startswith(b"HTTP/1.1 403")
        assert session.run("n") == asked


def test_the_body_for_the_access_handler_has_the_time_of_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kshell.ipc.web.http.HEAD_TIME", 0.3)
    with serving('.z.ac:{ran::1;(1;"u")}', ".z.pp:{x}") as (session, port):
        answer = Raw(port, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc").all()
        assert answer.startswith(b"HTTP/1.1 408") and session.run("`ran in key`.") is False


def basic(login: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()}


def test_basic_access_by_a_file_of_users(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("plain:secret\n")
    users.chmod(0o600)
    script = '.z.ph:{.h.hy[`txt;string .z.u]}\n.z.pp:{x0::1;.h.hy[`txt;"x"]}\n'
    with Server(tmp_path, script, ("-U", str(users), "-b")) as server:
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        client.request("GET", "/")
        answer = client.getresponse()
        assert answer.status == 401 and answer.getheader("WWW-Authenticate", "").startswith("Basic")
        assert answer.read() == b"access\n"
        assert reply(server.port, "GET", "/", headers=basic("plain:secret")) == (200, b"plain")
        for wrong in ({"Authorization": "Basic ???"}, {"Authorization": "Bearer x"}, basic("plain:wrong"), basic("other:secret"), basic("plain")):
            assert reply(server.port, "GET", "/", headers=wrong)[0] == 401
        assert reply(server.port, "GET", "/", headers=basic("plain:secret"))[0] == 429  # three logins failed
        time.sleep(1.1)
        status, body = reply(server.port, "POST", "/", b"", basic("plain:secret"))
        assert status == 500 and body.startswith(b"noupdate")  # -b holds for HTTP


def test_python_and_curl(site: tuple[Served, int]) -> None:
    with urllib.request.urlopen(f"http://localhost:{site[1]}/?a", timeout=20) as answer:
        assert answer.read() == b"ph ?a"
    if not shutil.which("curl"):
        pytest.skip("curl is not there")
    url = f"http://localhost:{site[1]}"
    done = subprocess.run(["curl", "-s", "-m", "20", "-d", "x" * 5000, "-H", "Expect: 100-continue", url + "/d"], capture_output=True, check=True)
    assert done.stdout == b"pp d " + b"x" * 5000
    done = subprocess.run(["curl", "-sI", "-m", "20", url], capture_output=True, check=True)
    assert done.stdout.startswith(b"HTTP/1.1 200 OK")


def test_other_messages_are_handled_meanwhile(site: tuple[Served, int]) -> None:
    """A request that has begun, and one whose answer nobody reads, stop nobody."""
    waiting = [Raw(site[1], b"POST / " + HEAD + b"Content-Length: 10\r\n\r\n"), Raw(site[1], b"GET /")]
    assert reply(site[1], "GET", "/") == (200, b"ph ")
    for raw in waiting:
        raw.close()
    assert reply(site[1], "GET", "/") == (200, b"ph ")


def test_without_the_packages_the_connection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)
    with serving(*HANDLERS) as (session, port):
        assert Raw(port, b"GET / " + HEAD + b"\r\n").all() == b""
        assert logged(session, "pip install kshell[web]")


def test_nothing_of_it_is_loaded_before() -> None:
    code = "import sys; from kshell import Session; s=Session(); s.listen(); s.serve(.05); s.listen(0); print({'h11','wsproto','ssl'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("words", [":0W", "0.0.0.0:0W"])
def test_all_addresses_are_no_host(words: str) -> None:
    """A page of another site may send requests to 0.0.0.0, which come to this machine."""
    with serving("n:0", ".z.ph:{n+:1;.h.hy[`txt;string n]}", ".z.pw:{[u;p]1b}", ".h.HOSTS:`0.0.0.0`other") as (session, _):
        port = session.do(lambda s: s.listen(words))
        for host in (f"0.0.0.0:{port}", f"[::]:{port}", "0.0.0.0", "0"):
            assert reply(port, "GET", "/?n", headers={"Host": host})[0] == 403
        assert session.run("n") == 0
        assert reply(port, "GET", "/?n", headers={"Host": f"localhost:{port}"}) == (200, b"1")


def made(data: bytes, accepted: str, target: str = "/?x", method: str = "GET") -> bytes:
    return prepared(Request(method, target, [("Accept-Encoding", accepted)], b"", True), data)


def test_which_answers_are_compressed() -> None:
    plain = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + b"a" * 3000
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nBB8\r\n" + b"a" * 3000 + b"\r\n0\r\n\r\n"
    for accepted in ("gzip", "br, gzip;q=0.5", "GZIP ; q=1", "gzip, *;q=0"):
        assert gzip.decompress(made(plain, accepted).partition(b"\r\n\r\n")[2]) == b"a" * 3000
    for accepted in ("gzip;q=0", "br, gzip; q=0.000", "", "identity", "gzipped"):
        assert made(plain, accepted) == plain
    assert made(chunked, "gzip") == chunked
    long = b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * (1 << 20)
    assert made(long, "gzip") == long  # it would take so long that others have to wait
    assert made(plain, "", method="HEAD") == b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n"
    assert made(b"HTTP/1.1 204 No Content\r\nX: y", "") == b"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n"
