"""Restricted evaluation: whatever is evaluated by `reval`, or in a read-only session, nothing else changes.

The state that is compared before and after is all that a session and its process have: variables, settings, the values
of every live tensor, module and optimizer, random numbers to come, files, the environment, open descriptors.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import hashlib
import io
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell import registry
from kshell.errors import QError, QExit
from kshell.kapi.base.handles import KHandle
from kshell.session import Session
from kshell.store import codec
from kshell.values.base.build import string
from kshell.values.session.restrict import EFFECTS
from tests import ROOT
from tests.support.runner import cases, private

KINDS = ("verb", "api", "command", "name", "internal")
# what another evaluation gives in another way: clocks, memory, random numbers, addresses, last digits by where memory is
VARIES = ("nnorm", "rand", "?", "t ", "\\t", "ts", ".z.", ".Q.w", "\\w", "-16", "ptr", "obj", "seed")


@pytest.fixture(autouse=True)
def _confined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In a folder of its own, with the environment and torch's settings put back."""
    monkeypatch.chdir(tmp_path)
    FOLDER[:] = [tmp_path]
    environment, dtype = dict(os.environ), torch.get_default_dtype()
    yield
    os.environ.clear()
    os.environ.update(environment)
    torch.set_default_dtype(dtype)


FOLDER: list[Path] = []

def quiet(**given: Any) -> Session:
    return Session(out=io.StringIO(), err=io.StringIO(), **given)


# ------------------------------------------------------------------ the state


def _tensor(t: torch.Tensor) -> Any:
    with torch.no_grad():
        d = t.detach()
        if d.is_sparse or d.is_complex() or d.dtype == torch.bfloat16 or d.is_quantized:
            data: Any = repr(d)
        else:
            data = d.contiguous().view(-1).numpy().tobytes()
    return (tuple(t.shape), str(t.dtype), t.requires_grad, data, None if t.grad is None else _tensor(t.grad))


def described(x: Any, depth: int = 0) -> Any:
    """What a torch object holds, as plain values."""
    if isinstance(x, torch.Tensor):
        return _tensor(x)
    if isinstance(x, torch.nn.Module):
        hooks = [len(m._forward_hooks) + len(m._backward_hooks) for m in x.modules()]
        return ([(n, m.training) for n, m in x.named_modules()], hooks,
                [(n, _tensor(t)) for n, t in (*x.named_parameters(), *x.named_buffers())])
    if isinstance(x, torch.optim.Optimizer):
        return described(x.state_dict(), depth + 1)
    if isinstance(x, dict):
        return [(repr(k), described(v, depth + 1)) for k, v in x.items()]
    if isinstance(x, list | tuple):
        return [described(v, depth + 1) for v in x]
    if hasattr(x, "__dict__") and depth < 4 and type(x).__module__.startswith(("kshell", "torch.optim")):
        return [(k, described(v, depth + 1)) for k, v in vars(x).items()]
    return x if isinstance(x, int | float | str | bool | bytes | None) else type(x).__name__


def _value(x: Any) -> Any:
    try:
        return codec.encode(x)
    except Exception:
        return (type(x).__name__, getattr(x, "text", ""), id(x))


def state(session: Session) -> dict[str, Any]:
    """All that an evaluation could change, by its kind."""
    names = session.names
    variables = {(space, k): _value(x) for space, d in names.spaces.items() for k, x in list(d.items())
                 if k != "__builtins__"}
    held = {(space, k): x for space, d in names.spaces.items() for k, x in list(d.items()) if isinstance(x, KHandle)}
    files = {str(p): hashlib.sha1(p.read_bytes()).hexdigest() if p.is_file() else "" for p in FOLDER[0].rglob("*")}
    own = {k: getattr(session, k) for k in ("interactive", "read_only", "script", "args")}
    return {
        "variables": variables, "views": sorted(names.views), "current": names.current, "own": own,
        "settings": dataclasses.asdict(session.settings), "timer": session.timer.interval,
        "streams": (id(session.out), id(session.err), id(session.log), id(session.autosave), id(session.database)),
        "files": files, "open": sorted(session.files), "descriptors": sorted(os.listdir("/proc/self/fd")),
        "environment": {k: v for k, v in os.environ.items() if k != "TORCHINDUCTOR_CACHE_DIR"}, "folder": os.getcwd(), "threads": torch.get_num_threads(),
        "dtype": str(torch.get_default_dtype()), "numpy": repr(session.rng.bit_generator.state),
        "torch": torch.get_rng_state().numpy().tobytes(),
        "held": {k: described(x.obj) for k, x in held.items()},
        "handles": {h.number: described(h.obj) for h in session.handles},
        "kapi": {k: described(v) for k, v in session.handles.state.items() if k != "readers"},
    }


def differs(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    live = before["handles"].keys() & after["handles"].keys()  # what nothing refers to may go at any time
    before, after = ({**x, "handles": {k: x["handles"][k] for k in live}} for x in (before, after))
    return [f"{k}: {set(before[k]) ^ set(after[k]) or ''}" if isinstance(before[k], dict) else k
            for k in before if before[k] != after[k]]


def restricted(session: Any, text: str, seconds: float = 5) -> tuple[str, str]:
    """What a text gives under reval, as the console shows it, or else the error's text."""
    session.names.space(".t")["program"] = string(text)
    signal.signal(signal.SIGALRM, session.interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        session.out.seek(0)
        session.out.truncate()
        session.run("reval(value;`.t.program)", show=True)
        return session.out.getvalue(), ""
    except QError as e:
        return "", e.text
    except QExit as e:
        raise AssertionError(f"{text} left the program with {e.code}") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def settle(session: Session) -> None:
    """Have read what is read only once."""
    session.names.space(".t")["program"] = string("0")
    session.run("reval(value;`.t.program)")
    session.names.load_builtins()


def unchanged(session: Session, text: str) -> tuple[str, str]:
    session.names.space(".t")["program"] = string(text)
    before = state(session)
    got = restricted(session, text)
    found = differs(before, state(session))
    assert not found, f"{text!r} changed {found}"
    return got


# ------------------------------------------------------------------ the whole registry


def _entries(kinds: tuple[str, ...] = KINDS) -> list[registry.Entry]:
    Session().names.load_builtins()
    return [e for kind in kinds for e in registry.entries(kind)]


def test_every_entry_says_what_it_does() -> None:
    assert not [f"{e.kind} {e.name}" for e in _entries() if e.effect not in EFFECTS]


def _refused_for(error: str) -> str:
    """What a restricted evaluation refused, if that is what ended it: a function, a command, a path or a variable."""
    word, _, what = error.partition(": ")
    return what if word in ("noupdate", "access") else ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_the_registry_changes_a_thing(kind: str, tmp_path: Path) -> None:
    """Each line of the examples of every entry runs under reval, then as it stands. What only computes is not refused,
    and gives what it gives outside."""
    refused: set[str] = set()
    wrong = []
    opened: list[str] = []
    for i, entry in enumerate(_entries((kind,))):
        FOLDER[:] = [tmp_path / str(i)]
        FOLDER[0].mkdir()
        os.chdir(FOLDER[0])
        session = quiet()
        settle(session)
        if os.listdir("/proc/self/fd") != opened:  # files of the session before: not to be closed during a line
            gc.collect()
            opened = os.listdir("/proc/self/fd")
        for inputs, output in entry.examples:
            for line in inputs:
                text = private(line)
                got, error = unchanged(session, text)
                what = _refused_for(error)
                refused |= {entry.name} if what else set()
                if entry.effect == "none" and what == entry.name:
                    wrong.append(f"{entry.name}: {text}: {error}")
                if line == inputs[-1] and not error and not _varies(text, output) and entry.name != ".Q.bt":
                    wrong += [] if _same(got, output) else [f"{entry.name}: {text}: {got}, not {output}"]
                with contextlib.suppress(QError, QExit):
                    session.run(text)
    assert not wrong, "\n".join(wrong)
    assert len(refused) >= {"verb": 15, "api": 90, "name": 15, "internal": 3, "command": 20}[kind]


def _varies(text: str, output: list[str]) -> bool:
    return not output or output[0][:1] == "'" or text[:1] == "\\" or any(v in text for v in VARIES)


def _same(got: str, output: list[str]) -> bool:
    return [s.rstrip() for s in got.splitlines()] == [private(s).rstrip() for s in output]


# ------------------------------------------------------------------ ways round

SETUP = """
a:1 2 3;t:([]v:1 2);k:([k:`a`b]v:1 2);d:`x`y!1 2;.n.a:1;v::a+1;f:{a::x};g:{.n.a:x};h:{[p;q]a::q}[;5];e:`u`v
`:there 0:enlist"1 2 3";`:data set 1 2 3;`:folder/t/ set([]v:1 2);.z.exit:{a::0};setenv[`KSHELL_T;"x"]
w:tensor(1 2 3e;`grad);b:tensor 1 2 3e;backward sum w*w;x:tensor 4 3#"e"$til 12;y:tensor 4 1#1 2 3 4e
q:module seq(`sequential;(`batchnorm1d;3);(`linear;3;1));o:opt(`sgd;q;.1);m:model(q;loss`mse;o);n:module enlist(`linear;3;1);z:module enlist(`batchnorm1d;3)
cb:{[x]a::5;x};u:opt(`adam;n;.1);dt:dict(`p`q;(1 2e;3 4e));ve:vector(1 2e;3 4e)
"""
# each is refused, and changes nothing
ESCAPES = r"""
a::5
a:5
a[0]:5
a,:5
a+:1
.n.a:5
.n.new.b:5
set[`a;5]
`a set 5
`:data set 5
`:new/t/ set t
.[`a;();:;5]
@[`a;0;:;5]
.[`:data;();,;4 5]
@[`:data;0;:;9]
`t insert enlist 3
`t upsert 3
`:data upsert 5
`:folder/t/ upsert([]v:enlist 3)
`k upsert(`a;5)
update v:5 from`t
delete from`t
delete a from`.
![`t;();0b;enlist`v]
![`.;();0b;enlist`a]
`v xasc`t
`v xkey`t
`e?`new
`:esym?`new
.Q.en[`:.]([]s:`a`b)
@[`.;`a;:;7]
.[`.;enlist`a;:;7]
f 5
g 5
h 5
f each 1 2
f peach 1 2
{f x}/[2;1]
.Q.trp[f;5;{[e;b]'e}]
f@5
eval parse"a::5"
-6!parse"a::5"
value"a::5"
value(f;5)
0"a::5"
(0;"a::5")[0]"a::5"
vv::1
.z.ps:{x}
.z.exit:{1}
.z.ts:{a::1}
.z.pi:{x}
.z.vs:{x}
.z.zd:17 2 6
reval parse"a::5"
system"t 100"
system"P 3"
system"c 10 10"
system"d .x"
system"S 1"
system"cd .."
system"l there"
system"ls"
system"r there new"
system"x .z.exit"
system"1 out"
system"2 err"
system"_ there"
system"ts 1"
system"s 2"
system"w 100000"
system"\\\\"
system"e 1"
system"nosuch"
value"\\P 3"
value"\\ls"
value"\\\\"
value"exit 0"
exit 0
exit 3
.Q.l`:folder
`:there 0:enlist"x"
`:new 0:enlist"x"
`:there 1:0x00
(`:new;17;2;6)set 1
hdel`:there
hopen`:there
hopen`:new
hopen`::5000
hopen 5000
hopen`:fifo://there
hclose 1
read0 0
read1 0
read0`:/etc/passwd
read1`:/etc/passwd
read0`:../../../../../../etc/passwd
get`:/etc/passwd
value`:/etc/passwd
key`:/etc
key`:/etc/passwd
hcount`:/etc/passwd
("**";":")0:`:/etc/passwd
-11!`:/etc/passwd
-21!`:/etc/passwd
.Q.fs[{x};`:/etc/passwd]
.Q.fps[{x};`:/etc/passwd]
read0`:~/.bashrc
read0(`:/etc/passwd;0;10)
1:[(enlist"x";enlist 1);`:/etc/passwd]
setenv[`KSHELL_T;"y"]
`KSHELL_T setenv"y"
save`t
save`:t.csv
rsave`t
load`data
rload`folder
dsave[`:db;`t]
.Q.dpft[`:db;2024.01.01;`v;`t]
.Q.hdpf[`::1;`:db;2024.01.01;`v]
.Q.chk`:folder
.Q.hg`:http://127.0.0.1:1
-19!(`:data;`:new;17;2;6)
-25!(1 2;"x")
`ktorch 2:`tensor,1
step o
step m
backstep m
backstep(m;x;y)
run(m;x;y)
testrun(m;x;y)
train(m;x;y)
train(m;`batchsize;2)
lr(o;.5)
backward sum w*w
backward sum b*w
zerograd o
zerograd w
nograd w
gradflag(b;1b)
freeze q
unfreeze q
training(q;0b)
forward(z;x)
forward(m;x)
putstate(z;state z)
parm(n;`weight;3 1#1e)
child(q;1;(`linear;3;1))
module(q;(`linear;3;1))
to(n;`double)
free w
free()
use[w;b]
w-:1
w*:2
b[0]:9e
zeros b
fill(b;1)
rsqrt(b;[])
add(b;1;b)
Abs(b;b)
normal b
copyparms(z;state z)
resize(b;5)
reset(b;1)
amend(b;4 5 6e)
detach(w;1b)
squeeze(b;1b)
tensor(9 9 9e;b)
dict(dt;`p;9 9e)
vector(ve;0;9 9e)
ckpt(`:new;state z)
ckptsave(`:new;q)
snapshot`:new
resume`:data
ckpt`:/etc/passwd
logto`:log
autosave(`:new;1)
png(`:new.png;x)
seed 5
rng rng[]
setting(`threads;2)
setting(`deterministic;1b)
dtype`double
compile q
checkpoint q
registerhook(w;cb)
vmap(cb;x)
autograd(cb;w)
nograd(cb;w)
autocast(`bfloat16;cb;x)
barrier[]
say 1
profile"1+1"
clip(w;1.)
override(o;0;`lr`momentum!(.5;.5))
opt(o;`lr;.5)
sched(o;`linear;10)
scale(o;`adascale)
cudadevice`cpu
"""


@pytest.fixture(scope="module")
def _prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, Path]]:
    folder, here = tmp_path_factory.mktemp("escapes"), os.getcwd()
    os.chdir(folder)
    session = quiet()
    for line in SETUP.strip().split("\n"):
        session.run(line)
    settle(session)
    yield session, folder
    os.chdir(here)


def test_no_way_round(_prepared: tuple[Session, Path]) -> None:
    session, folder = _prepared
    os.chdir(folder)
    FOLDER[:] = [folder]
    passed = []
    for text in ESCAPES.strip().split("\n"):
        _, error = unchanged(session, text)
        if not _refused_for(error):
            passed.append(f"{text}: {error or 'was done'}")
    assert not passed, "\n".join(passed)


ALLOWED = r"""
(a;.n.a;v;d`y;.z.r)  / (1 2 3;1;2 3 4;2;1b)
f2:{[p]z:p;z+:1;z};f2 1  / noupdate
{l:x;l[0]:9;l,:7;l}1 2  / 9 2 7
(select from t where v=1;exec v from k;count update u:v from t)  / (([]v:enlist 1);1 2;2)
read0`:there  / enlist"1 2 3"
(get`:data;key`:folder;exec v from get`:folder/t/;hcount`:there)  / (1 2 3;enlist`t;1 2;6)
(system"P";system"v .n";count system"c";system"p")  / (7i;enlist`a;2;0i)
value"1+1"  / 2
.[{x+y};(1;`a);{x}]  / "type"
@[{a::x};1;{x}]  / "noupdate: `. `a"
.Q.trp[{a::x};1;{[e;b]e}]  / "noupdate: `. `a"
{x*x}peach 1 2 3  / 1 4 9
tensor w*2  / 2 4 6e
(tensor each(w;b);first lr u;tensor grad enlist w)  / ((1 2 3e;1 2 3e);.1;2 4 6e)
count parmtable m  / 4
first first evaluate(m;x)  / EVALUATED
tensor add(tensor 0 0 0e;1e)  / 1 1 1e
dtype each(w;tensor`long$1 2)  / `float`long
"""


def test_what_reads_works(_prepared: tuple[Session, Path]) -> None:
    session, folder = _prepared
    os.chdir(folder)
    FOLDER[:] = [folder]
    for line in ALLOWED.strip().split("\n"):
        text, _, expected = line.rpartition("  / ")
        got, error = unchanged(session, text)
        if expected == "noupdate":
            assert error == "noupdate: `. `f2"
            continue
        outside = expected if expected != "EVALUATED" else text
        session.out = io.StringIO()
        session.run(outside, show=True)
        assert (got, error) == (session.out.getvalue(), ""), text


# what is in the session, and lines that would change it by a local name
HELD = [("dict(`w`b!(2 2#1 2 3 4e;1 2e))", ("d[`w;0;0]:9e", "d[`w]:5 6e", "d[`w]+:1", "d[`new]:1e", "d[]:0e",
                                           "@[d;`w;:;9e]")),
        ("`w`b!(tensor 2 2#1 2 3 4e;tensor 1 2e)", ("d[`w;0;0]:9e", "d[`w;0;0]+:1", ".[d;(`w;0;0);:;9e]",
                                                   "{x[0]:9e;x}each d")),
        ("parms module enlist(`linear;2;1)", ("d[`bias]:9e", "d[`bias;0]:9e", "d[]-:1")),
        ("vector(1 2e;3 4e)", ("d[0]:9 9e", "d[]:0e", "d[0]+:1", "d[0;0]:9e")),
        ("(tensor 1 2e;tensor 3 4e)", ("d[0;0]:9e",)), ("([]w:(tensor 1 2e;tensor 3 4e))", ("d[0;`w;0]:9e",))]


@pytest.mark.parametrize(("made", "lines"), HELD, ids=[made for made, _ in HELD])
def test_tensors_that_are_held_stay(made: str, lines: tuple[str, ...]) -> None:
    """A local name for a collection is no way to its tensors, and a collection of handles no way to put in others."""
    session = quiet()
    for n, line in enumerate(lines):
        session.run(f"f{n}:{{[d]{line};1}}")
    session.run(f"d:{made}")
    settle(session)
    FOLDER[:] = [Path()]
    for n, line in enumerate(lines):
        assert unchanged(session, f"f{n} d")[1].startswith("noupdate: "), line


def test_statistics_of_batches_stay() -> None:
    """A module that would note the batch that it sees does so nowhere but outside."""
    session = quiet()
    session.run("z:module enlist(`batchnorm1d;3);x:tensor 4 3#\"e\"$til 12")
    settle(session)
    FOLDER[:] = [Path()]
    assert unchanged(session, "forward(z;x)")[1].startswith("noupdate: ")
    assert unchanged(session, "count evaluate(z;x)") == ("4\n", "")


def test_random_numbers_of_readers_are_their_own() -> None:
    drawn = []
    for reader in (False, True):
        session = quiet()
        session.run('system"S 42";seed 7')
        if reader:
            a, b = (session.run("reval parse\"(5?100;normal 3#0e)\"") for _ in range(2))
            assert session.show(a) != session.show(b)
        drawn.append(session.show(session.run("(5?100;normal 3#0e)")))
    assert drawn[0] == drawn[1]


def test_a_table_that_is_held_is_read_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = quiet()
    session.run(f"`:{tmp_path}/far/t/ set([]v:1 2);far:get`:{tmp_path}/far/t/")
    (tmp_path / "near").mkdir()
    monkeypatch.chdir(tmp_path / "near")
    assert session.show(session.run("reval parse\"exec v from far\"")) == "1 2"
    with pytest.raises(QError, match="access: "):
        session.run("reval parse\"get`:../far/t/\"")


def test_a_partitioned_database_is_read() -> None:
    session = quiet()
    session.run("t:([]s:`a`b;v:1 2);.Q.dpft[`:db;;`s;`t]each 2024.01.01 2024.01.02;system\"l db\"")
    FOLDER[:] = [Path()]
    assert unchanged(session, "exec v from t where date=2024.01.02,s=`b") == ("2\n", "") \
        or unchanged(session, "exec v from t where date=2024.01.02,s=`b")[0] == ",2\n"


def test_a_read_only_session() -> None:
    session = quiet()
    session.run("a:1;w:tensor 1 2e")
    session.read_only = True
    for text in ("a:2", "a::2", "`a set 2", "system\"ls\"", "`:f set 1", "zeros w", "step w", ".z.ts:{x}", "hopen`:f"):
        with pytest.raises(QError, match=r"^(noupdate|access): "):
            session.run(text)
    assert session.run("a+{b:x;b}1") == 2
    assert session.run(".z.r") is True
    with pytest.raises(QExit):  # whoever types there may leave
        session.run("exit 0")
    session.read_only = False
    session.run("a:3")
    assert session.run("a") == 3
    assert not list(Path().iterdir())


def test_what_is_left_of_a_restricted_function_does_not_run_outside() -> None:
    """The debugger cannot go on with it, so nothing of it is done without the restriction."""
    session = quiet()
    session.interactive = True
    session.run("a:1")
    with pytest.raises(QError):
        session.run("reval parse\"{x+`a;a::5}1\"")
    if session.suspended:
        with contextlib.suppress(QError):
            session.go_on(1)
    assert session.run("a") == 1


# ------------------------------------------------------------------ any program

TOKENS = ["a", "t", "d", "k", "w", "b", "x", "1", "`a", "`t", "`k", "`:data", "`:there", ":", "::", "+", ",", "#", "!", "@",
          ".", "?", "0:", "1:", " set ", " insert ", " upsert ", "[", "]", "(", ")", "{", "}", ";", "enlist ", "each ", "'", "/",
          "\"a:1\"", "value ", "system ", "eval ", "parse ", "update v:5 from ", "delete from ", "zeros ", "add(w;b;w)",
          "step o", "exit ", "hopen ", "hdel ", "free ", "backward ", "lr(o;1)", ".n.a", ".z.ps:", "`xx", "normal "]


def _programs(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    lines = [c.text for p in sorted((ROOT / "tests" / "cases").glob("*.q")) for c in cases(p) if "sleep" not in c.text]
    made = ["".join(rng.choice(TOKENS) for _ in range(rng.randint(1, 9))) for _ in range(n)]
    return made + rng.sample(lines, n)


@pytest.mark.parametrize("seed,n", [(1, 60), *(pytest.param(k, 400, marks=pytest.mark.slow) for k in range(2, 6))])
def test_no_program_changes_a_thing(_prepared: tuple[Session, Path], seed: int, n: int) -> None:
    session, folder = _prepared
    os.chdir(folder)
    FOLDER[:] = [folder]
    for text in _programs(seed, n):
        unchanged(session, text)
