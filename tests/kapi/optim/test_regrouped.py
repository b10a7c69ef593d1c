"""Groups that change beneath schedulers and inside of wrappers: both stay what they are for the program that made them."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler as lrs
from torch.optim.swa_utils import SWALR

from kshell import Session
from kshell.errors import QError
from kshell.session import Session as Inner
from tests.kapi.optim.test_schedulers import MAKERS, PLATEAU

SPLIT = 'parmtable(m;update decay:.5 from parmtable[m]where name like"*.bias")'


class Around(torch.optim.Optimizer):
    """A wrapper as accelerate has one: an optimizer by its class, with the groups and state of the one inside."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer, self.device_placement, self.steps = optimizer, True, 0

    state = property(lambda self: self.optimizer.state)
    param_groups = property(lambda self: self.optimizer.param_groups)
    defaults = property(lambda self: self.optimizer.defaults)

    def step(self, closure: Any = None) -> Any:
        self.steps += 1
        return self.optimizer.step(closure)


class Imitating:
    """A wrapper as Lightning has one: of no class of torch, until it takes that of what is inside."""

    def __init__(self, optimizer: Any, imitate: bool = True) -> None:
        self._optimizer, self.steps = optimizer, 0
        if imitate:
            self.__class__ = type("Like" + type(optimizer).__name__, (Imitating, type(optimizer)), {})  # type: ignore

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_optimizer"], name)

    def step(self, closure: Any = None) -> Any:
        self.steps += 1
        return self._optimizer.step(closure)


class Sharing:
    """A wrapper that shares the list of groups under another name."""

    def __init__(self, optim: Any) -> None:
        self.optim, self.param_groups, self.steps = optim, optim.param_groups, 0

    def step(self, closure: Any = None) -> Any:
        self.steps += 1
        return self.optim.step() if closure is None else self.optim.step(closure)


def network() -> Any:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))


def opened(m: Any, o: Any) -> tuple[Session, io.StringIO]:
    s = Session()
    said = io.StringIO()
    s.err = said
    s.m, s.o = m, o
    return s, said


WRAPPERS = {"accelerate": Around, "lightning": Imitating, "plain": lambda o: Imitating(o, False), "sharing": Sharing,
            "two": lambda o: Around(Imitating(o)), "three": lambda o: Sharing(Around(Imitating(o, False)))}


@pytest.mark.parametrize("name", [n if n in ("accelerate", "two") else pytest.param(n, marks=pytest.mark.slow) for n in WRAPPERS])
def test_the_optimizer_inside_is_seen(name: str) -> None:
    m, bare = network(), network()
    o = WRAPPERS[name](torch.optim.AdamW(m.parameters(), lr=.1))
    plain = torch.optim.AdamW(bare.parameters(), lr=.1)
    pairs = [opened(m, o)[0], opened(bare, plain)[0]]
    for line in ("lr(o;.25)", SPLIT, "opt(o;1;();`lr`beta1!.5 .8)", "freeze(m;`0.bias)", "backward Sum forward(m;1 3#1 2 3e)", "step o",
                 "nograd o", "parmtable(m;([]name:enlist`2.bias;parmgroup:0))"):
        for s in pairs:
            s(line)
    for text in ("opt[o]`options", "objtype o", "select name,parmgroup,lr,decay from parmtable(m;`decay)", "lr o", "size o",
                 "delete pointer from opt[o]`parms", "statetable o", "(state o)`options", "gradflag m", "exec grad from gradtable m"):
        found = [s.run(text) for s in pairs]
        assert repr(found[0]) == repr(found[1]) and pairs[0]("-8!" + text).tobytes() == pairs[1]("-8!" + text).tobytes(), text
    assert pairs[0].o is o and o.steps == 1
    assert all(torch.equal(a, b) for a, b in zip(m.parameters(), bare.parameters(), strict=True))


def test_a_wrapper_and_its_optimizer_are_one() -> None:
    m = network()
    inner = torch.optim.SGD(m.parameters(), lr=.1)
    s, _ = opened(m, Around(inner))
    s.p = inner
    s("parmtable(m;update lr:.5 from parmtable m)")
    assert inner.param_groups[0]["lr"] == .5
    s("backward Sum forward(m;1 3#1 2 3e);step m")
    assert s.o.steps == 1
    half = network().half()
    s, _ = opened(half, Around(torch.optim.SGD(half.parameters(), lr=.1)))
    with pytest.raises(QError, match="inside of a Around"):
        s("fp16(o;`init,16)")


def test_a_wrapper_is_not_part_of_a_snapshot(tmp_path: Any) -> None:
    m = network()
    s, said = opened(m, Around(torch.optim.SGD(m.parameters(), lr=.1)))
    s(f"snapshot`:{tmp_path}/a.ks")
    assert said.getvalue() == "snapshot: not saved: the Around around an optimizer\n"
    t = Session()
    t(f"resume(`:{tmp_path}/a.ks;`o)")
    assert type(t.o) is torch.optim.SGD


SHARDED = """
import os, torch, torch.distributed as d
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=__import__("sys").argv[1])
d.init_process_group("gloo", rank=0, world_size=1)
from torch.distributed.optim import ZeroRedundancyOptimizer
from kshell import QError, Session
m = torch.nn.Linear(2, 1)
o = ZeroRedundancyOptimizer(m.parameters(), optimizer_class=torch.optim.AdamW, lr=.1)
s = Session()
s.m, s.o = m, o
print(*s("cols opt[o]`options"), *s("exec lr from parmtable m"))
s("lr(o;.5);parmtable(m;update decay:.25 from parmtable m);backward Sum forward(m;1 2#1 2e);step o")
print(o.optim.param_groups[0]["lr"], o.optim.param_groups[0]["weight_decay"], *s("exec mean from statetable[o] where buffer=`step"))
try:
    s('parmtable(m;update decay:0. from parmtable[m]where name=`bias)')
except QError as e:
    print(e.text)
s("step o")
"""


@pytest.mark.slow
def test_an_optimizer_that_has_dealt_its_parameters_out() -> None:
    """Options are set and state is seen through it; its groups stay, with an error that changes nothing."""
    import socket
    import subprocess

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    done = subprocess.run([sys.executable, "-c", SHARDED, port], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [
        "lr beta1 beta2 eps decay amsgrad 0.1 0.1", "0.5 0.25 1.0 1.0",
        "parmtable: a ZeroRedundancyOptimizer has partitioned its parameters: their groups cannot be changed (given module, table)"], done.stderr


# ------------------------------------------------------------------ schedulers of the program

FACTORS = {
    "lambda": lambda o: lrs.LambdaLR(o, lambda n: .9 ** n), "lambdas": lambda o: lrs.LambdaLR(o, [lambda n: .8 ** n]),
    "multiplicative": lambda o: lrs.MultiplicativeLR(o, lambda n: .9), "step": lambda o: lrs.StepLR(o, 2),
    "multistep": lambda o: lrs.MultiStepLR(o, [1, 3], .5), "constant": lambda o: lrs.ConstantLR(o, .5, 3),
    "linear": lambda o: lrs.LinearLR(o, .5, 1., 3), "exponential": lambda o: lrs.ExponentialLR(o, .5),
    "polynomial": lambda o: lrs.PolynomialLR(o, 9, 2.), "cosine": lambda o: lrs.CosineAnnealingLR(o, 5),
    "restarts": lambda o: lrs.CosineAnnealingWarmRestarts(o, 2), "cyclic": lambda o: lrs.CyclicLR(o, .01, .1, 3),
    "onecycle": lambda o: lrs.OneCycleLR(o, .2, 20), "swa": lambda o: SWALR(o, .05, 3),
    "plateau": lambda o: lrs.ReduceLROnPlateau(o, patience=0, min_lr=[.001]),
    "sequential": lambda o: lrs.SequentialLR(o, [lrs.ConstantLR(o, .5, 2), lrs.ExponentialLR(o, .5)], [3]),
    "chained": lambda o: lrs.ChainedScheduler([lrs.ConstantLR(o, .5, 3), lrs.ExponentialLR(o, .5)]),
}
MANY = 6


def stepped(s: Any) -> None:
    s.step(1.0) if isinstance(s, lrs.ReduceLROnPlateau) else s.step()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrapped", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FACTORS)
def test_a_scheduler_of_the_program_follows_a_split(name: str, wrapped: bool) -> None:
    """After a split the rates are, in both groups, those that the scheduler would have given without; a new rate for
    the new group stays in that proportion."""
    nets = [network(), network(), network()]
    inner = [torch.optim.AdamW(m.parameters(), lr=.1) for m in nets]
    made = [FACTORS[name](o) for o in inner]
    for sch in made:
        stepped(sch)
        stepped(sch)
    rate = inner[0].param_groups[0]["lr"]
    for m, o, line in zip(nets, inner, ("", SPLIT, f'parmtable(m;update lr:{rate / 2!r} from parmtable[m]where name like"*.bias")'), strict=True):
        s, said = opened(m, Around(o) if wrapped else o)
        if line:
            s(line)
            assert "of the program now has 2 groups" in said.getvalue()
    for _ in range(MANY):
        for sch in made:
            stepped(sch)
        alone, split, half = ([g["lr"] for g in o.param_groups] for o in inner)
        assert split == alone * 2
        if name not in ("plateau", "cosine"):  # a least rate for all groups, and sums
            assert half == pytest.approx([alone[0], alone[0] / 2])
    keys = [set(g) for g in inner[1].param_groups]
    assert (keys[0] == keys[1] and "initial_lr" in keys[1]) or name == "plateau"
    assert made[1].state_dict().keys() == made[0].state_dict().keys()


@pytest.mark.parametrize(("name", "text"), [
    ("lambda", "lr: LambdaLR of the program also sets the rates: its next step recomputes them, and yours are lost\n"),
    ("step", "lr: StepLR of the program also sets the rates: its next step continues from yours\n"),
    ("sequential", "lr: SequentialLR of the program also sets the rates, at each of its steps\n")])
def test_the_user_is_told_who_else_sets_the_rates(name: str, text: str) -> None:
    m = network()
    o = torch.optim.SGD(m.parameters(), lr=.1)
    sch = FACTORS[name](o)
    s, said = opened(m, o)
    s("lr(o;.5)")
    assert said.getvalue() == text
    s("lr(o;.5)")  # nothing has changed
    s("opt(o;0;();`momentum,.9);parmtable(m;update gradflag:0b from parmtable m)")
    assert said.getvalue() == text
    s("opt(o;0;();.25)")
    assert said.getvalue().endswith(text.replace("lr:", "opt:", 1))
    s("parmtable(m;update lr:.75 from parmtable m)")
    assert said.getvalue().endswith(text.replace("lr:", "parmtable:", 1)) and said.getvalue().count("\n") == 3
    assert sch is not None


def test_a_new_rate_with_its_schedule() -> None:
    """With the flag, the scheduler goes on from the new rate; without, it computes the one it would have had."""
    rates = []
    for text in ("", "lr(o;.5*lr o)", "lr(o;.5*lr o;1b)"):
        m = network()
        o = torch.optim.SGD(m.parameters(), lr=.1)
        sch = lrs.LambdaLR(o, lambda n: .5 ** n)
        s, said = opened(m, o)
        o.step()
        sch.step()
        s(text or "1")
        o.step()
        sch.step()
        rates.append(o.param_groups[0]["lr"])
        assert (said.getvalue() == "") == (text in ("", "lr(o;.5*lr o;1b)"))
    assert rates == [.025, .025, .0125]
    s = Inner(out=io.StringIO(), err=io.StringIO())
    s.run("o:opt(`sgd;();.1);s:sched(o;`linear;`max`steps!(.1;10));step(s;2);lr(o;.5*lr o;1b)")
    assert s.run("step s;lr s").a.tolist() == pytest.approx([.035])
    s.run("o:opt(`sgd;();.1);s:sched(o;`linear;`init`max`warmup`steps!(0;.1;2;10))")
    with pytest.raises(QError, match="rate of group 0 is 0 now"):
        s.run("lr(o;.5;1b)")


def test_names_of_the_program_stay_with_their_parameters() -> None:
    m = network()
    o = torch.optim.SGD(m.named_parameters(), lr=.1)
    s, _ = opened(m, o)
    s(SPLIT)
    names = {id(p): n for n, p in m.named_parameters()}
    assert [g["param_names"] for g in o.param_groups] == [[names[id(p)] for p in g["params"]] for g in o.param_groups]
    assert len(o.param_groups) == 2


# ------------------------------------------------------------------ schedulers of the session


@pytest.mark.parametrize("name", sorted({*MAKERS} - {"lambdas", "onecyclelr", "swalr"}))
def test_a_scheduler_of_the_session_follows(name: str) -> None:
    """A split in which rates stay makes no difference to them; states come back, `lrs` says what steps do."""
    s = Inner(out=io.StringIO(), err=io.StringIO())
    more = ";3." if name == PLATEAU else ";1"
    s.run(f"m:module seq(`sequential;(`linear;`a;2;2);(`linear;`b;2;1));o:opt(`adamw;m;.05);s:{MAKERS[name]};go:{{do[x;step(s{more})]}};go 2")
    s.run("k:state s;a:lr o")
    s.run('parmtable(m;update beta1:.5 from parmtable[m]where name like"*.bias");b:lr o;j:state s;go 3;c:lr o')
    assert s.run("(b~2#a)and 1=count distinct c") is True
    s.run("p:opt(`adamw;(m;`a.weight`b.weight);.9);opt(p;1;(m;`a.bias`b.bias));t:s;u:o;s:sched(p;j);go 3")
    assert s.run("c~lr p") is True
    if name != PLATEAU:
        assert s.run("c~last exec lr from lrs(t;til 6)") is True
    assert s.err.getvalue() == ""


# ------------------------------------------------------------------ checkpoints, growth


@pytest.mark.parametrize("how", ["ckpt", "ckptsave", "state"])
def test_what_was_regrouped_goes_back(how: str, tmp_path: Any) -> None:
    s = Inner(out=io.StringIO(), err=io.StringIO())
    made = "m:module seq(`sequential;(`linear;`a;2;2);(`linear;`b;2;1));o:opt(`adam;m;.1);X:tensor(1 2e;3 5e);go:{nograd o;backward mse(forward(m;X);2 1#1 2e);step o}"
    kept = "r:(delete pointer from(state o)`parms;(opt o)`options;value dict parms m)"
    save, load = {"ckpt": (f"ckpt(`:{tmp_path}/a.pt;`m`o!(m;o))", f"d:ckpt`:{tmp_path}/a.pt;putstate(m;d`m);putstate(o;d`o)"),
                  "ckptsave": (f"ckptsave(`:{tmp_path}/a;`m`o!(m;o))", f"ckptload(`:{tmp_path}/a;`m`o!(m;o))"),
                  "state": ("d:(state m;state o)", "putstate(m;d 0);putstate(o;d 1)")}[how]
    s.run(f'{made};go[];parmtable(m;update lr:.05,decay:.01 from parmtable[m]where name like"*.bias");'
          f"parmtable(m;([]name:enlist`a.weight;parmgroup:2));go[];{save};{kept};w:r;go[];{kept};v:r")
    s.run(f"{made};{load};{kept}")
    assert s.run("r~w") is True
    s.run(f"go[];{kept}")
    assert s.run("r~v") is True
    with pytest.raises(QError):
        s.run({"state": "n:module enlist(`linear;2;2);p:opt(`adam;n);putstate(p;d 1)", "ckpt": "n:module enlist(`linear;2;2);p:opt(`adam;n);putstate(p;d`o)",
               "ckptsave": f"n:module enlist(`linear;2;2);p:opt(`adam;n);ckptload(`:{tmp_path}/a;(enlist`o)!enlist p)"}[how])
    assert s.run("(count(opt p)`options;lr p)").items[0] == 1


def test_names_in_a_checkpoint_are_torchs(tmp_path: Any) -> None:
    """A plain script loads what was regrouped here into groups of its own."""
    m = network()
    s, _ = opened(m, torch.optim.AdamW(m.parameters(), lr=.1))
    s(f"{SPLIT};ckpt(`:{tmp_path}/a.pt;o)")
    found = torch.load(f"{tmp_path}/a.pt", weights_only=True)
    assert [g["param_names"] for g in found["param_groups"]] == [["0.weight", "2.weight"], ["0.bias", "2.bias"]]
    o = torch.optim.AdamW([{"params": g["params"]} for g in s.o.param_groups])
    o.load_state_dict(found)
    assert [g["weight_decay"] for g in o.param_groups] == [.01, .5]


def opcodes(s: Inner, text: str) -> int:
    """How many steps Python makes to run a line."""
    count = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        s.run(text)
    finally:
        sys.settrace(before)
    return count


LAYERS = "m:module seq enlist[`sequential],{(`linear;`$\"l\",string x;1;1)}each til N;o:opt(`sgd;();.1)"
GROWTH = {
    "names": (LAYERS, "{opt(o;x;(m;`$\"l\",string x);.1+x)}each til N;"),
    "tensors": ("ts:{tensor(`randn;2;`grad)}each til N;o:opt(`sgd;();.1)", "{opt(o;x;ts x;.1)}each til N;"),
    "modules": ("ms:{module enlist(`linear;1;1)}each til N;o:opt(`sgd;();.1)", "{opt(o;x;ms x;.1)}each til N;"),
    "options": ("o:opt(`sgd;();.1);{opt(o;1+x;();.1)}each til N", "{opt(o;x;();.2)}each til N;"),
    "rule": (LAYERS + ";r:scale(o;`linear)", "{opt(o;x;(m;`$\"l\",string x);.1+x)}each til N;"),
    "table": (LAYERS + ";opt(o;0;m)", "parmtable(m;update lr:.1+.001*i from parmtable m)"),
    "state": (LAYERS + ";opt(o;0;m);parmtable(m;update lr:.1+.001*i from parmtable m)", "opt(state o;m);"),
}


@pytest.mark.parametrize("name", [n if n in ("tensors", "table") else pytest.param(n, marks=pytest.mark.slow) for n in GROWTH])
def test_groups_grow_linearly(name: str) -> None:
    """Four times the groups are four times the work."""
    counts = []
    for n in (2, 12, 48):
        s = Inner(out=io.StringIO(), err=io.StringIO())
        s.run(f"N:{n}")
        s.run(GROWTH[name][0])
        counts.append(opcodes(s, GROWTH[name][1]))
    assert counts[2] < 4.6 * counts[1], counts
