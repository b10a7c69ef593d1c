"""Long random programs of modules, optimizers, schedulers, averages, states and files, each step made on a q session
and on torch's own objects: after every step both hold the same, bit for bit, and what is refused changes nothing.
"""

from __future__ import annotations

import copy
import io
import itertools
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from torch import nn

from kshell.errors import QError
from kshell.optim import schedules
from kshell.session import Session

# ------------------------------------------------------------------ modules: text of q, and torch's own


class Residual(nn.Module):
    """What `residual` is: the input, or what a second sequence makes of it, added to a sequence's output."""

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__()
        for i, p in enumerate(parts, 1):
            self.add_module(f"q{i}", p)

    def forward(self, x: Any) -> Any:
        first, *more = self.children()
        return first(x) + (more[0](x) if more else x)


Spec = tuple[str, Callable[[], nn.Module]]
# each takes 3 columns and gives 3; {} is where a name may be
LAYERS: list[Spec] = [
    ("(`linear{};3;3)", lambda: nn.Linear(3, 3)), ("(`linear{};3;3;0b)", lambda: nn.Linear(3, 3, bias=False)),
    ("(`batchnorm1d{};3)", lambda: nn.BatchNorm1d(3)), ("`tanh{}", nn.Tanh), ("`silu{}", nn.SiLU),
    ("(`batchnorm1d{};3;`momentum`affine!(.3;0b))", lambda: nn.BatchNorm1d(3, momentum=.3, affine=False)),
    ("(`batchnorm1d{};3;`track,0b)", lambda: nn.BatchNorm1d(3, track_running_stats=False)),
    ("(`layernorm{};3)", lambda: nn.LayerNorm(3)), ("(`prelu{};3)", lambda: nn.PReLU(3)),
    ("(`groupnorm{};1;3)", lambda: nn.GroupNorm(1, 3)), ("(`rmsnorm{};3)", lambda: nn.RMSNorm(3)),
    ("(`drop{};.25)", lambda: nn.Dropout(.25)),
]


def layer(i: int, name: str) -> str:
    """The definition of a layer by its number in LAYERS, with a name or without."""
    found = LAYERS[i][0]
    return found.format((";`" if found[0] == "(" else "`") + name if name else "")


def chain(kind: str, layers: list[tuple[int, str]]) -> Spec:
    """A sequence of layers by their numbers in LAYERS and their names."""
    texts = [layer(i, n) for i, n in layers]

    def made() -> nn.Module:
        m = nn.Sequential()
        for k, (i, n) in enumerate(layers):
            m.add_module(n or str(k), LAYERS[i][1]())
        return m

    return f"seq({kind};{';'.join(texts)})", made


def spec_of(drawn: Any) -> Spec:
    """The layer of what PART draws."""
    kind, a, b = drawn
    if kind == "layer":
        return layer(*a[0]), LAYERS[a[0][0]][1]
    if kind == "nest":
        return chain("`seqnest", a)
    first, second = chain("`sequential", a), chain("`sequential", b)
    if kind == "one":
        return f"seq(`residual;{first[0]})", lambda: Residual(first[1]())
    return f"seq(`residual;{first[0]};{second[0]})", lambda: Residual(first[1](), second[1]())


def distinct(layers: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Layers whose names are all different."""
    seen: set[str] = set()
    out = []
    for i, n in layers:
        out.append((i, "" if n in seen else n))
        seen.add(n)
    return out


NAME = st.sampled_from(["", "", "a", "b", "fc", "head"])
FEW = st.lists(st.tuples(st.integers(0, len(LAYERS) - 1), NAME), min_size=1, max_size=3).map(distinct)
PART = st.tuples(st.sampled_from(["layer", "layer", "layer", "nest", "one", "two"]), FEW, FEW)

# ------------------------------------------------------------------ optimizers: options of q, and torch's own

OPTIMIZERS: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("sgd", ".05", torch.optim.SGD, {"lr": .05}),
    ("sgd", ".05;`momentum`decay!.9 .01", torch.optim.SGD, {"lr": .05, "momentum": .9, "weight_decay": .01}),
    ("sgd", "(`lr;.05;`momentum;.9;`nesterov;1b)", torch.optim.SGD, {"lr": .05, "momentum": .9, "nesterov": True}),
    ("adam", ".01;.8", torch.optim.Adam, {"lr": .01, "betas": (.8, .999)}),
    ("adam", ".01;`amsgrad`decay!(1b;.1)", torch.optim.Adam, {"lr": .01, "amsgrad": True, "weight_decay": .1}),
    ("adamw", ".01", torch.optim.AdamW, {"lr": .01}),
    ("rmsprop", ".01;`centered`momentum!(1b;.5)", torch.optim.RMSprop, {"lr": .01, "centered": True, "momentum": .5}),
    ("adagrad", ".05;`lrdecay`init!.1 .2", torch.optim.Adagrad, {"lr": .05, "lr_decay": .1, "initial_accumulator_value": .2}),
    ("adadelta", ".5", torch.optim.Adadelta, {"lr": .5}),
    ("nadam", ".01;`decay`decoupled!(.1;1b)", torch.optim.NAdam, {"lr": .01, "weight_decay": .1, "decoupled_weight_decay": True}),
    ("radam", ".01", torch.optim.RAdam, {"lr": .01}),
    ("rprop", ".01", torch.optim.Rprop, {"lr": .01}),
    ("adamax", ".01", torch.optim.Adamax, {"lr": .01}),
    ("asgd", ".01;`t0,1f", torch.optim.ASGD, {"lr": .01, "t0": 1.}),
    ("lbfgs", ".1;`iter`history!2 3", torch.optim.LBFGS, {"lr": .1, "max_iter": 2, "history_size": 3}),
]
LATER = {"amsgrad": "max_exp_avg_sq", "centered": "grad_avg"}
SCHEDULERS: list[tuple[str, Callable[[Any], Any]]] = [
    ("`steplr;2;.5", lambda o: torch.optim.lr_scheduler.StepLR(o, 2, .5)),
    ("`exponentiallr;.9", lambda o: torch.optim.lr_scheduler.ExponentialLR(o, .9)),
    ("`multisteplr;1 3;.5", lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [1, 3], .5)),
    ("`cosineannealinglr;5;.001", lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 5, .001)),
    ("`linearlr;.5;1;3", lambda o: torch.optim.lr_scheduler.LinearLR(o, .5, 1., 3)),
    ("`polynomiallr;6;2.", lambda o: torch.optim.lr_scheduler.PolynomialLR(o, 6, 2.)),
    ("`chainedscheduler;(sched({o};`exponentiallr;.9);sched({o};`steplr;2;.5))", lambda o: torch.optim.lr_scheduler.ChainedScheduler(
        [torch.optim.lr_scheduler.StepLR(o, 2, .5), torch.optim.lr_scheduler.ExponentialLR(o, .9)][::-1])),
    ("`sequentiallr;(sched({o};`exponentiallr;.9);sched({o};`steplr;2;.5));2", lambda o: torch.optim.lr_scheduler.SequentialLR(
        o, [torch.optim.lr_scheduler.StepLR(o, 2, .5), torch.optim.lr_scheduler.ExponentialLR(o, .9)][::-1], [2])),
    ("`onecyclelr;.1;40;`cyclemomentum,0b", lambda o: torch.optim.lr_scheduler.OneCycleLR(o, .1, 40, cycle_momentum=False)),
    ("`cycliclr;.01;.1;3;`cyclemomentum,0b", lambda o: torch.optim.lr_scheduler.CyclicLR(o, .01, .1, 3, cycle_momentum=False)),
    ("`lambdalr;{1%1+x}", lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda n: 1 / (1 + n))),
    ("`cosineannealingwarmrestarts;3;2", lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2)),
]


class Twin:
    """Torch's own optimizer, how it was made, and the module of its parameters. `waits`: a scheduler came with its state
    and waits to be asked for."""

    def __init__(self, at: int, o: Any, m: nn.Module) -> None:
        self.at, self.o, self.m, self.waits = at, o, m, False

    @property
    def params(self) -> list[Any]:
        return [p for g in self.o.param_groups for p in g["params"]]

    @property
    def lbfgs(self) -> bool:
        return OPTIMIZERS[self.at][0] == "lbfgs"

    def named(self) -> list[list[Any]]:
        """The names in the module of the parameters of each group; None for one that it no longer has."""
        names = {id(p): n for n, p in self.m.named_parameters()}
        return [[names.get(id(p)) for p in g["params"]] for g in self.o.param_groups]


def fresh(at: int, groups: list[dict[str, Any]]) -> Any:
    """An optimizer with such groups."""
    kind, kwargs = OPTIMIZERS[at][2:]
    o = kind([nn.Parameter(torch.zeros(1))], **kwargs)
    o.param_groups[0]["params"].clear()
    o.state.clear()
    o.param_groups[0].update(groups[0])
    o.param_groups[0]["params"] = list(groups[0]["params"])
    for g in groups[1:]:
        o.param_groups.append(dict(g, params=list(g["params"])))
    if isinstance(o, torch.optim.LBFGS):
        o._params = o.param_groups[0]["params"]
    return o


def again(t: Twin, memo: dict[int, Any], m: nn.Module) -> Twin:
    """The optimizer with its state over copies of its parameters; those of the memo, or the same."""
    groups = [{k: v for k, v in g.items() if k != "params"} | {"params": [memo.get(id(p), p) for p in g["params"]]}
              for g in t.o.param_groups]
    o = fresh(t.at, groups)
    for p, state in t.o.state.items():
        o.state[memo.get(id(p), p)] = copy.deepcopy(state)
    return Twin(t.at, o, m)


def of_state(t: Twin, memo: dict[int, Any], m: nn.Module) -> Twin:
    """The same made from its state, which has the options of its groups only: those of the first are then the defaults."""
    new = again(t, memo, m)
    first = new.o.param_groups[0]
    new.o.defaults.update({k: first[k] for k in new.o.defaults if k in first and k not in ("foreach", "fused")})
    return new


def copied(m: nn.Module, memo: dict[int, Any], whole: bool) -> nn.Module:
    """A copy of a module; whole: with gradients, modes and flags, as a snapshot has it, else as its state has it."""
    new = copy.deepcopy(m, memo)
    for (_, p), (_, q) in zip(m.named_parameters(), new.named_parameters(), strict=True):
        q.grad = p.grad.clone() if whole and p.grad is not None else None
        if not whole:
            q.requires_grad_(True)
    return new if whole else new.train()


def same(a: Any, b: Any, what: str) -> None:
    """Equal to the bit, nulls too, of one type."""
    if isinstance(b, torch.Tensor):
        if isinstance(a, float) and not b.dim():  # lbfgs has its step as a tensor, or as a number
            b = b.item()
            assert a == b, (what, a, b)
            return
        assert isinstance(a, torch.Tensor), (what, a, b)
        assert a.dtype == b.dtype and a.shape == b.shape, (what, a.dtype, b.dtype, a.shape, b.shape)
        if not torch.equal(a, b):
            assert torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) and torch.equal(a.isnan(), b.isnan()), (
                what, (a - b).abs().max(), a, b)
    elif isinstance(b, list | tuple):
        assert len(a) == len(b), (what, a, b)
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{what}[{i}]")
    else:
        assert a == b, (what, a, b)


def nearly(a: Any, b: Any, what: str) -> None:
    """As `same`, but floats may differ as another kernel rounds them; b then gets the value of a."""
    if isinstance(b, torch.Tensor) and isinstance(a, torch.Tensor) and a.shape == b.shape and a.dtype == b.dtype and a.is_floating_point():
        tol = 1e-12 if a.dtype == torch.float64 else 1e-4
        least = max(tol, 1e-9)  # what adam makes of a gradient that is 0 but for rounding, at a rate of .1
        assert torch.allclose(a, b, rtol=tol, atol=least, equal_nan=True), (what, a, b)
        with torch.no_grad():
            b.copy_(a)


def array(t: Any) -> str:
    """A tensor of doubles as q text."""
    flat = " ".join(repr(v) for v in t.flatten().tolist()) + "f"
    return f"(),{flat}" if t.dim() == 1 else f"{' '.join(map(str, t.shape))}#{flat}"


def pattern(shape: Any, seed: int) -> Any:
    """Small numbers that a seed gives."""
    n = int(torch.Size(shape).numel())
    return torch.tensor([((7 * i + 5 * seed + i * i * seed) % 13 - 6) / 4 for i in range(n)], dtype=torch.float64).reshape(shape)


TENSORS = ("xa", "xb", "xc", "xd")
# of the tensors x and y
OPERATORS: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("{x}*{y}", lambda x, y: x * y), ("{x}+{y}", lambda x, y: x + y), ("{x}-{y}", lambda x, y: x - y), ("sum {x}", lambda x, y: x.sum(0)),
    ("{x} 1", lambda x, y: x[1]), ("{x}[0 2]", lambda x, y: x[[0, 2]]), ("{x}[;1]", lambda x, y: x[:, 1]), ("neg {x}", lambda x, y: -x),
    ("2*{x}", lambda x, y: 2 * x), ("{x}-.5", lambda x, y: x - .5), ("tanh {x}", lambda x, y: torch.tanh(x)), ("detach {x}", lambda x, y: x.detach()),
    ("Sum mul({x};{y})", lambda x, y: (x * y).sum()), ("exp {x}", lambda x, y: torch.exp(x)), ("abs {x}", lambda x, y: x.abs()),
    ("addref {x}", lambda x, y: x), ("{x} mmu {y}", lambda x, y: x @ y), ("copyto({x};`double)", lambda x, y: x.detach().clone().requires_grad_(x.requires_grad) if x.is_leaf else x.clone()),
    ("last {x}", lambda x, y: x[-1]), ("View({x};3 -1)", lambda x, y: x.view(3, -1)),
]
LINES = [0]  # of q that were run
MODULES, OPTS, SCHEDS, MEANS, MODELS = ("ma", "mb", "mc"), ("oa", "ob", "oc"), ("sa", "sb"), ("ea", "eb"), ("wa",)
PICK, SEED = st.integers(0, 7), st.integers(0, 9)
WRONG = [
    "opt({o};0;();`lr,-1f)", "opt({o};9;{m})", "opt({o};{m};`foo,1)", "opt({o};0;({m};`nosuch))", "lr({o};.1 .2 .3 .4 .5 .6)",
    "lr({o};-1.)", "opt({o};0;();`lr`nosuch!.1 .2)", "putstate({m};`a`b!1 2)", "putstate({o};`a`b!1 2)", "child({m};`nosuch;(`linear;3;3))",
    "child({m};`nosuch.a)", "freeze({m};`nosuch)", "freeze({m};(first parmnames {m};`nosuch))", "unfreeze({m};`nosuch;1)",
    "parm({m};`nosuch)", "parm({m};first parmnames {m};7 9#1f)", "forward({m};4 4 4#1f)", "module({m};(`linear;3;`x))",
    "module({m};`nosuch)", "module({m};((`linear;`zz;3;3);`nosuch))", "module({m};seq(`residual`zz;`relu))", "copyparms({m};(1#`x)!enlist`a)",
    "copyparms({m};(1#first parmnames {m})!enlist 7 9#1f)", "emaparms({m};1;.5)", "to({m};`nosuch)", "clip({m};`a)", "clip({o};1;2;3)",
    "parmtable({m};update lr:-1f from parmtable {m})", "parmtable({o};update parmgroup:77 from parmtable {o})",
    "parmtable({m};([]name:`nosuch`y;gradflag:01b))", "parmtable({o};update gradflag:not gradflag,nosuch:1 from parmtable {o})",
    "step({o};`a)", "step 1", "backward({m};3)", "sched({o};`nosuch)", "sched({o};`steplr)", "sched({o};`steplr;0N;.5)", "opt(state {o};1)",
    "opt(@[state {o};`parms;{update parmgroup:9 from x}];{m})", "module(1_state {m})", "training({m};2)", "resume`:nosuch.ks", "restore {m}",
    "model({m};{o})", "use[{m};{o}]", "batchnorm({m};(1#`nosuch)!enlist .1)", "gradflag({m};3)", "{m}+1", "dict(parms {m};`nosuch;1;2)",
    "dict(parms {m};first parmnames {m};7 9#1f)", "to(parms {m};`nosuch)", "addref 1", "free 3", "step({o};{'`bad})", "step({o};{x;`a})",
    "opt({o};0;(),{o})", "opt(`sgd;{m};-1f)", "opt(`nosuch;{m})", "opt(`adam;({m};`nosuch))",
]


class Programs(RuleBasedStateMachine):
    """The objects of a session by variable, and torch's beside them."""

    def __init__(self) -> None:
        super().__init__()
        warnings.simplefilter("ignore")  # torch's, of schedulers that step before optimizers
        torch.manual_seed(0)  # for a program that fails to do so again
        self.folder = Path(tempfile.mkdtemp())
        self.s = Session(out=io.StringIO(), err=io.StringIO())
        self.mods: dict[str, nn.Module] = {}
        self.opts: dict[str, Twin] = {}
        self.scheds: dict[str, tuple[int, Any, Twin]] = {}
        self.means: dict[str, dict[str, Any]] = {}
        self.models: dict[str, tuple[nn.Module, Twin]] = {}
        self.states: dict[str, nn.Module] = {}  # of modules, as q values: the module as it was
        self.ostates: dict[str, tuple[Twin, list[list[Any]]]] = {}
        self.tensors: dict[str, Any] = {}
        self.files = 0

    def teardown(self) -> None:
        self.s.run("free[]")
        shutil.rmtree(self.folder)

    # -------------------------------------------------------------- help

    def q(self, line: str) -> Any:
        LINES[0] += 1
        return self.s.run(line)

    def refused(self, line: str) -> None:
        LINES[0] += 1
        with pytest.raises(QError):
            self.s.run(line)

    def var(self, table: dict[str, Any], i: int) -> str:
        names = sorted(table)
        return names[i % len(names)]

    def kparts(self) -> Iterator[tuple[str, Any, nn.Module]]:
        """Each module of kshell's and torch's beside it."""
        for v, m in self.mods.items():
            yield v, self.s[v].obj, m
        for v, (m, _) in self.models.items():
            yield v, self.s[v].obj.module, m

    def kopts(self) -> Iterator[tuple[str, Any, Twin]]:
        for v, t in self.opts.items():
            yield v, self.s[v].obj, t
        for v, (_, t) in self.models.items():
            yield v, self.s[v].obj.optimizer, t
        for v, (_, _, t) in self.scheds.items():
            yield v, self.s[v].obj.opt, t

    def live_twins(self) -> list[Twin]:
        """The optimizers of live handles."""
        found = [*self.opts.values(), *(t for _, t in self.models.values())]
        return list({id(t.o): t for t in found}.values())

    def adopt(self, v: str, m: nn.Module) -> None:
        """Torch's module gets the numbers of the one that the session has just made."""
        here = self.s[v].obj
        assert [*here.state_dict()] == [*m.state_dict()]
        m.load_state_dict(here.state_dict())
        self.mods[v] = m

    # -------------------------------------------------------------- what must be equal

    @invariant()
    def equal(self) -> None:
        pair: dict[int, Any] = {}  # kshell's parameter: torch's
        back: dict[int, Any] = {}

        def one(a: Any, b: Any, what: str) -> None:
            assert pair.setdefault(id(a), b) is b and back.setdefault(id(b), a) is a, f"{what}: another tensor"

        for v, a, b in self.kparts():
            assert [n for n, _ in a.named_modules()] == [n for n, _ in b.named_modules()], v
            for (n, x), (_, y) in zip(a.named_modules(), b.named_modules(), strict=True):
                assert x.training == y.training, (v, n, "mode", x.training)
                one(x, y, f"{v} {n}")
            for what in ("named_parameters", "named_buffers"):
                mine, its = (list(getattr(k, what)(remove_duplicate=False)) for k in (a, b))
                assert [n for n, _ in mine] == [n for n, _ in its], (v, mine, its)
                for (n, x), (_, y) in zip(mine, its, strict=True):
                    one(x, y, f"{v}.{n}")
                    same(x.detach(), y.detach(), f"{v}.{n}")
                    assert x.requires_grad == y.requires_grad, (v, n, "flag")
                    assert (x.grad is None) == (y.grad is None), (v, n, "gradient", x.grad, y.grad)
                    if x.grad is not None:
                        same(x.grad, y.grad, f"{v}.{n} gradient")
        for v, a, t in self.kopts():
            assert len(a.groups) == len(t.o.param_groups), v
            for i, (g, h) in enumerate(zip(a.groups, t.o.param_groups, strict=True)):
                assert len(g["params"]) == len(h["params"]), (v, i)
                for x, y in zip(g["params"], h["params"], strict=True):
                    one(x, y, f"{v} group {i}")
                    same(x.detach(), y.detach(), f"{v} group {i}")
                    state, want = a.torch.state.get(x, {}), t.o.state.get(y, {})
                    assert set(state) - {"al"} == set(want) - {"al"}, (v, i, set(state), set(want))
                    for k in set(want) - {"al"}:
                        same(state[k], want[k], f"{v} group {i} {k}")
                for k in h:
                    if k not in ("params", "foreach", "fused", "max_lr", "min_lr"):
                        assert g[k] == h[k], (v, i, k, g[k], h[k])
            assert len(a.torch.state) == len([p for p in t.o.state if any(p is q for q in t.params)]), v
        for v, y in self.tensors.items():
            x = self.s[v].obj
            if y.is_leaf:
                one(x, y, v)
            same(x.detach(), y.detach(), v)
            assert (x.requires_grad, x.is_leaf) == (y.requires_grad, y.is_leaf), (v, "flag", x, y)
            if y.is_leaf:
                assert (x.grad is None) == (y.grad is None), (v, "gradient", x.grad, y.grad)
                if y.grad is not None:
                    same(x.grad, y.grad, f"{v} gradient")
        for v, d in self.means.items():
            mine = self.s[v].obj
            assert list(mine) == list(d), (v, list(mine), list(d))
            for k in d:
                same(mine[k], d[k], f"{v}.{k}")

    # -------------------------------------------------------------- modules

    @initialize(layers=st.lists(PART, min_size=1, max_size=4), at=st.integers(0, len(OPTIMIZERS) - 1))
    def begin(self, layers: Any, at: int) -> None:
        self.define(0, layers, True)
        self.optimizer(0, 0, at, False)

    @rule(i=PICK, layers=st.lists(PART, min_size=1, max_size=4), double=st.sampled_from([True, True, True, False]))
    def define(self, i: int, layers: Any, double: bool) -> None:
        v = MODULES[i % len(MODULES)]
        parts: list[Spec] = []
        names: list[str] = []
        for p in layers:
            name = p[1][0][1] if p[0] == "layer" else ""
            if name in names:
                p = ("layer", [(p[1][0][0], "")], p[2])
            names.append(name)
            parts.append(spec_of(p))
        m = nn.Sequential()
        for k, (_, made) in enumerate(parts):
            name = names[k] if names.index(names[k]) == k else ""
            m.add_module(name or str(k), made())
        self.q(f"{v}:module seq(`sequential;{';'.join(t for t, _ in parts)})")
        if double:
            self.q(f"to({v};`double)")
            m.double()
        self.adopt(v, m)

    @precondition(lambda self: self.mods)
    @rule(i=PICK, part=PART)
    def extend(self, i: int, part: Any) -> None:
        v = self.var(self.mods, i)
        m = self.mods[v]
        if not isinstance(m, nn.Sequential):
            return
        spec, made = spec_of(part)
        name = part[1][0][1] if part[0] == "layer" else ""
        name = name or str(len(m))
        line = f"module({v};1;{spec})"
        if name in m._modules:
            self.refused(line)
            return
        self.q(line)
        new = made()
        new.load_state_dict(self.s[v].obj._modules[name].state_dict())
        m.add_module(name, new)

    @precondition(lambda self: self.mods)
    @rule(i=PICK, k=PICK, part=PART)
    def replace(self, i: int, k: int, part: Any) -> None:
        v = self.var(self.mods, i)
        m = self.mods[v]
        names = [n for n, c in m.named_children()]
        if not names or not isinstance(m, nn.Sequential):
            return
        name = names[k % len(names)]
        spec, made = spec_of(part)
        old = m._modules[name]
        new = made().train(old.training)
        self.q(f"child({v};`{name};{spec})" if not name.isdigit() else f"child({v};`$\"{name}\";{spec})")
        new.load_state_dict(self.s[v].obj._modules[name].state_dict())
        self.put_child(m, name, new)

    def put_child(self, m: nn.Module, name: str, new: nn.Module) -> None:
        """Another child in the place of one; optimizers get its parameters, where they had those of the old one."""
        old = m._modules[name]
        m._modules[name] = new
        names_of = {id(p): n for n, p in old.named_parameters()}
        for t in self.live_twins():
            used = {id(p) for k in (m, t.m) for p in k.parameters()}  # where the old child is too, it stays
            rest = dict(new.named_parameters())
            last = None
            for n, g in enumerate(t.o.param_groups):
                out = []
                for p in g["params"]:
                    if id(p) in names_of:
                        last = n
                    if id(p) in names_of and id(p) not in used:
                        t.o.state.pop(p, None)
                        if names_of[id(p)] in rest:
                            out.append(rest.pop(names_of[id(p)]))
                    else:
                        out.append(p)
                changed = [id(p) for p in out] != [id(p) for p in g["params"]]
                g["params"][:] = out
                if t.lbfgs and changed:
                    t.o.state.clear()
                    t.o._numel_cache = None
            if last is not None:
                t.o.param_groups[last]["params"].extend(rest.values())
                if t.lbfgs:
                    t.o.state.clear()
                    t.o._numel_cache = None

    @precondition(lambda self: self.mods)
    @rule(i=PICK, mask=st.integers(0, 255), flag=st.booleans(), how=st.integers(0, 3))
    def freeze(self, i: int, mask: int, flag: bool, how: int) -> None:
        v = self.var(self.mods, i)
        m = self.mods[v]
        word = "unfreeze" if flag else "freeze"
        named = dict(m.named_parameters())
        chosen = [n for k, n in enumerate(named) if mask >> k & 1]
        if how == 0:
            self.q(f"{word} {v}")
            chosen = list(named)
        elif how == 1 and chosen:
            self.q(f"{word}({v};{syms(chosen)})")
        elif how == 2 and chosen:
            line = f"parmtable({v};([]name:{syms(chosen)};gradflag:{len(chosen)}#{int(flag)}b))"
            held = {id(p) for p in named.values()}
            if sum(any(id(p) in held for p in t.params) for t in self.live_twins()) > 1:
                self.refused(line)  # it does not say of which optimizer
                return
            self.q(line)
        elif how == 3 and chosen:
            t = pattern(named[chosen[0]].shape, mask)
            chosen = chosen[:1]
            self.q(f'{word}({v};`$"{chosen[0]}";{array(t)})')
            with torch.no_grad():
                named[chosen[0]].copy_(t)
        else:
            return
        for n in chosen:
            named[n].requires_grad_(flag)

    @precondition(lambda self: self.mods)
    @rule(i=PICK, double=st.sampled_from([True, True, False]))
    def to(self, i: int, double: bool) -> None:
        v = self.var(self.mods, i)
        m = self.mods[v]
        self.q(f"to({v};`{'double' if double else 'float'})")
        was = {id(p): p.dtype for p in m.parameters()}
        m.to(torch.float64 if double else torch.float32)
        for t in self.live_twins():
            for p, state in t.o.state.items():
                if id(p) in was:
                    for k, x in state.items():
                        state[k] = moved(x, was[id(p)], p.dtype, k)

    @precondition(lambda self: self.mods)
    @rule(i=PICK, to=PICK, how=st.integers(0, 4))
    def make_another(self, i: int, to: int, how: int) -> None:
        """clone, state into a new module, a further handle, a child."""
        v, w = self.var(self.mods, i), MODULES[to % len(MODULES)]
        m = self.mods[v]
        if how == 0:
            self.q(f"{w}:clone {v}")
            new = copied(m, {}, True)
            for p in new.parameters():
                p.grad = None
            self.mods[w] = new
        elif how == 1:
            self.q(f"{w}:module state {v}")
            self.mods[w] = copied(m, {}, False)
        elif how == 2:
            self.q(f"{w}:addref {v}")
            self.mods[w] = m
        elif how == 3:
            file = self.file()
            self.q(f"{file} set state {v}; {w}:module get {file}")
            self.mods[w] = copied(m, {}, False)
        else:
            names = [n for n, c in m.named_children() if isinstance(c, nn.Sequential)]
            if names:
                self.q(f"{w}:child({v};`$\"{names[0]}\")")
                self.mods[w] = m._modules[names[0]]

    def file(self) -> str:
        self.files += 1
        return f"(hsym`$\"{self.folder}/f{self.files}\")"

    @precondition(lambda self: self.mods)
    @rule(i=PICK, flag=st.booleans())
    def mode(self, i: int, flag: bool) -> None:
        v = self.var(self.mods, i)
        self.q(f"training({v};{int(flag)}b)")
        self.mods[v].train(flag)
        assert self.q(f"training {v}") is flag

    @precondition(lambda self: self.mods)
    @rule(i=PICK, k=PICK, seed=SEED, how=st.integers(0, 2))
    def assign(self, i: int, k: int, seed: int, how: int) -> None:
        v = self.var(self.mods, i)
        named = list(self.mods[v].named_parameters())
        if not named:
            return
        n, p = named[k % len(named)]
        t = pattern(p.shape, seed)
        self.q(f"parm({v};`$\"{n}\";{array(t)})" if how == 0 else f"d:parms {v};d[`$\"{n}\"]:{array(t)}" if how == 1
               else f"d:parms {v};amend(d;`$\"{n}\";{array(t)})")
        with torch.no_grad():
            p.copy_(t)

    @precondition(lambda self: self.mods)
    @rule(i=PICK, w=PICK)
    def keep_state(self, i: int, w: int) -> None:
        v = self.var(self.mods, i)
        self.q(f"t{w % 2}:state {v}")
        self.states[f"t{w % 2}"] = copied(self.mods[v], {}, False)

    @precondition(lambda self: self.mods and self.states)
    @rule(i=PICK, w=PICK, to=PICK, how=st.integers(0, 1))
    def use_state(self, i: int, w: int, to: int, how: int) -> None:
        k, v = self.var(self.states, w), self.var(self.mods, i)
        old, m = self.states[k], self.mods[v]
        if how == 0:
            v = MODULES[to % len(MODULES)]
            self.q(f"{v}:module {k}")
            self.mods[v] = copied(old, {}, False)
            return
        a, b = old.state_dict(), m.state_dict()
        if list(a) != list(b) or any(a[n].shape != b[n].shape for n in a):
            if sorted(a) != sorted(b) or any(a[n].shape != b[n].shape for n in a):
                self.refused(f"putstate({v};{k})")
            return
        self.q(f"putstate({v};{k})")
        m.load_state_dict(a)

    # -------------------------------------------------------------- gradients

    @precondition(lambda self: self.mods)
    @rule(i=PICK, seed=SEED, mask=st.integers(1, 255))
    def given_gradients(self, i: int, seed: int, mask: int) -> None:
        v = self.var(self.mods, i)
        for k, (n, p) in enumerate(self.mods[v].named_parameters()):
            if mask >> k & 1:
                t = pattern(p.shape, seed + k)
                line = f"backward(parm({v};`$\"{n}\");{array(t)})"
                if p.requires_grad:
                    self.q(line)
                    p.backward(t.to(p.dtype))
                else:
                    self.refused(line)

    def ready(self, m: nn.Module) -> Any:
        """The one floating type of a module; None if a forward calculation would fail."""
        found = {t.dtype for t in (*m.parameters(), *m.buffers()) if t.is_floating_point()}
        return next(iter(found)) if len(found) == 1 else None if found else torch.float64

    def loss(self, m: nn.Module, x: Any, y: Any) -> Any:
        """Of a forward calculation in training mode."""
        return nn.functional.mse_loss(in_mode(m, True, x), y)

    def batch(self, seed: int, dtype: Any, rows: int = 4) -> tuple[Any, Any]:
        x, y = pattern((rows, 3), seed).to(dtype), pattern((rows, 3), seed + 3).to(dtype)
        word = "double" if dtype == torch.float64 else "float"
        self.q(f"X:tensor({array(x)};`{word});Y:tensor({array(y)};`{word})")
        return x, y

    @precondition(lambda self: self.mods)
    @rule(i=PICK, seed=SEED)
    def forward_backward(self, i: int, seed: int) -> None:
        v = self.var(self.mods, i)
        m = self.mods[v]
        dtype = self.ready(m)
        if dtype is None:
            return
        x, y = self.batch(seed, dtype)
        if not any(p.requires_grad for p in m.parameters()):
            return
        self.q(f"seed {seed};l:mse(forward({v};X);Y)")
        torch.manual_seed(seed)
        loss = self.loss(m, x, y)
        same(self.s["l"].obj.detach(), loss.detach(), "loss")
        if loss.requires_grad:
            self.q("backward l")
            loss.backward()
        else:
            self.refused("backward l")
        self.q("free l")
        found = self.q(f"seed {seed};eforward({v};X)")
        torch.manual_seed(seed)  # a part that is new may be in the other mode, and drop
        same(found.obj.detach(), in_mode(m, False, x).detach(), "evaluated")

    @rule(i=PICK, kind=st.integers(0, 1), how=st.sampled_from(["zerograd", "nograd"]))
    def clear(self, i: int, kind: int, how: str) -> None:
        table: dict[str, Any] = (self.mods, self.opts)[kind]
        if not table:
            return
        v = self.var(table, i)
        params = list(self.mods[v].parameters()) if kind == 0 else self.opts[v].params
        self.q(f"{how} {v}")
        for p in params:
            if how == "nograd":
                p.grad = None
            elif p.grad is not None:
                p.grad.detach_().zero_()

    @rule(i=PICK, kind=st.integers(0, 1), how=st.integers(0, 3))
    def clip(self, i: int, kind: int, how: int) -> None:
        table: dict[str, Any] = (self.mods, self.opts)[kind]
        if not table:
            return
        v = self.var(table, i)
        params = list(self.mods[v].parameters()) if kind == 0 else self.opts[v].params
        params = [p for p in params]
        if len({p.grad.dtype for p in params if p.grad is not None}) > 1:
            return
        if how == 0:
            self.q(f"clip({v};.5)")
            nn.utils.clip_grad_norm_(params, .5)
        elif how == 1:
            self.q(f"clip({v};.5;0w)")
            nn.utils.clip_grad_norm_(params, .5, float("inf"))
        elif how == 2 and kind == 1:
            self.q(f"clip({v};.5;1b)")
            for g in self.opts[v].o.param_groups:
                nn.utils.clip_grad_norm_(g["params"], .5)
        else:
            self.q(f"clipv({v};.25)")
            for p in params:
                if p.grad is not None:
                    p.grad.clamp_(-.25, .25)

    # -------------------------------------------------------------- optimizers

    @precondition(lambda self: self.mods)
    @rule(i=PICK, to=PICK, at=st.integers(0, len(OPTIMIZERS) - 1), half=st.booleans())
    def optimizer(self, i: int, to: int, at: int, half: bool) -> None:
        v, w = self.var(self.mods, i), OPTS[to % len(OPTS)]
        m = self.mods[v]
        name, options, kind, kwargs = OPTIMIZERS[at]
        named = list(m.named_parameters())
        if half:
            named = named[:(len(named) + 1) // 2]
        if not named:
            return
        what = f"({v};{syms([n for n, _ in named])})" if half else v
        self.q(f"{w}:opt(`{name};{what};{options})")
        o = kind([p for _, p in named], **kwargs)
        o.state.clear()  # adagrad begins at once, here at its first step
        self.opts[w] = Twin(at, o, m)

    @precondition(lambda self: self.opts)
    @rule(i=PICK, mask=st.integers(0, 255), rate=st.sampled_from([.02, .003]), new=st.booleans(), decay=st.booleans())
    def group(self, i: int, mask: int, rate: float, new: bool, decay: bool) -> None:
        """Parameters that are not in the optimizer yet, to a new group or to the first one."""
        w = self.var(self.opts, i)
        t = self.opts[w]
        v = next((v for v, m in self.mods.items() if m is t.m), None)
        if v is None:
            return
        held = {id(p) for p in t.params}
        named = [(n, p) for k, (n, p) in enumerate(t.m.named_parameters()) if mask >> k & 1]
        if mask % 4:
            named = [(n, p) for n, p in t.m.named_parameters() if id(p) not in held][:mask % 4]
        if not named:
            return
        n = len(t.o.param_groups)
        decay = decay and "weight_decay" in t.o.param_groups[0]
        more = "`decay,.25" if decay else ""
        line = f"opt({w};{n if new else 0};({v};{syms([n for n, _ in named])});{rate}{';' + more if more else ''})"
        if any(id(p) in held for _, p in named) or (t.lbfgs and new):
            self.refused(line)
            return
        self.q(line)
        options = {"lr": rate} | ({"weight_decay": .25} if decay else {})
        params = [p for _, p in named]
        if new:
            t.o.add_param_group({"params": params, **{k: v for k, v in t.o.defaults.items() if k not in ("foreach", "fused")}, **options})
            self.followed(t, None)
        else:
            t.o.param_groups[0].update(options)
            t.o.param_groups[0]["params"].extend(params)
            if t.lbfgs:
                t.o.state.clear()
                t.o._numel_cache = None

    def followed(self, t: Twin, source: dict[str, Any] | None) -> None:
        """Schedulers take a group that was added last for one of theirs, in proportion to the one that it comes from,
        or to the last one before."""
        own = [s for _, s, u in self.scheds.values() if u.o is t.o]
        if not own and source is None:
            return
        groups = t.o.param_groups
        at = len(groups) - 2 if source is None else next(k for k, g in enumerate(groups) if g is source)
        was, rate = groups[at]["lr"], groups[-1]["lr"]
        ratio = rate / was if was > 0 and rate != was else 1.
        schedules.inherit(groups, at, ratio)
        for s in own:
            schedules.extend(s, groups, at, ratio)

    @precondition(lambda self: self.opts)
    @rule(i=PICK, g=PICK, rate=st.sampled_from([.02, .003, .0]), how=st.integers(0, 6))
    def edit(self, i: int, g: int, rate: float, how: int) -> None:
        w = self.var(self.opts, i)
        groups = self.opts[w].o.param_groups
        g %= len(groups)
        if how == 0:
            self.q(f"lr({w};{rate})")
            for h in groups:
                h["lr"] = rate
        elif how == 1:
            self.q(f"lr({w};{' '.join(str(rate + k) for k in range(len(groups)))}f)".replace("lr(" + w + ";0.0f)", f"lr({w};0f)"))
            for k, h in enumerate(groups):
                h["lr"] = rate + k
        elif how == 2:
            self.q(f"opt({w};{g};();{rate})")
            groups[g]["lr"] = rate
        elif how == 3 and "weight_decay" in groups[g]:
            self.q(f"opt({w};{g};();`decay,.125)")
            groups[g]["weight_decay"] = .125
        elif how == 4 and "betas" in groups[g]:
            self.q(f"opt({w};{g};();`beta1`eps!.75 1e-6)")
            groups[g]["betas"] = (.75, groups[g]["betas"][1])
            groups[g]["eps"] = 1e-6
        elif how == 5:
            option = next((k for k in ("amsgrad", "centered") if k in groups[g]), "")
            if option and g == 0:  # steps go on, with the buffer that this needs
                self.q(f"opt({w};{g};();`{option},1b)")
                groups[g][option] = True
                self.later(self.opts[w], groups[g], LATER[option])
        elif how == 6 and "momentum" in groups[g] and not groups[g].get("nesterov"):
            self.q(f"opt({w};{g};();`momentum,.5)")
            groups[g]["momentum"] = .5
            if "centered" in groups[g]:
                self.later(self.opts[w], groups[g], "momentum_buffer")

    def later(self, t: Twin, g: dict[str, Any], name: str) -> None:
        """A buffer that an option asks for, in the middle of training: zeros, as at the first step."""
        for p in g["params"]:
            if t.o.state.get(p) and name not in t.o.state[p]:
                t.o.state[p][name] = torch.zeros_like(p)

    @precondition(lambda self: self.opts)
    @rule(i=PICK, mask=st.integers(1, 255), rate=st.sampled_from([.02, .003]), how=st.integers(0, 2))
    def table_edit(self, i: int, mask: int, rate: float, how: int) -> None:
        """Edits by parmtable: rates of some, some out, some to another group."""
        w = self.var(self.opts, i)
        t = self.opts[w]
        if any(n is None for ns in t.named() for n in ns) or t.lbfgs:
            return
        names = [n for ns in t.named() for n in ns]
        chosen = [n for k, n in enumerate(names) if mask >> k & 1]
        if not chosen:
            return
        groups = t.o.param_groups
        where = f"where name in {syms(chosen)}"
        if how == 0:
            self.q(f"parmtable({w};update lr:{rate} from parmtable[{w}] {where})")
            for g in list(groups):
                mine = [p for p, n in zip(g["params"], self.names_in(t, g), strict=True) if n in chosen]
                if not mine or g["lr"] == rate:
                    continue
                if len(mine) == len(g["params"]):
                    g["lr"] = rate
                else:
                    g["params"][:] = [p for p in g["params"] if not any(p is q for q in mine)]
                    groups.append({**{k: x for k, x in g.items() if k != "params" and k in t.o.defaults}, "lr": rate, "params": mine})
                    self.followed(t, g)
        elif how == 1:
            if len(chosen) == len(names):
                return
            self.q(f"parmtable({w};([]name:{syms(chosen)};parmgroup:{len(chosen)}#0N))")
            for g in groups:
                gone = [p for p, n in zip(g["params"], self.names_in(t, g), strict=True) if n in chosen]
                for p in gone:
                    t.o.state.pop(p, None)
                g["params"][:] = [p for p in g["params"] if not any(p is q for q in gone)]
        else:
            to = mask % len(groups)
            self.q(f"parmtable({w};([]name:{syms(chosen)};parmgroup:{len(chosen)}#{to}))")
            moved = []
            for k, g in enumerate(groups):
                if k == to:
                    continue
                mine = [(n, p) for p, n in zip(g["params"], self.names_in(t, g), strict=True) if n in chosen]
                g["params"][:] = [p for p in g["params"] if not any(p is q for _, q in mine)]
                moved += mine
            groups[to]["params"].extend(p for n in chosen for k, p in moved if k == n)
            for option, name in LATER.items():
                if groups[to].get(option):
                    self.later(t, groups[to], name)
            if groups[to].get("momentum") and "centered" in groups[to]:
                self.later(t, groups[to], "momentum_buffer")

    def names_in(self, t: Twin, g: dict[str, Any]) -> list[Any]:
        names = {id(p): n for n, p in t.m.named_parameters()}
        return [names.get(id(p)) for p in g["params"]]

    @precondition(lambda self: self.opts)
    @rule(i=PICK, seed=SEED)
    def step(self, i: int, seed: int) -> None:
        w = self.var(self.opts, i)
        t = self.opts[w]
        if t.lbfgs:
            self.refused(f"step {w}")
            return
        self.q(f"step {w}")
        t.o.step()
        self.settle()

    def settle(self) -> None:
        """Torch's fused kernels and its others round each their own way: after a step both go on from one value."""
        for v, a, t in self.kopts():
            for g, h in zip(a.groups, t.o.param_groups, strict=True):
                for x, y in zip(g["params"], h["params"], strict=True):
                    nearly(x.detach(), y.detach(), v)
                    nearly(x.grad, y.grad, v)  # the last of several batches
                    for k, z in t.o.state.get(y, {}).items():
                        if k != "al":  # where lbfgs calculates; no state has it
                            nearly(a.torch.state[x][k], z, f"{v} {k}")

    @precondition(lambda self: self.opts)
    @rule(i=PICK, seed=SEED)
    def step_by_function(self, i: int, seed: int) -> None:
        w = self.var(self.opts, i)
        t = self.opts[w]
        v = next((v for v, m in self.mods.items() if m is t.m), None)
        if v is None or self.ready(t.m) is None or not any(p.requires_grad for p in t.m.parameters()):
            return
        if not t.params or any(isinstance(k, nn.Dropout) for k in t.m.modules()):
            return
        x, y = self.batch(seed, self.ready(t.m))
        if not self.loss(copy.deepcopy(t.m), x, y).requires_grad:
            return

        def closure() -> Any:
            t.o.zero_grad()
            loss = self.loss(t.m, x, y)
            loss.backward()
            return loss

        self.q(f"F:{{[x]nograd {w};l:mse(forward({v};X);Y);backward l;l}};l:step({w};F)")
        t.o.step(closure)
        self.settle()

    def bare(self, t: Twin, new: Twin) -> Twin:
        """A copy without what a scheduler that is gone has left; one that lives or waits is part of the state."""
        new.waits = t.waits or any(u.o is t.o for _, _, u in self.scheds.values())
        for g in () if new.waits else new.o.param_groups:
            g.pop("initial_lr", None)
        return new

    @precondition(lambda self: self.opts)
    @rule(i=PICK, to=PICK, disk=st.booleans())
    def restored(self, i: int, to: int, disk: bool) -> None:
        """An optimizer made again from its state, over the same parameters."""
        w, u = self.var(self.opts, i), OPTS[to % len(OPTS)]
        t = self.opts[w]
        v = next((v for v, m in self.mods.items() if m is t.m), None)
        if v is None or any(n is None for ns in t.named() for n in ns):
            return
        if disk:
            file = self.file()
            self.q(f"{file} set state {w};{u}:opt(get {file};{v})")
        else:
            self.q(f"{u}:opt(state {w};{v})")
        new = of_state(t, {}, t.m)
        self.bare(t, new)
        self.opts[u] = new
        assert self.q(f"(delete wrap from state {u})~delete wrap from state {w}") in (True, False)

    @precondition(lambda self: self.opts)
    @rule(i=PICK, a=PICK, b=PICK)
    def restored_pair(self, i: int, a: int, b: int) -> None:
        """Module and optimizer made again from their states."""
        w = self.var(self.opts, i)
        t = self.opts[w]
        v = next((v for v, m in self.mods.items() if m is t.m), None)
        if v is None or any(n is None for ns in t.named() for n in ns):
            return
        x, y = MODULES[a % len(MODULES)], OPTS[b % len(OPTS)]
        self.q(f"H:state {w};{x}:module state {v};{y}:opt(H;{x})")
        memo: dict[int, Any] = {}
        self.mods[x] = copied(t.m, memo, False)
        new = of_state(t, memo, self.mods[x])
        self.bare(t, new)
        self.opts[y] = new

    @precondition(lambda self: self.opts)
    @rule(i=PICK, k=PICK)
    def keep_opt_state(self, i: int, k: int) -> None:
        w = self.var(self.opts, i)
        t = self.opts[w]
        if any(n is None for ns in t.named() for n in ns):
            return
        self.q(f"u{k % 2}:state {w}")
        self.ostates[f"u{k % 2}"] = self.bare(t, again(t, {}, t.m)), t.named()

    @precondition(lambda self: self.opts and self.ostates)
    @rule(i=PICK, k=PICK)
    def put_opt_state(self, i: int, k: int) -> None:
        w, u = self.var(self.opts, i), self.var(self.ostates, k)
        t, (old, names) = self.opts[w], self.ostates[u]
        line = f"putstate({w};{u})"
        now, then = ({n: p for n, p in zip(itertools.chain(*ns), o.params, strict=True)}
                     for ns, o in ((t.named(), t), (names, old)))
        if {n: p.shape for n, p in now.items()} != {n: p.shape for n, p in then.items()} \
                or len(names) < len(t.o.param_groups) or OPTIMIZERS[t.at][0] != OPTIMIZERS[old.at][0]:
            self.refused(line)
            return
        if any(p.dtype != then[n].dtype for n, p in now.items()):
            return
        self.q(line)
        t.waits |= old.waits
        self.regroup(t, [[now[n] for n in ns] for ns in names])
        before = [dict(g) for g in t.o.param_groups]
        t.o.load_state_dict(again(old, {}, old.m).o.state_dict())
        for p, kept in zip(t.params, old.params, strict=True):
            for key, x in old.o.state.get(kept, {}).items():
                if isinstance(x, torch.Tensor) and not x.dim():  # torch gives numbers the type of the parameter
                    t.o.state[p][key] = copy.deepcopy(x)
        for g, was in zip(t.o.param_groups, before, strict=True):
            for n in was:  # a scheduler goes on
                g.setdefault(n, was[n])

    def regroup(self, t: Twin, groups: list[list[Any]]) -> None:
        """The groups as a state has them; a new one has the options of that from which its parameters come."""
        at = {id(p): g for g in t.o.param_groups for p in g["params"]}
        for params in groups[len(t.o.param_groups):]:
            source = at[id(params[0])] if params else t.o.param_groups[-1]
            t.o.param_groups.append({k: x for k, x in source.items() if k in t.o.defaults} | {"params": []})
            self.followed(t, source)
        for g, params in zip(t.o.param_groups, groups, strict=True):
            g["params"][:] = params

    # -------------------------------------------------------------- tensors, and q's operators on them

    @rule(to=PICK, seed=SEED, flag=st.booleans(), flat=st.booleans())
    def leaf(self, to: int, seed: int, flag: bool, flat: bool) -> None:
        v = TENSORS[to % len(TENSORS)]
        t = pattern((3,) if flat else (3, 3), seed)
        self.q(f"{v}:tensor({array(t)};`double{'`grad' if flag else ''})")
        self.tensors[v] = t.clone().requires_grad_(flag)

    @precondition(lambda self: self.tensors)
    @rule(a=PICK, b=PICK, to=PICK, how=st.integers(0, 19))
    def derived(self, a: int, b: int, to: int, how: int) -> None:
        x, y, v = self.var(self.tensors, a), self.var(self.tensors, b), TENSORS[to % len(TENSORS)]
        line, fn = OPERATORS[how % len(OPERATORS)]
        try:
            found = fn(self.tensors[x], self.tensors[y])
        except (RuntimeError, IndexError):
            self.refused(f"{v}:{line.format(x=x, y=y)}")
            return
        self.q(f"{v}:{line.format(x=x, y=y)}")
        self.tensors[v] = found

    @precondition(lambda self: self.tensors)
    @rule(a=PICK, seed=SEED, how=st.integers(0, 5))
    def with_tensor(self, a: int, seed: int, how: int) -> None:
        v = self.var(self.tensors, a)
        t = self.tensors[v]
        if how == 0:
            line = f"backward(sum {v};`retain)"
            if not t.requires_grad:
                self.refused(line)
                return
            before = [(x, None if x.grad is None else x.grad.clone()) for x in self.tensors.values() if x.is_leaf]
            try:
                t.sum(0).sum().backward(retain_graph=True) if t.dim() > 1 else t.sum().backward(retain_graph=True)
            except RuntimeError:
                for x, g in before:
                    x.grad = g
                self.refused(f"backward({v};1f;`retain)")
                return
            self.q(f"backward(Sum {v};`retain)")
        elif how == 1:
            other = pattern(t.shape, seed)
            if t.dim() and t.is_leaf:
                self.q(f"amend({v};{array(other)})")
                with torch.no_grad():
                    t.copy_(other)
        elif how == 2:
            self.q(f"zerograd {v}")
            if t.is_leaf and t.grad is not None:
                t.grad.zero_()
        elif how == 3:
            self.q(f"nograd {v}")
            if t.is_leaf:
                t.grad = None
        elif how == 4:
            where = t.untyped_storage().data_ptr()
            views = [x for x in self.tensors.values() if x is not t and x.untyped_storage().data_ptr() == where]
            if t.is_leaf and not views:  # torch's views take a flag over from what they are views of, a file's do not
                self.q(f"gradflag({v};{seed % 2}b)")
                t.requires_grad_(bool(seed % 2))
        else:
            plus = f"{v}+7 9 11 13 15f" if t.dim() and t.shape[-1] not in (1, 5) else f"{v}+`a"  # fits others
            self.refused([f"backward({v};7 9#1f)", f"amend({v};7 9#1f)", f"gradflag({v};2)", plus, f"to({v};`nosuch)",
                          f"{v} 17", f"opt(`sgd;({v};`a))", f"backward({v};`nosuch)", f"clip({v};`a)", f"{v}:{v}+`a"][seed])

    @precondition(lambda self: self.tensors)
    @rule(a=PICK, b=PICK, to=PICK, at=st.integers(0, len(OPTIMIZERS) - 1), how=st.integers(0, 2))
    def of_tensors(self, a: int, b: int, to: int, at: int, how: int) -> None:
        """An optimizer of tensors: one, a list, a dictionary of them."""
        x, y, w = self.var(self.tensors, a), self.var(self.tensors, b), OPTS[to % len(OPTS)]
        name, options, kind, kwargs = OPTIMIZERS[at]
        params = [self.tensors[x]] + ([self.tensors[y]] if how else [])
        what = (x, f"vector(addref {x};addref {y})", f"dict`p`q!addref each({x};{y})")[how]
        line = f"{w}:opt(`{name};{what};{options})"
        if any(not t.is_leaf for t in params) or len({id(t) for t in params}) < len(params):
            self.refused(line)
            return
        self.q(line)
        o = kind(params, **kwargs)
        o.state.clear()
        self.opts[w] = Twin(at, o, nn.Module())

    # -------------------------------------------------------------- modules inside of others

    @precondition(lambda self: len(self.mods) > 1)
    @rule(i=PICK, k=PICK, keep=st.booleans(), how=st.booleans(), place=PICK)
    def insert(self, i: int, k: int, keep: bool, how: bool, place: int) -> None:
        """A module that is there goes into another one, at its end or in the place of a child."""
        v, w = self.var(self.mods, i), self.var(self.mods, k)
        m, new = self.mods[v], self.mods[w]
        names = [n for n, _ in m.named_children()]
        given = f"addref {w}" if keep else w
        inside = any(c is m for c in new.modules()) or any(c is new for c in m.modules())
        if how and names:
            name = names[place % len(names)]
            line = f"child({v};`$\"{name}\";{given})"
            if not inside and self.s[w].obj.__class__ is nn.Sequential and not isinstance(m, Residual):
                self.refused(line)  # a sequence in a sequence, or in a seqnest, is a seqnest
                return
            if not isinstance(new, nn.Sequential) or inside or any(isinstance(c, Residual) for c in (m,)):
                if inside:
                    self.refused(line)
                return
            shared = {id(p) for t in self.live_twins() for p in t.params} & {id(p) for p in new.parameters()}
            if shared or len(list(m.modules())) > 12:
                return
            self.q(line)
            self.put_child(m, name, new)
        else:
            line = f"module({v};1;seq(`seqnest;(`tanh;`zz)))"
            if len(list(m.modules())) > 12 or "zz" in m._modules:
                return
            name = str(len(m))
            if name in m._modules:
                return
            self.q(line)
            m.add_module(name, nn.Sequential())
            m._modules[name].add_module("zz", nn.Tanh())
            return
        if not keep:
            for x in [x for x in self.mods if x == w]:
                del self.mods[x]

    # -------------------------------------------------------------- schedulers

    @precondition(lambda self: self.opts)
    @rule(i=PICK, to=PICK, at=st.integers(0, len(SCHEDULERS) - 1))
    def scheduler(self, i: int, to: int, at: int) -> None:
        w, v = self.var(self.opts, i), SCHEDS[to % len(SCHEDS)]
        t = self.opts[w]
        self.q(f"{v}:sched({w};{SCHEDULERS[at][0].replace('{o}', w)})")
        for g in t.o.param_groups if not any(u.o is t.o for _, _, u in self.scheds.values()) else ():
            g.pop("initial_lr", None)  # of one that is gone
        self.scheds[v] = at, SCHEDULERS[at][1](t.o), t

    @precondition(lambda self: self.scheds)
    @rule(i=PICK, n=st.integers(1, 3))
    def scheduled(self, i: int, n: int) -> None:
        v = self.var(self.scheds, i)
        _, sched, t = self.scheds[v]
        line = f"step {v}" if n == 1 else f"step({v};{n})"
        first = sched._schedulers[0] if hasattr(sched, "_schedulers") else sched
        if len(first.base_lrs) != len(t.o.param_groups):
            self.refused(line)
            return
        self.q(line)
        for _ in range(n):
            sched.step()

    # -------------------------------------------------------------- averages

    @precondition(lambda self: self.mods)
    @rule(i=PICK, to=PICK)
    def average(self, i: int, to: int) -> None:
        v, e = self.var(self.mods, i), MEANS[to % len(MEANS)]
        self.q(f"{e}:copyparms {v}")
        self.means[e] = {n: p.detach().clone() for n, p in self.mods[v].named_parameters()}

    @precondition(lambda self: self.mods and self.means)
    @rule(i=PICK, k=PICK, how=st.integers(0, 2))
    def averaged(self, i: int, k: int, how: int) -> None:
        v, e = self.var(self.mods, i), self.var(self.means, k)
        d = self.means[e]
        own = {n: p.detach() for n, p in self.mods[v].named_parameters()}
        both = [n for n in own if n in d]
        fits = all(own[n].shape == d[n].shape for n in both)
        if how == 2:
            if all(torch.broadcast_shapes(own[n].shape, d[n].shape) == own[n].shape if can(own[n], d[n]) else False for n in both):
                self.q(f"copyparms({v};{e})")
                with torch.no_grad():
                    for n in both:
                        own[n].copy_(d[n])
            else:
                self.refused(f"copyparms({v};{e})")
            return
        if not both or not fits:
            if not both or how == 1:
                self.refused(f"avgparms({v};{e})" if how == 0 else f"emaparms({v};{e};.9)")
            return
        n = float(d.get(".n", 1.))
        self.q(f"avgparms({v};{e})" if how == 0 else f"emaparms({v};{e};.9)")
        for name in both:
            p = own[name].to(d[name])
            if how == 0:
                d[name].add_((p - d[name]) / (n + 1))
            else:
                d[name].lerp_(p, 1 - .9)
        d[".n"] = torch.tensor(n + 1, dtype=torch.float64)

    # -------------------------------------------------------------- models

    @precondition(lambda self: self.opts)
    @rule(i=PICK, give=st.booleans())
    def model(self, i: int, give: bool) -> None:
        w = self.var(self.opts, i)
        t = self.opts[w]
        v = next((v for v, m in self.mods.items() if m is t.m), None)
        if v is None:
            return
        self.q(f"wa:model({v if give else f'addref {v}'};loss`mse;{w if give else f'addref {w}'})")
        self.models["wa"] = t.m, t
        if give:
            assert self.q(f"mapped each({v};{w})").a.tolist() == [False, False]
            del self.mods[v], self.opts[w]

    @precondition(lambda self: self.models)
    @rule(seed=SEED, how=st.integers(0, 2), many=st.sampled_from([1, 1, 2]), limit=st.sampled_from([0, 0, .5]))
    def model_works(self, seed: int, how: int, many: int, limit: float) -> None:
        m, t = self.models["wa"]
        dtype = self.ready(m)
        if dtype is None or not any(p.requires_grad for p in m.parameters()) or not t.params:
            return
        x, y = self.batch(seed, dtype)
        if not self.loss(copy.deepcopy(m), x, y).requires_grad:
            return
        if t.lbfgs and (many * how == 4 or any(isinstance(k, nn.Dropout) for k in m.modules())):
            return  # (parts of a batch are not put together for it)
        self.q(f"seed {seed}")
        if how == 0:
            self.q("backward(wa;X;Y)")
            torch.manual_seed(seed)
            nn.functional.mse_loss(m(x), y).backward()  # in the module's own mode
            return

        def closure() -> Any:
            t.o.zero_grad()
            loss = self.loss(m, x, y) if how == 2 else nn.functional.mse_loss(m(x), y)
            loss.backward()
            if limit:
                nn.utils.clip_grad_norm_(t.params, limit)
            return loss

        self.q(f"train(wa;`clipnorm`clipgroup`accumulate;({limit or '::'};0b;{many}))")
        batches = [(x, y)]
        if how == 1:
            self.q("backstep(wa;X;Y)")
        else:
            self.q("train(wa;`batchsize;2);run(wa;X;Y)")
            batches = [(x[:2], y[:2]), (x[2:], y[2:])]
        torch.manual_seed(seed)
        if many == 2 and how == 2:
            t.o.zero_grad()
            for x, y in batches:
                (self.loss(m, x, y) / 2).backward()
            if limit:
                nn.utils.clip_grad_norm_(t.params, limit)
            t.o.step()
            self.settle()
            return
        for part in batches:
            x, y = part  # what the function takes
            if t.lbfgs:
                t.o.step(closure)
            else:
                closure()
                t.o.step()
        self.settle()

    # -------------------------------------------------------------- sessions, handles, wrong use

    @rule(other=st.booleans())
    def snapshot(self, other: bool) -> None:
        """The whole session to a file, and back: into itself or into another one, which goes on."""
        file = self.file()
        for v in [v for v, t in self.tensors.items() if not t.is_leaf]:  # graphs are not kept
            self.q(f"{v}:0")
            del self.tensors[v]
        self.q(f"l:0;snapshot {file}")
        if other:
            self.q("free[]")
            self.s = Session(out=io.StringIO(), err=io.StringIO())
        self.q(f"resume {file}")

    @precondition(lambda self: self.mods and self.opts)
    @rule(i=PICK, k=PICK)
    def snapshot_of_some(self, i: int, k: int) -> None:
        """A module and an optimizer to a file and back: what they share they share again, and with nothing else."""
        v, w = self.var(self.mods, i), self.var(self.opts, k)
        t = self.opts[w]
        if any(not p.is_leaf for p in t.params):
            return
        file = self.file()
        self.q(f"snapshot({file};`{v}`{w});resume({file};`{w}`{v})")
        memo: dict[int, Any] = {}
        m, own = copied(self.mods[v], memo, True), copied(t.m, memo, True)
        for p in t.params:
            if id(p) not in memo:
                memo[id(p)] = p.detach().clone().requires_grad_(p.requires_grad)
                memo[id(p)].grad = None if p.grad is None else p.grad.clone()
        new = again(t, memo, own)
        new.waits = t.waits
        for g in () if t.waits else new.o.param_groups:
            g.pop("initial_lr", None)
        self.mods[v], self.opts[w] = m, new

    @precondition(lambda self: self.opts)
    @rule(i=PICK)
    def look(self, i: int) -> None:
        """Tables of an optimizer say what it holds."""
        w = self.var(self.opts, i)
        t = self.opts[w]
        found = self.q(f"T:parmtable {w};exec parmgroup from T").a.tolist()
        assert found == [k for k, g in enumerate(t.o.param_groups) for _ in g["params"]]
        assert self.q("exec lr from T").a.tolist() == [g["lr"] for g in t.o.param_groups for _ in g["params"]]
        assert self.q("exec gradflag from T").a.tolist() == [p.requires_grad for p in t.params]
        assert self.q(f"lr {w}").a.tolist() == [g["lr"] for g in t.o.param_groups]
        assert self.q(f"count statetable {w}") >= len([p for p in t.params if t.o.state.get(p)])
        names = [n for ns in t.named() for n in ns]
        if names and None not in names:
            assert [n.s for n in self.q("exec name from T").items] == names
            assert [n.s for n in self.q(f"opt[{w}][`parms;`name]").items] == names

    @precondition(lambda self: self.mods)
    @rule(i=PICK, to=PICK)
    def shared(self, i: int, to: int) -> None:
        """A module that has a child of another one."""
        v, w = self.var(self.mods, i), MODULES[to % len(MODULES)]
        name, c = next(iter(self.mods[v].named_children()), ("", None))
        if c is None or not name.isdigit():
            return
        self.q(f"{w}:module seq(`sequential;child({v};`$\"{name}\");`tanh)")
        self.mods[w] = nn.Sequential(c, nn.Tanh())

    @rule(kind=st.integers(0, 5), i=PICK, how=st.booleans())
    def drop(self, kind: int, i: int, how: bool) -> None:
        table: dict[str, Any] = (self.mods, self.opts, self.scheds, self.means, self.models, self.tensors)[kind]
        if table:
            v = self.var(table, i)
            self.q(f"free {v}" if how else f"{v}:0")
            del table[v]

    @precondition(lambda self: self.mods and self.opts)
    @rule(i=PICK, k=PICK, at=st.integers(0, len(WRONG) - 1))
    def wrong(self, i: int, k: int, at: int) -> None:
        v, w = self.var(self.mods, i), self.var(self.opts, k)
        if not list(self.mods[v].parameters()):
            return
        if WRONG[at].startswith("forward") and list(self.mods[v].buffers()):
            return  # layers before the one that fails have counted the batch, as torch's do
        self.refused(WRONG[at].replace("{m}", v).replace("{o}", w))


def in_mode(m: nn.Module, train: bool, x: Any) -> Any:
    """The output in training or evaluation mode, after which each part has its own mode again; of a module that is in
    that mode already, parts in the other one stay in it."""
    modes = [(k, k.training) for k in m.modules()]
    if m.training is not train:
        m.train(train)
    out = m(x)
    for k, was in modes:
        k.training = was
    return out


def can(a: Any, b: Any) -> bool:
    try:
        torch.broadcast_shapes(a.shape, b.shape)
    except RuntimeError:
        return False
    return True


def moved(x: Any, was: Any, now: Any, key: str) -> Any:
    """What an optimizer keeps, when its parameter becomes another type."""
    if isinstance(x, torch.Tensor):
        return x.to(now) if x.dtype == was and x.dim() and key != "step" else x
    if isinstance(x, list):
        return [moved(v, was, now, "") for v in x]
    return x


def syms(names: list[str]) -> str:
    """Names as a list of symbols."""
    return "((),`$(" + ";".join(f'"{n}"' for n in names) + "))" if len(names) > 1 else f'((),`$"{names[0]}")'


def run(examples: int, steps: int, *, again: bool) -> None:
    """So many programs of at most so many steps, `again` the same ones; the session must have carried out lines."""
    before = LINES[0]
    run_state_machine_as_test(Programs, settings=settings(
        max_examples=examples, stateful_step_count=steps, derandomize=again, suppress_health_check=list(HealthCheck)))
    assert LINES[0] > before + 10 * examples


def test_programs_are_torchs() -> None:
    run(30, 30, again=True)


@pytest.mark.slow
def test_long_programs_are_torchs() -> None:
    run(500, 60, again=False)
