"""Python in q programs: blocks in scripts, from a pipe and in files, errors with the frames of both, threads, lifetimes."""

from __future__ import annotations

import gc
import linecache
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kshell.embedpy import code
from kshell.embedpy.callables import QFunction
from kshell.errors import QError
from kshell.parse.python_block import python_end, wants_more
from kshell.session import Session
from kshell.values.session.restrict import confinement
from tests import ROOT
from tests.support.damage import memory

SCRIPT = '''p)import sys
p)x = [1,
2]
p)def f(a):
  if a:

    # a comment
    return 1

# another
  return 2
p)try:
    1/0
except ZeroDivisionError:
    y = 5
p)@staticmethod
def g(): return 7
-1 .Q.s1 .p.qeval"(x,f(0),f(1),y,g())";
p)z="""
a"""
-1 .Q.s1 .p.qeval"z";
\\l f.p
-1 .Q.s1 .p.qeval"(only, sys.argv, __name__)";
'''
FILE = "p)def only_one(x):\n    return x\n\n# between\n\nonly = only_one(3)\n"


def kshell(*words: str, folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "kshell", *words], input=text, cwd=folder, text=True, capture_output=True,
                          timeout=100, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)})


def test_blocks_in_a_script_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text(SCRIPT)
    (tmp_path / "f.p").write_text(FILE)
    done = kshell("s.q", folder=tmp_path)
    assert done.stdout.splitlines() == ["(1 2;2;1;5;7)", '"\\na"', '(3;,"";"__main__")'], done.stderr


def test_blocks_from_a_pipe_and_errors(tmp_path: Path) -> None:
    text = '''p)def half(x):
   if x % 2: raise ValueError(f"odd: {x}")
   return x//2
half:.p.get[`half;<]
g:{1+half x}
g 4
g 3
.p.set[`g;g]
p)def outer(x): return g(x)+1
.p.get[`outer;<]3
@[.p.get[`outer;<];3;{x}]
.p.eval["lambda f: f(1)"]{x+`a}
q)p)n=3
.p.qeval"n"
'''
    done = kshell("-q", folder=tmp_path, text=text)
    assert done.stdout.splitlines() == ["3", '"call: ValueError: odd: 3"', "3"]
    assert done.stderr == '''\
'call: ValueError: odd: 3
  [2]  p):2 in half:    if x % 2: raise ValueError(f"odd: {x}")
                                  ^
  [1]  g:{1+half x}
            ^
  [0]  g 3
       ^
'call: ValueError: odd: 3
  [3]  p):2 in half:    if x % 2: raise ValueError(f"odd: {x}")
                                  ^
  [2]  g:{1+half x}
            ^
  [1]  p):1 in outer: def outer(x): return g(x)+1
                                           ^
  [0]  .p.get[`outer;<]3
       ^
'type
  [2]  {x+`a}
         ^
  [1]  p):1 in <lambda>: lambda f: f(1)
                                   ^
  [0]  .p.eval["lambda f: f(1)"]{x+`a}
       ^
'''


def test_a_file_that_is_no_python_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.p").write_text("ran = 1\nx = = 2\n")
    session = Session()
    with pytest.raises(QError, match=r"e: invalid syntax \(bad.p, line 2\)"):
        session.run("\\l bad.p")
    with pytest.raises(QError, match="ran"):
        session.run(".p.get`ran")


def test_a_programs_own_handler_gets_lines_and_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.p").write_text("a = 1\ndef f():\n    return a\n")
    Path("t.t").write_text("1+1\np)b=2\nq)c:3\n")
    session = Session()
    session.run(".t.s:.t.r:();.p.e:{.t.s,:enlist x};.t.e:{.t.r,:enlist x}")
    session.run("\\l two.p\np)c=3")
    session.run("\\l t.t")
    assert session.show(session.run(".t.s")) == '"a = 1"\n"def f():\\n    return a"\n"c=3"\n"b=2"'
    assert session.show(session.run(".t.r")) == '"1+1"' and session.run("c") == 3


@pytest.mark.parametrize(("text", "kept"), [
    ("p)x=1\ny=2", "p)x=1"), ("p)if x:\n y\n\n z\n\nq", "p)if x:\n y\n\n z"), ("p)f(1,\n2)\ng", "p)f(1,\n2)"),
    ("p)if x:\n y\nelse:\n z\nelse", "p)if x:\n y\nelse:\n z\nelse"), ("p)@d\nclass A:\n x=1\nb", "p)@d\nclass A:\n x=1"),
    ("p)x='''\na\n'''\nb", "p)x='''\na\n'''"), ("p)# only\n\n\nb", "p)# only"), ("p)x=1\n# c\ny", "p)x=1"),
    ("p)try: x\nexcept E: y\nelse: z\nq", "p)try: x\nexcept E: y\nelse: z"), ("p)x=1\nelse: z", "p)x=1"),
])  # fmt: skip
def test_which_lines_belong_to_a_block(text: str, kept: str) -> None:
    assert text[:python_end(text, 0)] == kept


def test_which_typed_lines_want_more() -> None:
    assert all(map(wants_more, ["p)def f():", "p)x=[1,", "p)@d", "p)x='''", "p)x=1+\\"]))
    assert not any(map(wants_more, ["p)x=1", "p)f(1)", "p)x='a'", "p)"]))


def test_a_q_function_in_other_threads_reads_and_assigns_nothing() -> None:
    session = Session()
    session.run("k:5;a:0;.p.set[`get;{k+x}];.p.set[`put;{a::x}]")
    session.run(".p.e\"import threading\\ngot=[]\\ndef work(f):\\n try: got.append(f(1))\\n except RuntimeError as e: got.append(str(e))\"")
    session.run(".p.e\"for f in (get,put):\\n t=threading.Thread(target=work,args=(f,))\\n t.start()\\n t.join()\"")
    assert session.show(session.run(".p.qeval\"got\"")).split() == ["6", '"noupdate:', "`.", '`a"'] and session.run("a") == 0


def test_users_who_may_run_nothing_run_no_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.p").write_text("x = 1\n")
    session = Session()
    session.run("w:.p.eval\"len\"")
    with confinement():
        for text in ("p)1", ".p.eval\"1\"", ".p.import`os", "w\"abc\"", "w`:real", "\\l f.p", ".p.loadPy\"f.p\"", ".p.console[]"):
            with pytest.raises(QError, match=r"^access"):
                session.run(text)
    assert session.run("(w\"abc\")`") == 3


def test_texts_are_kept_for_a_while() -> None:
    session = Session()
    session.run("{.p.qeval string x}each til 3000;")
    assert len(code._CODE) <= 500 and sum(name.startswith("<p)") for name in linecache.cache) <= 501


def test_nothing_stays() -> None:
    session = Session()
    lines = ["do[2000;.p.set[`f;{x+y}]]", "do[2000;.p.qeval\"f(10,11)\"]", "{.p.eval[\"[1,2]\"]`}each til 2000;",
             "do[200;@[.p.eval;\"1/0\";{x}]]", "v:til 1000000;do[200;.p.set[`v;v+1]]"]
    for line in lines:
        session.run(line)
    gc.collect()
    before = memory("VmRSS")
    for line in lines * 3:
        session.run(line)
    gc.collect()
    assert memory("VmRSS") - before < 12 << 20
    assert sum(isinstance(x, QFunction) for x in gc.get_objects()) < 10


def test_arrays_are_views_that_q_does_not_change() -> None:
    session = Session()
    session.run("v:til 1000;.p.set[`v;v]")
    view = session.run(".p.get`v").obj
    assert not view.flags.owndata and not view.flags.writeable
    session.run("v[3]:7;v+:1;v,:1")
    assert np.array_equal(view, np.arange(1000))


def test_settings_are_a_sessions_own() -> None:
    first, second = Session(), Session()
    first.run(".p.setpyerr 1;.p.setconv{`bare}")
    assert second.run(".p.getpyerr[]") == 0 and second.run("type .p.qeval\"object()\"").v == 112
    with pytest.raises(QError, match=r"^eval: ZeroDivisionError"):
        second.run(".p.eval\"1/0\"")
    with pytest.raises(QError, match=r"^Traceback"):
        first.run(".p.eval\"1/0\"")


def test_a_mark_in_a_definition_makes_a_q_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """embedPy's `def< f(x)`, which programs of Kx's libraries have in files and in lines."""
    monkeypatch.chdir(tmp_path)
    Path("f.p").write_text(
        "p)def< twice(x):\n  return 2*x\n\np)def> bare(x): return x\np)class* Kept(object):\n  n=3\n"
        "p)def _own(x): return twice(x)\ntext = '''\ndef< inside(x)\n'''\n"
    )
    session = Session()
    session.run("\\l f.p\np)def* wrapped(x):\n return _under(x)\n\np)def< _under(x): return x+1")
    values = "(twice 4;type bare 4;type wrapped 4;wrapped[4]`;Kept[][`:n;`];.p.get[`$\"_own\";<]4;type Kept)"
    assert session.show(session.run(values)).split("\n") == ["8", "112h", "105h", "5", "3", "8", "105h"]
    with pytest.raises(QError, match=r"e: invalid syntax \(, line 1\)"):
        session.run("p)def< (x): return x")
    with pytest.raises(QError, match="e: invalid syntax"):
        session.run("p)class< A(object): pass")
    session.run('.ns.k:1;system"d .ns";value"p)def< near(x): return x";system"d ."')
    assert session.run(".ns.near 3") == 3
    session.run(".t.s:();.p.e:{.t.s,:enlist x}")
    Path("g.p").write_text("@staticmethod\ndef< f(x):\n return x\n")
    session.run("\\l g.p")
    assert session.show(session.run(".t.s")) == '"@staticmethod\\ndef< f(x):\\n return x"'
