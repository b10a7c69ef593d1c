"""Every optimizer of torch, and LAMB: fifty steps are those of torch called directly, and one that is restored in another
process goes on bit for bit."""

from __future__ import annotations

import inspect
import io
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kshell import registry
from kshell.errors import QError
from kshell.families.lamb.optimizer import Lamb
from kshell.kapi.optim.optimizer import class_of, entry_of, how_of, row
from kshell.session import Session
from tests.support import warm
from tests.support.versions import has

# optimizer: (options in q, the same for torch)
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "adadelta": ("`lr`rho`eps`decay!.5 .8 1e-5 .01", {"lr": .5, "rho": .8, "eps": 1e-5, "weight_decay": .01}),
    "adafactor": ("`lr`betadecay`eps2`clip`decay!.02 -.7 .01 2 .1",
                  {"lr": .02, "beta2_decay": -.7, "eps": (None, .01), "d": 2.0, "weight_decay": .1}),
    "adagrad": ("`lr`lrdecay`init!.05 .1 .2", {"lr": .05, "lr_decay": .1, "initial_accumulator_value": .2}),
    "adam": ("`lr`beta2`decay!.01 .99 .1", {"lr": .01, "betas": (.9, .99), "weight_decay": .1}),
    "adamax": ("`lr`beta1`decay!.01 .8 .05", {"lr": .01, "betas": (.8, .999), "weight_decay": .05}),
    "adamw": ("`lr`eps!.01 1e-6", {"lr": .01, "eps": 1e-6}),
    "asgd": ("`lr`lambd`alpha`t0`decay!.05 .01 .6 5 .01",
             {"lr": .05, "lambd": .01, "alpha": .6, "t0": 5, "weight_decay": .01}),
    "lamb": ("`lr`decay!.01 .1", {"lr": .01, "weight_decay": .1}),
    "lbfgs": ("(`lr;.5;`iter;4;`search;`strong_wolfe)",
              {"lr": .5, "max_iter": 4, "max_eval": 5, "line_search_fn": "strong_wolfe"}),
    "muon": ("(`lr;.02;`decay;.01;`ns3;2.03;`steps;3;`adjust;`match_rms_adamw)",
             {"lr": .02, "weight_decay": .01, "ns_coefficients": (3.4445, -4.775, 2.03), "ns_steps": 3,
              "adjust_lr_fn": "match_rms_adamw"}),
    "nadam": ("(`lr;.01;`momentumdecay;.01;`decay;.1;`decoupled;1b)",
              {"lr": .01, "momentum_decay": .01, "weight_decay": .1, "decoupled_weight_decay": True}),
    "radam": ("(`lr;.01;`beta2;.9;`decay;.1;`decoupled;1b)",
              {"lr": .01, "betas": (.9, .9), "weight_decay": .1, "decoupled_weight_decay": True}),
    "rmsprop": ("(`lr;.01;`momentum;.5;`centered;1b)", {"lr": .01, "momentum": .5, "centered": True}),
    "rprop": ("`lr`etaminus`etaplus`least`most!.01 .4 1.3 1e-5 2",
              {"lr": .01, "etas": (.4, 1.3), "step_sizes": (1e-5, 2.0)}),
    "sgd": ("(`lr;.05;`momentum;.9;`nesterov;1b;`decay;.01)",
            {"lr": .05, "momentum": .9, "nesterov": True, "weight_decay": .01}),
    "sparseadam": ("`lr`beta1!.05 .8", {"lr": .05, "betas": (.8, .999)}),
}
NET = "m:module seq(`sequential;(`linear;`a;5;4);`tanh;(`linear;`b;4;3))"
SPARSE = "m:module seq(`sequential;(`embed;`a;6;3;`sparse,1b))"
FUSED = ("sgd", "adam", "adamw", "adagrad")  # the shell steps these by their fused kernels
# one step in q: the i-th of the data
STEP = ("one:{[i]nograd o;backward l:mse(forward(m;X i);Y i);step o};"
        "lone:{[i]backstep(mm;X i;Y i)};go:{[n]$[`lbfgs~objtype o;lone;one]each n}")


def make(name: str) -> Session:
    """A session with module m, optimizer o, data X and Y and the function go."""
    s = Session(out=io.StringIO())
    s.run(f"seed 3;{SPARSE if name == 'sparseadam' else NET}")
    s.run("X:tensor(`randn;60 6 5);Y:tensor(`randn;60 6 3)")
    if name == "sparseadam":
        s.run("X:tensor(`randint;6;60 6)")
    s.run(f"o:opt(`{name};{'(m;`a.weight`b.weight)' if name == 'muon' else 'm'};{OPTIONS[name][0]})")
    s.run(STEP)
    if name == "lbfgs":
        s.run("mm:model(addref m;loss`mse;addref o)")
    return s


def weights(m: Any) -> list[Any]:
    return [p.detach().clone() for p in m.parameters()]


def test_every_optimizer_is_here() -> None:
    """All of torch.optim is registered, and is among those tested here."""
    assert {e.name for e in registry.entries("optimizer") if e.target.startswith("torch.optim.")} <= set(OPTIONS)
    named = {n for n in dir(torch.optim) if isinstance(getattr(torch.optim, n), type)} - {"Optimizer"}
    assert named <= {class_of(entry_of(n)).__name__ for n in OPTIONS if has(n)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OPTIONS)
def test_fifty_steps(name: str) -> None:
    s = make(name)
    m = s.run("m").obj
    x, y = s.run("X").obj, s.run("Y").obj
    net = nn.Sequential(nn.Embedding(6, 3, sparse=True)) if name == "sparseadam" else \
        nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    with torch.no_grad():
        for p, q in zip(net.parameters(), m.parameters(), strict=True):
            p.copy_(q)
    params = [p for p in net.parameters() if name != "muon" or p.dim() == 2]
    cls = Lamb if name == "lamb" else class_of(entry_of(name))
    o = cls(params, **OPTIONS[name][1], **({"fused": True} if name in FUSED else {}))
    start = weights(m)
    s.run("go til 50")
    for i in range(50):
        def closure(i: int = i) -> Any:
            o.zero_grad()
            loss = nn.functional.mse_loss(net(x[i]), y[i])
            loss.backward()
            return loss

        if name == "lbfgs":
            o.step(closure)
        else:
            closure()
            o.step()
    assert all(torch.equal(a, b) for a, b in zip(weights(m), weights(net), strict=True))
    assert not torch.equal(start[0], weights(m)[0])


def test_restored_in_another_process(tmp_path: Path) -> None:
    """Five steps, the state to files, five more: here, and in a process that reads the files."""
    script, names = [STEP], [name for name in OPTIONS if has(name)]
    for name in names:
        s = make(name)
        s.run(f'go til 5;d:"{tmp_path}/{name}";p:{{hsym`$d,"-",x}}')
        s.run('p["m"]set state m;p["o"]set state o;p["x"]set tensor X;p["y"]set tensor Y')
        s.run('go 5+til 5;p["w"]set dict parms m;p["s"]set (state o)`options')
        s.run("b:{(-8!'x)@\\:-8!y}")
        script += [f'd:"{tmp_path}/{name}";p:{{hsym`$d,"-",x}}',
                   'm:module get p"m";o:opt(get p"o";m);X:tensor get p"x";Y:tensor get p"y"',
                   *(["mm:model(addref m;loss`mse;addref o)"] if name == "lbfgs" else []),
                   'go 5+til 5;-1"' + name + ' ",string((-8!dict parms m)~-8!get p"w")&((state o)`options)~get p"s"']
    file = tmp_path / "go.q"
    file.write_text(";\n".join(script) + ";\n")
    done = warm.run([sys.executable, "-m", "kshell", "-q", str(file)], capture_output=True, text=True, timeout=170)
    assert done.stdout.split("\n")[:-1] == [f"{n} 1" for n in names], done.stderr


@pytest.mark.parametrize("name", OPTIONS)
def test_how_to_compute(name: str) -> None:
    """Each class's flags can be given by name, reach torch, are shown only where set, and survive a state."""
    entry = entry_of(name)
    s = make(name)
    plain = s.run("cols opt[o]`options").items
    for o in how_of(entry):
        s.run(f"r:opt(`{name};m;`{o.name},1b)" if name != "muon" else f"r:opt(`{name};(m;`a.weight);`{o.name},1b)")
        assert s.run("r").obj.groups[0][o.name] is True
        assert [c.s for c in s.run("cols opt[r]`options").items] == [*(c.s for c in plain), o.name]
        assert s.run(f"first opt[opt(state r;m)][`options;`{o.name}]") is True
        s.run(f"opt(r;0;();`{o.name},0b)")
        assert s.run("r").obj.groups[0][o.name] is False
    flags = {o.name for o in how_of(entry)}
    words = {"foreach", "fused", "maximize", "capturable", "differentiable"}
    newer = {"maximize"} & set(inspect.signature(torch.optim.LBFGS).parameters)  # torch 2.15 has it, 2.13 not
    assert flags == {"lamb": set(), "lbfgs": newer, "muon": set(), "sparseadam": {"maximize"},
                     "adafactor": {"foreach", "maximize"}}.get(name, flags)
    assert ("fused" in flags) is (name in FUSED)
    for word in words - flags:
        with pytest.raises(QError, match=f"{name} option: {word} not recognized"):
            s.run(f"opt(`{name};();`{word},1b)")


@pytest.mark.parametrize("how", ["foreach", "fused", "maximize"])
def test_how_is_how_torch_does(how: str) -> None:
    s = make("adam")
    s.run(f"o:opt(`adam;m;.01;`{how},1b)")
    m, x, y = s.run("m").obj, s.run("X").obj, s.run("Y").obj
    net = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    with torch.no_grad():
        for p, q in zip(net.parameters(), m.parameters(), strict=True):
            p.copy_(q)
    o = torch.optim.Adam(net.parameters(), lr=.01, **({"maximize": True, "fused": True} if how == "maximize" else {how: True}))
    s.run("go til 20")
    for i in range(20):
        o.zero_grad()
        nn.functional.mse_loss(net(x[i]), y[i]).backward()
        o.step()
    assert all(torch.equal(a, b) for a, b in zip(weights(m), weights(net), strict=True))


def test_class_that_torch_lacks() -> None:
    row("nosuch", "torch.optim.NoSuch", "An optimizer of some other version.")
    try:
        s = Session(out=io.StringIO())
        with pytest.raises(QError, match=r"nosuch: torch .* has no torch.optim.NoSuch"):
            s.run("opt`nosuch")
    finally:
        registry.remove("optimizer", "nosuch")
