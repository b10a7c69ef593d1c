"""Every optimizer of the registry by itself and with all that can be put around it: nothing touches the generators of
the user, and the state goes on bit for bit in a fresh process; in one process and in two.

What is new in the registry is tested here without another line, unless it needs parameters of its own (MAKE).
"""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from kshell.registry import entries
from kshell.session import Session
from tests.kapi.optim.test_schedulers import MAKERS, PLATEAU
from tests.parallel.test_ranks import job, script
from tests.support.versions import has

Session().run("world[]")  # registers what the k-api has
# optimizers that do not take all parameters of the module m
MAKE = {"muon": "opt(`muon;(m;`a.weight`b.weight);.01)", "lbfgs": "opt(`lbfgs;m;.1;`iter,3)",
        "streamer": "opt(`streamer;(((m;`a);());((m;`b);()));`lr`optimize!(.01;2))"}
KIND = {"lbfgs": "call", "streamer": "layers", "sparseadam": "sparse"}
SCHED = "s:sched(o;`cosine;`init`max`warmup`steps!(.01;.05;1;20))"
# what is put around: name, (q, is half precision wanted)
AROUND = {
    "": "", "agg": "agg(o;`world;`clip,1.)", "weights": "agg(o;`world;`agggrad`bylayer!01b)", "sched": SCHED,
    "scale": "scale(o;`adascale)", "agg scale sched": f"agg(o;`world);scale(o;`adamscale);{SCHED}",
    "fp16": "fp16(o;`init`window!(16;2))", "fp16 sched": f"fp16(o;`init`before!(16;1b));{SCHED}"}
# what cannot be put around, and what is said to that
LBFGS, LAYERS = "calls back for the loss", "takes losses by layer"
REFUSED = {("lbfgs", "agg"): LBFGS, ("lbfgs", "weights"): LBFGS, ("lbfgs", "scale"): "cannot be scaled", ("lbfgs", "agg scale sched"): LBFGS,
           ("lbfgs", "fp16"): LBFGS, ("lbfgs", "fp16 sched"): LBFGS, ("streamer", "fp16"): LAYERS,
           ("streamer", "fp16 sched"): LAYERS, ("streamer", "scale"): "cannot be scaled",
           ("streamer", "agg scale sched"): "cannot be scaled", ("muon", "fp16"): "the copies are vectors",
           ("muon", "fp16 sched"): "the copies are vectors", ("sparseadam", "agg"): "sparse gradients cannot be clipped",
           ("sparseadam", "fp16"): "sparse gradients not impl", ("sparseadam", "fp16 sched"): "sparse gradients not impl"}
NAMES = sorted(e.name for e in entries("optimizer") if has(e.name))
STACKS = [(n, a) for n in NAMES for a in AROUND if (n, a) not in REFUSED]
# what two processes do more: the module is one of both, every rule and every scheduler beside an optimizer that sends
SHARED = ("ddp", "fsdp")
AROUND_TWO = AROUND | {k: f"{k} m" for k in SHARED} | {
    f"scale {e.name}": f"scale(o;`{e.name}{';1;40;8' * (e.name == 'legw')};`accum,1.);agg(o;`world)" for e in entries("rule")
} | {f"sched {k}": f"opt(o;1;(m;`b.weight`b.bias);.02);s:{text}" for k, text in MAKERS.items()}
REFUSED_TWO = {("sparseadam", "scale"), ("sparseadam", "agg scale sched")}  # sparse gradients have no scale
WHOLE = ("lbfgs", "streamer", "sparseadam")  # not with a module that is shared: other calls, layers, an embedding
TWO = [*((k, a) for k, a in STACKS if (k, a) not in REFUSED_TWO),
       *((name, "ddp") for name in NAMES if name not in (*WHOLE, "sparsifiedsgd")),  # draws by process
       *((e.name, "fsdp") for e in entries("optimizer")
         if e.name not in (*WHOLE, "muon") and e.record.sharded and not e.record.meets),
       *(("centralizedsgd", a) for a in AROUND_TWO if a not in AROUND and a not in SHARED)]
# of each kind of what is sent, and of what stands around it
FEW = [("adam", ""), ("adam", "ddp"), ("adam", "fsdp"), ("sgd", "agg scale sched"), ("adamw", "weights"),
       ("centralizedadam", ""), ("centralizedsgd", "fp16 sched"), ("centralizedsgd", "scale legw"), ("powersgd", ""),
       ("sparsifiedsgd", ""), ("centralizedsparsifiedsgd", ""), ("decentralizedsgd", ""), ("signsgd", ""), ("streamer", "")]
DEFINE = (
    "plateau:0b",
    "net:{[k]seed 4;module$[k=`sparse;seq(`sequential;(`embed;`a;6;3;`sparse,1b));"
    "seq(`sequential;(`linear;`a;5;4);`tanh;(`linear;`b;4;3))]}",
    "x:9 6 5#\"e\"$rank[]+sin til 600;Y:9 6 3#\"e\"$cos til 360;I:9 6#(rank[]+til 11)mod 6",
    "data:{[k;h]X::tensor$[k=`sparse;I;h;(x;`half);x];Z::tensor$[h;(Y;`half);Y]}",
    "kept:{@[state x;`parms;{delete pointer from x}]}",
    "one:{[i]if[not k=`layers;nograd o];$[k=`call;backstep(mm;X i;Z i);[z:mse(forward(m;X i);Z i);"
    "$[k=`layers;[loss(o;0;z);loss(o;1;mse(forward(m;X i);Z i))];h;backward(o;z);backward z];step o]];"
    "if[not s~();$[plateau;step(s;3.);step s]];-8!value dict parms m}",
    "whole:{if[k=`call;mm::model(addref m;loss`mse;addref o)]}",
    "begin:{[kind;half;text]k::kind;h::half;s::();m::net k;if[h;to(m;`half)];data[k;h];g::rng[];value text;whole[]}")


def maker(name: str, around: str) -> str:
    """q that makes m, o and s."""
    made = MAKE.get(name, f"opt(`{name};{'(m;`a.weight`a.bias)' if 'opt(o' in AROUND_TWO[around] else 'm'};.01)")
    return f"begin[`{KIND.get(name, 'plain')};{int('fp16' in around)}b;\"o:{made};{AROUND_TWO[around]}\"]"


def test_what_cannot_be_put_around() -> None:
    s = Session(out=io.StringIO())
    for line in DEFINE:
        s.run(line)
    for (name, around), text in REFUSED.items():
        if not has(name):
            continue
        said = s.run(f'@[{{value x;one 0;"none"}};"{maker(name, around).replace(chr(34), chr(92) + chr(34))}";::]')
        assert text in said.a.tobytes().decode(), (name, around, said)


@pytest.mark.sampled(4)
def test_generators_of_the_user_are_left_alone() -> None:
    """By making one, three steps, its state, restoring it: torch's, numpy's, Python's and q's own."""
    s = Session(out=io.StringIO())
    for line in DEFINE:
        s.run(line)

    def states() -> tuple[bytes, bytes, object, str]:
        kept = np.random.get_state()
        return (torch.get_rng_state().numpy().tobytes(), kept[1].tobytes() + bytes([kept[2] % 256]),  # type: ignore
                random.getstate(), str(s.rng.bit_generator.state))

    wrong = []
    for name, around in STACKS:
        np.random.seed(7)
        random.seed(7)
        s.run("seed 9")
        s.run(maker(name, around))
        s.run("rng g")  # as after the parameters were made
        before = states()
        s.run(maker(name, around).replace("begin[", "{[kind;half;text]value text;whole[]}["))
        s.run("one each til 3;t:state o;free o;o:opt(t;m);if[not s~();s:sched o];whole[];one 3")
        if states() != before:
            wrong.append((name, around))
    assert not wrong and len(STACKS) > 100


@pytest.mark.sampled(6)
def test_functions_and_timings() -> None:
    """A step by a function that gives the loss is the step without (by torch's other kernels); its phases have times; all without a process group."""
    s = Session(out=io.StringIO())
    for line in DEFINE:
        s.run(line)
    s.run("f:{if[not k=`layers;nograd o];v:mse(forward(m;X 2);Z 2);"
          "$[k=`layers;[loss(o;0;v);loss(o;1;mse(forward(m;X 2);Z 2))];h;backward(o;v);backward v];v}")
    wrong = []
    for name, around in STACKS:
        s.run(maker(name, around) + ";one 0;one 1;" + ("backstep(mm;X 2;Z 2)" if name == "lbfgs" else "one 2"))
        s.run("a:value dict parms m;l:evaluate(m;X 2)")
        s.run(maker(name, around) + ";one 0;one 1;timings(o;1b);r:step(o;f)")
        same = s.run("d:max raze over abs l-evaluate(m;X 2);(d<1e-5)&1e-5>max raze over abs a-value dict parms m")
        loss = s.run("(type r)in -1 -8h")
        timed = s.run("(0<t`update)&0<=min value t:timings o")
        if not (same is loss is timed is True):
            wrong.append((name, around, same, loss, timed))
    assert not wrong


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("n", "stacks"), [(1, STACKS), (2, FEW), pytest.param(2, TWO, marks=pytest.mark.slow)],
                         ids=["alone", "few by two", "all by two"])
def test_saved_restored_and_continued_is_bit_equal(n: int, stacks: list[tuple[str, str]], tmp_path: Path) -> None:
    """Three steps, the states to files, three more; and the latter in fresh processes, with the same states at the end."""
    file = f'f:hsym`$"{tmp_path}/",string rank[]'
    first, second = [*DEFINE, file, "every:()"], [*DEFINE, file, "every:get f;bad:();still:()"]
    for i, (name, around) in enumerate(stacks):
        plateau = f"plateau:{int(PLATEAU in around)}b;"
        first += [plateau + maker(name, around), "one each til 3;a:(state m;state o)",
                  "r:one each 3 4 5;every,:enlist a,enlist(r;-8!kept o)"]
        second += [f"{plateau}w:every {i};k:`{KIND.get(name, 'plain')};h:{int('fp16' in around)}b;data[k;h];m:module w 0",
                   "if[h;to(m;`half)];o:opt(w 1;m);s:();" + ("s:sched o;" if "sched" in around else "") + "whole[];"
                   + (f"{around} m" if around in SHARED else ""),
                   f"r:one each 3 4 5;bad,:(not(r;-8!kept o)~w 2)#enlist\"{name} {around}\";"
                   f"still,:(1=count distinct r)#enlist\"{name} {around}\""]
    done = job(n, script(tmp_path, *first, "f set every"))
    assert done.returncode == 0, done.stderr
    done = job(n, script(tmp_path, *second, "say each(bad;still)"))
    assert done.stdout.splitlines() == [f"[{r}] ()" for _ in range(2) for r in range(n)], done.stdout + done.stderr
