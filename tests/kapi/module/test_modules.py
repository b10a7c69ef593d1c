"""Module types, losses and forward calculations of the k-api, against torch called directly."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from kshell import registry  # noqa: E402
from kshell.errors import QError  # noqa: E402
from kshell.k_api import load_kapi  # noqa: E402
from kshell.kapi.base.handles import ModuleHandle, TensorHandle  # noqa: E402
from kshell.kapi.loss.losses import calculate  # noqa: E402
from kshell.kapi.module.describe import type_of  # noqa: E402
from kshell.kapi.module.options import class_of, options_dict, torch_args  # noqa: E402
from kshell.kapi.module.types import module  # noqa: E402
from kshell.registry import REQUIRED, Entry, Option  # noqa: E402
from kshell.session import Session  # noqa: E402

load_kapi()
MODULES = [e for e in registry.entries("module") if e.topic == "kapi.module.types"]
LOSSES = list(registry.entries("loss"))
NN = torch.nn


@pytest.fixture
def s() -> Session:
    return Session()


def spec(entry: Entry) -> str:
    """The q text that makes a module, from the example in its help."""
    return entry.examples[0][0][0].removeprefix("objtype ")


# ------------------------------------------------------------------ rows


@pytest.mark.parametrize("entry", MODULES, ids=lambda e: e.name)
def test_row_agrees_with_torch(entry: Entry) -> None:
    """The target is there, and takes the arguments that the options name."""
    cls = class_of(entry)
    known = inspect.signature(cls).parameters
    names = {o.torch or o.name for o in entry.options if o.torch != "-"}
    open_ended = any(p.kind is p.VAR_KEYWORD for p in known.values())  # the recurrent layers
    assert open_ended or names <= set(known)
    for o in entry.options:
        p = known.get(o.torch or o.name)
        if p is None or o.torch == "-" or o.default in (REQUIRED, None) or p.default is p.empty:
            continue
        default = p.default.__name__ if callable(p.default) else p.default
        assert default is None or default == o.default, o.name


@pytest.mark.sampled(3)
@pytest.mark.parametrize("entry", MODULES, ids=lambda e: e.name)
def test_row_round_trip(entry: Entry, s: Session) -> None:
    """What is made has the type, and its state makes the same again: options, parameters, buffers."""
    s.run(f"m:{spec(entry)}")
    m = s["m"].obj
    assert type_of(m) is entry
    assert s.run("(state m)~state module state m") is True
    assert s.run("(module m)~module module module m") is True
    assert s.run("(module(m;0b))~module(module module(m;0b);0b)") is True
    other = s.run("module state m").obj
    for (k, a), (n, b) in zip(m.state_dict().items(), other.state_dict().items(), strict=True):
        assert k == n and torch.equal(a, b)
    assert len(options_dict(entry)) <= len(entry.options)


# q text, torch module, shape of an input
SAME = [
    ("enlist(`linear;5;3)", lambda: NN.Linear(5, 3), (4, 5)),
    ("enlist(`linear;5;3;0b)", lambda: NN.Linear(5, 3, bias=False), (4, 5)),
    ("enlist(`conv1d;2;3;3;2)", lambda: NN.Conv1d(2, 3, 3, 2), (4, 2, 9)),
    ("enlist(`conv2d;2;3;3;1;1)", lambda: NN.Conv2d(2, 3, 3, 1, 1), (4, 2, 6, 6)),
    ("enlist(`conv2d;2;4;3;`pad`groups!(`same;2))", lambda: NN.Conv2d(2, 4, 3, padding="same", groups=2), (4, 2, 6, 6)),
    ("enlist(`conv3d;1;2;2)", lambda: NN.Conv3d(1, 2, 2), (2, 1, 4, 4, 4)),
    ("enlist(`convtranspose2d;2;3;3;2)", lambda: NN.ConvTranspose2d(2, 3, 3, 2), (2, 2, 4, 4)),
    ("enlist(`batchnorm2d;3)", lambda: NN.BatchNorm2d(3), (4, 3, 5, 5)),
    ("enlist(`batchnorm2d;3;`momentum,0n)", lambda: NN.BatchNorm2d(3, momentum=None), (4, 3, 5, 5)),
    ("enlist(`layernorm;5)", lambda: NN.LayerNorm(5), (4, 5)),
    ("enlist(`groupnorm;2;4)", lambda: NN.GroupNorm(2, 4), (3, 4, 5)),
    ("enlist(`maxpool2d;2)", lambda: NN.MaxPool2d(2), (4, 3, 6, 6)),
    ("enlist(`maxpool2d;3;2;1)", lambda: NN.MaxPool2d(3, 2, 1), (4, 3, 6, 6)),
    ("enlist(`avgpool2d;2;`countpad,0b)", lambda: NN.AvgPool2d(2, count_include_pad=False), (4, 3, 6, 6)),
    ("enlist(`adaptavg2d;1)", lambda: NN.AdaptiveAvgPool2d(1), (4, 3, 6, 6)),
    ("`flatten", NN.Flatten, (4, 3, 6)),
    ("`relu", NN.ReLU, (4, 3)),
    ("`gelu", NN.GELU, (4, 3)),
    ("enlist(`softmax;1)", lambda: NN.Softmax(1), (4, 3)),
    ("enlist(`prelu;3)", lambda: NN.PReLU(3), (4, 3)),
    ("`drop", NN.Dropout, (4, 3)),
    ("enlist(`drop2d;.25)", lambda: NN.Dropout2d(.25), (4, 3, 5, 5)),
    ("enlist(`rnn;3;4;2;`relu)", lambda: NN.RNN(3, 4, 2, "relu"), (5, 2, 3)),
    ("enlist(`gru;3;4;`bi,1b)", lambda: NN.GRU(3, 4, bidirectional=True), (5, 2, 3)),
    ("enlist(`lstm;3;4;2;1b;1b)", lambda: NN.LSTM(3, 4, 2, True, True), (5, 2, 3)),
    ("seq(`sequential;(`linear;5;8);`relu;(`linear;8;2))",
     lambda: NN.Sequential(NN.Linear(5, 8), NN.ReLU(), NN.Linear(8, 2)), (4, 5)),
    ("seq(`sequential;(`conv2d;1;4;3);(`batchnorm2d;4);`relu;(`maxpool2d;2);`flatten;`drop;(`linear;36;3))",
     lambda: NN.Sequential(NN.Conv2d(1, 4, 3), NN.BatchNorm2d(4), NN.ReLU(), NN.MaxPool2d(2), NN.Flatten(),
                           NN.Dropout(), NN.Linear(36, 3)), (2, 1, 8, 8)),
]


def flat(out: Any) -> list[Any]:
    return [out] if isinstance(out, torch.Tensor) else [t for v in out for t in flat(v)]


@pytest.mark.parametrize(("text", "make", "shape"), SAME, ids=[t for t, _, _ in SAME])
def test_same_numbers_as_torch(text: str, make: Any, shape: tuple[int, ...], s: Session) -> None:
    """With the same seed: the same parameters, outputs in both modes, and gradients, to the bit."""
    torch.manual_seed(7)
    plain = make()
    s.run(f"seed 7; m:module {text}")
    m = s["m"].obj
    assert all(torch.equal(a, b) for a, b in zip(plain.state_dict().values(), m.state_dict().values(), strict=True))
    x = torch.randn(shape)
    s["x"] = TensorHandle(x)
    torch.manual_seed(1)
    expected = flat(plain(x))
    s.run("seed 1; y:forward(m;x)")
    got = s["y"].obj if isinstance(s["y"].obj, list) else [s["y"].obj]
    assert all(torch.equal(a, b) for a, b in zip(expected, got, strict=True))
    if expected[0].requires_grad:
        expected[0].sum().backward()
        got[0].sum().backward()
        assert all(torch.equal(a.grad, b.grad) for a, b in zip(plain.parameters(), m.parameters(), strict=True))
    plain.eval()
    with torch.no_grad():
        expected = flat(plain(x))
    got = s.run("eforward(m;x)").obj
    assert all(torch.equal(a, b) for a, b in zip(expected, got if isinstance(got, list) else [got], strict=True))
    assert m.training and all(k.training for k in m.modules())


# ------------------------------------------------------------------ losses


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("entry", LOSSES, ids=lambda e: e.name)
@pytest.mark.parametrize("reduce", ["none", "mean", "sum"])
def test_losses_against_torch(entry: Entry, reduce: str) -> None:
    torch.manual_seed(3)
    x, y, z = torch.rand(4, 3), torch.rand(4, 3), torch.rand(4, 3)
    ones, classes = torch.sign(torch.randn(4, 3)), torch.tensor([0, 2, 1, 1])
    inputs = {"ce": (x, classes), "nll": (x, classes), "multimargin": (x, classes), "hinge": (x, ones),
              "softmargin": (x, ones), "cosineloss": (x, y, ones[:, 0]), "margin": (x, y, ones), "triplet": (x, y, z),
              "multilabel": (x, torch.tensor([[0, -1, 0]] * 4)), "kl": (x.log(), y),
              "ctc": (torch.rand(5, 2, 3).log(), torch.tensor([[1, 2], [2, 1]]), torch.tensor([5, 4]),
                      torch.tensor([2, 1]))}.get(entry.name, (x, y))
    given = {"reduce": reduce} if any(o.name == "reduce" for o in entry.options) else {}
    m = class_of(entry)(**torch_args(entry, given))
    assert torch.allclose(calculate(m, inputs), m(*inputs))


# ------------------------------------------------------------------ modes and failures


@settings(max_examples=30, deadline=None)
@given(st.lists(st.booleans(), min_size=4, max_size=4),
       st.sampled_from(["forward", "nforward", "eforward", "evaluate"]))
def test_modes_are_left_as_they_were(flags: list[bool], call: str) -> None:
    s = Session()
    s.run("m:module seq(`sequential;(`linear;2;2);`drop;`relu)")
    parts = list(s["m"].obj.modules())
    for m, flag in zip(parts, flags, strict=True):
        m.training = flag
    s.run(f"{call}(m;3 2#1e);")
    assert [m.training for m in parts] == flags
    with pytest.raises(QError):
        s.run(f"{call}(m;3 9#1e)")
    assert [m.training for m in parts] == flags and torch.is_grad_enabled()


def test_failed_extension_changes_nothing(s: Session) -> None:
    s.run("m:module seq(`sequential;`relu)")
    for bad in ("((1;`tanh);(1;`nosuch))", "seq(`seqnest;`tanh;`nosuch)", "((1;`seqnest);(2;`relu`a);(2;`relu`a))"):
        with pytest.raises(QError):
            s.run(f"module(m;{bad})")
        assert list(s["m"].obj._modules) == ["0"]


def test_inputs_are_not_written(s: Session) -> None:
    """Modules that work in place write neither q's arrays nor values derived from them."""
    s.run("x:-1 2 -3e; m:module enlist(`relu;1b); y:evaluate(m;x); t:forward(m;x)")
    assert s.run("x~-1 2 -3e") is True
    s.run("i:module`identity; t:tensor x; y:evaluate(i;t); forward(m;t);")
    assert s.run("y~x") is True


@pytest.mark.parametrize("form", ["enlist(`linear;3;2)", "(`linear;3;2)", "enlist(`linear;`in`out!3 2)",
                                  "enlist(`linear;3;`out,2)", "((0;(`linear;3;2)))", "(0;(`linear;3;2))",
                                  "module module enlist(`linear;3;2)", "`module`options!(`linear;`in`out!3 2)"])
def test_forms_of_one_definition(form: str, s: Session) -> None:
    m = s.run(f"module {form}")
    assert isinstance(m, ModuleHandle) and (m.obj.in_features, m.obj.out_features) == (3, 2)


def test_class_registered_by_decorator(s: Session) -> None:
    class Twice(NN.Module):
        """Its input times a factor."""

        def __init__(self, factor: float, shift: int = 1) -> None:
            super().__init__()
            self.factor, self.shift = factor, shift

        def forward(self, x: Any) -> Any:
            return x * self.factor + self.shift

    module("testtwice")(Twice)
    try:
        entry = registry.find("module", "testtwice")
        assert entry is not None and entry.options == (Option("factor", "double", REQUIRED), Option("shift", "long", 1))
        assert s.run("evaluate(m:module enlist(`testtwice;2);1 2e)").a.tolist() == [3, 5]
        assert s.run("(state m)~state module state m") is True
    finally:
        registry.remove("module", "testtwice")


def test_a_plain_module_is_shown(s: Session) -> None:
    """A network made by plain Python shows its types, names and options."""
    class Net(NN.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.act = NN.Linear(3, 2), NN.ReLU()

        def forward(self, x: Any) -> Any:
            return self.act(self.a(x))

    s["m"] = ModuleHandle(Net())
    assert [k.s for k in s.run("exec module from module m").items] == ["Net", "linear", "relu"]
    assert [k.s for k in s.run("names m").items] == ["a", "act"]
    assert s.run("size forward(m;4 3#1e)").a.tolist() == [4, 2]
