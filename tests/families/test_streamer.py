"""STREAMER's optimizer in one process, from Python and through q. (Several: tests/parallel/rank_checks.py.)"""

from __future__ import annotations

import copy
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from kshell.errors import QError
from kshell.families.streamer.api import _INNER
from kshell.families.streamer.optimizer import INNER, SETTINGS, Streamer, defaults_of, reach_of
from kshell.session import Session
from tests.support import warm


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def _numpy_state() -> list[int]:
    kept: Any = np.random.get_state()
    return list(kept[1])


def chain(n: int, seed: int = 0) -> list[tuple[nn.Module, nn.Module]]:
    """Layers of small modules in double precision."""
    torch.manual_seed(seed)
    return [(nn.Linear(2, 2).double(), nn.Linear(2, 2).double()) for _ in range(n)]


def losses(layers: Sequence[tuple[nn.Module, nn.Module]], t: int, which: Sequence[int]) -> list[tuple[int, Tensor]]:
    """Losses of some layers, each of its predictor and of all encoders."""
    x = torch.tensor([[.5 - t, .25 * t]], dtype=torch.float64)
    context = sum((torch.tanh(f(x + i)) for i, (f, _) in enumerate(layers)), torch.zeros(1, 2, dtype=torch.float64))
    return [(l, (layers[l][1](torch.sin(context)) - l).square().sum()) for l in which]


def train(o: Streamer, layers: Sequence[tuple[nn.Module, nn.Module]], steps: range) -> list[bool]:
    """Steps in which layer l runs every l + 1st time."""
    out = []
    for t in steps:
        which = [l for l in range(len(layers)) if t % (l + 1) == 0]
        for l, z in losses(layers, t, which):
            o.loss(l, z, l + 1)
        out.append(o.step())
    return out


def values(layers: Sequence[tuple[nn.Module, nn.Module]]) -> Tensor:
    return torch.cat([p.detach().reshape(-1) for pair in layers for m in pair for p in m.parameters()])


# ------------------------------------------------------------------ what a step calculates


def test_reach() -> None:
    assert reach_of(1, 4) == ([[1], [0, 2], [3]], pytest.approx([9 / 13, 3 / 13, 1 / 13], abs=1e-15))
    assert reach_of(0, 1) == ([[0]], [1.0])
    for alpha in (1e-30, .5, 1, 3, 1e30):
        for n in (1, 3, 6):
            for l in range(n):
                groups, weights = reach_of(l, n, alpha)
                assert sorted(j for g in groups for j in g) == list(range(n)) and abs(sum(weights) - 1) < 1e-12
                assert all(abs(j - l) == d for d, g in enumerate(groups) for j in g)
                assert all(b == pytest.approx(a / alpha, rel=1e-12) for a, b in zip(weights, weights[1:], strict=False))
    for bad in ((3, 3, 3), (-1, 3, 3), (0, 1, 0), (0, 1, -2), (0, 1, float("inf"))):
        with pytest.raises(ValueError, match=r"layer|Invalid alpha"):
            reach_of(*bad)


@pytest.mark.parametrize("reach", [True, False])
@pytest.mark.parametrize("timescale", [True, False])
def test_gradients_are_a_backward_pass_for_each_distance(reach: bool, timescale: bool) -> None:
    """T1, T7: what one pass by layer gathers, by as many as there are distances; graphs are freed."""
    layers = chain(4)
    twin = copy.deepcopy(layers)
    o = Streamer(layers, "sgd", max_layers=4, reach=reach, timescale=timescale, alpha=2)
    given = losses(layers, 3, [0, 1, 3])
    for l, z in given:
        o.loss(l, z, l + 2)
    assert o.step() is False
    with pytest.raises(RuntimeError, match="second time"):
        given[-1][1].backward()
    for l, z in losses(twin, 3, [0, 1, 3]):
        groups, weights = reach_of(l, 4, 2 if reach else 1)
        for near, w in zip(groups, weights, strict=True):
            inputs = [p for j in near for p in twin[j][0].parameters()] + list(twin[l][1].parameters())
            (z * w * (l + 2 if timescale else 1)).backward(retain_graph=True, inputs=inputs)
    for pair, other in zip(layers, twin, strict=True):
        for m, r in zip(pair, other, strict=True):
            for p, q in zip(m.parameters(), r.parameters(), strict=True):
                assert (p.grad is None) is (q.grad is None)
                if p.grad is not None and q.grad is not None:
                    assert torch.allclose(p.grad, q.grad, rtol=1e-12, atol=1e-14)
    assert layers[2][1].weight.grad is None
    scales = [2, 3, 5] if timescale else [1, 1, 1]
    assert o.f_counter == [sum(scales)] * 4 and o.p_counter == [scales[0], scales[1], 0, scales[2]]
    assert o.step_counter == [1, 1, 0, 1]


def test_the_top_layer_says_when() -> None:
    f, p, g = leaf(1, 2), leaf(3), leaf(4)
    o = Streamer([(f, p), (g, ())], "sgd", lr=1, optimize_every=2, alpha=3)
    for _ in range(5):
        o.loss(0, f.sum() * p.sum() + g.sum(), 2)
        assert o.step() is False
    for due in (False, True):
        o.loss(1, g.sum(), 3)
        assert o.step() is due
    # f: 5 * 2 * .75 * 3 over 5 * 2 + 6;  p: 5 * 2 * 3 over 10;  g: (10 * .25 + 6 * .75) over 16
    assert f.tolist() == [1 - 22.5 / 16, 2 - 22.5 / 16] and p.tolist() == [0] and g.tolist() == [4 - 7 / 16]
    assert f.grad is p.grad is g.grad is None
    assert not any([*o.f_counter, *o.p_counter, *o.step_counter])


def test_each_part_has_its_own_inner_optimizer() -> None:
    """Three Adams by themselves: a part without gradients keeps its state as it is."""
    f, p, g = leaf(1), leaf(2), leaf(3)
    o = Streamer([(f, p), (g, ())], lr=.5, optimize_every=1)
    o.param_groups[1]["lr"] = .25
    alone = [(leaf(1), .5, (.875, .25, .875)), (leaf(2), .25, (1, None, 1)), (leaf(3), .5, (-.375, -.75, -.375))]
    others = [torch.optim.Adam([q], lr=rate) for q, rate, _ in alone]
    for t in range(3):
        if t != 1:
            o.loss(0, 2 * f.sum() + p.sum())
        o.loss(1, f.sum() - g.sum())
        assert o.step() is True
        for (q, _, grads), other in zip(alone, others, strict=True):
            q.grad = None if grads[t] is None else torch.tensor([grads[t]], dtype=torch.float64)
            other.step()
    assert [v.item() for v in (f, p, g)] == pytest.approx([q.item() for q, _, _ in alone], rel=1e-14)
    assert o.state[p]["step"] == 2 and o.state[f]["step"] == 3


def test_layers_grow() -> None:
    f = [leaf(1), leaf(2), leaf(3)]
    o = Streamer([(f[0], ())], "sgd", lr=1, optimize_every=1, max_layers=3)
    assert o.layers == 1 and o.groups(0) == ([[0]], [1.0])
    o.loss(0, f[0].sum())
    assert o.step() is True and f[0].item() == 0
    o.loss(0, f[0].sum())  # a loss of the former top layer, which now does not suffice
    o.add_layer(f[1])
    assert o.step() is False and o.f_counter == [1, 1] and f[0].grad.tolist() == [.75]
    with pytest.raises(ValueError, match="more than one layer"):
        o.add_layer(f[1])
    with pytest.raises(ValueError, match="more than one layer"):
        o.add_layer(f[2], f[2])
    o.add_layer(f[2])
    assert o.layers == 3 and len(o.param_groups) == 6
    with pytest.raises(ValueError, match=r"no more than 3 layer"):
        o.add_layer(leaf(1))
    with pytest.raises(ValueError, match=r"no more than 3 layer"):
        o.add_param_group({"params": [leaf(1)]})
    o.loss(2, f[2].sum())
    assert o.step() is True and f[2].item() == pytest.approx(3 - 9 / 13) and o.layers == 3
    o = Streamer([f[0]], max_layers=3)
    o.add_param_group({"params": [f[1]]})
    o.add_layer(f[2], leaf(1))
    assert [len(g["params"]) for g in o.param_groups] == [1, 0, 1, 0, 1, 1] and o.layers == 3
    assert Streamer([]).layers == 0 and Streamer([]).step() is False


def test_frozen_and_unused_parameters() -> None:
    f, frozen, p, unused = leaf(1), leaf(1), leaf(1), leaf(1)
    frozen.requires_grad_(False)
    o = Streamer([([f, frozen, unused], [p])], "sgd", lr=1, optimize_every=1)
    o.loss(0, (f * frozen * p).sum())
    assert o.step() is True
    assert (f.item(), frozen.item(), p.item(), unused.item()) == (0, 1, 0, 1) and unused.grad is None


def test_a_failing_pass_changes_nothing() -> None:
    layers = chain(2)
    o = Streamer(layers, "sgd", optimize_every=1, max_layers=2)
    before, given = values(layers), losses(layers, 1, [0, 1])
    given[1][1].backward(retain_graph=False)
    o.zero_grad()
    for l, z in given:
        o.loss(l, z)
    with pytest.raises(RuntimeError, match="second time"):
        o.step()
    assert torch.equal(before, values(layers)) and not any([*o.f_counter, *o.p_counter, *o.step_counter])
    assert all(p.grad is None for pair in layers for m in pair for p in m.parameters())
    for l, z in losses(layers, 1, [0, 1]):  # the last loss given is the one that counts
        o.loss(l, z)
    assert o.step() is True


def test_zero_grad_drops_what_was_gathered() -> None:
    f = leaf(1)
    o = Streamer([f], "sgd", lr=1, optimize_every=2)
    for z in (100 * f.sum(), f.sum(), f.sum()):
        o.loss(0, z, 5)
        o.step()
        if f.grad is not None and f.grad.item() == 500:
            o.zero_grad()
            assert o.step_counter == []
    assert f.item() == 0


def test_closure_gives_losses_and_generators_are_left_alone() -> None:
    layers = chain(2)
    o = Streamer(layers, optimize_every=1, max_layers=2)
    torch.manual_seed(5)
    np.random.seed(5)
    before = torch.get_rng_state(), _numpy_state()

    def closure() -> None:
        for l, z in losses(layers, 2, [0, 1]):
            o.loss(l, z)

    start = values(layers)
    with torch.no_grad():
        assert o.step(closure) is True
    assert bool((start != values(layers)).all())
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == _numpy_state()


def test_refused() -> None:
    f, g = leaf(1), leaf(1, 2)
    for given in ({"alpha": 0}, {"alpha": float("nan")}, {"optimize_every": 0}, {"average_every": 0},
                  {"max_layers": 0}, {"lr": -1.0}, {"inner": "sgd", "momentum": -1.0}):
        with pytest.raises(ValueError, match="Invalid"):
            Streamer([f], **given)
    with pytest.raises(ValueError, match="adam inside has no momentum"):
        Streamer([f], momentum=.9)
    with pytest.raises(ValueError, match="unrecognized inner optimizer lbfgs"):
        Streamer([f], "lbfgs")
    with pytest.raises(ValueError, match="LBFGS cannot be an inner"):
        Streamer([f], torch.optim.LBFGS)
    with pytest.raises(ValueError, match="RMSprop has options of the same names"):
        Streamer([f], torch.optim.RMSprop)
    with pytest.raises(ValueError, match="no more than 1 layer"):
        Streamer([f, g], max_layers=1)
    o = Streamer([f])
    for layer, z, scale, text in ((1, f.sum(), 1, "layer 1 is not there"), (-1, f.sum(), 1, "not there"),
                                  (0, g, 1, "single number"), (0, torch.ones(()), 1, "single number"),
                                  (0, f.sum(), 0, "Invalid timescale"), (0, f.sum(), float("inf"), "timescale")):
        with pytest.raises(ValueError, match=text):
            o.loss(layer, z, scale)
    with pytest.raises(ValueError, match="by layer"):
        o.backward(f.sum())
    assert o.step() is False and f.grad is None


def test_inner_optimizers() -> None:
    assert set(_INNER) == set(INNER)
    known: dict[str, Any] = dict(INNER)
    assert not any(k in SETTINGS for cls in known.values() for k in cls([leaf(1)], lr=.1).defaults)
    for name, cls in known.items():
        f, g = leaf(1, -2), leaf(1, -2)
        o, plain = Streamer([f], name, lr=.01, optimize_every=1), cls([g], lr=.01)
        for t in range(3):
            o.loss(0, (f * (t - .5)).sum())
            assert o.step() is True
            g.grad = torch.full_like(g, t - .5)
            plain.step()
        assert torch.equal(f, g), name
        assert set(defaults_of(name)) <= set(plain.param_groups[0]) and "weight_decay" in defaults_of(name)
    f, g = leaf(1), leaf(1)
    o = Streamer([(f, g)], lambda p: torch.optim.SGD(p, lr=.1, momentum=.5), optimize_every=1)
    for _ in range(2):
        o.loss(0, f.sum() + g.sum())
        o.step()
    assert f.item() == g.item() == pytest.approx(1 - .1 - .15)


# ------------------------------------------------------------------ state


@pytest.mark.parametrize("inner", ["adam", "sgd"])
def test_state_dicts_go_on_alike_between_updates(inner: str) -> None:
    layers = chain(3)
    options: dict[str, Any] = {"optimize_every": 3, "lr": .1, **({"momentum": .5} if inner == "sgd" else {})}
    o = Streamer(layers, inner, **options)
    made = train(o, layers, range(12))
    assert True in made and any(o.step_counter)
    twin = copy.deepcopy(layers)
    for pair in twin:
        for m in pair:
            m.zero_grad()
    other = Streamer(twin, inner, lr=.7)
    other.load_state_dict(copy.deepcopy(o.state_dict()))
    assert other.settings == o.settings and other.param_groups[3]["lr"] == .1
    assert train(o, layers, range(12, 30)) == train(other, twin, range(12, 30))
    assert torch.equal(values(layers), values(twin))
    o.zero_grad()  # copies of parameters have no gradients
    clone_layers, clone = copy.deepcopy((layers, o))
    assert train(o, layers, range(30, 45)) == train(clone, clone_layers, range(30, 45))
    assert torch.equal(values(layers), values(clone_layers))


def test_state_dicts_refused() -> None:
    o = Streamer(chain(2), max_layers=3)
    kept = o.state_dict()
    for other, text in ((Streamer(chain(3)), "not of 6 groups with adam"), (Streamer(chain(2), "sgd"), "with sgd")):
        with pytest.raises(ValueError, match=text):
            other.load_state_dict(kept)
    for extra, text in (({"f": [1, 2, 3], "p": [1, 2, 3], "steps": [1, 2, 3]}, "counters of 3 layers, there are 2"),
                        ({"gradients": [None]}, "1 gradients, there are 8")):
        with pytest.raises(ValueError, match=text):
            o.load_state_dict({**kept, "extra": extra})


def test_rates_by_a_scheduler_of_torch() -> None:
    layers = chain(2)
    o = Streamer(layers, "sgd", lr=1, optimize_every=1, max_layers=2)
    s = torch.optim.lr_scheduler.StepLR(o, 1, .5)
    train(o, layers, range(2))
    s.step()
    assert [g["lr"] for g in o.param_groups] == [.5] * 4


# ------------------------------------------------------------------ through q


def q(*lines: str) -> Session:
    """A session after some lines."""
    s = Session(out=io.StringIO())
    for line in lines:
        s.run(line)
    return s


NET = "m:module seq(`sequential;(`linear;`f0;2;2);`tanh;(`linear;`p0;2;2);(`linear;`f1;2;3);`relu;(`linear;`p1;3;1))"
# ways to an optimizer of its two layers
MADE = ("o:opt(`streamer;(((m;`f0);(m;`p0));((m;`f1);(m;`p1)));`lr`optimize`alpha!(.05;3;2))",
        "o:opt(`streamer;(((m;`f0);(m;`p0));((m;`f1);(m;`p1)));(`inner;`sgd;`lr;.05;`momentum;.5;`optimize;2))",
        "o:opt(`streamer;enlist((m;`f0);(m;`p0));`lr`optimize!(.05;2));addlayer(o;((m;`f1);(m;`p1)));"
        "agg(o;`world;`clip,.1)")
# layer 0 runs at every step, layer 1 at every other
STEP = ('x:4 2#"e"$sin til 8;one:{[t]loss(o;0;mse(forward(m;x+t);4 1#1e);1); '
        "if[0=t mod 2;loss(o;1;Sum mul(forward(m;x);.5);2)]; (step o;(raze/)value dict parms m)};go:{one each x}")


@pytest.mark.parametrize("made", MADE)
def test_what_every_optimizer_answers(made: str) -> None:
    s = q(f"seed 3;{NET};{made}")
    assert [k.s for k in s.run("3#key opt o").items] == ["optimizer", "options", "parms"]
    assert s.run("objtype o").s == "streamer" and s.run("class o").s == "optimizer"
    assert s.run("exec parmgroup from opt[o]`parms").a.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert s.run("size o") == 8
    s.run("lr(o;.1 .2 .3 .4)")
    assert s.run("lr o").a.tolist() == [.1, .2, .3, .4]
    assert s.run("`alpha`lr`inner in key help objtype o").a.tolist() == [True] * 3
    s.run("opt(o;2;();`reach,0b)")
    assert s.run("(groups(o;1))~((enlist 1;enlist 0);.5 .5)") is True
    assert s.run("exec distinct reach from opt[o]`options").a.tolist() == [False]


@pytest.mark.sampled(2)
def test_restored_in_another_process_between_updates(tmp_path: Path) -> None:
    """Steps, states to files by three ways, more steps: here, and in a process that reads the files."""
    lines, want = [], []
    for i, made in enumerate(MADE):
        at = f"{tmp_path}/{i}"
        s = q(f"seed 3;{NET};{made}", STEP, "go til 8")
        assert s.run("0<max(state[o]`extra)`steps") is True
        s.run(f'(hsym`$"{at}-m")set state m;(hsym`$"{at}-o")set state o')
        s.run(f'ckpt(`$":{at}.pt";`m`o!(m;o))')
        s.run(f'snapshot`$":{at}.snap"')
        s.run(f'r:go 8+til 9;(hsym`$"{at}-w")set r')
        assert s.run("0<sum r[;0]") is True and s.run("1<count distinct r[;1]") is True
        lines += [f'm:module get`:{at}-m;o:opt(get`:{at}-o;m);{STEP}', f'-1 raze string(go 8+til 9)~get`:{at}-w']
        lines += [f'seed 9;{NET};{made};d:ckpt`$":{at}.pt";putstate(m;d`m);putstate(o;d`o);{STEP}',
                  f'-1 raze string(go 8+til 9)~get`:{at}-w']
        lines += [f'resume`$":{at}.snap"', f'-1 raze string(go 8+til 9)~get`:{at}-w']
        want += ["1"] * 3
    file = tmp_path / "go.q"
    file.write_text(";\n".join(lines) + ";\n")
    done = warm.run([sys.executable, "-m", "kshell", "-q", str(file)], capture_output=True, text=True, timeout=170)
    assert done.stdout.split("\n")[:-1] == want, done.stdout + done.stderr


def test_a_step_that_fails_can_be_made_again() -> None:
    """Aggregation by a denominator comes after gradients were divided by their counters."""
    s = q("f:tensor(1 2e;`grad);o:opt(`streamer;enlist(f;());`sgd;1.;`optimize,1);agg(o;`custom)",
          "loss(o;0;Sum mul(f;f);4)")
    with pytest.raises(QError, match="needs a denominator above 0"):
        s.run("step o")
    assert s.run("tensor f").a.tolist() == [1, 2] and s.run("grad f").a.tolist() == [8, 16]
    assert s.run("step(o;4)") is True and s.run("tensor f").a.tolist() == [.5, 1]


def test_a_layer_that_cannot_be_added_changes_nothing() -> None:
    s = q("f:tensor(1 2e;`grad);g:tensor(3 4e;`grad);o:opt(`streamer;enlist(f;());`maxlayers,3)")
    s.run("before:-8!opt o")
    for bad in ("(g;f)", "(g;g)", "(f;())", "(g;1)", "g", "()"):
        with pytest.raises(QError, match=r"opt: parameter\[|addlayer: expecting"):
            s.run(f"addlayer(o;{bad})")
        assert s.run("before~-8!opt o") is True
    s.run("addlayer(o;(g;()))")
    assert s.run("exec parmgroup from opt[o]`parms").a.tolist() == [0, 2]


def test_timings_and_a_function() -> None:
    s = q("f:tensor(1 2e;`grad);o:opt(`streamer;enlist(f;());`sgd;1.;`optimize,1);timings(o;1b)")
    assert s.run("step(o;{loss(o;0;Sum mul(f;2e))})") is True
    assert s.run("tensor f").a.tolist() == [-1, 0]
    assert s.run("all 0<timings[o]`backward`update") is True


@pytest.mark.sampled(2)
def test_aggregation_is_one_process_with_the_whole_batch(tmp_path: Path) -> None:
    """agg around layers: equal everywhere, and what one process does with all examples."""
    text = (f"seed 3;{NET};o:opt(`streamer;(((m;`f0);(m;`p0));((m;`f1);(m;`p1)));(`lr;.05;`optimize;2));agg(o;`world);",
            'x:shard 4 2#"e"$sin til 8;one:{[t]loss(o;0;Sum mul(forward(m;x+t);2f%4%world[]);1);'
            "if[0=t mod 2;loss(o;1;mse(forward(m;x+t);(count x;1)#1e);2)]; step o};r:one each til 9;",
            'w:(raze/)value dict parms m;say r;say 1=count distinct allgather w;'
            f'if[0=rank[];(hsym`$"{tmp_path}/",string world[])set w];')
    file = tmp_path / "s.q"
    file.write_text("\n".join(text) + "\n")
    out = []
    for n in ("1", "2"):
        done = warm.run([sys.executable, "-m", "kshell", *(["-n", n] if n != "1" else []), "-q", str(file)],
                              capture_output=True, text=True, timeout=170)
        assert done.returncode == 0, done.stderr
        out.append(done.stdout.split("\n"))
    assert out[0] == ["[0] 001000100b", "[0] 1b", ""]
    assert out[1] == ["[0] 001000100b", "[1] 001000100b", "[0] 1b", "[1] 1b", ""]
    s = q(f'a:get`:{tmp_path}/1;b:get`:{tmp_path}/2')
    assert s.run("1e-6>max abs a-b") is True and s.run("1e-3<max abs a") is True


@pytest.mark.parametrize("inner", sorted(INNER))
def test_nothing_leaves_the_device_of_the_parameters(inner: str) -> None:
    """T3: on a device other than the CPU, where numbers cannot be read, all steps are made (mixed devices would fail)."""
    f, p, g = (torch.zeros(3, device="meta", requires_grad=True) for _ in range(3))
    o = Streamer([(f, p), (g, ())], inner, optimize_every=2, max_layers=2)
    made = []
    for _ in range(4):
        o.loss(0, (f * p + g).sum(), 2)
        o.loss(1, (f * g).sum(), 3)
        made.append(o.step())
    assert made == [False, True] * 2 and f.device.type == "meta"
    assert all(t.device.type == "meta" for t in o.state[f].values() if isinstance(t, Tensor) and t.dim())
