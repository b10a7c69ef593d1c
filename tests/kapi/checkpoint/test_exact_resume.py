"""Random programs that are saved after some step and go on elsewhere: all that follows has the same bits.

A program is a model, an optimizer, perhaps a scheduler, a scaling rule and aggregation, and edits between its steps.
"""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest

from kshell.session import Session
from tests.kapi.optim.test_schedulers import MAKERS, PLATEAU

NETS = {  # the layers, and are inputs numbers of rows?
    "plain": ("(`linear;`a;5;4);`tanh;(`linear;`b;4;3)", False),
    "embed": ("(`embed;`a;9;4);(`drop;`d;.3);(`linear;`b;4;3)", True),
    "norm": ("(`linear;`a;5;4);(`layernorm;`n;4);`relu;(`drop;`d;.5);(`linear;`b;4;3)", False),
    "batch": ("(`linear;`a;5;4);(`batchnorm1d;`n;4);`relu;(`linear;`b;4;3)", False),
    "deep": ("(`embed;`a;9;6);(`linear;`c;6;4);`gelu;(`drop;`d;.1);(`linear;`b;4;3)", True)}
OPTIMIZERS = ["adam;m;.01", "adam;m;.01;`capturable,0b", "adam;m;.01;`amsgrad,1b", "adam;m;.01;`foreach,1b", "adamw;m;.01",
              "adamw;m;.01;`fused,1b", "sgd;m;.05;.9", "sgd;m;.05;`momentum`nesterov!(.9;1b)", "rmsprop;m;.01;`momentum`centered!(.5;1b)",
              "adagrad;m;.05", "adadelta;m", "adamax;m;.01", "nadam;m;.01", "radam;m;.01", "asgd;m;.05", "lamb;m;.01", "adafactor;m;.01"]
CYCLES = ("cycliclr", "onecyclelr")  # for optimizers with a momentum
MOMENTUM = ("adam;", "adamw;", "nadam;", "radam;", "sgd;", "rmsprop;")
TWO = ("lambdas", "onecyclelr", "swalr")  # made for two groups
RULES = ["adascale", "adamscale", "linear", "sqrt", "legw;1;40;8"]
EDITS = ["parmtable(m;update decay:.01 from parmtable[m]where name like\"*.bias\")", "parmtable(m;update lr:.5*lr from parmtable[m]where name like\"b.*\")",
         "parmtable(m;update parmgroup:0 from parmtable[m]where name like\"b.*\")", "parmtable(m;([]name:enlist`b.bias;parmgroup:0N))",
         "parmtable(m;([]name:enlist`b.bias;parmgroup:0))", "lr(o;.5*lr o)", "lr(o;.5*lr[o]+1e-9;1b)", "freeze(m;`b.bias)", "unfreeze m",
         "opt(o;0;();.02)", "opt(o;0;();`decay,.02)"]
WAYS = ("snapshot", "state", "ckpt", "ckptsave")
STEPS = 8


class Program:
    """One of the programs, by its number."""

    def __init__(self, number: int, **chosen: Any) -> None:
        r = random.Random(number)
        self.net, self.optimizer = r.choice(list(NETS)), r.choice(OPTIMIZERS)
        self.scheduler = r.choice([None, None, *MAKERS])
        self.rule = r.choice([None, None, *RULES])
        self.seed, self.micro, self.agg = r.randrange(1000), r.choice([1, 1, 2, 3]), r.random() < .2
        self.clear = r.choice(["nograd m", "zerograd o", "zerograd m", "nograd o"])
        self.edits = {r.randrange(STEPS): r.choice(EDITS) for _ in range(r.choice([0, 0, 1, 2, 3]))}
        self.when, self.way, self.within = r.randrange(1, STEPS), r.choice(WAYS), r.random() < .3
        vars(self).update(chosen)
        if self.scheduler in CYCLES and not self.optimizer.startswith(MOMENTUM):
            self.scheduler = None
        if self.rule and self.way not in ("snapshot", "state"):
            self.way = "snapshot"  # the others have no place for what a rule knows
        if self.way != "snapshot":  # what is kept by gradients alone, in the other ways is not
            self.clear, self.within = "nograd m", False
        if self.scheduler == "lambdas" and self.way.startswith("ckpt"):
            self.scheduler = "lambdalr"  # which function a new group has is known only to who made it

    def setup(self) -> list[str]:
        layers, rows = NETS[self.net]
        made = self.optimizer.replace(";m", ";(m;`a)", 1) if self.scheduler in TWO else self.optimizer
        return [f"seed {self.seed};m:module seq(`sequential;{layers});MB:{self.micro}",
                "X:tensor each 9 6#(til 54)mod 7" if rows else "X:tensor each 9 6 5#\"e\"$sin til 270",
                "Y:tensor each 9 6 3#\"e\"$cos til 162", f"o:opt(`{made})", *(["opt(o;1;(m;`b);.02)"] if self.scheduler in TWO else []),
                *([f"s:{MAKERS[self.scheduler]}"] if self.scheduler else []), *([f"r:scale(o;`{self.rule})"] if self.rule else []),
                *(["agg(o;`world)"] if self.agg else [])]

    def run(self, s: Session, first: int, last: int) -> list[Any]:
        """Make the steps from the first to before the last; what there is after each."""
        shown = "(value dict parms m;delete pointer from(state[o]`parms);opt[o]`options;lr o;evaluate(m;X 0)" + (";(state s)`state)" if self.scheduler else ")")
        out = []
        for i in range(first, last):
            s.run(f"{self.edits.get(i, '1')};{{backward mse(forward(m;X x);Y x)}}each({i}+til MB)mod 9;step o;{self.clear};"
                  + ("" if not self.scheduler else "step(s;3.)" if self.scheduler == PLATEAU else "step s"))
            out.append(s.run(f"-8!{shown}").a.tobytes())
        return out

    def differs(self, folder: Path) -> list[int]:
        """The steps after which a program that has gone on elsewhere is not as the one that went on."""
        at, s, t = f"`:{folder}/{random.random()}", session(), session()
        for line in self.setup():
            s.run(line)
        self.run(s, 0, self.when)
        if self.within:
            s.run("backward mse(forward(m;X 7);Y 7)")
        s.run({"snapshot": f"snapshot{at}.ks", "state": f"{at}o set(state m;state o)", "ckpt": f"ckpt({at}.pt;`m`o!(m;o))",
               "ckptsave": f"ckptsave({at}.d;`m`o!(m;o))"}[self.way])
        s.run(f"{at}g set(rng[];gradflag m;$[{int(self.scheduler is not None)};state s;0])")
        want = self.run(s, self.when, STEPS)
        if self.way == "snapshot":
            t.run(f"resume{at}.ks")
        else:
            for line in self.setup():
                t.run(line)
            t.run({"state": f"w:get{at}o;m:module w 0;o:opt(w 1;m)", "ckpt": f"d:ckpt{at}.pt;putstate(m;d`m);putstate(o;d`o)",
                   "ckptsave": f"ckptload({at}.d;`m`o!(m;o))"}[self.way])
            if self.scheduler:
                t.run("s:sched o" if self.way == "state" else f"sched(s;get[{at}g]2)")
            t.run(f"g:get {at}g;rng g 0;{{$[x y;unfreeze(m;y);freeze(m;y)]}}[g 1]each key g 1")
        found = self.run(t, self.when, STEPS)
        return [i for i, (a, b) in enumerate(zip(want, found, strict=True)) if a != b]


def session() -> Session:
    return Session(out=io.StringIO(), err=io.StringIO())


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("numbers", [range(0, 24), *(pytest.param(range(n, n + 50), marks=pytest.mark.slow) for n in range(24, 324, 50))],
                         ids=lambda n: str(n[0]))
def test_programs_go_on_bit_for_bit(numbers: range, tmp_path: Path) -> None:
    wrong = [(n, vars(p), found) for n in numbers if (found := (p := Program(n)).differs(tmp_path))]
    assert not wrong


RULED = {"net": "embed", "optimizer": "adam;m;.01;`capturable,0b", "rule": "adamscale", "scheduler": None, "agg": False, "way": "snapshot",
         "clear": "nograd o", "within": False, "when": 5}


@pytest.mark.parametrize("chosen", [
    {"within": True}, {"within": True, "micro": 3}, {"edits": {2: "freeze(m;`b.bias)", 6: "unfreeze m"}},
    {"edits": {2: "parmtable(m;([]name:enlist`b.bias;parmgroup:0N))"}}, {"edits": {1: EDITS[0], 3: EDITS[1]}, "micro": 2},
    {"edits": {4: "freeze(m;`b.bias)"}, "micro": 1}, {"edits": {0: EDITS[1], 3: EDITS[2]}, "micro": 2}])
def test_what_a_rule_has_noticed_goes_on(chosen: dict[str, Any], tmp_path: Path) -> None:
    """Backward passes before the step that is saved in, parameters frozen, taken out and moved to other groups."""
    assert Program(1, **{**RULED, "edits": {}, "micro": 2, **chosen}).differs(tmp_path) == []
