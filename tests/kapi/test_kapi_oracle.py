"""Functions of modules, tensors, shapes, sparse and complex tensors, vectors, dictionaries, fills and losses of the
k-api against torch called directly (see kapi_oracle)."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
import torch

from kshell import registry
from kshell.k_api import load_kapi
from kshell.kapi.base.convert import as_tensor, is_array, to_q
from kshell.kapi.base.handles import TensorHandle, VectorHandle, tensor_handle
from kshell.kapi.module.functional import FUNCTIONS as WITH_OPTIONS
from kshell.session import Session
from kshell.values.base.core import NIL, Vec, text_of
from kshell.values.base.symbols import Sym
from kshell.values.base.types import C
from tests.kapi.kapi_oracle import CALLS, FILLS, FUNCTIONS, LOSSES

load_kapi()
pytestmark = pytest.mark.filterwarnings("ignore:The given NumPy array")
WEIGHT = torch.tensor([1., 2., 3.], dtype=torch.float64)


def lines(text: str, fields: int) -> list[tuple[str, ...]]:
    return [tuple(line.split("|", fields - 1)) for line in text.strip().split("\n")]


@pytest.fixture(scope="module")
def session() -> Session:
    made = Session(out=io.StringIO(), err=io.StringIO())
    made.names.load_builtins()
    return made


def inputs(text: str) -> list[torch.Tensor]:
    """The inputs of a line: f, u, n, b (0 and 1), s (-1 and 1), c (complex)."""
    g = torch.Generator().manual_seed(3)

    def u(*n: int) -> torch.Tensor:
        return torch.rand(*n, generator=g, dtype=torch.float64)

    made = {"u": u, "f": lambda *n: u(*n) * 4 - 2, "n": lambda high, *n: torch.randint(0, high, n, generator=g),
            "b": lambda *n: (u(*n) > .6).double(), "s": lambda *n: torch.where(u(*n) > .5, 1., -1.).double(),
            "c": lambda *n: torch.complex(u(*n), u(*n)), "torch": torch}
    words = text.replace(") ", ")\n").replace(")\n*", ") *").split("\n") if text else []
    return [eval(word, made) for word in words]


def named(pairs: list[tuple[str, str]]) -> str:
    """Options as a dictionary in q."""
    if len(pairs) == 1:
        return f"(enlist`{pairs[0][0]})!enlist {pairs[0][1]}"
    return "".join("`" + k for k, _ in pairs) + "!(" + ";".join(v for _, v in pairs) + ")"


def statements(text: str) -> list[str]:
    """The statements of a line, parted at semicolons outside of brackets."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == ";" and not depth:
            out.append("")
        else:
            out[-1] += c
    return out


def grid(x: torch.Tensor, rows: int, cols: int, pad: int, value: float) -> torch.Tensor:
    """Images in rows and columns, with a border of one value around each."""
    n, c, h, w = x.shape
    out = torch.full((c, rows * (h + pad) + pad, cols * (w + pad) + pad), value, dtype=x.dtype)
    for k in range(n):
        i, j = divmod(k, cols)
        out[:, pad + i * (h + pad):pad + i * (h + pad) + h, pad + j * (w + pad):pad + j * (w + pad) + w] = x[k]
    return out


def calculate(text: str, given: list[torch.Tensor]) -> Any:
    tools = {"torch": torch, "F": torch.nn.functional, "grid": grid}
    return eval(text, tools, dict(zip("xyz", given, strict=False)))


def plain(v: Any) -> Any:
    """A result as a tensor, or as a Python value."""
    if isinstance(v, TensorHandle):
        return v.get()
    if isinstance(v, VectorHandle):
        return list(v.get())
    if v.__class__ is Sym:
        return v.s
    if v.__class__ in (bool, int, str):
        return v
    if v.__class__ is Vec and v.t == 11:
        return [s.s for s in v.items]
    if getattr(v, "t", None) in (C, -C):
        return text_of(v)
    return as_tensor(v) if is_array(v) else v


def same(got: Any, want: Any) -> None:
    if isinstance(want, torch.Tensor):
        assert isinstance(got, torch.Tensor) and got.dtype == want.dtype and got.shape == want.shape, (got, want)
        assert got.layout == want.layout
        if want.layout is not torch.strided:
            got, want = got.to_dense(), want.to_dense()
        tight = want.dtype in (torch.float64, torch.complex128)
        torch.testing.assert_close(got.detach(), want.detach(), rtol=1e-9 if tight else 1e-5,
                                   atol=1e-12 if tight else 1e-6, equal_nan=True)
    elif isinstance(want, list) and isinstance(got, torch.Tensor):
        assert got.tolist() == want
    else:
        assert got == want


# ------------------------------------------------------------------ functions of modules


NN = lines(FUNCTIONS, 4)


@pytest.mark.parametrize(("name", "args", "text", "given"), NN, ids=[f"{c[0]}-{n}" for n, c in enumerate(NN)])
def test_functions(session: Session, name: str, args: str, text: str, given: str) -> None:
    tensors = inputs(given)
    letters = ";".join("xyz"[:len(tensors)])
    torch.manual_seed(5)
    want = calculate(text, inputs(given))
    forms = [args]
    entry = registry.find("module", name) or next((e for e in WITH_OPTIONS if e.name == name), None)
    values = args.split(";") if args else []
    if entry is not None and 0 < len(values) <= len(entry.options):
        pairs = [(o.name, v) for o, v in zip(entry.options, values, strict=False) if v != "()"]
        forms.append(named(pairs))
    for form in forms:
        call = f"seed 5;{name}({letters}{';' if form else ''}{form})" if form or len(tensors) > 1 else f"seed 5;{name} x"
        for letter, t in zip("xyz", tensors, strict=False):
            session[letter] = tensor_handle(t.clone())
        same(plain(session.run(call)), want)
        for letter, t in zip("xyz", tensors, strict=False):
            assert torch.equal(session[letter].get(), t)
            session[letter] = to_q(t)
        got = session.run(call)
        assert not isinstance(got, TensorHandle)
        same(as_tensor(got), as_tensor(to_q(want)))
    if not tensors[0].is_floating_point():
        return
    own, other = ([t.clone().requires_grad_(t.is_floating_point()) for t in tensors] for _ in range(2))
    for letter, t in zip("xyz", own, strict=False):
        session[letter] = TensorHandle(t)
    call = f"{name}({letters}{';' if args else ''}{args})" if args or len(tensors) > 1 else f"{name} x"
    got = session.run(f"seed 5;{call}").get()
    torch.manual_seed(5)
    want = calculate(text, other)
    for a, b in zip(torch.autograd.grad((got * got).sum(), own), torch.autograd.grad((want * want).sum(), other),
                    strict=True):
        same(a, b)


@pytest.mark.parametrize("name", ["relu", "relu6", "selu", "elu", "celu", "leakyrelu", "hardtanh", "rrelu"])
def test_in_place(session: Session, name: str) -> None:
    """With the flag, the tensor itself changes and nothing is given; an array is not written."""
    (x,) = inputs("f(4, 3)")
    session["x"], session["a"] = TensorHandle(x.clone()), to_q(x)
    want = session.run(f"{name} x").get()
    assert session.run(f"{name}(x;`inplace,1b)") is NIL
    same(session["x"].get(), want)
    same(as_tensor(session.run(f"{name}(a;`inplace,1b)")), want)
    same(as_tensor(session["a"]), x)


def test_random_functions(session: Session) -> None:
    """Crops are parts of the padded image at places that all occur; flips come with their probability."""
    session["x"] = to_q(torch.arange(9).view(3, 3))
    seen = {tuple(as_tensor(session.run("randomcrop(x;2)")).reshape(-1).tolist()) for _ in range(60)}
    assert seen == {(k, k + 1, k + 3, k + 4) for k in (0, 1, 3, 4)}
    session["x"] = to_q(torch.arange(4000).view(2000, 1, 1, 2))
    flipped = sum(r[0] > r[1] for r in as_tensor(session.run("randomflip(x;.3)")).view(-1, 2).tolist())
    assert abs(flipped - 600) < 100


# ------------------------------------------------------------------ calls


MORE = lines(CALLS, 3)


@pytest.mark.parametrize(("call", "given", "text"), MORE, ids=[f"{c[0][:24]}-{n}" for n, c in enumerate(MORE)])
def test_calls(session: Session, call: str, given: str, text: str) -> None:
    for letter, t in zip("xyz", inputs(given), strict=False):
        session[letter] = tensor_handle(t)
    session.run("seed 5")
    *before, last = statements(call[1:-1]) if call.startswith("[") else [call]
    for line in before:
        session.run(line)
    got = plain(session.run(last))
    if "`empty;3 4" in call:
        got = got * 0
    torch.manual_seed(5)
    same(got, calculate(text, inputs(given)))


ARRAYS = [c for c in MORE if c[1] and not c[0].startswith("[") and c[0].split("(")[0].split()[0] in (
    "reshape", "View", "expand", "transpose", "permute", "squeeze", "unsqueeze", "narrow", "index", "cat", "stack")]


@pytest.mark.parametrize(("call", "given", "text"), ARRAYS, ids=[f"{c[0]}-{n}" for n, c in enumerate(ARRAYS)])
def test_shapes_of_arrays(session: Session, call: str, given: str, text: str) -> None:
    """The same calls of arrays give arrays."""
    if "vector" in call or (";y)" in call and call[:2] in ("re", "Vi", "ex")):
        return
    tensors = inputs(given)
    for letter, t in zip("xyz", tensors, strict=False):
        session[letter] = to_q(t)
    session["want"] = to_q(calculate(text, tensors))
    assert session.run(f"want~{call}") is True


SMOOTH = ARRAYS + [c for c in MORE if c[0] in ("real enlist x", "imag enlist x", "dense sparse x", "sparse(x;1)")]


@pytest.mark.parametrize(("call", "given", "text"), SMOOTH, ids=[f"{c[0]}-{n}" for n, c in enumerate(SMOOTH)])
def test_gradients_of_calls(session: Session, call: str, given: str, text: str) -> None:
    """Views, choices and copies pass gradients on as torch's do."""
    own, other = ([t.clone().requires_grad_() for t in inputs(given)] for _ in range(2))
    for letter, t in zip("xyz", own, strict=False):
        session[letter] = TensorHandle(t)
    got, want = session.run(call).get(), calculate(text, other)
    if got.layout is not torch.strided:
        got, want = got.to_dense(), want.to_dense()
    found = torch.autograd.grad((got * got).sum(), own, allow_unused=True)
    for a, b in zip(found, torch.autograd.grad((want * want).sum(), other, allow_unused=True), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            same(a, b)


KINDS = {"j": torch.int64, "i": torch.int32, "h": torch.int16, "e": torch.float32, "f": torch.float64, "b": torch.bool,
         "x": torch.uint8, "c": torch.int8}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", ["", "0", "5", "2 3", "2 3 2", "1 2 1 3"])
def test_conversion(session: Session, kind: str, shape: str) -> None:
    """Arrays of every type and rank become tensors of the type that stands for it, and come back the same."""
    values = {"j": "0N 0W -5 7", "i": "0N 0W -5 7i", "h": "0N 0W -5 7h", "e": "0n 0w -1.5 7e", "f": "0n 0w -1.5 7",
              "b": "0110b", "x": "0x00ff017f", "c": '"a z~"'}[kind]
    session.run(f"x:{shape + '#' if shape else 'last '}{values}")
    session.run("t:tensor x")
    t = session["t"].get()
    assert t.dtype == KINDS[kind] and list(t.shape) == [int(n) for n in shape.split()]
    assert session.run("x~tensor t") is True
    assert text_of(session.run("ktype t")) == kind


# ------------------------------------------------------------------ fills


FILLED = lines(FILLS, 4)


@pytest.mark.parametrize(("name", "args", "text", "shape"), FILLED, ids=[f"{c[0]}-{n}" for n, c in enumerate(FILLED)])
def test_fills(session: Session, name: str, args: str, text: str, shape: str) -> None:
    """Values in place, of a tensor, of one tensor of a vector, of one of a dictionary; of an array, a new one."""
    want = torch.full([int(n) for n in shape.split()], -1.)
    torch.manual_seed(5)
    with torch.no_grad():
        eval(text, {"torch": torch, "t": want})
    make = f"tensor(`full;{shape};-1e)"
    session.run(f"t:{make};v:vector({make};{make});d:dict(`a`b;({make};{make}));a:tensor t")
    assert session.run(f"seed 5;{name}({args})" if args != "t" else f"seed 5;{name} t") is NIL
    same(session["t"].get(), want)
    for owner, key in (("v", "1#1"), ("d", "`b")):
        rest = args[1:]
        assert session.run(f"seed 5;{name}({owner};{key}{rest})") is NIL
        found = session[owner].get()
        same(found[1] if owner == "v" else found["b"], want)
        assert bool((found[0] if owner == "v" else found["a"]).eq(-1).all())
    got = session.run(f"seed 5;{name}(a{args[1:]})" if args != "t" else f"seed 5;{name} a")
    same(as_tensor(got), want)
    assert session.run("all -1=raze over a") is True


def test_gain(session: Session) -> None:
    for q, name in (("linear", "linear"), ("conv2d", "conv2d"), ("sigmoid", "sigmoid"), ("tanh", "tanh"),
                    ("relu", "relu"), ("leakyrelu", "leaky_relu"), ("selu", "selu")):
        if q != "selu":
            assert session.run(f"gain`{q}") == pytest.approx(torch.nn.init.calculate_gain(name))
    assert session.run("gain(`leakyrelu;.3)") == pytest.approx(torch.nn.init.calculate_gain("leaky_relu", .3))


# ------------------------------------------------------------------ losses


LOSS = lines(LOSSES, 4)
REDUCED = [(c, r) for c in LOSS for r in ("none", "mean", "sum")
           if r == "mean" or c[0] not in ("pairwise", "similar")] + [(("kl", "", "f(4, 3).log_softmax(1) u(4, 3)",
                                                                       "KLDivLoss()"), "batchmean")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("case", "reduce"), REDUCED, ids=[f"{c[0]}-{r}-{n}" for n, (c, r) in enumerate(REDUCED)])
def test_losses(session: Session, case: tuple[str, ...], reduce: str) -> None:
    """A loss as a module and as a function, with options in order, by name, reduction last; values and gradients."""
    name, options, given, made = case
    tensors = inputs(given)
    words = [word.partition("=")[::2] for word in options.replace("=1 2 3f", "=1_2_3f").split()]
    words = [(k, v.replace("_", " ")) for k, v in words]
    leaf = tensors[0].clone().requires_grad_()
    extra = {"reduction": reduce} if name not in ("pairwise", "similar") else {}
    tools = {**vars(torch.nn), "W": WEIGHT, "z": tensors[2] if len(tensors) > 2 else None}
    loss = eval(made, tools)
    for key, v in extra.items():
        setattr(loss, key, v)
    rest = tensors[1:2] if name in ("bce", "bcelogits") else tensors[1:]
    want = loss(leaf, *rest)
    (gradient,) = torch.autograd.grad(want.sum(), leaf)
    last = [f"`{reduce}"] if extra else []
    entry = registry.find("loss", name)
    assert entry is not None
    ordered = [k for k, _ in words] == [o.name for o in entry.options][:len(words)]
    pairs = words + ([("reduce", f"`{reduce}")] if extra else [])
    forms = ([";".join([v for _, v in words] + last)] if ordered else []) + ([named(pairs)] if pairs else [])
    letters = "xyzw"[:len(tensors)]
    for form in forms:
        own = tensors[0].clone().requires_grad_()
        for letter, t in zip(letters, [own, *tensors[1:]], strict=True):
            session[letter] = TensorHandle(t)
        session.run(f"l:loss(`{name}{';' if form else ''}{form})" if form else f"l:loss`{name}")
        got = session.run(f"loss(l;{';'.join(letters)})").get()
        same(got, want)
        same(torch.autograd.grad(got.sum(), own)[0], gradient)
        call = {"bcelogits": "bcelogit1" if len(tensors) == 2 else "bcelogit2"}.get(name, name)
        got = session.run(f"{call}({';'.join([*letters, *([form] if form else [])])})").get()
        same(got, want)
        for letter, t in zip(letters, tensors, strict=True):
            session[letter] = to_q(t)
        same(as_tensor(session.run(f"{call}({';'.join([*letters, *([form] if form else [])])})")), want)


# ------------------------------------------------------------------ what is covered


def test_every_function_has_an_oracle() -> None:
    """Each function of these families has a line; others are tested elsewhere by name."""
    text = "\n".join([FUNCTIONS, CALLS, FILLS, LOSSES])
    known = set(re.findall(r"[A-Za-z]\w*", text)) | {"bcelogit1", "bcelogit2", "gain"}
    families = {"functional", "functions of modules", "shape", "sparse", "complex", "containers", "create", "to",
                "init", "losses", "info", "gradients", "batch_view"}
    elsewhere = {"info", "detail", "options", "zerograd", "nograd", "png", "callbacks", "loss"}
    assert {e.name for e in registry.entries("api") if e.topic.rpartition(".")[2] in families and e.since == "ktorch"} - known <= elsewhere
    assert {e.name for e in registry.entries("loss")} <= known
