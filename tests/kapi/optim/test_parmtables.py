"""Tables of parameters: their numbers against torch, and edits through them against optimizers made that way."""

from __future__ import annotations

import io
import math
import random
from typing import Any

import pytest
import torch

from kshell.errors import QError
from kshell.kapi.base.handles import optimizer_handle
from kshell.kapi.math import statistics
from kshell.kapi.math.statistics import NAMES, measured
from kshell.kapi.optim.host_wrappers import adopt
from kshell.session import Session

NET = "seed 3;m:module seq(`sequential;(`linear;`a;5;4);`tanh;(`linear;`b;4;3));X:tensor(`randn;6 5);Y:tensor(`randn;6 3)"
STEP = "go:{[n]do[n;nograd m;backward mse(forward(m;X);Y);step o]}"


@pytest.fixture
def s() -> Session:
    made = Session(out=io.StringIO())
    made.run(NET)
    made.run(STEP)
    return made


TENSORS: dict[str, Any] = {
    "float": torch.randn(3, 4), "double": torch.randn(5, dtype=torch.float64), "half": torch.randn(7).half(),
    "bfloat16": torch.randn(2, 2, 2).bfloat16(), "long": torch.tensor([3, -4, 5]), "one": torch.tensor([2.5]),
    "scalar": torch.tensor(2.5), "empty": torch.empty(0, 3), "strange": torch.tensor([1, math.inf, -math.inf, math.nan]),
    "bool": torch.tensor([True, False, True]), "leaf": torch.randn(4, requires_grad=True),
}


@pytest.mark.parametrize("name", TENSORS)
def test_numbers(name: str) -> None:
    t = TENSORS[name].detach()
    found = dict(zip(NAMES, measured([t])[0].tolist(), strict=True))
    v = t.double() if not t.is_floating_point() or t.dtype is torch.float64 else t.float()
    n = v.numel()
    want = {"norm": v.norm().item(), "mean": v.mean().item() if n else math.nan,
            "std": v.std().item() if n > 1 else math.nan, "lo": v.min().item() if n else math.nan,
            "hi": v.max().item() if n else math.nan, "bad": float((~torch.isfinite(v)).sum())}
    for key, value in want.items():
        assert found[key] == pytest.approx(value, rel=1e-5, nan_ok=True), key


def test_numbers_of_other_tensors() -> None:
    sparse = torch.sparse_coo_tensor([[0, 2, 0]], [3.0, 4.0, 0.0], (5,), check_invariants=True)
    rows = measured([sparse, None, torch.tensor([3 + 4j, 0j])])
    assert rows[0, 0] == 5 and rows[0, 4] == 4
    assert all(math.isnan(v) for v in rows[1])
    assert rows[2, 0] == 5 and rows[2, 4] == 5


def weights(s: Session, name: str = "m") -> list[Any]:
    return [p.detach().clone() for p in s[name].obj.parameters()]


def test_small_types_are_converted_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never so many at a time that a large checkpoint is held twice; the numbers are those of each alone."""
    held: list[tuple[int, int]] = []
    norm = torch._foreach_norm

    def watched(values: Any) -> Any:
        held.append((len(values), sum(v.numel() for v in values)))
        return norm(values)

    monkeypatch.setattr(statistics, "_AT_ONCE", 100)
    monkeypatch.setattr(statistics.torch, "_foreach_norm", watched)
    tensors = [torch.randn(n).to(kind) for n in (40, 40, 40, 500, 10, 60) for kind in (torch.bfloat16, torch.float32)]
    for work in (measured, statistics.norm_and_bad):
        held.clear()
        work(tensors)
        whole = [n for _, n in held if n == 690]  # floats are measured as they are, in one go
        assert whole == [690] and len(held) == 5
        assert all(k == 1 or n <= 100 or n == 690 for k, n in held)
    monkeypatch.undo()
    norms, _ = statistics.norm_and_bad(tensors)
    assert norms.a == pytest.approx([float(t.float().norm()) for t in tensors], rel=1e-5)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "rmsprop"])
def test_groups_by_table_are_groups(s: Session, optimizer: str) -> None:
    """Rates by table give the steps of an optimizer that was made with such groups; what it keeps stays."""
    s.run(f"k:state m;o:opt(`{optimizer};m;.01);go 3")
    s.run("parmtable(o;update lr:.5*lr,decay:.1 from parmtable[o] where name like\"*.bias\");go 3")
    by_table = weights(s)
    s.run(f"m:module k;o:opt(`{optimizer};(m;`a.weight`b.weight);.01);opt(o;1;(m;`a.bias`b.bias));go 3")
    s.run("opt(o;1;();`lr`decay!.005 .1);go 3")
    assert all(torch.equal(a, b) for a, b in zip(by_table, weights(s), strict=True))


def test_parameter_out_and_in(s: Session) -> None:
    s.run("o:opt(`adam;m;.01);go 2;w:tensor parm(m;`b.bias);parmtable(m;([]name:enlist`b.bias;parmgroup:0N));go 2")
    assert s.run("w~tensor parm(m;`b.bias)") is True
    assert len(s["o"].obj.torch.state) == 3
    s.run("parmtable(m;([]name:enlist`b.bias;parmgroup:0));go 1")
    assert s.run("w~tensor parm(m;`b.bias)") is False
    assert s.run("exec mean from statetable[o] where buffer=`step").a.tolist() == [5.0, 5.0, 5.0, 1.0]
    assert s.run("(state opt(state o;m))~state o") is True


@pytest.mark.parametrize("line", [
    "update lr:-1. from t", "update parmgroup:7 from t", "update gradflag:0b,lr:neg lr from t", "update foo:1 from t",
    "update name:`x from t", "update gradflag:0b,amsgrad:1 from t", "update beta1:2.,gradflag:0b from t",
])
def test_failed_edit_changes_nothing(s: Session, line: str) -> None:
    s.run("o:opt(`adam;m;.01);go 2;t:parmtable m;b:state o")
    with pytest.raises(QError):
        s.run(f"parmtable(m;{line})")
    assert s.run("(t~parmtable m)and b~state o") is True


def test_summary_is_what_torch_counts(s: Session) -> None:
    s.run("q:module seq(`sequential;(`conv2d;1;3;3);(`batchnorm2d;3);`relu;`flatten;(`linear;108;5));freeze(q;`4.bias)")
    q = s["q"].obj
    s.run("t:summary(q;2 1 8 8)")
    assert s.run("exec first elements from t") == sum(p.numel() for p in q.parameters())
    assert s.run("exec first trainable from t") == sum(p.numel() for p in q.parameters() if p.requires_grad)
    assert s.run("exec first bytes from t") == sum(p.numel() * 4 for p in q.parameters())
    x = torch.zeros(2, 1, 8, 8)
    for row in range(1, 6):
        x = q[row - 1].eval()(x)
        assert s.run(f"t[`size]{row}").a.tolist() == list(x.shape)
    assert not any(m._forward_hooks for m in q.modules())


def test_random_edits(s: Session) -> None:
    """After any edit each parameter is in one group at most, and its options are those asked for."""
    r = random.Random(5)
    s.run("o:opt(`adam;m;.01);go 1")
    o = s["o"].obj
    names = [n for n, _ in s["m"].obj.named_parameters()]
    params = dict(s["m"].obj.named_parameters())
    for _ in range(60):
        chosen = r.sample(names, r.randint(1, 4))
        rates = [r.choice([.1, .2, .3]) for _ in chosen]
        count = len(o.groups)
        groups = [r.choice([None, *range(min(count, 4)), count]) for _ in chosen]
        before = {n: next((g["lr"] for g in o.groups if any(params[n] is p for p in g["params"])), None) for n in names}
        decays = [r.choice([0., .5]) for _ in chosen]
        text = " ".join("0N" if g is None else str(g) for g in groups)
        s.run(f"parmtable(m;([]name:(),{''.join('`' + n for n in chosen)};parmgroup:(),{text};lr:(),"
              f"{' '.join(map(str, rates))};decay:(),{' '.join(map(str, decays))}f))")
        assert len({id(p) for g in o.groups for p in g["params"]}) == sum(len(g["params"]) for g in o.groups)
        for n, rate, group, decay in zip(chosen, rates, groups, decays, strict=True):
            found = [g for g in o.groups if any(params[n] is p for p in g["params"])]
            assert len(found) == (group is not None)
            if found:
                assert found[0]["lr"] == rate and found[0]["weight_decay"] == decay
        for n in set(names) - set(chosen):
            after = next((g["lr"] for g in o.groups if any(params[n] is p for p in g["params"])), None)
            assert after == before[n], n
        s.run("go 1")
    assert s.run("(state opt(state o;m))~state o") is True


def test_parameters_without_names_are_numbered_alike() -> None:
    """Those of an optimizer that a Python program made: the rows of all tables have the number of the parameter."""
    o = torch.optim.Adam([torch.nn.Parameter(torch.ones(n)) for n in (2, 3)])
    for p in o.param_groups[0]["params"]:
        p.grad = torch.ones_like(p)
    o.step()
    s = Session(out=io.StringIO())
    s.names.set("o", optimizer_handle(adopt(o)))
    assert s.run("(exec name from parmtable o)~`0`1") is True
    assert s.run("(exec name from statetable o)~raze 3#'`0`1") is True
    assert s.run("(exec name from opt[o]`parms)~`0`1") is True
