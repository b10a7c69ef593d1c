"""What several processes refuse: the same error on each, before anything travels, no wait, and afterwards all goes on.

Each job traps many errors one after the other; after each of them the processes must still be able to do something
together. Jobs use the loopback interface, and end by themselves.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
import torch.distributed as dist

from kshell.kapi.base.call import mapped
from kshell.parallel import group, meet
from kshell.registry import entries
from kshell.session import Session
from kshell.store import kdb
from tests.golden.runner import plain
from tests.parallel.test_ranks import Done, job, script
from tests.support.versions import has

Session().run("world[]")  # registers what the k-api has
# the text of an error, or what a case gives; then the sum of the numbers of processes, which needs all of them
TRY = ("P:rank[];W:world[];out:();net:{[n]seed 3;module seq(`sequential;(`linear;4;n);`tanh;(`linear;n;2))}",
       "X:tensor x:6 4#\"e\"$1+til 7;H:tensor(x;`half);back:{[m;o]nograd o;backward Sum forward(m;X)}",
       "go:{[o;m]back[m;o];step o}",
       "try:{[text]a:@[{value x;\"none\"};text;::];b:@[{string allreduce 1+P};::;::];out,:enlist(a;b)}")


def run(n: int, tmp_path: Path, cases: list[tuple[str, str]], *first: str, timeout: int = 20) -> Done:
    """Every case, an expression and what its error says, on n processes."""
    lines = [*TRY, *first]
    for text, _ in cases:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'try"{quoted}"')
    done = job(n, "--timeout", str(timeout), script(tmp_path, *lines, f'(hsym`$"{tmp_path}/out",string P)set out'))
    found = [plain(kdb.read(str(tmp_path / f"out{r}"))) if (tmp_path / f"out{r}").exists() else None for r in range(n)]
    assert None not in found, (done.stderr, done.stdout)
    wrong = []
    for i, (text, want) in enumerate(cases):
        said = [rows[i] for rows in found]
        if any(a != said[0] for a in said) or want not in said[0][0] or said[0][1] != str(n * (n + 1) // 2):
            wrong.append((text, want, said))
    for text, want, said in wrong:
        print(text, "|", want, *said, sep="\n   ")
    assert not wrong, f"{len(wrong)} of {len(cases)}\n" + "\n".join(map(str, wrong))
    assert done.returncode == 0, done.stderr
    return done


# ------------------------------------------------------------------ calls of all processes

CALLS = [
    # one process gives something else
    ("allreduce $[P;1 2;1 2 3]", "allreduce: tensors differ between processes (int64 [3] on 0, int64 [2] on 1)"),
    ("allreduce $[P;1 2.;1 2]", "allreduce: tensors differ between processes (int64 [2] on 0, float64 [2] on 1)"),
    ("allreduce(1 2;$[P;`max;`sum])", "allreduce: operations differ between processes (sum on 0, max on 1)"),
    ("allreduce(1 2;$[P;`nosuch;`sum])", "allreduce: unrecognized operation nosuch, expecting one of sum, avg, "),
    ("allreduce $[P;`a;1 2]", "allreduce: expecting a tensor or array, given symbol scalar (on process 1)"),
    ("allreduce(1 2;`nosuch)", "allreduce: unrecognized operation nosuch"),
    ("allreduce(1 2;`avg)", "allreduce: the mean of int64 tensors"),
    ("allreduce(01b;`sum)", "allreduce: bool tensors have no sum"),
    ("allreduce vector $[P;(1 2;3 4 5);(1 2;3 4)]", "allreduce: parameters differ between processes (parameter 1: "),
    ("allreduce vector $[P;(1 2;3);(1 2;3;4)]", "allreduce: parameters differ between processes (parameter 2: int64 [] on 0, "),
    ("allreduce dict $[P;`a`b!1 2;`a`c!1 2]", "allreduce: keys differ between processes (a c on 0, a b on 1)"),
    ("allreduce parms module`relu", "none"),
    ("allgather tensor $[P;1 2;1 2 3]", "allgather: tensors differ between processes (int64 [3] on 0, int64 [2] on 1)"),
    ("allgather $[P;tensor 1;1]", "allgather: tensors differ between processes (no tensor on 0, int64 [] on 1)"),
    ("allgather $[P;module`relu;1]", "allgather: not implemented for modules (on process 1)"),
    ("broadcast(1 2;$[P;1;0])", "broadcast: sources differ between processes (0 on 0, 1 on 1)"),
    ("broadcast(1 2;9)", "broadcast: source 9 is no process of"),
    ("broadcast(1 2;$[P;9;0])", "broadcast: source 9 is no process of"),
    ("broadcast(1 2;$[P;`a;0])", "broadcast: expecting a value and the number of a process"),
    ("broadcast($[P;1;module`relu];1)", "broadcast: kinds differ between processes (modules on 0, a value on 1)"),
    ("broadcast($[0=P;net 3;1];0)", "broadcast: "),
    ("broadcast(net $[P;4;3];0)", "broadcast: parameters differ between processes (parameter 0: float32 [3, 4] on 0, "),
    ("$[P;barrier 3;barrier[]]", "barrier: takes no argument"),
    # one process is in another call
    ("$[P;allgather 1;allreduce 1]", "allreduce: processes are in different calls (allreduce on 0, allgather on 1)"),
    ("$[P;say 1;allgather 1]", "allgather: processes are in different calls (allgather on 0, say on 1)"),
    ("$[P;barrier[];broadcast(1;0)]", "broadcast: processes are in different calls (broadcast on 0, barrier on 1)"),
    ("$[P;ddp net 3;fsdp net 3]", "fsdp: processes are in different calls (fsdp on 0, ddp on 1)"),
    # modules
    ("ddp net 3+P", "ddp: parameters differ between processes (parameter 0: float32 [3, 4] on 0, parameter 0: float32 [4"),
    ("fsdp net 3+P", "fsdp: parameters differ between processes (parameter 0: float32 [3, 4] on 0, parameter 0: float32 [4"),
    ("m:net 3;if[P;to(m;`double)];ddp m", "ddp: parameters differ between processes (parameter 0: float32 [3, 4] on 0, parameter 0: float64"),
    ("m:net 3;if[P;gradflag(m;`0.weight;0b)];ddp m", "ddp: parameters differ between processes (parameter 0: trained on "),
    ("ddp $[P;module seq(`sequential;(`linear;4;3));net 3]", "ddp: parameters differ between processes (parameter 2: "),
    ("ddp(net 3;`nosuch,1)", "ddp option: nosuch not recognized"),
    ("ddp(net 3;`bucket,-1)", "ddp bucket: -1 is below 0"), ("ddp(net 3;`bucket,$[P;-1;1])", "ddp bucket: -1 is below 0"),
    ("ddp(net 3;`unused,P=1)", "ddp: find_unused_parameters differ between processes"),
    ("ddp $[P;3;net 3]", "ddp: expecting module or model, given long scalar (on process 1)"),
    ("fsdp $[P;module`relu;net 3]", "fsdp: there are no parameters"),
    ("fsdp $[P;(net 3;1);net 3]", "fsdp: expecting 1 arg, given 2 (on process 1)"),
]


@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_calls(n: int, tmp_path: Path) -> None:
    run(n, tmp_path, [(t, w.replace("process of 2", f"process of {n}")) for t, w in CALLS])


# ------------------------------------------------------------------ optimizers and what is around them

# name: (how it is made of a module m, an option that one process has otherwise, what the error says)
KINDS = {
    "centralizedsgd": ("opt(`centralizedsgd;m;.1;%)", {"lr": (".2", "lr 0.1 in group 0 on 0, lr 0.2 in group 0 on 1"),
                       "momentum": (".5", "momentum"), "bylayer": ("1b", "bylayer"), "agggrad": ("0b", "agggrad"),
                       "before": ("1b", "before"), "nesterov": ("1b", "")}),
    "centralizedadam": ("opt(`centralizedadam;m;.1;%)", {"beta1": (".5", "betas"), "amsgrad": ("1b", "amsgrad"),
                        "bylayer": ("1b", "bylayer")}),
    "centralizedsparsifiedsgd": ("opt(`centralizedsparsifiedsgd;m;.1;%)",
                                 {"k": ("3", "k 10 in group 0 on 0, k 3"), "random": ("1b", "random"),
                                  "average": ("0b", "average"), "decay": (".5", "weight_decay")}),
    "powersgd": ("opt(`powersgd;m;.1;%)", {"rank": ("2", "rank 1 in group 0 on 0, rank 2"), "reuse": ("1b", "reuse"),
                 "bylayer": ("1b", "bylayer"), "seed": ("7", "seed"), "always": ("1b", "always")}),
    "decentralizedsgd": ("opt(`decentralizedsgd;m;.1;%)", {"weights": ("`metropolis", "weights"),
                         "bylayer": ("1b", "bylayer"), "neighbors": ("enlist 1-P", "not symmetric (1 lists 0, 0 does not")}),
    "agg": ("{[m;d]o:opt(`sgd;m;.1);agg(o;`world;d);o}[m;%]", {"bylayer": ("1b", "bylayer False on 0"),
            "clip": ("3.", "clip inf on 0, clip 3"), "before": ("1b", "before")}),
    "fp16": ("fp16(m;(`sgd;.1);%)", {"init": ("64", "loss scales differ"), "clip": ("3.", "clip inf on 0, clip 3"),
             "window": ("3", "window 128 on 0, window 3"), "bylayer": ("1b", "bylayer")}),
    "scale": ("{[m;d]o:opt(`sgd;m;.1);scale(o;`linear;d);o}[m;%]", {"accum": ("5.", "accum 2 on 0, accum 5"),
              "lossscale": ("3.", "lossscale 1 on 0, lossscale 3")}),
}
NONE = "(0#`)!()"
BAD = {"decentralizedsgd": "weights,`nosuch", "agg": "clip,-1", "fp16": "init,-1", "scale": "accum,-1"}


def optimizers() -> list[tuple[str, str]]:
    out = []
    for name, (make, options) in KINDS.items():
        half = "to(m;`half);" if name == "fp16" else ""
        x = "H" if half else "X"
        fresh = f"m:net 3;{half}o:"
        go = f";nograd o;backward Sum forward(m;{x});step o"
        for option, (value, text) in options.items():
            given = f"$[P=1;enlist[`{option}]!enlist {value};{NONE}]"
            out.append((fresh + make.replace("%", given) + go, text))
        plainly = fresh + make.replace("%", NONE)
        # one process has other parameters: sizes, types, number, order, frozen; or none
        for other in ("m:net 4;", "m:module seq(`sequential;(`linear;4;3));", "m:net 3;to(m;`double);",
                      "m:net 3;gradflag(m;`0.bias;0b);"):
            if not half or "double" not in other:
                change = f"m:$[P=1;[{other}{half}m];m];o:"
                out.append((fresh.replace("o:", change) + make.replace("%", NONE)
                            + go.replace(f"Sum forward(m;{x})", "Sum parm(m;`0.weight)"),
                            "parameters differ between processes (parameter"))
        # groups: one more, or the same parameters in another order
        one = make.replace("[m;%]", "[(m;`0.weight);%]").replace(";m;.1;%", ";(m;`0.weight);.1;%").replace("16(m", "16((m;`0.weight)")
        more = f";$[P=1;opt(o;1;(m;`2.weight));opt(o;0;(m;`2.weight))]{go}"
        out.append((fresh + one.replace("%", NONE) + more, "parameter groups differ between processes (1 on 0, 2 on 1)"))
        # one process steps what the other does not, or not at all
        out.append((plainly + f";backward Sum forward(m;{x});$[P;barrier[];step o]", "processes are in different calls (step "))
        out.append((plainly + f";backward Sum forward(m;{x});$[P;step o;allreduce 1]", "processes are in different calls (al"))
        # the step of one fails before it has begun
        out.append((plainly + f";backward Sum forward(m;{x});step $[P;(o;`a);o]", "step: expecting an optimizer, and a funct"))
        out.append((plainly + ";step(o;{$[P;'`mine;Sum forward(m;" + x + ")]})", "mine (on process 1)"))
        # options that are refused by all, and by one
        bad = BAD.get(name, "lr,-1")
        out.append((fresh + make.replace("%", f"`{bad}"), ""))
        out.append((fresh + make.replace("%", "`nosuch,1"), "nosuch"))
    return out


MORE = [
    ("m:net 3;o:opt(`sgd;m;.1);agg(o;`custom);go[o;m]", "step: agg: a custom average needs a denominator above 0"),
    ("m:net 3;o:opt(`sgd;m;.1);agg(o;`custom);back[m;o];step(o;1+P)", "step: agg: denominators differ between processes (1 "),
    ("m:net 3;o:opt(`sgd;m;.1);agg(o;`custom);back[m;o];step $[P;o;(o;2)]", "needs a denominator above 0 at each step (on "),
    ("m:net 3;o:opt(`sgd;m;.1);agg(o;$[P;`custom;`world]);back[m;o];step $[P;(o;1);o]", "differ between processes"),
    ("m:net 3;o:opt(`sgd;m;.1);agg(o;`custom;`agggrad,0b)", "agg: weights can only be averaged over the world"),
    ("m:net 3;o:opt(`sgd;m;.1);agg(o;`nosuch)", "agg average: unrecognized setting"),
    ("m:net $[P;4;3];o:opt(`sgd;m;.1);agg(o;`world;`agggrad,0b)", "agg: parameters differ between processes"),
    ("opt(`centralizedsgd;net 3+P;.1;`agggrad,0b)", "opt: centralizedsgd: parameters differ between processes"),
    ("m:net 3;o:opt(`sgd;m;.1);agg(o;`world);if[P;lr(o;.5)];go[o;m]", "lr 0.1 in group 0 on 0, lr 0.5 in group 0 on 1"),
    ("m:net 3;o:opt($[P;`adam;`sgd];m;.1);agg(o;`world);go[o;m]", "options differ between processes"),
    ("m:net 3;o:opt($[P;`powersgd;`centralizedsgd];m;.1);go[o;m]", "different calls (opt centralizedsgd on 0, opt pow"),
    ("m:net 3;o:opt(`centralizedsgd;m;.1);go[o;m];if[P;gradflag(m;`0.bias;0b)];go[o;m]", "[3] frozen on 1"),
    ("m:net 3;o:opt(`centralizedsgd;m;.1);if[P;s:sched(o;`steplr;1;.5);step s];go[o;m]", "options differ between processes"),
    ("m:module enlist(`embed;4;2;`sparse,P=1);o:opt(`centralizedsgd;m;.1);backward Sum forward(m;0 2);step o",
     "sparse gradients not implemented (on process 1)"),
    ("m:net 3;o:opt(`powersgd;m;.1;`reuse,1b);go[o;m];s:state o;o:$[P;opt(s;m);opt(`powersgd;m;.1;`reuse,1b)];go[o;m]",
     "random queries differ between processes"),
    # graphs
    ("opt(`decentralizedsgd;net 3;.1;`neighbors,enlist $[P;0#0;enlist 1])", "opt: neighbors not symmetric (0 lists 1, 1 does n"),
    ("opt(`decentralizedsgd;net 3;.1;`neighbors,enlist enlist P)", "opt: neighbors: 0 lists 0, expecting others of 0 to"),
    ("opt(`decentralizedsgd;net 3;.1;`neighbors,enlist enlist 9)", "opt: neighbors: 0 lists 9, expecting others of 0 to"),
    ("opt(`decentralizedsgd;net 3;.1;`neighbors,enlist topo(`ring;P;5))", "opt: neighbors: "),
    ("opt(`decentralizedsgd;net 3;.1;`neighbors,enlist 2#1-P)", "opt: neighbors: 0 lists one of them twice"),
    ("opt(`decentralizedsgd;net 3;.1;$[P;`nosuch,1;`neighbors,enlist enlist 1])", "nosuch (on process 1)"),
    ("opt(`decentralizedsgd;net 3;$[P;-.1;.1])", "(on process 1)"),
    ("topo`nosuch", "topo: unrecognized topology nosuch"), ("topo(`ring;3;2)", "topo: there is no process 3 among 2"),
    # rules and schedulers
    ("m:net 3;o:opt(`sgd;m;.1);s:scale(o;$[P;`sqrt;`linear]);go[o;m]", "options of scale differ between processes (linear"),
    ("m:net 3;o:opt(`sgd;m;.1);s:scale(o;`linear);back[m;o];if[P;backward Sum forward(m;X)];step s", "micro-batches differ"),
    ("m:net 3;o:opt(`sgd;m;.1);s:scale(o;`linear);if[P;back[m;o]];step s", "step: no gradient on process 0"),
    ("m:net 3;o:opt(`sgd;m;.1);$[P;[agg(o;`world);scale(o;`linear)];[scale(o;`linear);agg(o;`world)]];go[o;m]", "different calls"),
    ("sched(opt(`sgd;net 3;.1);`linear;`max`steps!(.1;-1))", "linear: steps is -1, expecting a number above 0"),
    ("sched(opt(`sgd;net 3;.1);`nosuch)", "unrecognized scheduler: nosuch"),
    ("combine((enlist`max)!enlist .1;(enlist`max)!enlist .2)", "combine: conflicting overrides for max: 0.1 and 0.2"),
    ("override(opt(`sgd;net 3;.1);0;`nosuch,1)", "override: unrecognized option `nosuch"),
    ("scale(opt(`sgd;net 3;.1);`nosuch)", "unrecognized rule: nosuch"),
    # layers
    ("f:tensor(1 2e;`grad);o:opt(`streamer;enlist(f;());`average,2+P);loss(o;0;Sum f);step o", "average at different steps"),
    ("f:tensor(1 2e;`grad);o:opt(`streamer;enlist(f;());`optimize,1+P);agg(o;`world);loss(o;0;Sum f);step o", "optimize_every 1 "),
    ("f:tensor(1 2e;`grad);o:opt(`streamer;enlist(f;());`optimize,1);agg(o;`world);if[P;loss(o;0;Sum f)];step o",
     "an update is due on some processes only: 1"),
    ("f:tensor((2+P)#1e;`grad);o:opt(`streamer;enlist(f;());`average,1);loss(o;0;Sum f);step o", "parameters differ"),
]


@pytest.mark.sampled(3)
def test_optimizers(tmp_path: Path) -> None:
    """Every optimizer and wrap of several processes; and afterwards one that is right makes the same step on all."""
    right = "if[1<>count distinct allgather dict parms m;'`differ]"
    cases = [*optimizers(), *MORE]
    cases.append(("m:net 3;o:opt(`centralizedsgd;m;.1);timings(o;1b);backward(o;Sum forward(m;X));step o;"
                  "if[not all 0<timings o;'`phases]", "none"))  # backward, communication, update
    for name, (make, _) in KINDS.items():
        if name not in ("decentralizedsgd", "fp16"):
            cases.append((f"m:net 3;o:{make.replace('%', NONE)};X2:X*1+P;do[2;nograd o;backward Sum forward(m;X2);step o];{right}",
                          "none"))
    run(2, tmp_path, cases)
    names = {e.name for e in entries("optimizer") if not e.record.sharded}
    assert {n for n in names if "sgd" in n and n != "sparsifiedsgd"} | {"centralizedadam"} <= set(KINDS)


def test_every_name_alike(tmp_path: Path) -> None:
    """Of every optimizer, scheduler and rule: unknown options and numbers out of range."""
    cases = []
    for e in entries("optimizer"):
        if has(e.name):
            cases.append((f"opt(`{e.name};();`nosuch,1)", "unrecognized optimizer setting: nosuch"))
    for e in entries("scheduler"):
        cases.append((f"sched(opt(`sgd;());`{e.name};`nosuch,1)", "unrecognized scheduler setting: nosuch"))
    for e in entries("rule"):
        cases.append((f"scale(opt(`sgd;());`{e.name};`nosuch,1)", "unrecognized rule setting: nosuch"))
    run(2, tmp_path, cases)


# ------------------------------------------------------------------ processes that do not come


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", ["allreduce 1", *(pytest.param(t, marks=pytest.mark.slow) for t in (
    "step o", "opt(`decentralizedsgd;m;.1)", "backward Sum forward(d;X)", "recv 1", "send(100000000#0x00;1)"))])
def test_one_that_does_not_come_is_named(text: str, tmp_path: Path) -> None:
    begun = time.monotonic()
    n, seconds = (2, 2) if text == "allreduce 1" else (3, 6)  # in which others of what is done first must come too
    done = job(n, "--timeout", str(seconds), script(
        tmp_path, *TRY, "m:net 3;o:opt(`centralizedsgd;m;.1);backward Sum forward(m;X);ddp d:net 3",
        f"if[P<>1;-2 @[{{value x}};\"{text}\";::];exit 0]", f"t:.z.p;while[.z.p<t+0D00:00:{seconds + 4:02}]", "exit 0"))
    said = [s for s in done.stderr.splitlines() if "process 1" in s]
    want = {"recv": "sent nothing", "send": "took nothing"}.get(text[:4], "did not come")
    assert len(said) == n - 1 and all(f"process 1 {want} within {seconds} s" in s for s in said), done.stderr
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(("others", "want"), [
    ({}, ""), ({1: "closed"}, ""), ({1: "in vain", 2: "closed"}, "all processes came, but not within 6 s"),
    ({1: "in vain"}, "process 2 did not come within 6 s")])
def test_a_closed_connection_tells_of_one_that_waited_in_vain(others: dict[int, str], want: str,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    """One that waits in vain closes its connections: who comes later sees no more than that, and what it put down."""
    store = dist.HashStore()
    for r, what in others.items():
        store.set(f"waited/{group.generation()}/{r}", what)
    for name, found in (("store", store), ("joined", True), ("timeout", 6.)):
        monkeypatch.setattr(group, name, lambda found=found: found)
    monkeypatch.setattr(dist, "get_world_size", lambda: 3)
    monkeypatch.setattr(dist, "get_rank", lambda: 0)
    monkeypatch.setattr(meet, "_NEWS", .1)
    monkeypatch.setattr(meet, "_GRACE", .2)
    error = mapped("ddp", RuntimeError("[pair.cc:547] Connection closed by peer [127.0.0.1]:21178"))
    assert error.text == f"ddp: {want or 'Connection closed by peer [127.0.0.1]:21178'}"
    assert store.get(f"waited/{group.generation()}/0") == b"closed"


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
