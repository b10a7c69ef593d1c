"""The prompt: completion as a function, and sessions on real pseudo-terminals."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from kshell.lang.compiler import tree_queries as trees
from kshell.parse import split_script
from kshell.parse.lex import coloured, complete, left_open, scan
from kshell.session import Session
from kshell.shell import context, highlight, prompt
from kshell.shell.complete import Found, offers
from kshell.shell.context import place
from kshell.shell.history import Entries
from kshell.shell.keys import new_line, wants_more
from kshell.shell.toolbar import signature
from tests.shell.test_cli import KSHELL, Terminal, run
from tests.support import warm

# ------------------------------------------------------------------ completion, as a function


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    s = Session()
    for line in ("trades:([]price:1 2;size:3 4)", "keyed:([id:1 2]v:3 4)", "hyper:`lrate`depth!1 2", ".my.alpha:{x}",
                 "number:5", "view1::number+1", "two:{[first1;second1] first1+second1}"):
        s.run(line)
    return s


def texts(found: list[Found]) -> list[str]:
    return [f.text for f in found]


# text before the cursor (after it where there is a |): candidates that must be there, and some that must not
CONTEXTS = [
    ("opt(`ad", ["adam", "adamw", "adagrad"], ["add", "sgd"]),
    ("opt`ad", ["adam"], ["add"]),
    ("opt[(`ad", ["adam"], []),
    ("opt(`adam;m;`", ["lr", "beta1", "eps"], ["adam", "number"]),
    ("opt(`adam;m;(`", ["lr", "beta1"], ["number"]),
    ("opt(`adam;m;", ["`lr", "`beta1"], ["til"]),
    ("opt(", ["`adam", "`sgd"], ["til"]),
    ("sched(o;`cos", ["cosine"], ["cos", "cosineloss"]),
    ("scale(o;`ada", ["adascale"], ["adam"]),
    ("module(`lin", ["linear"], ["linearlr"]),
    ("module enlist(`lin", ["linear"], []),
    ("module((`sequential);(`conv", ["conv1d", "conv2d"], []),
    ("m:module(`linear;10;2;`", ["bias"], ["linear"]),
    ("loss(`m", ["mse", "margin"], ["mish"]),
    ("loss(`mse;`reduce;`", ["none", "sum"], []),
    ("to(x;`do", ["double"], []),
    ("tensor(1 2;`g", ["grad"], []),
    ("tensor(`ze", ["zeros"], []),
    ("setting`thr", ["threads"], []),
    ("train(m;`batch", ["batchsize"], []),
    ("train(m;`batchsize`sh", ["shuffle"], ["batchsize"]),
    ("opt(`adam;m;`lr`be", ["beta1"], []),
    ("module seq(`sequential;(`li", ["linear"], ["linearlr"]),
    ("seq(`sequential;`re", ["relu"], []),
    ("`.my.al", [".my.alpha"], []),
    ("key`.m", [".my."], []),
    ("help`ada", ["adam", "adaptavg1d"], []),
    (".my.", [".my.alpha"], [".z.p"]),
    (".z.", [".z.p", ".z.x"], [".my.alpha"]),
    ("select pr| from trades", ["price"], ["lrate"]),
    ("select sum si| by price from trades", ["size"], []),
    ("exec max s| from `trades", ["size"], []),
    ("select from trades where ", ["price", "size"], ["lrate", "til"]),
    ("select from keyed where i", ["id"], ["price"]),
    ("select from ", ["trades", "keyed"], ["number", "hyper"]),
    ("select from tr", ["trades"], []),
    ("a:1;select pr", ["price"], []),
    ("f:{\n  select pr", ["price"], []),
    ("hyper`", ["lrate", "depth"], ["number"]),
    ("hyper[`l", ["lrate"], []),
    ("hyper.d", ["hyper.depth"], []),
    ("trades`", ["price", "size"], []),
    ("trades.p", ["trades.price"], []),
    ("keyed`", ["id", "v"], []),
    ("nu", ["number"], []),
    ("til nu", ["number"], []),
    ("xas", ["xasc"], []),
    ("childn", ["childnames"], []),
    ("{[alpha;beta] al", ["alpha", "all"], ["beta"]),
    ("f:{\n  delta:2*x;\n  de", ["delta", "deltas"], []),
    ("\\", ["t", "ts", "l"], []),
    ("\\su", ["suggest"], ["sum"]),
    ("\\d .m", [".my"], [".z"]),
    ("\\t nu", ["number"], []),
    ("\\ts:10 nu", ["number"], []),
    ("x:`a`nu", ["number"], []),
    ("get`:", ["folder one/", "plain.q"], [".hidden"]),
    ("get`:pl", ["plain.q"], ["folder one/"]),
    ("get`:sub/", ["inner.q"], []),
    ("\\l pl", ["plain.q"], []),
    ("\\l sub/in", ["inner.q"], []),
    ("\\cd ./su", ["sub/"], []),
]


@pytest.mark.parametrize(("text", "there", "absent"), CONTEXTS, ids=[row[0] for row in CONTEXTS])
def test_completion(session: Session, text: str, there: list[str], absent: list[str], tmp_path: Path,
                    monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("folder one", "sub"):
        (tmp_path / name).mkdir()
    for name in ("plain.q", ".hidden", "sub/inner.q"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    before, _, after = text.partition("|")
    found = offers(session, before, after)
    assert set(there) <= set(texts(found))
    assert not set(absent) & set(texts(found))
    for f in found:
        assert f.text.startswith(before[len(before) - f.size:])


@pytest.mark.parametrize("text", ['"opt(`ad', '"a\\"b', "1 / opt(`ad", "/ nu", "/\nnu", 'f "text', '"done"', "0x12a", "12",
                                  "1 2 3", "x:1 / `", "\\P nu", 'a:"x\n  nu', "", "1+", "nosuchname1"])
def test_completion_is_silent(session: Session, text: str) -> None:
    assert offers(session, text) == []


def test_notes_say_what_a_candidate_is(session: Session) -> None:
    notes = {f.text: f.note for f in offers(session, "opt(`adam;m;`")}
    assert notes["lr"].startswith("= 0.001") and "learning rate" in notes["lr"]
    assert all(f.note for f in offers(session, "\\"))
    assert {f.text: f.note for f in offers(session, "xas")}["xasc"]
    assert {f.text: f.note for f in offers(session, "module(`linear;`")}["in"].startswith("required")


@pytest.mark.sampled(2)
def test_torch_loads_after_what_completion_needs() -> None:
    code = ("import sys;from kshell.session import Session;s=Session();seen=[];before=sys.getswitchinterval();"
            "s.prepare(lambda:seen.append('torch' in sys.modules and 'kshell.kapi.console.completion' in sys.modules)).join();"
            "assert seen==[False] and 'torch' in sys.modules and sys.getswitchinterval()==before;"
            "assert s.run('tensor 2*tensor 1 2 3') is not None")
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("own", [True, False])
def test_garbage_is_collected_again(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After torch has loaded; nothing of a program that opened a prompt is left out from then on."""
    frozen: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(gc.isenabled()))
    s = Session()
    monkeypatch.setattr(s, "prepare", lambda first: threading.Thread(target=first))  # over before it began
    loading = prompt.Loading()
    asyncio.run(prompt._prepare(s, loading, own))
    assert loading.done and gc.isenabled() and frozen == [True] * own


def test_many_lines_are_written_plainly() -> None:
    assert prompt.plain("q)", "a:1\n\tb:\x1b[2J\x9b") == "q)a:1\n  ^Ib:^[[2J<9b>"


def test_completion_computes_nothing(session: Session) -> None:
    """A view is not calculated, an unknown name is no error, and a dictionary of other keys has no parts."""
    session.run("count1:0")
    session.run("looked::{count1+:1;`a`b!1 2}[]")
    assert texts(offers(session, "looked`")) != ["a", "b"]
    session.run("odd:1 2!3 4")
    assert offers(session, "nosuch1`zz") == offers(session, "odd`zz") == []
    assert session.run("count1") == 0


def test_completion_toolbar_and_parsing_do_not_import_torch() -> None:
    code = ("import sys;from kshell.session import Session;from kshell.shell.complete import offers;"
            "from kshell.shell.toolbar import signature;s=Session();"
            "[offers(s,t) for t in ('opt(`a','tensor(1;`','to(x;`','module(`l','help`','seed`','ti','train(m;`')];"
            "[signature(s,t) for t in ('opt(`adam;','til','tensor(')];s.status();s.run('\\\\?cosine');"
            "s.parts('x');assert 'torch' not in sys.modules")
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


def test_parts_of_live_objects() -> None:
    s = Session()
    s.run("m:module((`sequential);(`linear;`fc1;4;3);(`relu);(`linear;`fc2;3;2))")
    s.run("d:dict(`first`second;1 2e)")
    assert {"fc1", "fc2"} <= set(texts(offers(s, "child(m;`f")))
    assert "fc1.weight" in texts(offers(s, "parm(m;`fc1.w"))
    assert {"first", "second"} <= set(texts(offers(s, "d`")))
    s.run("free m")
    assert offers(s, "child(m;`f") == []


@pytest.mark.parametrize(("text", "expected"), [
    ("opt(`adam;m;", "adam: lr=0.001  beta1=0.9"), ("opt(", "opt`name"), ("3 xbar", "x xbar y"), ("xbar[3;", "x xbar y"),
    ("two[1;", "two:{[first1;second1]"), ("\\t 5", "\\t"), ("number", ""), ('"opt(', ""), ("1+2", ""),
    ("module(`linear;", "linear: in  out  bias=1b")])
def test_the_signature_of_the_function_at_the_cursor(session: Session, text: str, expected: str) -> None:
    found = signature(session, text)
    assert found.startswith(expected) if expected else found == ""


def test_the_toolbar_tells_what_the_debugger_takes() -> None:
    s = Session()
    s.interactive = True
    with pytest.raises(Exception, match="type"):
        s.run("{x+`a}1")
    assert signature(s, "").startswith("debugger: \\ leaves") and "xbar" in signature(s, "3 xbar")
    s.suspended.clear()
    assert signature(s, "") == ""


def test_places() -> None:
    at = place("f[1;(`a;`b;x`c")
    assert at is not None
    assert (at.kind, at.prefix, [c.head for c in at.calls], len(at.calls[-1].args)) == ("symbol", "c", ["", "f", ""], 3)
    assert place("f[1;2]") is not None and place("f[1;2]").calls[-1].kind == ""  # type: ignore[union-attr]
    assert place("a)]}f(") is not None


# ------------------------------------------------------------------ lines, colours, history


@pytest.mark.parametrize(("text", "more"), [
    ("1+1", False), ("f:{", True), ("f:{\n  x+1", True), ("f:{\n  x+1}", False), ('"abc', True), ("(1;", True),
    ("1+)", False), ("a:1\n  +2", True), ("a:1\n  +2\n", False), ("a:1\n  +2\n  ", False), (" 1+1", False),
    ("/\ntext", True), ("\\t til 3", False), ("", False), ("f:{\n  x+1\n  }", False), ("\\", False)])
def test_when_enter_goes_on(text: str, more: bool) -> None:
    assert wants_more(text) is more


def test_colours_are_the_lexers() -> None:
    text = 'a:`b,"c" / note'
    line = highlight.QLexer().lex_document(Document(text))(0)
    assert "".join(part for _, part, *_ in line) == text
    found = {part: style for style, part, *_ in line}
    assert found['"c"'] == "class:q.string" and found["`b"] == "class:q.symbol" and found["/ note"] == "class:q.comment"
    assert {f"class:q.{kind}" for kind, _, _ in coloured(text)} <= {style for style, _, *_ in line}


@pytest.mark.parametrize("text", ["f:{\n  x+1\n  }\ng:2", "/\n a:1\n\\\nb:2", "", "\n\n", "\\t\n1", '"a\n  b"\n1', "é:1"])
def test_every_line_keeps_its_text(text: str) -> None:
    lex = highlight.QLexer().lex_document(Document(text))
    assert ["".join(part for _, part, *_ in lex(i)) for i in range(text.count("\n") + 1)] == text.split("\n")
    assert lex(1000) == []


def test_block_comments_are_coloured() -> None:
    lex = highlight.QLexer().lex_document(Document("/\na:1\n\\\nb:2"))
    assert lex(1) == [("class:q.comment", "a:1")]
    assert lex(3)[0] == ("class:q.name", "b")


def test_a_long_text_is_coloured_where_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f"f{i}:{{[a;b] c:a+b*{i};\n  \"text {i} \",string c}}" for i in range(10_000))
    seen: list[str] = []
    monkeypatch.setattr(highlight, "coloured", lambda s, *a, coloured=coloured: seen.append(s) or coloured(s, *a))
    highlight.styled.cache_clear()
    lex = highlight.QLexer().lex_document(Document(text))
    for i in range(19_999, 19_959, -1):
        lex(i)
    assert seen == text.split("\n")[:19_959:-1]


OPEN = "f:{[alpha]\n" + "\n".join(f"  v{i}:{i}+{i % 7};" for i in range(10_000))  # one statement


def test_a_key_in_a_long_text_is_looked_at_by_itself(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the colours, the toolbar and completion: what is open before its line is known."""
    looked: list[int] = []
    monkeypatch.setattr(sys.modules["kshell.parse.lex"], "left_open", lambda s: looked.append(len(s)) or left_open(s))
    for typed in ("  v", "  va", '  va"', "  va"):
        at = Document(OPEN + "\n" + typed)
        line = highlight.QLexer().lex_document(at)
        assert "".join(part for i in range(9_960, at.line_count) for _, part, *_ in line(i)).endswith(typed)
        signature(session, at.text), offers(session, at.text)
        if typed != "  v":
            assert looked and sum(looked) < 20_000 < len(at.text) / 5
        looked.clear()


# what lines are made of: strings, comments and brackets, open and closed
BITS = st.sampled_from(['"', "\\", "/", " ", "\n", "\n/\n", "\n\\\n", "(", ")", "[", "]", "{", "}", "a", "1", "-1", "`b", ";", "+",
                        ':"c"', " / d\n", "\n  ", "select", "_"])


@settings(max_examples=80, deadline=None)
@given(st.lists(BITS, max_size=25).map("".join), st.randoms(use_true_random=False))
def test_colours_by_line_are_those_of_the_whole(text: str, random: Random) -> None:
    """In whatever order the lines are asked for; but where a comment stands between the numbers of a list."""
    lines = text.split("\n")
    line = highlight.QLexer().lex_document(Document(text))
    order = list(range(len(lines)))
    random.shuffle(order)
    shown = {i: line(i) for i in order}
    assert ["".join(part for _, part, *_ in shown[i]) for i in range(len(lines))] == lines
    by_line = [style.removeprefix("class:q.") for i in range(len(lines)) for style, part, *_ in [*shown[i], ("", "\n")]
               for _ in part]
    assume("command" not in by_line)
    whole = [""] * (len(text) + 1)
    for kind, start, end in coloured(text):
        whole[start:end] = [kind] * (end - start)
    assert all(a == b or c.isspace() or (a, b) == ("comment", "number")
               for a, b, c in zip(by_line, whole, text + "\n", strict=True)), text


@settings(max_examples=100, deadline=None)
@given(st.lists(BITS, max_size=25).map("".join))
def test_complete_is_what_the_tokens_say(text: str) -> None:
    assume(not any(line[:1] == "\\" for line in text.split("\n")))  # commands, and ends of comments
    kinds = scan("\n" + text).kinds
    open_: list[str] = []
    wrong = False
    for kind in kinds:
        if kind in "([{":
            open_.append({"(": ")", "[": "]", "{": "}"}[kind])
        elif kind in ")]}":
            wrong = wrong or not open_ or open_.pop() != kind
    comment = left_open(text)[0] == "/"
    assert not comment or any(line.rstrip() == "/" for line in text.split("\n"))
    assert complete(text) is (wrong or not (open_ or "?" in kinds or comment))
    assert ("?" in kinds) is (left_open(text)[0] == '"')


@pytest.mark.parametrize(("text", "statements"), [
    ('a:"x\ny"\nb:2', ['a:"x\ny"', "b:2"]), ('a:"x\n/\n\\\n)y"\n z\nb', ['a:"x\n/\n\\\n)y"\n z', "b"]),
    ('a:"x\nb:2', ['a:"x', "b:2"]), ('/ don"t\nc:"z"\nd', ['c:"z"', "d"]), ('\\l don"t\nc:"z"', ['\\l don"t', 'c:"z"']),
    ('a:1 / 5"\nb:"c"', ['a:1 / 5"', 'b:"c"']), ('f:{\n "a\n\nb"}\n1', ['f:{\n "a\n\nb"}', "1"])])
def test_a_string_that_is_typed_goes_over_lines(text: str, statements: list[str]) -> None:
    """Up to its end, if it has one; a script's line begins a statement all the same."""
    assert [s for _, s in split_script(text, typed=True)] == statements
    assert Session().run('a:"x\ny";a') is not None


def test_a_string_over_lines_is_run(session: Session) -> None:
    assert session.show(session.run('text1:"x\n\ny"\n(count text1;text1 1)')) == '4\n"\\n"'


def test_enter_adds_nothing_to_a_string() -> None:
    for before, after in (('a:"x', ""), ('  a:"x\n   y', ""), ("f:{", "  "), ("   f:(", "   "), ("/", ""), ("/\n a", " "),
                          ('f:{ / 5"', "  ")):
        buffer = Buffer(document=Document(before))
        new_line(buffer)
        assert buffer.text == before + "\n" + after


def test_files_are_listed_once(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the folder changes, which right after a change its time need not tell."""
    calls: list[str] = []

    def counted(path: str, listdir: Callable[[str], list[str]] = os.listdir) -> list[str]:
        if str(path).rstrip("/") == str(tmp_path):  # Python lists folders too, when it imports
            calls.append(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", counted)
    (tmp_path / "one").write_text("")
    text = f"get`:{tmp_path}/o"
    assert texts(offers(session, text)) == ["one"]
    (tmp_path / "only").write_text("")
    assert texts(offers(session, text)) == ["one", "only"] and len(calls) == 2
    os.utime(tmp_path, (1e9, 1e9))
    for _ in range(3):
        assert texts(offers(session, text)) == ["one", "only"]
    assert len(calls) == 3
    (tmp_path / "one").unlink()
    (tmp_path / "o2").mkdir()
    assert texts(offers(session, text)) == ["o2/", "only"] and len(calls) == 4
    tmp_path.rename(tmp_path.with_name("other"))
    assert offers(session, text) == []


@pytest.mark.parametrize(("text", "there"), [("\n  v99", "v9999"), ("\n  opt(`adam;m;`l", "lr"), ("\n  xas", "xasc")])
def test_completion_looks_at_the_end_of_a_long_statement(session: Session, text: str, there: str,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    monkeypatch.setattr(context, "scan", lambda s, scan=context.scan: lengths.append(len(s)) or scan(s))
    assert there in texts(offers(session, OPEN + text))
    assert lengths and max(lengths) <= context.LONGEST + 100


def test_completion_looks_at_few_of_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of variables only at the tables, of a long dictionary at its beginning."""
    s = Session()
    s.run('{(`$"global",string x)set x}each til 2000;few:([]column1:1 2)')
    s.run('big:(`$"k",/:string til 100000)!til 100000')
    asked: list[str] = []
    monkeypatch.setattr(s, "parts", lambda name, parts=s.parts: asked.append(name) or parts(name))
    assert "column1" in texts(offers(s, "select col")) and set(asked) == {"few"}
    assert texts(offers(s, "select from fe")) == ["few"]
    assert "k4999" in texts(offers(s, "big`k499")) and len(s.parts("big")) == 5000


def test_history_entries(tmp_path: Path) -> None:
    h = Entries(str(tmp_path / "history"))
    entries = ["1+1", "f:{\n  x\n\n+1}", "bytes \udce9", "", "+plus\n+lines"]
    for e in entries:
        h.store_string(e)
    assert list(h.load_history_strings()) == entries[::-1]
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600
    h.store_string("x" * 200_000)
    assert len(list(h.load_history_strings())) == len(entries)
    Entries(str(tmp_path)).store_string("cannot be written")
    assert list(Entries(str(tmp_path / "nosuch")).load_history_strings()) == []


# ------------------------------------------------------------------ on a terminal


class Screen(Terminal):
    """A kshell on a pseudo-terminal with a history of its own; `raw` is all that it sent."""

    def __init__(self, folder: Path, *args: str, size: tuple[int, int] | None = None, term: str = "xterm",
                 new: bool = False, **env: str) -> None:
        before = dict(os.environ)
        os.environ.update({"XDG_STATE_HOME": str(folder), **env})
        os.environ.pop("NO_COLOR", None) if "NO_COLOR" not in env else None
        try:
            self.open([*KSHELL, *args], term, new)
        finally:
            os.environ.clear()
            os.environ.update(before)
        if size is not None:
            self.resize(*size)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, text: str, timeout: float = 30) -> str:
        return super().until(text, timeout)

    def ask(self, text: str, until: str = "q)") -> str:
        """Type a line; what comes before the next prompt."""
        self.send(text + "\r")
        self.until("\n")
        return self.until(until)

    def result(self, text: str, expected: str) -> None:
        """Type a line, and see its result on a line of its own before the next prompt."""
        self.send(text + "\r")
        self.until("\n" + expected)
        self.until("q)")


@pytest.fixture()
def screen(tmp_path: Path) -> Iterator[Screen]:
    t = Screen(tmp_path, "-q")
    t.until("q)")
    yield t
    t.kill()


def test_result_and_caret(screen: Screen) -> None:
    screen.result("3+4", "7")
    screen.send("1+2*`b\r")
    screen.until("'type")
    shown = screen.until("^").splitlines()
    assert len(shown[-1]) == len("  [0]  1+2")
    screen.until("q)")
    screen.send("quit\r")
    screen.until("'quit")
    screen.until("/ \\\\ leaves, Ctrl-D too")  # a word that other shells know
    screen.until("q)")
    screen.send("quit:5\r")
    screen.until("q)")
    screen.result("quit", "5")
    assert screen.leave() == 0


def test_several_lines(screen: Screen) -> None:
    screen.send("f:{\r")
    screen.send("x+1;\r")
    screen.send("x*10}\r")
    screen.until("q)")
    screen.result("f 7", "70")
    screen.send("b:2\x1b\r  +5\r\r")  # Alt-Enter goes on; a line that begins with a blank needs an empty one
    screen.until("q)")
    screen.result("b", "7")
    assert screen.leave() == 0


def test_a_paste_runs_as_a_block(screen: Screen) -> None:
    screen.send("\x1b[200~/ a note\na:5\ng:{\n  x+a\n  }\ng 37\n\x1b[201~")
    screen.until("\n42")
    screen.until("q)")
    screen.send("\x1b[200~a:1\n1+`x\na:2\n\x1b[201~")
    screen.until("'type")
    screen.until("q)")
    screen.result("a", "1")  # the error ended the block
    screen.send("\x1b[200~40+2\x1b[201~")  # without an end of line it waits
    time.sleep(0.3)
    screen.send("0\r")
    screen.until("\n60")
    assert screen.leave() == 0


def test_a_paste_of_many_lines(screen: Screen) -> None:
    lines = [f"v{i}:{i}+{i % 7}" for i in range(10_000)]
    start = time.monotonic()
    data = ("\x1b[200~" + "\n".join(lines) + "\n\x1b[201~").encode()
    while data:
        data = data[os.write(screen.fd, data[:4000]):]
    screen.result("v9999+0", str(9999 + 9999 % 7))
    assert time.monotonic() - start < 30
    assert screen.leave() == 0


def test_a_function_of_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at to make it grows as its length, with many variables too."""
    s = Session()
    nodes = [0]

    def counted(*args: Any, walk: Any = trees.walk, **options: Any) -> Iterator[Any]:
        for n in walk(*args, **options):
            nodes[0] += 1
            yield n

    monkeypatch.setattr(trees, "walk", counted)
    looked = []
    for n in (100, 400):
        nodes[0] = 0
        s.run("f:{" + "\n".join(f"  v{i}:{i}+x;" for i in range(n)) + f"\n  v{n - 1}-v0}}")
        looked.append(nodes[0])
    assert s.run("f 1") == 399 and looked[1] < 6 * looked[0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("x", ["2", "2.5", "1 2", "0N", "0Wj", "9223372036854775800"])
def test_a_function_of_many_lines_calculates_as_a_short_one(x: str) -> None:
    s = Session()
    s.run("f:{v:x;\n" + " v:v+3;\n v-:x*2;\n" * 2000 + " do[3;v+:1];v}")
    assert s.show(s.run(f"f {x}")) == s.show(s.run(f"{{v:x;do[2000;v:v+3;v-:x*2];do[3;v+:1];v}}{x}"))


def test_a_string_on_a_terminal(screen: Screen) -> None:
    screen.send('  a:"x\ry"\r')
    screen.until("q)")
    screen.result("count a", "3")
    assert screen.leave() == 0


def test_interrupts_stop_the_line(screen: Screen) -> None:
    screen.send("while[1b;]\r")
    time.sleep(0.5)
    screen.send("\x03")
    screen.until("'stop")
    screen.until("q)")
    screen.send("half a li")
    time.sleep(0.2)
    screen.send("\x03")
    screen.until("q)")
    screen.result("6*7", "42")
    screen.send("t:tensor(`randn;1500 1500);while[1b;u:mm(t;t)]\r")
    time.sleep(1)
    screen.send("\x03")
    screen.until("'stop")
    screen.until("q)")
    screen.result("7*8", "56")
    assert screen.leave() == 0


def test_completion_on_a_terminal(screen: Screen) -> None:
    screen.send("trades:([]price:1 2)\r")
    screen.until("q)")
    screen.send("sum exec pric from trades")
    screen.send("\x1b[D" * len(" from trades") + "\t")
    time.sleep(0.5)
    screen.send("\r")
    screen.until("\n3")
    screen.until("q)")
    screen.send('"xas\t"\r')
    screen.until('\n"xas')
    assert screen.leave() == 0


def test_history_across_sessions(tmp_path: Path) -> None:
    t = Screen(tmp_path, "-q")
    t.until("q)")
    t.send("h:{\rx+100}\r")
    t.until("q)")
    t.result("h 1", "101")
    assert t.leave() == 0
    path = tmp_path / "kshell" / "history"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    t = Screen(tmp_path, "-q")
    t.until("q)")
    t.send("\x1b[A\x1b[A")  # the definition, whole
    time.sleep(0.3)
    t.send("\r")
    t.until("q)")
    t.result("h 2", "102")
    t.send("\x12x+1")  # search backwards
    time.sleep(0.5)
    t.send("\r")
    time.sleep(0.3)
    t.send("\r")
    t.until("q)")
    t.result("h 3", "103")
    assert t.leave() == 0


@pytest.mark.sampled(2)
def test_suggestions_can_be_switched_off(tmp_path: Path) -> None:
    for off in (False, True):
        t = Screen(tmp_path / str(off), "-q")
        t.until("q)")
        t.result("1000+234", "1234")
        if off:
            t.send("\\suggest 0\r")
            t.until("q)")
        t.send("1000")
        time.sleep(0.3)
        t.send("\x1b[C")  # the right arrow takes what is suggested
        time.sleep(0.2)
        t.send("\r")
        t.until("\n1000" if off else "\n1234")
        assert t.leave() == 0


def test_the_debugger(screen: Screen) -> None:
    screen.ask("f:{g[x;2#y]}")
    screen.ask("g:{a:x*2;a+y}")
    shown = screen.ask('f[3;"hello"]', "q))")
    assert "'type" in shown and "[2]  g:{a:x*2;a+y}" in shown
    screen.result("a*4", "24")
    screen.result("`", "  [1]  f:{g[x;2#y]}")
    screen.result("y", '"hello"')
    screen.result("`", '  [0]  f[3;"hello"]')
    screen.result(".", "  [1]  f:{g[x;2#y]}")
    screen.result("&", "'type")
    screen.result(".Q.bt[]", "  [2]  g:{a:x*2;a+y}")
    screen.result(".Q.bt[]", "  [2]  g:{a:x*2;a+y}\r\n                 ^\r\n>>[1]  f:{g[x;2#y]}")
    screen.send(".\ra:1 2\rsum a\r")
    screen.until("\n3")
    screen.send("{x+y}[a;y]\r")  # one debugger in another
    screen.until("q)))")
    screen.result(":5", "5")  # the outer one is left
    screen.send("{x+y}[a;y]\r")
    screen.until("q)))")
    screen.send("\\\r'mine\r")
    screen.until("'mine")
    screen.until("f:{g[x;2#y]}")
    screen.until("q))")
    screen.result(":\"gone on\"", '"gone on"')
    screen.result("1+1", "2")
    screen.send("\\debug 0\r")
    screen.until("q)")
    screen.send("f[3;`a]\r")
    screen.until("[0]")
    assert "))" not in screen.until("q)")
    time.sleep(0.3)
    screen.send("2+2\r")
    assert "))" not in screen.until("\n4")
    assert screen.leave() == 0


def test_the_debuggers_levels() -> None:
    s = Session()
    s.interactive = True
    s.run("\\d .lib")
    s.run("k:10")
    s.run("lambda1:{[if1;low] t:([]c:til if1);select from t where c>low,c<`q}")
    s.run("\\d .")
    with pytest.raises(Exception, match="type"):
        s.run("{.lib.lambda1[x;0]}5")
    (held,) = s.suspended
    assert [level.space for level in held.levels] == [".lib", ".", "."]
    assert set(held.level.locals) == {"if1", "low", "t"}
    s.run_suspended("r:exec sum c from t where c>low;k1:k*if1")
    assert (s.run(".lib.r"), s.run(".lib.k1")) == (10, 50)
    with pytest.raises(Exception, match=r"low"):
        s.run("low")
    assert held.cut("over") is None and held.error.text == "over"
    assert held.cut("out") is not None


@pytest.mark.parametrize("line", ["1+`a", "nosuch", "til -1", "{", "value \"1+)\"", "{while[1b;`a+1]}1"])
def test_what_opens_no_debugger(line: str) -> None:
    s = Session()
    s.interactive = line[0] != "{" or len(line) == 1
    with pytest.raises(Exception):  # noqa: B017
        s.run(line)
    assert s.suspended == []


def test_an_error_at_the_prompt_keeps_no_tensor() -> None:
    """What the debugger leaves is let go."""
    s = Session()
    s.interactive = True
    with pytest.raises(Exception):  # noqa: B017
        s.run("{t:tensor(`zeros;100 100);t+`a}1")
    assert len(s.handles) == 1
    s.suspended.clear()
    assert len(s.handles) == 0


def test_resize(tmp_path: Path) -> None:
    t = Screen(tmp_path, "-q", size=(40, 132))
    t.until("q)")
    t.result("value\"\\\\c\"", "40 132i")
    t.resize(30, 60)
    os.kill(t.pid, signal.SIGWINCH)
    time.sleep(0.3)
    t.send("til 100\r")
    t.until("\n0 1 2 3")
    line = t.until("\n")
    assert len("0 1 2 3" + line.rstrip()) in (59, 60) and line.rstrip().endswith("..")
    t.send("\\c 25 50\r")
    t.until("q)")
    t.resize(30, 70)
    t.result("value\"\\\\c\"", "25 50i")
    assert t.leave() == 0


def test_a_dumb_terminal(tmp_path: Path) -> None:
    t = Screen(tmp_path, "-q", term="dumb")
    raw = b""
    for line, expected in ((b"", b"q)"), (b"3+4\r", b"\n7"), (b"f:{\rx+1}\r", b"q)"), (b"f 41\r", b"\n42")):
        os.write(t.fd, line)
        raw = b""
        while not (expected in raw and raw.endswith(b"q)")):
            assert select.select([t.fd], [], [], 30)[0], raw
            raw += os.read(t.fd, 4096)
            assert b"\x1b" not in raw
    assert t.leave() == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("no_color", [False, True])
def test_colours_of_a_terminal(tmp_path: Path, no_color: bool) -> None:
    t = Screen(tmp_path, "-q", **({"NO_COLOR": "1"} if no_color else {}))
    raw = b""
    os.write(t.fd, b"x:`abc\r")
    os.write(t.fd, b"\x1b[1;1R")
    end = time.monotonic() + 10
    while raw.count(b"q)") < 2 and time.monotonic() < end:
        raw += os.read(t.fd, 65536)
    os.write(t.fd, b"7*6\r")
    while b"42" not in raw:
        raw += os.read(t.fd, 65536)
    assert (b"\x1b[0;33m" in raw or b"\x1b[33m" in raw) is not no_color
    assert t.leave() == 0


@pytest.mark.sampled(2)
def test_torch_loads_behind_the_prompt(tmp_path: Path) -> None:
    screen = Screen(tmp_path, "-q", new=True)
    screen.until("q)")
    maps = Path(f"/proc/{screen.pid}/maps")
    if not maps.exists():
        pytest.skip("no /proc")
    end = time.monotonic() + 60
    while "libtorch" not in maps.read_text():
        assert time.monotonic() < end
        time.sleep(0.1)
        screen.send("\x1b[C")
    screen.result("tensor 2*tensor 1 2 3", "2 4 6")
    assert screen.leave() == 0


def test_a_script_that_fails_before_the_prompt(tmp_path: Path) -> None:
    """With -i the prompt opens all the same, in the debugger if a function failed, which goes on with the script."""
    (tmp_path / "s.q").write_text("f:{x+`a}\na:1+f 1\n-1\"script at its end\";\n")
    t = Screen(tmp_path, "-q", "-i", str(tmp_path / "s.q"))
    t.until("[1]")
    t.until("q))")
    t.send(":41\r")
    t.until("script at its end")
    t.until("q)")
    t.result("a", "42")
    assert t.leave() == 0
    t = Screen(tmp_path, "-q", "-i", "-e", "1+`a", "-e", "b:5")
    t.until("'type")
    t.until("q)")
    t.result("2+2", "4")  # the second one did not run
    t.send("b\r")
    t.until("'b")
    assert t.leave() == 0
    t = Screen(tmp_path, "-i", "nosuch.q")
    assert t.close() == 1


# ------------------------------------------------------------------ leaving


def test_leaving_codes(tmp_path: Path) -> None:
    for line, code in (("\x04", 0), ("\\\\\r", 0), ("exit 3\r", 3), ("2+\x04\x03\x04", 0)):
        t = Screen(tmp_path, "-q")
        t.until("q)")
        t.send(line)
        assert t.close() == code


def test_a_prompt_that_is_told_to_leave(tmp_path: Path) -> None:
    t = Screen(tmp_path, "-q")
    t.until("q)")
    time.sleep(0.2)
    os.kill(t.pid, signal.SIGTERM)
    assert t.close() == 143


@pytest.mark.parametrize(("number", "code", "text"), [
    (signal.SIGINT, 130, "{while[1b;x+:1]}1"), (signal.SIGTERM, 143, "{while[1b;x+:1]}1"),
    (signal.SIGTERM, 143, "@[{while[1b;]};1;{while[1b;]}]")])
def test_a_script_that_is_stopped(tmp_path: Path, number: signal.Signals, code: int, text: str) -> None:
    (tmp_path / "s.q").write_text(f'-1"runs";\n{text}\n')
    p = warm.Process([*KSHELL, str(tmp_path / "s.q")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                     env=os.environ | {"PYTHONUNBUFFERED": "1"})
    assert p.stdout and p.stderr and p.stdout.readline() == "runs\n"
    time.sleep(.2)
    p.send_signal(number)
    err = p.communicate(timeout=30)[1]
    assert p.returncode == code
    assert ("'stop" in err) is (number == signal.SIGINT) and "Traceback" not in err


def test_a_pipe_that_is_told_to_leave() -> None:
    p = warm.Process([*KSHELL, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdin and p.stdout
    p.stdin.write("1+1\n")
    p.stdin.flush()
    assert p.stdout.readline() == "2\n"
    p.send_signal(signal.SIGTERM)
    assert p.wait(30) == 143
    p.stdin.close()
    p.stdout.close()


def test_a_script_names_its_interpreter(tmp_path: Path) -> None:
    path = tmp_path / "s.q"
    path.write_text("#!/usr/bin/env kshell\n-1 \"ran with \",\" \"sv .z.x;\n")
    path.chmod(0o755)
    folder = Path(sys.executable).parent
    done = subprocess.run([str(path), "a", "-b"], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert (done.stdout, done.stderr, done.returncode) == ("ran with a -b\n", "", 0)


def test_options_that_are_not_known_are_the_users(tmp_path: Path) -> None:
    text = "-1 \" \"sv .z.x;\nexit 0\n"
    assert run("-q", "-foo", "1", "-P", "3", "two", stdin=text).stdout == "-foo 1 -P 3 two\n"
    (tmp_path / "s.q").write_text(text)
    assert run("s.q", "-foo", "--bar", cwd=tmp_path).stdout == "-foo --bar\n"
    assert run("-q", "-foo", "1", stdin="a:.Q.opt .z.x\na`foo\n").stdout == ',"1"\n'


def test_search_of_the_help() -> None:
    done = run("-q", stdin="\\?cosine\n\\?adamw\n\\?qqqq\n\\?\n")
    assert "cosineloss" in done.stdout and "optimizer" in done.stdout
    assert "no help entry mentions qqqq" in done.stdout
    assert done.stderr.startswith("'\\?text searches")
