"""Notes that say what an object is: beside handles at a prompt on a terminal, and nowhere else; who refers to objects."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from kshell.session import Session
from kshell.shell.notes import annotator
from tests.shell.test_cli import Terminal, run

MADE = ("t:tensor(2 3#1e;`grad)", "m:module seq(`sequential;(`linear;3;4);`relu;(`linear;4;1))", "o:opt(`adamw;m;.1)",
        "l:loss`mse", "s:sched(o;`steplr;10)", "v:vector(1 2;3 4e)", "d:`w`bias!(tensor(`randn;3 4);tensor 1 2)",
        ".a.x:t", "e:dict(`a`b!(1 2;3 4e))", "n:module`relu", "b:1b;u:tensor 1 2;free u")


@pytest.fixture(scope="module")
def session() -> Session:
    made = Session(out=io.StringIO(), err=io.StringIO())
    for line in MADE:
        made.run(line)
    made.annotate = annotator(made, colours=False)
    return made


def shown(s: Session, line: str) -> list[str]:
    """What the console shows of a line, with the numbers of handles masked."""
    s.out = io.StringIO()
    s.run(line, show=True)
    return re.sub(r"\b5\d{7}\b", "#", s.out.getvalue()).splitlines()


NOTES = [
    ("t", ["#  tensor float 2 3 cpu grad"]),
    ("tensor 1.5", ["#  tensor double scalar cpu"]),
    ("tensor(`int$();`int)", ["#  tensor int 0 cpu"]),
    ("m", ["#  module sequential 3 layers 21 parameters cpu"]),
    ("n", ["#  module relu 0 parameters"]),
    ("o", ["#  optimizer adamw 1 group 21 parameters cpu"]),
    ("l", ["#  loss mse"]),
    ("s", ["#  scheduler steplr"]),
    ("v", ["#  vector 2 tensors 4 elements cpu"]),
    ("e", ["#  dictionary 2 tensors 4 elements cpu"]),
    ("u", ["#  freed tensor"]),
    ("model(module enlist(`linear;3;2);loss`mse;opt`sgd)", ["#  model 2 parameters cpu"]),
    ("d", ["w   | #  tensor float 3 4 cpu", "bias| #  tensor long 2 cpu"]),
    ("(t;t)", ["#  tensor float 2 3 cpu grad"] * 2),
    ("`a`t!(1;t)", ["a| 1", "t| ,#  tensor float 2 3 cpu grad"]),
    ("1 2 3", ["1 2 3"]),
    ("`a`b!1 2", ["a| 1", "b| 2"]),
    ("([]a:1 2)", ["a", "-", "1", "2"]),
    ("tensor t", ["1 1 1", "1 1 1"]),
]


@pytest.mark.parametrize(("line", "lines"), NOTES, ids=[row[0] for row in NOTES])
def test_notes(session: Session, line: str, lines: list[str]) -> None:
    if "model" in line:  # its optimizer has no parameters, its module 3*2+2
        lines = ["#  model 8 parameters cpu"]
    assert shown(session, line) == lines


def test_the_table_of_objects_shows_who_refers_to_them(session: Session) -> None:
    rows = shown(session, "obj[]")
    assert rows[0].split() == ["ptr", "class", "device", "dtype", "size", "elements", "bytes"]
    assert rows[2].endswith("  t .a.x") and any(row.endswith("  m") for row in rows)
    assert all(len(row) < session.settings.c[1] for row in rows)


def test_names_that_refer_to_objects() -> None:
    """Of all namespaces; within lists, dictionaries and tables. The table is otherwise that of `obj[]`."""
    s = Session(out=io.StringIO(), err=io.StringIO())
    for line in ("t:tensor 1 2", ".a.b.u:t", "l:(1;(t;2))", "d:`x`y!(t;1)", "w:([]a:enlist t)", "v:tensor 1", "z:3"):
        s.run(line)
    assert s.show(s.run("exec names from obj`names")) == "`t`l`d`w`.a.b.u\n,`v"
    assert s.run("(delete names from obj`names)~obj[]") is True
    assert s.run("all(exec names from obj`names)~'exec names from obj`names") is True
    s.run("tensor 5;q:tensor 5;q:0")
    assert s.run("count obj[]") == 2
    with pytest.raises(Exception, match="obj: empty arg expected, given symbol scalar"):
        s.run("obj`foo")


def test_a_note_is_left_out_where_it_does_not_fit(session: Session) -> None:
    session.run("\\c 25 30")
    assert shown(session, "t") == ["#"]
    session.run("\\c 25 80")
    assert len(shown(session, "40#enlist t")) < 30


def test_notes_are_for_people_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe and a script print what ktorch prints; a terminal shows the note behind it, in grey."""
    done = run("-q", "-e", "t:tensor 2 3#1e", "-e", "t")
    assert re.fullmatch(r"5\d{7}\n", done.stdout)
    done = run("-q", stdin="t:tensor 2 3#1e\nt\n")
    assert re.fullmatch(r"5\d{7}\n", done.stdout)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    t = Terminal()
    t.until("q)")
    t.send("t:tensor 2 3#1e\r")
    t.until("q)")
    t.send("t\r")
    t.until("  tensor float 2 3 cpu")
    t.until("q)")
    t.send("`a`b!1 2;help`linear\r")
    t.until("/ in and out have no default: the values below are examples")
    t.until("q)")
    t.send("help`backward\r")
    t.until("Compute gradients")
    t.until("createfree 0 ")
    assert t.leave() == 0


def test_colours() -> None:
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run("t:tensor 2 3#1e")
    s.annotate = annotator(s, colours=True)
    assert re.fullmatch(r"#  \x1b\[90mtensor float 2 3 cpu\x1b\[0m", shown(s, "t")[0])
