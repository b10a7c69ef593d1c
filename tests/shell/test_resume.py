"""Going on from the debugger with `:value`: what then happens is what happens where nothing failed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kshell.parse import split_script
from kshell.session import Session
from kshell.shell import debugger
from kshell.shell.script import enter


def session() -> Session:
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.interactive = True
    return s


def play(s: Session, *lines: str) -> str:
    """What the console prints while lines are typed."""
    s.out = s.err = out = io.StringIO()
    for text in lines:
        for _, statement in split_script(text):
            (debugger.enter if s.suspended else enter)(s, statement)
    return out.getvalue()


# `bad x` is x, or fails and is given x: in all kinds of places
PLACES = [
    "{bad x}3", "{1+bad x}3", "{a:1+bad x;a*2}3", "{0N!\"said \",string bad x;x}3", "{(1+bad x;bad 2*x;0N!x)}3",
    "{g1[bad x;bad 2;0N!3]}4", "{$[bad x>1;`big;`small]}3", "{$[x>5;1;bad[x]>2;bad 2;3]}3", "{if[x;a:bad 5];a}1",
    "{r:();i:0;while[i<x;r,:bad i;i+:1];r}4", "{i:0;while[i<bad x;i+:1;0N!i];i}3", "{r:0;do[bad x;r+:1];r}4",
    "{r:0;do[x;r:bad[1]+2*r];r}4", "{r:0;do[x;do[bad 2;r+:bad 1];0N!r];r}3", "{r:0;do[x;i:0;while[i<2;r+:bad i;i+:1]];r}3",
    "{[n;m] r:();while[n>0;n-:1;if[bad n;r,:bad m]];r}[3;7]", "{:1+bad x;9}3", "{x[1]:bad 9;x}1 2 3",
    "{x+:bad 1;x*:bad 2;x}5", "{{x+bad x}x+1}3", "{y:{bad x}[x]+{bad x}[2*x];y+x}3", "{glob::bad x;glob+1}3",
    "{[t] n:bad 1;count select from t where a>n}([]a:til 3;b:1)", "{`a`b!(bad x;bad 2)}3", "{([]a:bad x;b:1 2)}3",
    "{.[{x+bad y};(x;2)]}3", "{@[{bad x};x]}3", "{value[\"bad 2\"]+x}3", "{value\"glob:bad 4\";glob}3", "{0N!bad x;}3",
    "{bad[x]+bad[2]*bad 3}4", "{.z.s each ();$[x>0;bad[x]+.z.s x-1;0]}3", "{[if1;def] if1+bad def}[1;2]",
    "{x . (bad 1;2)}{x-y}", "{x@bad 1}10 20 30",
    "glob:bad 3;glob+1", "1+bad 2;3+bad 4", "f1:{bad x};f1 2", "2*bad 3", "{a:til bad x;a+bad a}3", "{-1\"out\";bad x}1",
    "{[a;b;c;d;e] a+b+c+d+bad e}[1;2;3;4;5]", "{exec first a from([]a:1#bad x)}3", "{x:bad x;do[2;x:x*bad 2];x}1",
    "{s:\"\";do[x;s,:string bad 1];s}2", "{(bad x){x+y}/1 2 3}3", "{a:b:bad x;a+b}3", "{(a;b):bad 1 2;a-b}0",
    "{bad x}each 3 4 5", "{1+bad x}'[(1;2 3)]", "{x+bad y}/[1 2 3]", "{x+bad y}\\[1 2 3]", "{x+bad y}/[5;1 2]", "{x,bad y}\\[5;1 2]",
    "1 2{x+bad y}'3 4", "1{x+bad y}'3 4", "(1;`b){(bad x;y)}/:(1;2)", "1 2{x-bad y}\\:3", "{bad[x]-y}':[1 2 4]", "9{bad[x]-y}':1 2 4",
    "{bad x}each `x`y!1 2", "3{1+bad x}/1", "3{1+bad x}\\1", "{bad x<5}{x+1}/1", "{x<5}{1+bad x}\\1", "{x&bad 3}/[9]", "{x&bad 3}\\[9]",
    "{x+y+bad z}'[1 2;3;4 5]", "{x+y+bad z}/[0;1 2;3 4]", "{x+y+bad z}\\[0;1 2;3 4]", "{sum{bad x}each x}each(1 2;3 4)",
    "{bad x}each([]a:1 2)", "{bad x}peach 1 2", "{r:{x*bad y}[2]each x;0N!sum r}1 2 3",
]


@pytest.mark.parametrize("text", PLACES)
def test_going_on_is_as_if_nothing_had_failed(text: str) -> None:
    """Each `bad` fails in turn and is given its own argument; what is printed but errors, the value and the globals are
    those of a `bad` that gives it."""
    well, ill = session(), session()
    for s in (well, ill):
        s.run("g1:{100 10 1 sv(x;y;z)};glob:0")
    well.run("bad:{x}")
    ill.run("bad:{'`bad}")
    expected = play(well, text)
    shown = play(ill, text)
    for _ in range(40):
        assert not shown or "'bad" in shown or not ill.suspended, shown
        if not ill.suspended:
            break
        assert "cannot continue" not in shown
        shown = _printed(shown) + play(ill, ":x")
    assert not ill.suspended and _printed(shown) == expected
    assert ill.run("glob").__repr__() == well.run("glob").__repr__()


def _printed(text: str) -> str:
    """What is printed but reports of errors."""
    out, skip = [], 0
    for line in text.splitlines(keepends=True):
        if skip or line.startswith("'bad"):
            skip = 1
        if line.startswith("  [0]"):
            skip = 2  # and the line with its caret
        elif skip == 2:
            skip = 0
            continue
        if not skip:
            out.append(line)
    return "".join(out)


def test_the_debugger_shows_the_item() -> None:
    """Not the list that a lambda of atomic verbs is given whole where nothing can go wrong."""
    s = session()
    assert play(s, "{x+1}each(1 2;`a`b)", "x") .endswith("\n`a`b\n") and play(s, "\\") == ""
    assert play(s, "{x+1}each `a`b", "x").endswith("\n`a\n")
    s.interactive = False
    assert play(s, "\\", "{x+1}each 1 2") == "2 3\n"


def test_the_sessions_of_the_reference() -> None:
    s = session()
    play(s, "f:{g[x;2#y]}", "g:{a:x*2;a+y}", 'f[3;"hello"]')
    assert play(s, ".z.ex", ".z.ey") == '+\n6\n"he"\n'
    assert play(s, ":10") == "10\n" and not s.suspended
    assert play(s, ".z.ex", ".z.ey") == "()\n"
    play(s, '{0N!"x+1 is ",string x+1;x}`asd')
    assert play(s, ":17") == '"x+1 is 17"\n`asd\n'


def test_a_script_goes_on(tmp_path: Path) -> None:
    """After the statement that failed, in its namespace; the session is then where it was."""
    (tmp_path / "t.q").write_text("\\d .t\nb:0\nfunc:{1+x}\na:func`a\nb:1\nc:func`c\n-1\"end\";\n")
    s = session()
    assert "func:{1+x}" in play(s, f"\\l {tmp_path}/t.q")
    assert "t.q:6: c:func`c" in play(s, ":42")
    assert play(s, ":43") == "end\n" and not s.suspended
    assert play(s, ".t.a,.t.b,.t.c", "\\d") == "42 1 43\n`.\n"


@pytest.mark.parametrize("text", ["{select a+`b from ([]a:1 2)}1", "{exec {x+`b}'[a] from ([]a:1 2)}1", "{@[1 2;0;{x+`a}]}1",
                                  "{select from x where a>`b+til 2}([]a:1 2)"])
def test_what_cannot_go_on(text: str) -> None:
    """Nothing runs, and the debugger stays."""
    s = session()
    play(s, text)
    levels = len(s.suspended[-1].levels)
    assert "cannot continue: it was in a query, a verb or a thread" in play(s, ":5")
    assert len(s.suspended) == 1 and len(s.suspended[0].levels) == levels


def test_values_that_are_given() -> None:
    s = session()
    play(s, "{(x;y+`a)}[7;1 2]")
    assert play(s, "x:8", ":") == "8\n::\n"  # :: is given, and x as it is now
    play(s, "{x,`b+1}`a")
    assert "'nosuch" in play(s, ":nosuch") and len(s.suspended) == 1  # the value itself is wrong
    assert play(s, ":x") == "`a`a\n"


def test_one_debugger_in_another() -> None:
    s = session()
    play(s, "{a:x*2;a+`b}3", "{y+x}[a;`c]")
    assert len(s.suspended) == 2
    assert play(s, ":60") == "60\n" and len(s.suspended) == 1  # the line in the outer one has its value
    play(s, "b1:{x+`c}a")
    play(s, ":5")
    assert s.run("b1") == 5 and len(s.suspended) == 1
    assert play(s, ":1") == "1\n" and not s.suspended


def test_after_a_signal_the_caller_goes_on() -> None:
    s = session()
    play(s, "f:{x+`a}", "g:{r:f x;-1\"after\";r*2}", "g 4")
    assert "'mine" in play(s, "'mine")
    assert play(s, ":21") == "after\n42\n"


def test_many_turns_of_a_loop() -> None:
    """What is made for the rest does not grow with each."""
    s = session()
    play(s, "{r:0;while[r<20;r+:1+0*x+`a];r}1")
    for i in range(19):
        assert "'type" in play(s, ":0"), i
        held = s.suspended[0].levels[0].rest
        assert held is not None and len(held.info.offsets) < 40
    assert play(s, ":0") == "20\n"


def test_going_on_with_the_k_api() -> None:
    """What went wrong in torch goes on too, and nothing keeps its tensors afterwards."""
    s = session()
    play(s, "{[n] t:tensor(`zeros;2,n);u:mm(t;t);r:tensor u;sum sum r+1}3")
    assert s.run(".z.ex").name == "mm" and play(s, "size t") == "2 3\n"
    assert play(s, ":tensor(`ones;2 2)") == "8e\n"
    assert not s.suspended and len(s.handles) == 0


@pytest.mark.parametrize(("text", "value", "shown"), [
    ("{x[5]:1;x}1 2", ":9", "1 2"), ("{x[0 1]+:`a;x}1 2", ":9", "1 2"), ("{glob[7]:`a;glob}1", ":9", "1 2 3"),
    ("{x+:`a;x}1", ":9", "9"), ("{glob+:`a;glob}1", ":9", "9"), ("{x,:1+`a;x}enlist 1", ":9", "1 9"), ("{glob,:1+`a;glob}1", ":9", "1 2 3 9"),
    ("{glob::glob+`a;glob}1", ":9", "9"), ("{a:x+`a;a}1", ":", "::")])
def test_assignments_that_failed(text: str, value: str, shown: str) -> None:
    """What an operator should have given is assigned; where items could not be, the variable stays."""
    s = session()
    play(s, "glob:1 2 3", text)
    assert play(s, value, "1+1") == f"{shown}\n2\n".removeprefix("::\n") and not s.suspended


def test_a_carets_place_in_the_rest() -> None:
    s = session()
    play(s, "{[a]\n  b:a+`x;\n  c:b*2;\n  c-`y}1")
    shown = play(s, ":3").splitlines()
    assert shown[0] == "'type" and shown[1].endswith("c-`y}") and len(shown[2]) - len(shown[1]) == len("c-") - len("c-`y}")
