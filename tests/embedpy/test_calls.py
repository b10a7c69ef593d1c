"""Calls between q and Python: arrays that are not copied, what stays behind, functions of a Session, interrupts."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from kshell import Session
from kshell.errors import QError
from kshell.values.base.functions import PyFunction
from tests import ROOT
from tests.support.damage import memory

MANY = 10_000_000
PYTHON = """
import numpy as np
seen, kept = [], []
def same(x): return x
def made(n): return np.arange(n, dtype=float)
def place(x): seen.append(x.__array_interface__['data'][0]); return x.size
def remembered(n): kept.append(np.arange(n, dtype=float)); seen.append(kept[-1].ctypes.data); return kept[-1]
def fails(x): big = np.ones(1_000_000); raise ValueError(x)
def items(n): yield from range(n)
class A: pass
"""


@pytest.fixture
def s() -> Session:
    session = Session()
    session.run('.p.e"' + PYTHON.replace("\n", "\\n") + '"')
    session.run("same:.p.get[`same;<];made:.p.get[`made;<];place:.p.get[`place;<];fails:.p.get[`fails;<];w:.p.get`same")
    session.run("remembered:.p.get[`remembered;<];seen:{last .p.qeval\"seen\"};items:.p.get`items")
    return session


def peak(session: Session, line: str) -> int:
    """The bytes that a line needs at most while it runs."""
    tracemalloc.start()
    try:
        session.run(line)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("call", ["place x", "{place x}x", "place[x]", "place each enlist x", "w[`:__class__];place x"])
def test_an_array_goes_to_python_without_a_copy(s: Session, call: str) -> None:
    s.run(f"x:{MANY}#1.5")
    assert peak(s, f"r:{call}") < 1_000_000  # of an array of 80 MB; the compiler needs a tenth of it
    assert s.run("seen[]") == s.run("x").a.ctypes.data


@pytest.mark.parametrize("call", ["x:made n", "f:{made x};x:f n", "x:.p.qeval\"made(n)\"", "x:first made each enlist n"])
def test_an_array_that_python_keeps_nowhere_comes_without_a_copy(s: Session, call: str) -> None:
    s.run(f"n:{MANY};.p.set[`n;n]")
    assert peak(s, call) < 1.01 * 8 * MANY
    s.run("x[3]:7.5;x,:1f")
    assert s.run("count x") == MANY + 1 and s.run("x 3") == 7.5


@pytest.mark.parametrize("call", ["x:remembered 1000", "f:{remembered x};x:f 1000", "x:(w .p.eval[\"remembered(1000)\"])`"])
def test_an_array_that_python_keeps_is_copied(s: Session, call: str) -> None:
    s.run(call)
    assert s.run("x").a.ctypes.data != s.run("seen[]")
    s.run("x[3]:7.5")
    assert s.run(".p.qeval\"kept[-1]\"").a[3] == 3


def test_a_function_of_a_session_is_a_declared_function() -> None:
    session = Session()

    def add(x: float, y: float = 1, *, half: bool = False) -> float:
        """The sum."""
        return (x + y) / (2 if half else 1)

    session["plus"] = add
    assert session.run("plus").__class__ is PyFunction and session.plus is add
    assert session("plus 3") == 4 and session("plus[3;4]") == 7 and session("{plus[x;4]}3") == 7
    assert session("plus[3;`half pykw 1b;`y pykw 5]") == 4 and session("plus[pyarglist 3 5]") == 8
    assert session("plus[;2]each 1 2 3").tolist() == [3, 4, 5] and session(".p.i.isc plus") and session("type plus") == 105
    assert session(".Q.s1 plus") == session(".p.set[`g;plus];.Q.s1 .p.get[`g;<]") and session(".p.helpstr plus") == b"The sum."
    with pytest.raises(QError) as e:
        session("{1+plus[x;`a]}3")
    assert e.value.text.startswith("add: TypeError: ") and "return (x + y)" in "\n".join(e.value.__notes__)
    session["day"] = lambda x: x
    assert session("day 2026.01.02") == np.datetime64("2026-01-02") and session("type day`a") == -11  # a Session's table


NAMED = [
    "[1;`b pykw 2]", "[`b pykw 2;`a pykw 1]", "[`a pykw 1]", "[1;`c pykw .5]", "[1;`c pykw 1b;`b pykw 0N]", "[1;`c pykw`x]",
    "[1;`c pykw\"ab\"]", "[1;`c pykw 1 2 3]", "[1;`c pykw{x}]~x", "[`a pykw 2 3f]", "[1;`b pykw 2;`c pykw 3;`d pykw 4]",
    "[1;`b pykw 2;pykwargs(1#`c)!1#4]", "[pyarglist 1 2;`c pykw 3]", "[1;`class pykw 2]", "[1;`__debug__ pykw 2]",
    "[1;`$\"b\" pykw 2]", "[1;(`b pykw 2)]", "[1;`b pykw x]", "[x;`b pykw n]", "[n;`b pykw n:7]", "[`b pykw 2;1]",
    "[1;`b pykw 2;`b pykw 3]", "[1;`nosuch pykw 2]", "[1;`a pykw 2]", "[\"x\";`b pykw 0]", "[1;`b pykw]", "[1;pykw[`b;2]]",
    "[;`b pykw 2]each 1 2", "[1;`b pykw`a+1]", "[1;`big pykw 1]", "[1;`b pykw::]",
]  # fmt: skip


@pytest.mark.parametrize("args", NAMED)
def test_keyword_arguments_of_a_known_function(args: str) -> None:
    """Compiled calls of a function that is known give what the function as a value gives, and the same errors."""
    s = Session()
    text = "def named(a, b=10, c=20, **more):\\n if b==0: 1/0\\n return (repr((a, b, c, more)), 1<<70)[`big` in more]"
    s.run('.p.e"' + text.replace("`", "'") + '"')
    s.run("f:.p.get[`named;<];n:5")

    def found(line: str) -> tuple[object, ...]:
        try:
            value = s(line)
            return ("value", bytes(value) if isinstance(value, bytes) else repr(value))
        except QError as e:
            return ("error", e.text)

    expected = found("{[g;x]g" + args + "}[f;3]")
    s.run("n:5")
    assert found("{[x]f" + args + "}3") == expected
    s.run("n:5")
    s.run("x:3")
    assert found("f" + args) == expected
    if args[-1] == "]":
        s.run("h:{[x]f" + args + "}")  # the name has another value when the code runs
        s.run("f:{[a;b]`other}")
        assert found("h 3") == found("{[g;x]g" + args + "}[f;3]")


def test_keyword_arguments_are_pythons_own_in_the_code() -> None:
    """Compiled code names them in the call: no q values of words and numbers are made."""
    s = Session()
    s.run('.p.e"def named(a, b=10): return a-b"')
    s.run("f:.p.get[`named;<]")
    code = s.run("{[n]f[n;`b pykw 4]}").fn.__code__
    called = [line for line in code.co_consts[-1].text.split("\n") if "b=4" in line]
    assert called and all("pykw" not in line for line in called)


def test_an_exception_in_a_direct_call_leaves_no_memory(s: Session) -> None:
    s.run("f:{@[fails;x;{x}]};g:{fails x};f 1")
    gc.collect()
    gc.disable()
    try:
        before = memory("VmRSS")
        s.run("f each til 200;")
        for _ in range(20):
            with pytest.raises(QError, match="call: ValueError: 3"):
                s.run("g 3")
        assert memory("VmRSS") - before < 30 << 20  # 220 arrays of 8 MB
    finally:
        gc.enable()


LINES = [
    "do[N;o:.p.eval\"A()\"]", "do[N;o:w .p.pyeval\"A()\"]", "do[N;o:.p.import[`math;`:pi;`]]", "do[N;same`a]", "do[N;same\"abc\"]",
    "do[N;same 1 2 3]", "do[N;made 10]", "do[N;(w 1 2 3)`]", "c:.p.closure[{[s;x](s+x;s)};0][<];do[N;c 1]",
    "do[N;.p.set[`f;{x+y}]]", ".p.set[`g;{x+y}];do[N;.p.qeval\"g(1,2)\"]", "do[N;.p.list[.p.generator[{[s;i](2*s;s)};1;2]]`]",
    "do[N;.p.list[items 2]`]", "do[N;same[`x pykw 1]]", "do[N;@[.p.eval;\"1/0\";{x}]]", "{same x}each til N;", "{same x}peach til N;",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_many_round_trips_do_not_grow_the_process(s: Session, line: str) -> None:
    s.run("\\s 2")
    s.run(line.replace("N", "2000"))
    gc.collect()
    before = memory("VmRSS")
    s.run(line.replace("N", "100000"))
    gc.collect()
    assert memory("VmRSS") - before < 10_000 << 10


def test_compiled_calls_ask_once_there_is_something_to_ask() -> None:
    """In a process of its own, since it is so from then on."""
    program = (
        "from kshell import Session\n"
        "from kshell.values.base.functions import PyFunction\n"
        "s = Session(); s['f'] = lambda x: x + 1; s('g:{f x}')\n"
        "assert 'direct' in vars(PyFunction) and s('g 1') == 2\n"
        "assert s('@[reval;(g;1);{x}]') == b'noupdate: .p.call' and s('g 2') == 3\n"
        "assert 'direct' not in vars(PyFunction)\n"
        "s('setting(`python;0b)')\n"
        "assert s('@[g;1;{x}]') == b'access: Python is off' and s('@[f;1;{x}]') == b'access: Python is off'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("call", ["f 1", "{f x}1", "(w 1)`", ".p.qeval\"endless(1)\"", "f each 1 2"])
def test_an_interrupt_in_python_code_is_stop(s: Session, call: str) -> None:
    s.run('.p.e"def endless(x):\\n while True: pass"')
    s.run("f:.p.get[`endless;<];w:.p.get`endless")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        s.run(call)
    timer.join()
    assert time.monotonic() - start < 20 and s.run("1+1") == 2


def test_a_q_error_in_python_is_shown_once_with_the_frames_of_both(s: Session) -> None:
    s.run('.p.e"def outer(x):\\n return inner(x)"')
    s.run(".p.set[`inner;{x+`a}];outer:.p.get[`outer;<]")
    with pytest.raises(QError) as e:
        s.run("{1+outer x}3")
    heads = [line.split("]")[0] for line in e.value.__notes__ if line.startswith("  [")]
    assert e.value.text == "type" and heads == ["  [3", "  [2", "  [1", "  [0"], e.value.__notes__


Q_IN_PYTHON = """
p)q.h = lambda a, b: (a*a + b*b)**.5
p)q.t = {"a": [1, 2]}
p)assert q("1+1") == 2 and q("{x+y}", 1, 2) == 3 and list(q["t"]["a"]) == list(q.t["a"]) == [1, 2]
p)try:
  q("1+`a")
except RuntimeError as e: print(e.text)
p)try:
  q.nosuch
except AttributeError as e: print(e)
p)try:
  q["select"] = 1
except RuntimeError as e: print(e.text)
-1 string h[3f;4f];
-1 string .p.qeval"q.h(3.,4.)";
"""


def test_q_is_a_variable_of_the_commands_python(tmp_path: Path) -> None:
    (tmp_path / "a.q").write_text(Q_IN_PYTHON)
    done = subprocess.run(
        [sys.executable, "-m", "kshell", "-q", "a.q"], cwd=tmp_path, input="", capture_output=True, text=True, timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.stdout.splitlines() == ["type", "q has no variable nosuch", "assign", "5", "5"], done.stderr


def test_recursion_through_both_languages_is_stack(s: Session) -> None:
    s.run('.p.set[`q1;{same2 x+1}];.p.e"def same2(x): return q1(x)"')
    s.run("same2:.p.get[`same2;<]")
    with pytest.raises(QError) as e:
        s.run("same2 0")
    assert e.value.text == "stack"
    assert s.run("same 3") == 3
