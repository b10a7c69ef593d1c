"""The pages of `.z.ph`: lists, queries, tables by pages, other formats, files, what a browser may do with them."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from kshell.lang.names import web_page
from kshell.values.session import memory
from tests.ipc.processes import Server
from tests.ipc.test_http import basic
from tests.ipc.web import Served, reply, serving

LINES = ("t:([]a:til 100;b:100#`x`y)", "kt:([k:`a`b]v:1 2)", "doubled::2*count t", "f:{x+y}", 'x:"<script>alert(1)</script>"')


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Served, int]]:
    with serving(*LINES) as made:
        yield made


def page(port: int, target: str, status: int = 200) -> str:
    """The body of a page, without its style."""
    code, body = reply(port, "GET", target)
    assert code == status
    return body.decode().rpartition("</style>")[2]


def test_the_first_page(site: tuple[Served, int]) -> None:
    text = page(site[1], "/")
    assert '<iframe src="?"' in text and 'name="v" src="?kt"' in text and '<form action="ask" target="v">' in text


def test_the_list(site: tuple[Served, int]) -> None:
    text = page(site[1], "/?")
    for kind, name in (("tables", "t"), ("tables", "kt"), ("views", "doubled"), ("variables", "x"), ("functions", "f")):
        assert f'<a target="v" href="?{name}">{name}</a>' in text.partition(f"<h2>{kind}</h2>")[2].partition("</ul>")[0]


@pytest.mark.parametrize(
    ("query", "shown"),
    [("1+1", "2"), ("sum til 5", "10"), ("`a`b", "`a`b"), ("kt", "k| v\n-| -\na| 1\nb| 2"), ("x", "&quot;&lt;script&gt;alert(1)&lt;/script&gt;&quot;"), ("`$\"é\"", "`é"), ("(::)", "")],
)
def test_queries(site: tuple[Served, int], query: str, shown: str) -> None:
    assert f"<pre>{shown}</pre>" in page(site[1], "/?" + quote(query))
    assert f"<pre>{shown}</pre>" in page(site[1], "/ask?x=" + quote(query, safe=""))


def test_a_form_escapes_blanks_and_pluses(site: tuple[Served, int]) -> None:
    assert "<pre>12</pre>" in page(site[1], "/ask?x=3+%2B+9")


def test_long_tables_come_by_pages(site: tuple[Served, int]) -> None:
    port = site[1]
    text = page(port, "/?t")
    assert "0  x" in text and "31 y" in text and "32 x" not in text and '<a href="?[32">down</a>' in text
    text = page(port, "/?[64")
    assert "64 x" in text and "95 y" in text and "96 x" not in text
    assert "99 y" in page(port, "/?%5B96")
    assert page(port, "/?kt").count("<nav>") == 0


def test_errors_are_he(site: tuple[Served, int]) -> None:
    for target, text in (("/?1+`a", b"'type"), ("/?nothere", b"'nothere"), ("/?(", b"'("), ("/x.zip?1", b"'zip: no format of .h.tx")):
        status, body = reply(site[1], "GET", target)
        assert status == 400 and body.startswith(text)
    assert reply(site[1], "GET", "/?'%22<b>%22") [1].startswith(b"'&lt;b>")


@pytest.mark.parametrize(
    ("target", "kind", "body"),
    [
        ("/t.csv?2#t", "text/comma-separated-values", "a,b\n0,x\n1,y"), ("/.csv?2#t", "text/comma-separated-values", "a,b\n0,x\n1,y"), ("/a.txt?2#t", "text/plain", "a\tb\n0\tx\n1\ty"),
        ("/a.json?2#t", "application/json", '{"a":0,"b":"x"}\n{"a":1,"b":"y"}'), ("/a.json?2*21", "application/json", "42"), ("/a.xml?1#t", "text/plain", "<R>\n<r><a>0</a><b>x</b></r>\n</R>"),
    ],
)
def test_formats(site: tuple[Served, int], target: str, kind: str, body: str) -> None:
    client = http.client.HTTPConnection("127.0.0.1", site[1], timeout=20)
    client.request("GET", quote(target, safe="/?#*"[:2] + "*" + "."))
    answer = client.getresponse()
    assert answer.read().decode() == body and answer.getheader("Content-Type") == f"{kind}; charset=utf-8"
    client.close()


def test_a_workbook(site: tuple[Served, int]) -> None:
    assert b"<Worksheet" in reply(site[1], "GET", "/a.xls?t")[1]


def test_ten_thousand_rows(site: tuple[Served, int]) -> None:
    rows = reply(site[1], "GET", "/a.json?([]i:til%2010000)")[1].splitlines()
    assert len(rows) == 10_000 and json.loads(rows[-1]) == {"i": 9999}


def test_headers_of_security(site: tuple[Served, int]) -> None:
    for target in ("/", "/?", "/?1", "/a.csv?t", "/?'x", "/nofile"):
        client = http.client.HTTPConnection("127.0.0.1", site[1], timeout=20)
        client.request("GET", target)
        answer = client.getresponse()
        answer.read()
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        assert "default-src 'none'" in answer.getheader("Content-Security-Policy", "")
        client.request("GET", "/?2")  # on the same connection
        assert b"<pre>2</pre>" in client.getresponse().read()
        client.close()


def test_files_below_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (home / "a.htm").write_text("<p>page</p>")
    (home / "sub" / "b c.png").write_bytes(bytes(range(256)))
    (home / ".hidden").write_text("secret")
    (tmp_path / "outside").write_text("secret")
    (home / "link").symlink_to(tmp_path / "outside")
    with serving(f'.h.HOME:"{home}"') as (session, port):
        assert reply(port, "GET", "/a.htm") == (200, b"<p>page</p>")
        assert reply(port, "GET", "/sub/b%20c.png") == (200, bytes(range(256)))
        for target in ("/.hidden", "/link", "/../outside", "/sub/../../outside", "/%2e%2e/outside", "/..%2foutside", "//etc/passwd", "/a%00.htm", "/sub", "/sub/", "/none"):
            status, body = reply(port, "GET", target)
            assert status == 404 and b"secret" not in body and b"not found" in body, target
        assert session.run('.h.HOME:""') is not None
        assert reply(port, "GET", "/a.htm")[0] == 404


def test_a_program_replaces_the_function_and_restores_it() -> None:
    with serving('.h.val:{"val ",x}', 'own:.z.ph', '.z.ph:{own x}') as (session, port):
        assert "<pre>&quot;val 1+1&quot;</pre>" in page(port, "/?1+1")
        session.run('.z.ph:{.h.hy[`txt;"mine"]}')
        assert reply(port, "GET", "/?1+1") == (200, b"mine")
        session.run("\\x .z.ph")
        session.run(".h.val:value")
        assert "<pre>2</pre>" in page(port, "/?1+1")
        assert session.show(session.run(".z.ph")) == ".z.ph"


def test_a_port_that_only_reads(tmp_path: Path) -> None:
    with Server(tmp_path, "t:([]a:1 2)\n.h.HOME:\"/\"\n", ("-b",)) as server:
        assert "1\n2" in page(server.port, "/?t")
        for query in ("t:1", "`f set 1", "system\"ls\"", "exit 1", ".z.ph:{x}", "hopen 5000"):
            status, body = reply(server.port, "GET", "/?" + quote(query))
            assert status == 400 and body.lstrip(b"'").startswith((b"noupdate", b"access"))
        assert "1\n2" in page(server.port, "/?t")


def test_links_to_hidden_files_are_not_followed(tmp_path: Path) -> None:
    home = tmp_path / ".site"  # that the folder itself is hidden does not matter
    (home / ".git").mkdir(parents=True)
    (home / "a.txt").write_text("open")
    (home / ".hidden").write_text("secret")
    (home / ".git" / "config").write_text("secret")
    (home / "one").symlink_to(home / ".hidden")
    (home / "two").symlink_to(home / ".git")
    (home / "three").symlink_to(home / "a.txt")
    with serving(f'.h.HOME:"{home}"') as (_, port):
        assert reply(port, "GET", "/a.txt") == reply(port, "GET", "/three") == (200, b"open")
        for target in ("/one", "/two/config"):
            status, body = reply(port, "GET", target)
            assert status == 404 and b"secret" not in body


def test_a_file_fits_the_memory_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(1 << 20)
    with serving(f'.h.HOME:"{tmp_path}"') as (_, port):
        monkeypatch.setattr(memory, "left", lambda: 3 << 20)
        assert reply(port, "GET", "/large") == (200, bytes(1 << 20))
        monkeypatch.setattr(memory, "left", lambda: 3 << 19)
        status, body = reply(port, "GET", "/large")
        assert status == 400 and body.startswith(b"'wsfull")


def test_confined_clients_get_no_files_from_elsewhere(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside").write_text("secret")
    (inside / "a.txt").write_text("open")
    with Server(inside, ".h.HOME:\".\"\n", ("-u", "1")) as server:
        assert reply(server.port, "GET", "/a.txt") == (200, b"open")
        for home in (str(tmp_path), "/", ".."):
            assert reply(server.port, "GET", "/?" + quote(f'.h.HOME:"{home}"', safe=""))[0] == 200
            for target in ("/outside", "/etc/passwd", "/none"):
                status, body = reply(server.port, "GET", target)
                assert status == 400 and body.startswith(b"'access: ")
    with Server(inside, f'.h.HOME:"{tmp_path}"\n', ("-b",)) as server:
        assert reply(server.port, "GET", "/outside") == (200, b"secret")  # the owner's choice


def test_only_the_last_queries_are_kept() -> None:
    """Where any name is let in, each of them is another client."""
    with serving(*LINES, ".z.pw:{[u;p]1b}") as (session, port):
        for k in range(web_page.CLIENTS + 20):
            assert reply(port, "GET", "/?t", headers=basic(f"user{k}:x"))[0] == 200
        assert len(session.session.ipc.queries) == web_page.CLIENTS
        last = basic(f"user{web_page.CLIENTS + 19}:x")
        assert b"64 x" in reply(port, "GET", "/?[64", headers=last)[1]
        assert b"64 x" not in reply(port, "GET", "/?[64", headers=basic("user0:x"))[1]
