"""Lines of a function that q joins where a `;` was forgotten: warned of when it is read, and nothing else is."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from kshell.errors import QError, Source
from kshell.lang.compiler import joined_lines
from kshell.lang.compiler.built_ins import is_infix
from kshell.parse import parse, split_script
from kshell.parse import tree as N
from kshell.session import Session
from kshell.values.session import context
from tests import ROOT
from tests.docs.test_docs import BLOCK
from tests.shell.test_cli import run

# a function, and the ends of the lines that are warned of, with what is said
SUSPECTS = [
    ("{[x]\n  a:x*2\n  a+1}", [("a:x*2", "2 is applied to the next line")]),
    ("{[x]\n  a:x*2 / twice\n  a+1}", [("a:x*2", "2 is applied to the next line")]),
    ("{[x]a:x*2\n      a+1}", [("a:x*2", "2 is applied to the next line")]),
    ("{[x]\n  s:\"abc\"\n  s,x}", [('s:"abc"', '"abc" is applied to the next line')]),
    ("{[x]\n  s:`a`b\n  s,x}", [("s:`a`b", "`a`b is applied to the next line")]),
    ("{[x]\n  a:1 2 3\n  sum a}", [("a:1 2 3", "1 2 3 is applied to the next line")]),
    ("{[x;y]\n  a:x*y\n  a+1}", [("a:x*y", "y is applied to the next line")]),
    ("{[x;y]a:x*y\n      a+1}", [("a:x*y", "y is applied to the next line")]),
    ("{[x]\n  b:g[x]\n  c:b+x;\n  c}", [("b:g[x]", "g[x] is applied to the next line")]),
    ("{[x]b:g[x]\n        c:b+x;c}", [("b:g[x]", "g[x] is applied to the next line")]),
    ("{[x]\n  show x\n  show 2*x}", [("show x", "x is applied to the next line")]),
    ("{[x]\n  f:{y+1}\n  f x}", [("f:{y+1}", "{y+1} is applied to the next line")]),
    ("{[x]\n  if[x>0;x:1]\n  x}", [("if[x>0;x:1]", "if[..] is applied to the next line, which is evaluated first")]),
    ("{[x]\n  do[3;x+:1]\n  :x}", []),
    ("{[x]\n  if[x>0;\n    a:x\n    b:2];\n  b}", [("a:x", "x is applied to the next line")]),
    ("{[x]\n  y:x*2\n  3*y}", [("y:x*2", "2 and 3 are one list")]),
    ("{\n  -1 \"one\"\n  x}", [('-1 "one"', '"one" is applied to the next line')]),
    ("{[x]\n  {[z]\n    b:z*2\n    b+1}each x}", []),  # the inner function is warned of when it is read itself
]
# what is written so on purpose
MEANT = [
    "{[x]\n  a:x*2;\n  a+1}",
    "{[x]a:x*2; a+1}",
    "{[x]\n  raze\n    string\n      x}",
    "{[x]\n  r:raze\n    string x;\n  r}",
    "{[x]\n  r:.lib.clean\n    x;\n  r:.lib.clean\n    r;\n  r}",
    "{[t]\n  t:.lib.clean\n    t;\n  t}",
    "{[t]\n  .lib.clean[;1]\n  t}",
    "{[t]\n  t:select from\n    t\n    where a>1;\n  t}",
    "{[x]\n  -1\n    \"a long text, \",\n    string x;\n  x}",
    "{[x]\n  w:1 2 3\n    4 5 6;\n  w+x}",
    "{[x]\n  m:(1 2\n     3 4);\n  m+x}",
    "{[x]\n  $[x>1;\n    `a;\n    `b]\n  }",
    "{[x]\n  @[{x};\n    x;\n    0N]}",
    "{[x]\n  a:x+\n    2*\n    x;\n  a}",
    "{[x]\n  while[x<10;\n    x+:1;\n    ];\n  x}",
    "{[x]\n  (neg x)\n    (`upd;`t;1 2)}",
    "{[x]\n  h:x\n    \"select from t\";\n  h}",
    "{[x]\n  d:`a`b!\n    1 2;\n  d}",
    "{[x]\n  :x\n  }",
    "{[x]\n  x[1;\n  2]}",
]


def lambdas(nodes: list[Any]) -> list[Any]:
    """The lambdas among nodes, and in them."""
    return [n for node in nodes for n in inside(node) if n.__class__ is N.Lambda]


def inside(node: Any) -> list[Any]:
    out: list[Any] = []
    todo = [node]
    while todo:
        n = todo.pop()
        if isinstance(n, N.Node):
            out.append(n)
            todo += [getattr(n, f) for f in n.fields]
        elif n.__class__ in (list, tuple):
            todo += n
    return out


@pytest.fixture
def session() -> Any:
    made = Session(out=io.StringIO(), err=io.StringIO())
    token = context.enter(made)
    yield made
    context.leave(token)


@pytest.mark.parametrize(("text", "expected"), SUSPECTS, ids=[row[0] for row in SUSPECTS])
def test_forgotten_ends(text: str, expected: list[tuple[str, str]], session: Session) -> None:
    node = parse("f:" + text, is_infix)[0].expr.value
    found = [(text[text.rfind("\n", 0, at) + 1:at].strip(), what) for at, what in joined_lines.found(node, text)]
    assert [(line.removeprefix("{[x]").removeprefix("{[x;y]"), what) for line, what in found] == expected


@pytest.mark.parametrize("text", MEANT)
def test_what_is_meant(text: str, session: Session) -> None:
    node = parse("f:" + text, is_infix)[0].expr.value
    assert list(joined_lines.found(node, text)) == []


def test_no_false_alarm_in_the_programs_of_this_project(session: Session) -> None:
    """Nor in its documentation."""
    texts = [p.read_text() for folder in ("examples", "tests/transcripts", "tests/golden", "docs")
             for p in (ROOT / folder).rglob("*.q")]
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for m in BLOCK.finditer(page.read_text()):
            if m[2] == "q" and "no `;`" not in m[3] and "no ; at" not in m[3]:
                texts.append("\n".join(s.removeprefix("q)") for s in m[3].splitlines()))
    seen = 0
    for text in texts:
        for _, statement in split_script(text):
            try:
                nodes = parse(statement.removeprefix("q)"), is_infix, Source(statement))
            except QError:
                continue  # the output of a session
            for node in lambdas(nodes):
                seen += "\n" in node.text
                assert list(joined_lines.found(node, node.text)) == []
    assert seen > 20


WARNING = """warning: no ; at the end of this line, so 2 is applied to the next line
    a:x*2
         ^
"""


def test_a_warning_comes_once_and_changes_nothing() -> None:
    s = Session(out=io.StringIO(), err=io.StringIO())
    for _ in range(3):
        s.run("f:{[x]\n  a:x*2\n  a+1}")
    assert s.errors.getvalue() == WARNING  # type: ignore[attr-defined]
    s.run("f 3;f 4")
    s.run(".z.vs:{[v;i]}")  # compiles it again
    assert s.errors.getvalue() == WARNING  # type: ignore[attr-defined]
    assert s.run("f 3") == 6
    s.run("g:{[x]\n  h:{[y]\n    a:y*2\n    a+1};\n  h x}")
    assert s.errors.getvalue().count("warning") == 2  # type: ignore[attr-defined]


def test_a_script_is_told_the_file_and_line(tmp_path: Path) -> None:
    """On standard error; what it prints is what it printed before."""
    (tmp_path / "a.q").write_text("b:1\n/ twice and one\nf:{[x]\n  a:x*2\n  a+1}\nshow f 3\n")
    done = run(str(tmp_path / "a.q"))
    assert done.stdout == "6\n"
    assert done.stderr == WARNING.replace("warning: ", f"warning: {tmp_path}/a.q:4: ")


def test_lambdas_whose_lines_end_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts of which joined lines are known to be none, and such as may have some."""
    ended = ("{x+1}", "{[x;y]\n  a:x+y;\n  $[a>1;\n    a+1;\n    a-1]\n }", "{a:1; / why\n a}", "{\n a:x;\n\n a}")
    assert not any(joined_lines._may_join(t) for t in ended)
    joints = ("{a:x*2\n a+1}", "{[x]a:x*2 \r\n a+1}", '{a:"x; / "\n a}', "{f(\n x)}", "{(f)\n x}", "{a:1 / why\n a}", "{a:1\n/ why\n a}")
    assert all(joined_lines._may_join(t) for t in joints)
