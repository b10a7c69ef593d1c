"""Planted faults: a k-api call fails at every place of a script in turn; memory after errors; deep recursion."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.kapi.base import call
from kshell.session import Session
from tests.support import warm

SCRIPT = """
free[]
seed 7
m:module((`sequential;());(`linear;4;8);`relu;(`linear;8;3))
l:loss`ce
o:opt(`adam;();.1)
opt(o;0;(m;0);.1)
opt(o;1;(m;2);.01)
u:tensor(`randn;5 4)
w:tensor 0 1 2 0 1
f:{zerograd o;p:forward(m;u);e:loss(l;p;w);backward e;step o;}
f[]
f[]
f[]
lr o
lr(o;.2 .02)
s:state m
`:m set s
`:o set state o
n:module get`:m
q:opt(get`:o;n)
c:state q
e:evaluate(m;u)
k:dict parms m
z:u+2*u
z:sum z*z
v:vector(tensor 1 2 3;z)
d:dim u
b:tensor u
t:training m
h:model(m;l;o)
free v
free(n;q)
""".strip().split("\n")


class Planted(Exception):
    """What no code of kshell knows."""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    made = Session(out=io.StringIO(), err=io.StringIO())
    yield made
    call.PROBE[0] = None


def weights(session: Session) -> list[bytes]:
    """The bits of every parameter of the model's module and of its optimizer's state."""
    m, o = session["m"].obj, session["o"].obj
    out = [p.detach().numpy().tobytes() for p in m.parameters()]
    for p in m.parameters():
        out += [v.numpy().tobytes() for v in o.torch.state.get(p, {}).values()]
    return out


def play(session: Session, fail_at: int = 0, fault: BaseException | None = None) -> tuple[int, str]:
    """Run the script; call number fail_at fails. How many calls there were, and the line that failed."""
    calls = 0

    def probe(name: str) -> None:
        nonlocal calls
        calls += 1
        if calls == fail_at and fault is not None:
            raise fault

    call.PROBE[0] = probe
    try:
        for line in SCRIPT:
            try:
                session.run(line)
            except QError as e:
                assert e.text and "\n" not in e.text and len(e.text) < 256
                assert e.__traceback__ is None or e.__context__ is None
                return calls, line
    finally:
        call.PROBE[0] = None
    return calls, ""


def test_the_script_runs(session: Session) -> None:
    calls, failed = play(session)
    assert not failed and calls > 40


@pytest.mark.sampled(5)
@pytest.mark.parametrize("fault", [MemoryError(), RuntimeError("CUDA error\nmore"), KeyboardInterrupt(),
                                   OSError(5, "Input/output error"), Planted()], ids=lambda e: type(e).__name__)
def test_every_call_may_fail(session: Session, tmp_path: Path, fault: BaseException) -> None:
    """A q error comes out; parameters and optimizer are as a whole number of steps left them; what was saved loads;
    the script then runs."""
    n, _ = play(session)
    expected: set[bytes] = set()  # the state after 0 1 2 3 steps
    for upto in range(4):
        for line in SCRIPT[: SCRIPT.index("f[]") + upto]:
            session.run(line)
        expected.add(b"".join(weights(session)))
    assert len(expected) == 4
    after_steps = SCRIPT.index("f[]")
    for k in range(1, n + 1):
        _, failed = play(session, k, fault)
        assert failed, k
        if SCRIPT.index(failed) >= after_steps and "m" in session.names.space(".") and not session["m"].freed:
            assert b"".join(weights(session)) in expected, (k, failed)
        assert session.run("1+1") == 2
        assert session.run("4=count dict parms module get`:m") is True
        assert not [f for f in os.listdir(tmp_path) if f.endswith(".tmp")]
        assert len(session.handles) < 40
        if k % 10 == 0:
            assert play(session)[1] == ""
    assert play(session)[1] == ""
    count = len(session.handles)
    assert play(session)[1] == "" and len(session.handles) == count


# ------------------------------------------------------------------ memory


def resident() -> int:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("line", ["matmul(x;y)", "x+y", "forward(m;x)", "x[1 2 3 4;99999999]:0", "backward x",
                                  "{[a]a:x*2;'`bad}x", "@[{matmul(x;y)};0;0];'`bad", "loss(l;x;y)", "cat(x;y)"])
def test_errors_keep_no_tensors(session: Session, line: str) -> None:
    """20 errors over 50 MB tensors."""
    session.run("x:tensor(`ones;3500 3500);y:tensor(`ones;3 2);f:{z:x+1;matmul(z;y)};m:module enlist(`linear;5;5)")
    session.run("l:loss`mse")
    errors = []
    before = 0
    for k in range(21):
        with pytest.raises(QError) as found:
            session.run(line)
        errors.append(found.value)
        if not k:
            del found
            gc.collect()
            before = resident()
    assert session.last_error is errors[-1]
    assert resident() - before < 60 << 20
    assert all(e.__context__ is None and e.__cause__ is None for e in errors)


def test_handles_come_and_go(session: Session) -> None:
    session.run("x:tensor 1 2 3")
    before = session.run("count obj[]")
    session.run("do[10000;tensor 1 2 3]")
    session.run("{tensor x}each til 10000;")
    session.run("{x+x}each 1000#enlist x;")
    assert session.run("count obj[]") == before
    assert len(session.handles.live) < 12000  # dead ones are swept now and then


# ------------------------------------------------------------------ depth

RECURSIONS = [
    "{.z.s x}1", "{1+.z.s x}1", "{.z.s[x]+1}1", "f:{g x};g:{f x};f 1", "{x,.z.s each x}1 2", "{.z.s'[x]}enlist 1",
    "{.z.s/[x;1 2]}1", "{value(.z.s;x)}1", "f:{value\"f 1\"};f 1", "{@[.z.s;x;{'x}]}1", "{.[.z.s;enlist x;{'x}]}1",
    "f:{f . enlist x};f 1", "f:{f @ x};f 1", "{.z.s\\[x;1 2]}1", "f:{f/:[x;1 2]};f 1", "f:{f\\:[1 2;x]};f 1",
    "f:{f':[enlist x]};f 1", "f:('[{f x};{x+1}]);f 1", "f:{[a;b]f[a]b};f[1;2]", "{.z.s . enlist x}1",
    "f:{select f a from([]a:1 2)};f 1", "f:{exec f each a from([]a:1 2)};f 1",
    "f:{?[([]a:1 2);();0b;(enlist`a)!enlist(f;`a)]};f 1",
    "f:{eval(f;x)};f 1", "f:{reval(f;x)};f 1", "f:{x f/1 2};f 1", "f:{.Q.trp[f;x;{'x}]};f 1", "f:{f peach 1 2};f 1",
    "f:{(f;1)@\\:x};f 1", "f:{@[1 2 3;0;f]};f 1", "f:{.[(1 2;3);0 0;f]};f 1", "f:{(f')x,x};f 1", "f::f;f",
    "f:{$[f x;1;2]};f 1",
    "f:{if[f x;:1];2};f 1", "f:{while[f x;1]};f 1", "f:{do[f x;1]};f 1", "f:{(f x;f x)};f 1", "f:{'[f;f]x};f 1",
    "f:{x[`a]};d:(enlist`a)!enlist f;f d", "f:{f .Q.s x};f 1", "a:{b x};b:{c x};c:{a x};a 1", "f:{1 2 3 f/x};f 1",
    "f:{fby[(f;x);x]};f 1 2", "f:{(f;x)fby x};f 1 2", "f:{wj[1 2;`a;x;(x;(f;`a))]};f 1", "f:{aj[`a;f x;x]};f 1",
]  # fmt: skip
ENDED = """
import io, sys
from kshell.errors import QError
from kshell.session import Session
s = Session(out=io.StringIO(), err=io.StringIO())
for text in {texts!r}:
    print(text, flush=True)
    try:
        s.run(text)
        print("  value", flush=True)
    except QError as e:
        print("  '" + e.text[:60], len(e.frames), flush=True)
        s.error_lines(e)
    assert s.run("1+1") == 2
print("end")
"""


def in_a_child(texts: list[str], setting: str = "") -> list[str]:
    code = "import faulthandler\nfaulthandler.enable()\n" + setting + ENDED.format(texts=texts)
    done = warm.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0 and done.stdout.endswith("end\n"), done.stdout[-300:] + done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", range(3))
def test_endless_recursion_is_an_error(part: int) -> None:
    """Whatever the form, the process lives; those that are plain calls are 'stack."""
    out = in_a_child(RECURSIONS[part::3])
    assert sum("'stack" in line for line in out) > 8, out
    assert not any("nyi" in line for line in out), out


def test_deep_recursion_works() -> None:
    """1,500 levels of direct calls, 1,000 through each, over and @ traps."""
    texts = ["{$[x;1+.z.s x-1;0]}1500", "{$[x;.z.s x-1;0]}2500", "f:{$[x;g x-1;0]};g:{$[x;f x-1;0]};f 1500",
             "{$[x;sum .z.s each enlist x-1;0]}1000", "{$[x;@[.z.s;x-1;{'x}];0]}1000",
             "{$[x;{y+x}/[0;.z.s each enlist x-1];0]}1000"]
    out = in_a_child(texts)
    assert not any(line.startswith("  '") for line in out), out
