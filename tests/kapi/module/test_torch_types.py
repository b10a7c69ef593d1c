"""The module types of torch that ktorch has no name for, against torch's modules called directly; options that torch has
and ktorch's types lack."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
import torch
from torch import nn

from kshell import registry
from kshell.kapi.base.convert import as_tensor
from kshell.kapi.base.handles import tensor_handle
from kshell.session import Session

# q's options, torch's module, the sizes of its inputs
TYPES: dict[str, tuple[str, Callable[[], nn.Module], list[tuple[int, ...]]]] = {
    "rnncell": ("3;4", lambda: nn.RNNCell(3, 4), [(2, 3)]),
    "rnncell 2": ("3;4;0b;`relu", lambda: nn.RNNCell(3, 4, False, "relu"), [(2, 3), (2, 4)]),
    "grucell": ("3;4", lambda: nn.GRUCell(3, 4), [(2, 3), (2, 4)]),
    "grucell 2": ("3;4;`bias,0b", lambda: nn.GRUCell(3, 4, False), [(2, 3)]),
    "lstmcell": ("3;4", lambda: nn.LSTMCell(3, 4), [(2, 3)]),
    "lstmcell 2": ("3;4;0b", lambda: nn.LSTMCell(3, 4, False), [(2, 3), (2, 4), (2, 4)]),
    "hardsigmoid": ("", lambda: nn.Hardsigmoid(), [(2, 3)]),
    "hardswish": ("", lambda: nn.Hardswish(), [(2, 3)]),
    "rmsnorm": ("3", lambda: nn.RMSNorm(3), [(2, 3)]),
    "rmsnorm 2": ("2 3;.1;0b", lambda: nn.RMSNorm((2, 3), .1, False), [(4, 2, 3)]),
    "drop1d": (".3", lambda: nn.Dropout1d(.3), [(2, 5, 3)]),
    "pixelshuffle": ("2", lambda: nn.PixelShuffle(2), [(1, 8, 2, 3)]),
    "pixelunshuffle": ("2", lambda: nn.PixelUnshuffle(2), [(1, 2, 4, 6)]),
    "channelshuffle": ("3", lambda: nn.ChannelShuffle(3), [(1, 6, 2)]),
    "unflatten": ("1;2 3", lambda: nn.Unflatten(1, (2, 3)), [(2, 6)]),
    "circular1d": ("1 2", lambda: nn.CircularPad1d((1, 2)), [(1, 2, 3)]),
    "circular2d": ("1 2 0 1", lambda: nn.CircularPad2d((1, 2, 0, 1)), [(1, 1, 2, 3)]),
    "circular3d": ("1", lambda: nn.CircularPad3d(1), [(1, 1, 2, 2, 3)]),
    "zeropad1d": ("1 2", lambda: nn.ZeroPad1d((1, 2)), [(2, 3)]),
    "zeropad3d": ("1", lambda: nn.ZeroPad3d(1), [(1, 1, 2, 2, 3)]),
    "reflect3d": ("1", lambda: nn.ReflectionPad3d(1), [(1, 1, 2, 2, 3)]),
    "encoderlayer": ("4;2;8;0f;`gelu;1b;1b", lambda: nn.TransformerEncoderLayer(
        4, 2, 8, 0., "gelu", batch_first=True, norm_first=True), [(2, 3, 4)]),
    "decoderlayer": ("4;2;8;0f;`batchfirst`normfirst!11b", lambda: nn.TransformerDecoderLayer(
        4, 2, 8, 0., batch_first=True, norm_first=True), [(2, 3, 4), (2, 5, 4)]),
    "transformer": ("4;2;1;1;8;0f;`batchfirst`normfirst!11b", lambda: nn.Transformer(
        4, 2, 1, 1, 8, 0., batch_first=True, norm_first=True), [(2, 3, 4), (2, 5, 4)]),
    "attention": ("4;2;`batchfirst,1b", lambda: nn.MultiheadAttention(4, 2, batch_first=True), [(2, 3, 4)] * 3),
}


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(out=io.StringIO(), err=io.StringIO())


def made(case: str, options: str) -> str:
    name = case.split()[0]
    return f"module enlist(`{name};{options})" if options else f"module`{name}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", TYPES)
def test_against_torch(session: Session, case: str) -> None:
    """The same outputs and gradients from the same parameters, in training with the same random numbers."""
    options, build, sizes = TYPES[case]
    torch.manual_seed(5)
    m = build()
    inputs = [torch.rand(n) * 4 - 2 for n in sizes]
    session.run(f"m:{made(case, options)}")
    for n, p in m.named_parameters():
        session["v"] = tensor_handle(p.detach().clone())
        session.run(f"parm(m;`{n};v)")
    for k, t in enumerate(inputs):
        session[f"x{k}"] = tensor_handle(t.clone())
    args = ";".join(f"x{k}" for k in range(len(inputs)))
    states = case.startswith("lstm") and len(inputs) == 3
    torch.manual_seed(6)
    want = m(inputs[0], (inputs[1], inputs[2])) if states else m(*inputs)
    torch.manual_seed(6)
    session.run(f"r:forward(m;{args})")
    parts = [want] if isinstance(want, torch.Tensor) else list(want)
    got = [as_tensor(session.run("r"))] if isinstance(want, torch.Tensor) else session.run("r").get()
    assert len(got) == len(parts)
    for a, b in zip(got, parts, strict=True):
        assert torch.equal(a, b)
    if any(True for _ in m.parameters()):
        parts[0].sum().backward()
        session.run("backward Sum " + ("r" if len(parts) == 1 else "r 0"))
        for n, p in m.named_parameters():
            if p.grad is not None:
                assert torch.equal(as_tensor(session.run(f"grad enlist parm(m;`{n})")), p.grad), n


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", TYPES)
def test_state(session: Session, case: str) -> None:
    """A module of the state of another has its options and parameters; `str` names torch's class."""
    session.run(f"m:{made(case, TYPES[case][0])};n:module state m")
    assert session.run("(options m)~options n") is True
    assert session.run("(dict parms m)~dict parms n") is True
    assert session.run(f'(first "(" vs str m)~"torch::nn::{TYPES[case][1]().__class__.__name__}"') is True \
        or case in ("encoderlayer", "decoderlayer", "transformer")


def test_listed(session: Session) -> None:
    """They are in help`modules and not in help`module; every one of them is looked at here."""
    session.run("a:exec module from help`module;b:exec module from help`modules")
    names = {e.name for e in registry.entries("module") if e.since == "torch"}
    assert names <= {k.split()[0] for k in TYPES} and names
    assert session.run("all a in b") is True
    blocks = {e.name for e in registry.entries("module") if e.since == "kshell" and e.file.startswith(registry.FOLDER)}
    assert {s.s for s in session.run("b except a").items} == names | blocks


def test_errors(session: Session) -> None:
    for text, message in (
            ("module`lstmcell", "lstmcell: positive input size required"),
            ("module enlist(`grucell;3)", "grucell: positive hidden size required"),
            ("module enlist`pixelshuffle", "pixelshuffle: no factor given"),
            ("forward(module enlist(`lstmcell;2;3);1 2#1e;1 3#1e)",
             "lstmcell: expects 3 tensors for (tensor,tuple) input but 2 given"),
            ("forward(module enlist(`pixelshuffle;2);1 3 1 1#1e)",
             "forward: pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
             "upscale_factor, but input.size(-3)=3 is not divisible by 4")):
        assert session.run("@[{value x;`none};" + '"' + text + '";`$]').s == message


def test_functions(session: Session) -> None:
    """The types as functions."""
    x = torch.rand(1, 8, 2, 2) * 8 - 4
    session["x"] = tensor_handle(x)
    for call, want in (("hardswish x", nn.functional.hardswish(x)), ("hardsigmoid x", nn.functional.hardsigmoid(x)),
                       ("pixelshuffle(x;2)", nn.functional.pixel_shuffle(x, 2)),
                       ("pixelunshuffle(x;2)", nn.functional.pixel_unshuffle(x, 2)),
                       ("channelshuffle(x;4)", nn.functional.channel_shuffle(x, 4))):
        assert torch.equal(as_tensor(session.run(call)), want)
