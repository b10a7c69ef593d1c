"""Every module type forward and backward, in training and in evaluation, against torch's module called directly or a
plain calculation (see module_oracle); options by position and by name, defaults, `str` and `help`."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from kshell import registry
from kshell.errors import QError
from kshell.k_api import load_kapi
from kshell.kapi.base.convert import as_tensor
from kshell.kapi.base.handles import TensorHandle, VectorHandle
from kshell.kapi.module.options import class_of, live_values, options_dict
from kshell.registry import REQUIRED
from kshell.session import Session
from kshell.values.base.core import text_of
from tests.kapi.module.module_oracle import CONTAINERS, HEADS, OWN, STRINGS, TORCH

load_kapi()
Calc = Callable[..., Any]


def lines(text: str, fields: int) -> list[tuple[str, ...]]:
    return [tuple(line.split("|", fields - 1)) for line in text.strip().split("\n")]


CASES = lines(TORCH, 4)
OWNS = lines(OWN, 4)
BUILT = lines(CONTAINERS, 3)
TYPES = {e.name: e for e in registry.entries("module") if e.since == "ktorch"}


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(out=io.StringIO(), err=io.StringIO())


# ------------------------------------------------------------------ what the tables say


def inputs(text: str) -> list[torch.Tensor]:
    """The inputs of a line."""
    g = torch.Generator().manual_seed(3)
    made = {"f": lambda *n: torch.rand(*n, generator=g) * 4 - 2, "u": lambda *n: torch.rand(*n, generator=g) + .1,
            "n": lambda high, *n: torch.randint(0, high, n, generator=g), "torch": torch, "float": float}
    return [eval(word, made) for word in text.replace(") ", ")\n").replace(")\n*", ") *").split("\n")]


def lin(p: dict[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    return torch.einsum("...i,oi->...o", x, p[name + ".weight"]) + p[name + ".bias"]


def relu(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, torch.zeros(()))


def standard(x: torch.Tensor) -> torch.Tensor:
    """The rows with mean 0 and variance 1."""
    away = x - x.sum(-1, keepdim=True) / x.shape[-1]
    return away / ((away ** 2).sum(-1, keepdim=True) / x.shape[-1] + 1e-5) ** .5


def attend(p: dict[str, torch.Tensor], x: torch.Tensor, mask: Any = None, padding: Any = None) -> torch.Tensor:
    """Attention of a sequence to itself with 2 heads, a head and a sample at a time."""
    both = torch.einsum("bni,oi->bno", x, p["in.weight"]) + p.get("in.bias", torch.zeros(()))
    size = x.shape[-1]
    out = []
    for b in range(len(x)):
        heads = []
        for h in range(2):
            q, k, v = (both[b][:, part * size + h * size // 2:part * size + (h + 1) * size // 2] for part in range(3))
            score = q @ k.T / (size // 2) ** .5
            if mask is not None:
                score = score + mask
            if padding is not None:
                score = torch.where(padding[b][None, :], torch.tensor(-float("inf")), score)
            e = (score - score.max(1, keepdim=True).values).exp()
            heads.append(e / e.sum(1, keepdim=True) @ v)
        out.append(torch.hstack(heads))
    return lin(p, "out", torch.stack(out))


def recur(p: dict[str, torch.Tensor], x: torch.Tensor, detach: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """An Elman layer step by step, after and before linear layers if there are any."""
    x = lin(p, "in.0", x) if "in.0.weight" in p else x
    h, out = torch.zeros(x.shape[1], 4), []
    for step in x:
        h = (step @ p["rnn.weight_ih_l0"].T + p["rnn.bias_ih_l0"] + h @ p["rnn.weight_hh_l0"].T +
             p["rnn.bias_hh_l0"]).tanh()
        out.append(h)
    y = torch.stack(out)
    return (lin(p, "out.0", y) if "out.0.weight" in p else y), h[None].detach() if detach else h[None]


def nbeats(p: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(len(x), 2)
    for block in "01":
        total = total + lin(p, f"{block}.0.qb.0", x)
        x = x - lin(p, f"{block}.0.qa.0", x)
    return total


def keep(q: float, n: int) -> torch.Tensor:
    """Which samples are kept."""
    return (torch.rand(n, 1) + q >= 1).float()[:, 0]


def crop(x: torch.Tensor, size: int) -> torch.Tensor:
    i, j = int(torch.randint(x.shape[-2] - size + 1, (1,))), int(torch.randint(x.shape[-1] - size + 1, (1,)))
    return x[..., i:i + size, j:j + size]


def flips(x: torch.Tensor) -> torch.Tensor:
    chosen = torch.rand(len(x), dtype=torch.float64) < .5
    return torch.stack([image.flip(-2) if c else image for image, c in zip(x, chosen, strict=True)])


class Pair(torch.nn.Module):
    """A recurrent layer that takes its two states one after the other."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any, h: Any, c: Any) -> Any:
        return self.layer(x, (h, c))


TOOLS: dict[str, Any] = {
    "torch": torch, "NN": torch.nn, "pair": Pair, "float": float, **{f.__name__: f for f in (
        lin, relu, standard, attend, recur, nbeats, keep, crop, flips)}}


def flat(out: Any) -> list[torch.Tensor]:
    return [out] if isinstance(out, torch.Tensor) else [t for v in out if v is not None for t in flat(v)]


# ------------------------------------------------------------------ the comparison


def value(total: list[torch.Tensor]) -> torch.Tensor:
    """One number of outputs, in which every element has its own weight."""
    parts = [t for t in total if t.is_floating_point() and t.requires_grad]
    return sum((t * torch.linspace(.5, 1.5, t.numel()).view(t.shape)).sum() for t in parts)  # type: ignore[return-value]


def leaves(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [t.clone().requires_grad_(t.is_floating_point() and bool(t.isfinite().all())) for t in tensors]


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


def compare(session: Session, calc: Calc, params: dict[str, torch.Tensor], given: list[torch.Tensor]) -> None:
    """The module m of the session and a calculation: outputs in evaluation and training, gradients of inputs and
    parameters."""
    names = "xyz"[:len(given)]
    for train, verb in ((False, "eforward"), (True, "forward")):
        own, other = leaves(given), leaves(given)
        for name, t in zip(names, own, strict=True):
            session[name] = TensorHandle(t * 1 if t.requires_grad else t)  # modules may work in place
        torch.manual_seed(5)
        want = flat(calc(train, *(t * 1 if t.requires_grad else t for t in other)))
        got = session.run(f"seed 5;{verb}(m;{';'.join(names)})")
        found = list(got.get()) if isinstance(got, VectorHandle) else [got.get()]
        for a, b in zip(found, want, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            close(a.detach(), b.detach())
    if any(t.requires_grad for t in want):
        mine = dict(session["m"].obj.named_parameters())
        theirs = [*(t for t in other if t.requires_grad), *(params[k] for k in mine)]
        ours = [*(t for t in own if t.requires_grad), *mine.values()]
        expected = torch.autograd.grad(value(want), theirs, allow_unused=True)
        for a, b in zip(torch.autograd.grad(value(found), ours, allow_unused=True), expected, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                close(a, b)


def state(m: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name; a Pair's are its layer's."""
    return {k.removeprefix("layer."): t for k, t in m.state_dict().items()}


def spec(name: str, args: str) -> str:
    return f"enlist(`{name};{args})" if args else f"`{name}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "args", "made", "given"), CASES, ids=[f"{c[0]}-{n}" for n, c in enumerate(CASES)])
def test_torch_modules(session: Session, name: str, args: str, made: str, given: str) -> None:
    torch.manual_seed(7)
    plain = eval(made, TOOLS)
    session.run(f"seed 7;m:module {spec(name, args)}")
    mine = session["m"].obj
    found, known = state(mine), state(plain)
    assert found.keys() == known.keys() and all(torch.equal(t, known[k]) for k, t in found.items())

    def calc(train: bool, *x: torch.Tensor) -> Any:
        plain.train(train)
        return plain(*x)

    compare(session, calc, {k.removeprefix("layer."): p for k, p in plain.named_parameters()}, inputs(given))
    for k, t in state(mine).items():
        close(t, state(plain)[k])  # running statistics


def calculation(text: str, params: dict[str, torch.Tensor]) -> Calc:
    code = compile(text, text, "eval")
    return lambda train, *x: eval(code, TOOLS, {"p": params, "t": train, **dict(zip("xyz", x, strict=False))})


def clones(m: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {k: t.detach().clone().requires_grad_() for k, t in m.named_parameters()}


@pytest.mark.parametrize(("name", "args", "text", "given"), OWNS, ids=[f"{c[0]}-{n}" for n, c in enumerate(OWNS)])
def test_own_modules(session: Session, name: str, args: str, text: str, given: str) -> None:
    session.run(f"seed 7;m:module {spec(name, args)}")
    params = clones(session["m"].obj)
    compare(session, calculation(text.replace("==", " == "), params), params, inputs(given))


@pytest.mark.parametrize(("made", "text", "given"), BUILT, ids=[f"{c[0][:12]}-{n}" for n, c in enumerate(BUILT)])
def test_containers(session: Session, made: str, text: str, given: str) -> None:
    session.run(f"seed 7;m:module {made}")
    params = clones(session["m"].obj)
    compare(session, calculation(text, params), params, inputs(given))


def test_containers_without_calculation(session: Session) -> None:
    """A dictionary or list of modules has no forward; a dictionary of parameters holds them for `parm`."""
    for made in ("`moduledict", "`modulelist", "enlist(`parmdict;`a`b!(1 2e;3e))"):
        session.run(f"m:module {made}")
        with pytest.raises(QError):
            session.run("forward(m;1 2e)")
    session.run("backward sum b*b:2*parm(m;`a)")
    assert session["m"].obj["a"].grad.tolist() == [8, 16]


def test_every_type_has_a_reference() -> None:
    known = {c[0] for c in CASES} | {c[0] for c in OWNS}
    text = CONTAINERS
    built = {name for name in TYPES if f"`{name}" in text}
    assert set(TYPES) - known - built == {"moduledict", "modulelist", "parmdict"}
    assert len(TYPES) == 126


# ------------------------------------------------------------------ options


def split(args: str) -> list[str]:
    """The options of a line; those in brackets are one."""
    out, depth = [""], 0
    for c in args:
        depth += (c == "(") - (c == ")")
        if c == ";" and not depth:
            out.append("")
        else:
            out[-1] += c
    return out


NAMED = [(c[0], c[1]) for c in CASES + OWNS if c[1]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "args"), NAMED, ids=[f"{n}-{k}" for k, (n, _) in enumerate(NAMED)])
def test_options_by_name(session: Session, name: str, args: str) -> None:
    """The same options in order, as pairs and as a dictionary; the live module tells them again."""
    entry = TYPES[name]
    values = split(args)
    names = [o.name for o in entry.options]
    if values[-1] in ("1b", "0b") and entry.record.shortflag and len(values) < len(names):
        return
    if name == "embedbag" and values[-1].startswith("`"):
        names = ["rows", "cols", "maxnorm", "p", "scale", "mode"]
    elif name == "embed":
        names = ["rows", "cols", "padindex", "maxnorm", "p", "scale"]
    given = [(k, v) for k, v in zip(names, values, strict=False) if v != "()"]
    session.run(f"a:module enlist(`{name};{args})")
    pairs = ";".join(f"(`{k};{v})" for k, v in given)
    keys = "".join("`" + k for k, _ in given)
    both = ";".join(v for _, v in given)
    nested = name in ("encoder", "decoder")  # whose first option looks like pairs
    forms = [f"enlist(`{name};({pairs}))"] if len(given) > 1 and not nested else []
    forms.append(f"enlist(`{name};{keys}!({both}))" if len(given) > 1 else
                 f"enlist(`{name};(enlist`{given[0][0]})!enlist {given[0][1]})")
    for form in forms:
        session.run(f"b:module {form}")
        assert session.run("module[(a;1b)]~module(b;1b)") is True, form
        assert session.run("module[(a;0b)]~module(b;0b)") is True, form


@pytest.mark.parametrize("name", sorted(TYPES))
def test_defaults(name: str) -> None:
    """A module of the required options alone has the defaults that help shows."""
    entry = TYPES[name]
    if entry.record.make or any(o.default is REQUIRED and o.name not in entry.record.example
                                      for o in entry.options):
        return
    example = entry.record.example
    cls = class_of(entry)
    args = {(o.torch or o.name): torch.tensor(example[o.name]) if o.type == "tensor" else example[o.name]
            for o in entry.options if o.default is REQUIRED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = cls(**{**entry.record.own, **args})
    live = live_values(entry, m)
    for o in entry.options:
        if o.default is not REQUIRED:
            other = entry.record.like.get(o.name)
            want = live[other] if other else o.default
            got = live.get(o.name, o.default) if entry.record.hide else live[o.name]  # defaults may be hidden
            assert (set(got) if isinstance(got, tuple) else {got}) == {want} or got == want, o.name
    assert {k.s for k in options_dict(entry).k.items} >= {o.name for o in entry.options} or entry.record.hide


# ------------------------------------------------------------------ text


@pytest.mark.parametrize(("made", "text"), lines(STRINGS, 2), ids=lambda v: v[:24])
def test_string_forms(session: Session, made: str, text: str) -> None:
    session.run(f"m:module {made}")
    assert text_of(session.run("str m")) == text.replace("\\n", "\n")


@pytest.mark.filterwarnings("ignore")
def test_every_type_has_a_string_form(session: Session) -> None:
    for name, head in HEADS.items():
        session.run(f"m:module {next(spec(c[0], c[1]) for c in CASES if c[0] == name)}")
        assert text_of(session.run("str m")).startswith(head + "\n  (")
    assert {name for name in TYPES if f"`{name}" not in STRINGS} <= set(HEADS)


@pytest.mark.parametrize("kind", ["module", "loss"])
def test_help(session: Session, kind: str) -> None:
    """The table of help has a row each; help`name is a loss's row, and a module type's options; options`name both's."""
    names = [r.s for r in session.run(f"exec module from help`{kind}").items]
    assert names == sorted(names)
    assert set(names) >= {e.name for e in registry.entries(kind) if e.since == "ktorch"}
    table = ["module", "pytorch", "forward", "result", "n", "args", "options"]
    assert [k.s for k in session.run(f"cols help`{kind}").items] == table
    for name in names:
        session.run(f"h:first select from help[`{kind}] where module=`{name}")
        row = kind == "loss" and registry.find("module", name) is None  # two are module types too
        assert session.run(f"(help`{name})~{'h' if row else 'h`options'}") is True
        assert session.run(f"h[`options]~options`{name}") is True
    assert len(names) == {"module": 128, "loss": 21}[kind]


def test_help_optimizers(session: Session) -> None:
    names = [r.s for r in session.run("exec optimizer from help`optimizer").items]
    assert names == ["adagrad", "adam", "adamw", "lamb", "lbfgs", "rmsprop", "sgd"]
    for name in names:
        assert session.run(f"(help`{name})~first exec options from help[`optimizer] where optimizer=`{name}") is True


# ------------------------------------------------------------------ calls on modules

# q text; what torch says of the same module m (its gradients are those of the sum of m(x))
CALLS = """
names m|[k for k, _ in m.named_modules() if k]
childnames m|[k for k, _ in m.named_children()]
parmnames m|[k for k, _ in m.named_parameters()]
buffernames m|[k for k, _ in m.named_buffers()]
parmnames(m;`b)|[k for k, _ in m.b.named_parameters()]
parm(m;`a.weight)|m.a.weight
buffer(m;`b.running_var)|m.b.running_var
key dict parms m|[k for k, _ in m.named_parameters()]
key dict buffers m|[k for k, _ in m.named_buffers()]
tensor(parms m;`d.bias)|m.d.bias
dtype m|["float"] * 6
training m|m.training
numel parm(m;`a.weight)|m.a.weight.numel()
elements m|sum(t.numel() for t in [*m.parameters(), *m.buffers()])
bytes m|sum(t.numel() * t.element_size() for t in [*m.parameters(), *m.buffers()])
tensorcount m|len(list(m.parameters())) + len(list(m.buffers()))
value moduletypes m|["sequential", "linear", "batchnorm1d", "relu", "linear"]
value parmtypes m|["linear"] * 2 + ["batchnorm1d"] * 2 + ["linear"] * 2
inputmodule m|"linear"
outputmodule m|"linear"
clone(m)|None
grad enlist parm(m;`d.weight)|m.d.weight.grad
clip(m;.1)|float(NN.utils.clip_grad_norm_(m.parameters(), .1))
clip(m;.1;1f)|float(NN.utils.clip_grad_norm_(m.parameters(), .1, 1.))
clip(m;.1;3f)|float(NN.utils.clip_grad_norm_(m.parameters(), .1, 3.))
clipv(m;.01)|NN.utils.clip_grad_value_(m.parameters(), .01)
zerograd m|[p.grad.zero_() for p in m.parameters()] and None
nograd m|m.zero_grad()
freeze m|m.requires_grad_(False) and None
freeze(m;`a.weight`d.bias)|[p.requires_grad_(False) for p in (m.a.weight, m.d.bias)] and None
gradflag(m;0b)|m.requires_grad_(False) and None
to(m;`double)|m.double() and None
training(m;0b)|m.eval() and None
parm(m;`d.bias;7 8e)|m.d.bias.data.copy_(torch.tensor([7., 8.])) is None
"""


def flags(m: torch.nn.Module) -> list[Any]:
    return [(k, p.requires_grad, p.dtype) for k, p in m.named_parameters()] + [k.training for k in m.modules()]


@pytest.mark.parametrize(("call", "text"), lines(CALLS, 2), ids=[c[0] for c in lines(CALLS, 2)])
def test_calls_on_modules(session: Session, call: str, text: str) -> None:
    """What a call says, and what the module is afterwards: values, gradients, modes, flags."""
    nn = torch.nn
    torch.manual_seed(7)
    plain = nn.Sequential()
    for name, part in (("a", nn.Linear(3, 4)), ("b", nn.BatchNorm1d(4)), ("c", nn.ReLU()), ("d", nn.Linear(4, 2))):
        plain.add_module(name, part)
    session.run("seed 7;m:module seq(`sequential;(`linear;`a;3;4);(`batchnorm1d;`b;4);`relu`c;(`linear;`d;4;2))")
    (x,) = inputs("f(5, 3)")
    session["x"] = TensorHandle(x)
    plain(x).sum().backward()
    session.run("backward Sum forward(m;x)")
    got = session.run(call)
    want = eval(text, {"m": plain, "torch": torch, "NN": nn})
    if isinstance(want, torch.Tensor):
        close(got.get(), want)
    elif isinstance(want, list):
        items = got.v.items if call.startswith("dtype") else got.items
        assert [s.s for s in items] == want
    elif want is not None and call[:4] != "parm":
        assert (got.s if isinstance(want, str) else got) == (pytest.approx(want) if isinstance(want, float) else want)
    mine = session["m"].obj
    assert flags(mine) == flags(plain)
    for a, b in zip(mine.state_dict().values(), plain.state_dict().values(), strict=True):
        close(a, b)
    for p, q in zip(mine.parameters(), plain.parameters(), strict=True):
        assert (p.grad is None) == (q.grad is None)
        if p.grad is not None:
            close(p.grad, q.grad)


def test_clone(session: Session) -> None:
    session.run("m:module enlist(`linear;3;4);n:clone m")
    a, b = session["m"].obj, session["n"].obj
    assert all(torch.equal(p, q) and p.data_ptr() != q.data_ptr()
               for p, q in zip(a.parameters(), b.parameters(), strict=True))


def test_averages(session: Session) -> None:
    """Averages of parameters as torch's AveragedModel keeps them."""
    session.run("seed 7;m:module enlist(`linear;3;4);p:copyparms m")
    torch.manual_seed(7)
    plain = torch.nn.Linear(3, 4)
    averaged = torch.optim.swa_utils.AveragedModel(plain)
    averaged.update_parameters(plain)
    for k in range(4):
        with torch.no_grad():
            for t in [*plain.parameters(), *session["m"].obj.parameters()]:
                t.add_(k * t.abs())
        averaged.update_parameters(plain)
        assert session.run("avgparms(m;p)") == k + 2
    for name, t in averaged.module.named_parameters():
        close(session["p"].get()[name], t)
    session.run("copyparms(m;p)")
    for a, b in zip(session["m"].obj.parameters(), averaged.module.parameters(), strict=True):
        close(a, b)


@pytest.mark.parametrize("mode", ["free", "retain", "create", "createfree"])
def test_backward_modes(session: Session, mode: str) -> None:
    """The gradients are the same; the graph can be used again, and the gradients derived, where the mode says so."""
    session.run(f"x:tensor(1 2 3f;`grad);y:Sum x*x*x;backward(y;`{mode})")
    g = session["x"].get().grad
    close(g.detach(), 3 * torch.tensor([1., 2., 3.], dtype=torch.float64) ** 2)
    assert g.requires_grad is (mode in ("create", "createfree"))
    if mode in ("free", "createfree"):
        with pytest.raises(QError):
            session.run("backward y")
    else:
        session.run("backward y")
        close(session["x"].get().grad.detach(), 6 * torch.tensor([1., 2., 3.], dtype=torch.float64) ** 2)


# q text on a model of 10 rows x, y in batches of 4, and 5 test rows in batches of 3; what it gives
DATA = """
datasize m|10
testsize m|5
batchinit m|3
testinit m|2
data m|[x, y]
testdata m|[x[:5], y[:5]]
tensor input m|x
tensor target m|y
tensor testinput m|x[:5]
tensor testtarget m|y[:5]
{r:();while[batch m;r,:enlist tensor input m];r}[]|[x[:4], x[4:8], x[8:]]
{r:();while[batch m;r,:enlist tensor target m];r}[]|[y[:4], y[4:8], y[8:]]
{r:();while[testbatch m;r,:enlist tensor testinput m];r}[]|[x[:3], x[3:5]]
{r:();while[testbatch m;r,:enlist tensor testtarget m];r}[]|[y[:3], y[3:5]]
{batch m;restore m}[]|10
{testbatch m;testrestore m}[]|5
{batch m;restore m;tensor input m}[]|x
{shuffle m;asc first each tensor input m}[]|x[:, 0]
{shuffle m;unshuffle m;tensor input m}[]|x
{seed 5;shuffle m;tensor target m}[]|y[torch.randperm(10)]
{[]input(m;1+x);tensor input m}[]|x + 1
{[]testtarget(m;1+5#y);tensor testtarget m}[]|y[:5] + 1
train(m;`batchsize)|4
{batchinit m;batch m;backstep m}[]|loss(net(x[:4]), y[:4])
{batchinit m;batch m;backward m}[]|loss(net(x[:4]), y[:4])
tensor eforward m|net(x[:5])
tensor forward(m;x)|net(x)
tensor loss(m;forward(m;x);y)|loss(net(x), y)
testrun m|(loss(net(x[:3]), y[:3]) + loss(net(x[3:5]), y[3:5])) / 2
"""


@pytest.mark.parametrize(("call", "text"), lines(DATA, 2), ids=[c[0] for c in lines(DATA, 2)])
def test_data_of_models(session: Session, call: str, text: str) -> None:
    torch.manual_seed(7)
    net = torch.nn.Sequential(torch.nn.Linear(3, 2))
    session.run("seed 7;q:module seq(`sequential;(`linear;3;2));o:opt(`sgd;q;.001);m:model(q;loss`mse;o);"
                "x:10 3#.1e*til 30;y:10 2#.1e*til 20;train(m;`batchsize;4);test(m;`batchsize;3);data(m;x;y);"
                "testdata(m;5#x;5#y)")
    x, y = (as_tensor(session[k]) for k in "xy")
    torch.manual_seed(5)
    want = eval(text, {"torch": torch, "net": net, "loss": torch.nn.MSELoss(), "x": x, "y": y})
    got = session.run(call)
    if isinstance(want, list):
        assert len(got.items) == len(want)
        for a, b in zip(got.items, want, strict=True):
            close(as_tensor(a), b)
    elif isinstance(want, torch.Tensor):
        close(as_tensor(got).float(), want.detach())
    else:
        assert got == want
