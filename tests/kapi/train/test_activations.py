"""`acttable`: what layers give, against hooks written by hand; that nothing changes; modules and outputs of any kind."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from kshell import QError, Session

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")


@pytest.fixture
def s() -> Session:
    torch.manual_seed(1)
    return Session()


class Branches(nn.Module):
    """Calls one layer twice, and another inside of a module."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.block, self.out = nn.Linear(4, 4), nn.Sequential(nn.BatchNorm1d(4), nn.ReLU(inplace=True)), nn.Linear(4, 2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        x = self.block(self.a(x)) + self.a(x)
        return self.out(self.drop(x))


def by_hand(m: nn.Module, x: Any, loss_of: Any) -> list[tuple[str, list[float], list[float]]]:
    """Name, numbers and numbers of the gradient of every call of a leaf, by torch's own hooks."""
    rows: list[list[Any]] = []
    hooks = []

    def numbers(t: Any) -> list[float]:
        v = t.detach().double()
        return [v.mean().item(), v.std().item(), (v == 0).double().mean().item(), (~torch.isfinite(v)).sum().item()]

    for name, part in m.named_modules():
        if not list(part.children()):
            def note(_: Any, __: Any, out: Any, name: str = name) -> None:
                row = [name, numbers(out), []]
                rows.append(row)
                out.register_hook(lambda g: row.__setitem__(2, numbers(g)))
            hooks.append(part.register_forward_hook(note))
    loss_of(m(x)).backward()
    for hook in hooks:
        hook.remove()
    return [tuple(r) for r in rows]


def test_as_hooks_by_hand(s: Session) -> None:
    """Forward and backward, a layer called twice, inplace ones, with dropout's random numbers."""
    import copy

    m, x, y = Branches(), torch.randn(8, 4), torch.randn(8, 2)
    torch.manual_seed(5)
    want = by_hand(copy.deepcopy(m), x, lambda out: ((out - y) ** 2).mean())
    s.m, s.x, s.y = m, x, y
    torch.manual_seed(5)
    t = s("acttable(m;x;{[y;o]mse(o;y)}[y])")
    assert t["name"].tolist() == [r[0] for r in want] == ["a", "block.0", "block.1", "a", "drop", "out"]
    assert t["call"].tolist() == [0, 0, 0, 1, 0, 0] and [list(n) for n in t["size"]] == [[8, 4]] * 5 + [[8, 2]]
    assert t["module"].tolist() == ["linear", "batchnorm1d", "relu", "linear", "drop", "linear"]
    for i, c in enumerate(("mean", "std", "zeros", "bad")):
        np.testing.assert_allclose(t[c], [r[1][i] for r in want], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(t["g" + c], [r[2][i] for r in want], rtol=1e-5, atol=1e-7)
    torch.manual_seed(5)
    forward = s("acttable(m;x)")
    assert list(forward) == list(t)[:9] and forward["mean"].tolist() == t["mean"].tolist()
    s("k:model(m;loss`mse;opt(`sgd;m;.1))")
    torch.manual_seed(5)
    model = s("acttable(k;x;y)")
    np.testing.assert_allclose(model["gmean"], t["gmean"])
    assert s("cols acttable(k;x)").tolist() == list(forward)


def state(m: nn.Module) -> Any:
    return ([p.detach().clone() for p in m.parameters()], [None if p.grad is None else p.grad.clone() for p in m.parameters()],
            [b.clone() for b in m.buffers()], [id(b) for b in m.buffers()], [k.training for k in m.modules()], torch.get_rng_state(),
            [len(k._forward_hooks) + len(k._forward_pre_hooks) for k in m.modules()], list(m.state_dict()))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


class Fails(nn.Module):
    def forward(self, x: Any) -> Any:
        if x.sum() > 100:
            raise OSError("no")
        return x


class Replaces(nn.Module):
    """Puts other buffers in the place of its own, and makes new ones."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("wide", torch.zeros(1).expand(3))

    def forward(self, x: Any) -> Any:
        self.seen = self.seen + 1
        self.register_buffer("new", torch.ones(1))
        return x


@pytest.mark.parametrize("call", [
    "acttable(m;x)", "acttable(m;x;{Sum x})", "acttable(m;1000*x)", "acttable(m;x;{'bad})", "acttable(m;x;{1+`a})", "acttable(m;x;{3})",
    "acttable(m;`nosuch)", "acttable(m;x;{x})"])
@pytest.mark.parametrize("train", [True, False])
def test_nothing_changes(s: Session, call: str, train: bool) -> None:
    m = nn.Sequential(nn.ReLU(inplace=True), Branches(), Fails(), Replaces()).train(train)
    x = torch.randn(8, 4).abs() * -1
    first = m[1](x.clone()).sum()
    first.backward()
    s.m, s.x = m, x
    given, before = x.clone(), state(m)
    held = m[1](x).sum() if not train else None  # a graph that has the buffers in it
    try:
        s(call)
    except QError:
        assert call not in ("acttable(m;x)", "acttable(m;x;{Sum x})")
    assert same(state(m)[:5], before[:5]) and torch.equal(x, given)
    assert same(state(m)[6:], before[6:]) and (not train or same(state(m)[5], before[5]))
    if held is not None:
        held.backward()


@dataclasses.dataclass
class Output:
    logits: Any
    other: Any = "text"


class Kinds(nn.Module):
    """Gives tensors in several forms; inputs by keyword."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.linear = how, nn.Linear(2, 2)

    def forward(self, x: Any, scale: Any = None, label: Any = None, flag: bool = False) -> Any:
        y = self.linear(x)
        y = y if scale is None else y * scale
        if flag:
            y = -y
        return {"tuple": (y, [y + 1, None]), "dict": {"logits": y, "loss": y.sum(), "cache": object()}, "object": Output(y),
                "none": None}[self.how]


@pytest.mark.parametrize(("how", "f", "outputs"), [
    ("tuple", "{Sum x 0}", []), ("dict", "{x`loss}", []), ("object", "{Sum x`logits}", []), ("none", "{3}", None)])
def test_outputs_of_any_kind(s: Session, how: str, f: str, outputs: Any) -> None:
    s.m, s.x = Kinds(how), torch.ones(3, 2)
    assert s("exec name from acttable(m;x)").tolist() == ["linear"]
    if outputs is None:
        with pytest.raises(QError, match="acttable: expecting a function that gives a tensor of one number"):
            s(f"acttable(m;x;{f})")
        return
    t = s(f"acttable(m;x;{f})")
    assert t["gmean"].tolist() == [1.0] and t["gbad"].tolist() == [0]


def test_inputs_by_keyword(s: Session) -> None:
    s.m, s.x = Kinds("dict"), torch.ones(3, 2)
    want = s.m.linear(s.x).mean().item()
    t = s("acttable(m;`x`scale`flag!(x;tensor 2e;1b);{x`loss})")
    assert t["mean"][0] == pytest.approx(want) and t["gmean"].tolist() == [-2.0]
    assert s("exec first mean from acttable(m;x;enlist[`scale]!enlist(::))") == pytest.approx(want)
    with pytest.raises(QError, match="acttable: Kinds has no input `wrong"):
        s("acttable(m;`x`wrong!(x;x))")


class Gives(nn.Module):
    def __init__(self, make: Any) -> None:
        super().__init__()
        self.make, self.w = make, nn.Parameter(torch.ones(1))

    def forward(self, x: Any) -> Any:
        return self.make(x)


NAN = float("nan")
TENSORS: list[tuple[Any, list[float]]] = [
    (lambda x: torch.tensor([1.0, NAN, 0.0, math.inf]), [NAN, NAN, 0.25, 2]), (lambda x: torch.tensor([True, False]), [0.5, 0.5**0.5, 0.5, 0]),
    (lambda x: torch.tensor([0, 2, 4]), [2, 2, 1 / 3, 0]), (lambda x: torch.tensor([3 + 4j, 0]), [2.5, 12.5**0.5, 0.5, 0]),
    (lambda x: torch.tensor([1.0, 3], dtype=torch.bfloat16), [2, 2**0.5, 0, 0]), (lambda x: torch.tensor([1.0, 3]).to(torch.float8_e4m3fn), [2, 2**0.5, 0, 0]),
    (lambda x: torch.zeros(0, 3), [NAN, NAN, NAN, 0]), (lambda x: torch.tensor(5.0), [5, NAN, 0, 0]), (lambda x: torch.tensor([5], dtype=torch.uint16), [5, NAN, 0, 0]),
    (lambda x: torch.tensor([[1.0, 0], [0, 3]]).to_sparse(), [2, 2**0.5, 0, 0]), (lambda x: torch.ones(2, device="meta"), [NAN, NAN, NAN, NAN]),
    (lambda x: torch.nested.nested_tensor([torch.ones(2), torch.zeros(2)]), [0.5, (1 / 3) ** 0.5, 0.5, 0])]


@pytest.mark.parametrize(("make", "want"), TENSORS)
def test_tensors_of_any_kind(s: Session, make: Any, want: list[float]) -> None:
    s.m, s.x = Gives(make), torch.ones(1)
    t = s("acttable(m;x)")
    assert t["name"].tolist() == [""] and t["module"].tolist() == ["Gives"]
    found = [float(t[c][0]) if t[c][0] is not np.ma.masked else NAN for c in ("mean", "std", "zeros", "bad")]
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_layers_of_any_kind(s: Session) -> None:
    """Several tensors of a layer, modules that use their children's parameters, compiled and frozen ones, recomputation."""
    s.m, s.x = nn.LSTM(2, 3), torch.ones(4, 1, 2)
    assert s("exec output from acttable(m;x)").tolist() == ["0", "1.0", "1.1"]
    s.m, s.x = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(), torch.randn(2, 3, 4)
    assert s("exec distinct name from acttable(m;x)").tolist() == [
        "self_attn", "dropout1", "norm1", "linear1", "dropout", "linear2", "dropout2", "norm2"]
    m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    s.m, s.x = m, torch.randn(3, 2)
    want = s("acttable(m;x;{Sum x})")
    s("checkpoint(m;`0`2;1b)")
    again = s("acttable(m;x;{Sum x})")
    assert again["name"].tolist() == ["0", "1", "2"] and again["gmean"].tolist() == want["gmean"].tolist()
    s("checkpoint(m;`0`2;0b);freeze(m;`0.weight`0.bias)")
    frozen = s("acttable(m;x;{Sum x})")
    assert np.isnan(frozen["gmean"]).tolist() == [True, True, False] and frozen["gbad"].mask.tolist() == [True, True, False]
    s("freeze m")
    with pytest.raises(QError, match="acttable: no parameter of the module is trained"):
        s("acttable(m;x;{Sum x})")
    s.m = nn.LazyLinear(2)
    with pytest.raises(QError, match="acttable: the module has parameters without a size yet"):
        s("acttable(m;x)")


@pytest.mark.slow
def test_compiled_layers(s: Session) -> None:
    s.m, s.x = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)), torch.randn(3, 2)
    want = s("acttable(m;x;{Sum x})")
    s("compile(m;`eager);forward(m;x)")
    t = s("acttable(m;x;{Sum x})")
    assert t["name"].tolist() == ["0", "1", "2"] and t["gmean"].tolist() == want["gmean"].tolist()


def test_wrong_calls(s: Session) -> None:
    s.m, s.x = nn.Linear(2, 1), torch.ones(1, 2)
    for text, error in (("acttable m", "acttable: requires a module or model and at least one input"),
                        ("acttable x", "acttable: expecting module or model"), ("acttable(m;1 2 3e)", "acttable: mat1|acttable: size mismatch"),
                        ("acttable(m;`a)", "acttable: unrecognized arg")):
        with pytest.raises(QError, match=error):
            s(text)
    assert not any(k._forward_hooks for k in s.m.modules())


def test_one_transfer_from_a_device(s: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of all layers are fetched together, those of the gradients too."""
    from kshell.kapi.math import statistics

    calls: list[int] = []
    real = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda t, *a, **k: (calls.append(1), real(t, *a, **k))[1])
    monkeypatch.setattr(torch.Tensor, "item", lambda t: pytest.fail("a value was read"))
    s.m, s.x = nn.Sequential(*(nn.Linear(2, 2) for _ in range(20))), torch.ones(1, 2)
    assert s("count acttable(m;x;{Sum x})") == 20 and len(calls) == 2 and statistics is not None
