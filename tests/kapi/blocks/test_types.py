"""The module types of today's blocks: each against torch's own functions, its state, its snapshot, its errors."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from kshell import registry
from kshell.errors import QError
from kshell.kapi.base.convert import as_tensor
from kshell.kapi.base.handles import tensor_handle
from kshell.session import Session
from tests.support import warm

W = dict[str, Tensor]
B, N, D, H = 2, 6, 16, 4  # rows, places, size, heads


def turned(x: Tensor, base: float = 10000.0, dim: int = 0, adjacent: bool = False, strength: float = 1.0,
           rates: Tensor | None = None) -> Tensor:
    """Rotary positions by complex numbers, in double precision."""
    dim = dim or x.shape[-1]
    rates = base ** -(torch.arange(0, dim, 2).double() / dim) if rates is None else rates
    angles = torch.outer(torch.arange(x.shape[-2]).double(), rates)
    part = x[..., :dim].double()
    pairs = part.unflatten(-1, (-1, 2)) if adjacent else torch.stack(part.chunk(2, -1), -1)
    out = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.full_like(angles, strength), angles))
    out = out.flatten(-2) if adjacent else torch.cat(out.unbind(-1), -1)
    return torch.cat((out.float(), x[..., dim:]), -1)


def llama3(dim: int, base: float, factor: float, length: int, low: float, high: float) -> Tensor:
    """Rates as the paper of Llama 3 and its code describe them, one by one."""
    out = []
    for i in range(0, dim, 2):
        rate = base ** (-i / dim)
        wave = 2 * math.pi / rate
        if wave < length / high:
            out.append(rate)
        elif wave > length / low:
            out.append(rate / factor)
        else:
            share = (length / wave - low) / (high - low)
            out.append((1 - share) * rate / factor + share * rate)
    return torch.tensor(out).double()


def yarn(dim: int, base: float, factor: float, length: int, low: float, high: float) -> Tensor:
    def pair(turns: float) -> float:
        return dim * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))

    first, last = max(math.floor(pair(high)), 0), min(math.ceil(pair(low)), dim - 1)
    out = []
    for i in range(dim // 2):
        share = min(max((i - first) / (last - first), 0), 1)
        rate = base ** (-2 * i / dim)
        out.append(rate / factor * share + rate * (1 - share))
    return torch.tensor(out).double()


def longrope(x: Tensor, divisors: list[float]) -> Tensor:
    return torch.tensor([10000 ** (-2 * i / x.shape[-1]) / d for i, d in enumerate(divisors)]).double()


def attend(x: Tensor, w: W, heads: int = H, kv: int = H, size: int = D // H, turn: Callable[[Tensor], Tensor] = lambda t: t,
           names: str = "q k v out", window: int = 0, causal: bool = True, bias: Tensor | None = None,
           scale: float | None = None) -> Tensor:
    """Attention by scaled_dot_product_attention, with keys repeated and a mask written out."""
    def layer(name: str, t: Tensor) -> Tensor:
        return F.linear(t, w[f"{name}.weight"], w.get(f"{name}.bias"))

    q, k, v, *out = names.split()
    def split(name: str, n: int) -> Tensor:
        return layer(name, x).unflatten(-1, (n, size)).transpose(1, 2)

    keys, values = (t.repeat_interleave(heads // kv, 1) for t in (turn(split(k, kv)), split(v, kv)))
    at = torch.arange(x.shape[1])
    apart = at[:, None] - at[None, :]
    allowed = (apart >= 0) | (not causal)
    if window:
        allowed &= apart.abs() < window
    mask = torch.zeros(len(at), len(at)).masked_fill(~allowed, -torch.inf) + (0 if bias is None else bias)
    found = F.scaled_dot_product_attention(turn(split(q, heads)), keys, values, mask, scale=scale).transpose(1, 2).flatten(2)
    return layer(out[0], found) if out else found


def slopes(n: int) -> list[float]:
    if math.log2(n).is_integer():
        return [2 ** (-8 * (i + 1) / n) for i in range(n)]
    power = 2 ** math.floor(math.log2(n))
    return slopes(power) + slopes(2 * power)[0::2][: n - power]


def far(heads: int, n: int = N) -> Tensor:
    at = torch.arange(n)
    return -torch.tensor(slopes(heads))[:, None, None] * (at[:, None] - at[None, :]).abs()


def gated(x: Tensor, w: W, fn: Callable[[Tensor], Tensor] = F.silu, names: str = "gate up down", at: str = "") -> Tensor:
    gate, up, down = (lambda t, n=n: F.linear(t, w[f"{at}{n}.weight"], w.get(f"{at}{n}.bias")) for n in names.split())
    return down(fn(gate(x)) * up(x))


def experts(x: Tensor, w: W, top: int = 2, norm: bool = True) -> Tensor:
    """Every place for itself."""
    out = torch.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            shares = torch.softmax(w["gate.weight"] @ x[i, j], -1)
            best = shares.argsort(descending=True)[:top]
            total = shares[best].sum() if norm else 1
            for e in best.tolist():
                out[i, j] += shares[e] / total * gated(x[i, j], w, at=f"experts.{e}.")
    return out


def adapted(x: Tensor, w: W, strength: float, dora: bool = False) -> Tensor:
    full = w["base_layer.weight"] + strength * w["lora_B.weight"] @ w["lora_A.weight"]
    if dora:
        full = w["lora_magnitude_vector"][:, None] * full / full.norm(dim=1, keepdim=True)
    return F.linear(x, full, w.get("base_layer.bias"))


def branches(x: Tensor, w: W) -> Tensor:
    x = x + F.linear(F.layer_norm(x, (D,), w["0.weight"], w["0.bias"]), w["1.weight"], w["1.bias"])
    return x + torch.tanh(torch.relu(x))


def skipped(x: Tensor, w: W) -> Tensor:
    y = torch.tanh(F.linear(x, w["0.weight"], w["0.bias"]))
    return F.layer_norm(F.linear(torch.relu(y), w["out.dense.weight"], w["out.dense.bias"]) + y, (D,),
                        w["out.LayerNorm.weight"], w["out.LayerNorm.bias"], 1e-5)


def patches(x: Tensor, w: W) -> Tensor:
    weight = w["patch_embeddings.projection.weight"]
    cut = F.unfold(x, 4, stride=4).transpose(1, 2) @ weight.flatten(1).t() + w["patch_embeddings.projection.bias"]
    return torch.cat((w["cls_token"].expand(len(x), 1, D), cut), 1) + w["position_embeddings"]


def words(x: Tensor, w: W, kinds: Tensor) -> Tensor:
    total = w["word_embeddings.weight"][x] + w["position_embeddings.weight"][: x.shape[1]] + w["token_type_embeddings.weight"][kinds]
    return F.layer_norm(total, (D,), w["LayerNorm.weight"], w["LayerNorm.bias"], 1e-12)


def floats(*size: int) -> Tensor:
    return torch.randn(size)


X = floats(B, N, D)
HEADS = floats(B, H, N, 8)
IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
KINDS = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1]])
MASK = torch.rand(N, N) < 0.5
MASK |= torch.eye(N, dtype=torch.bool)
# a definition, its inputs, and what it gives, from the inputs and its weights
CASES: dict[str, tuple[str, tuple[Tensor, ...], Callable[..., Any]]] = {
    "rope": ("`rope", (HEADS,), lambda x, w: turned(x)),
    "rope, a part": ("(`rope;500f;4)", (HEADS,), lambda x, w: turned(x, 500, 4)),
    "rope, neighbours": ("(`rope;100f;0N;1b)", (HEADS,), lambda x, w: turned(x, 100, 0, True)),
    "rope, linear": ("(`rope;`scaling`factor!(`linear;4f))", (HEADS,),
                     lambda x, w: turned(x, rates=10000 ** -(torch.arange(0, 8, 2).double() / 8) / 4)),
    "rope, llama3": ("(`rope;500f;`scaling`factor`length`low`high!(`llama3;8f;40;1f;4f))", (HEADS,),
                     lambda x, w: turned(x, rates=llama3(8, 500, 8, 40, 1, 4))),
    "rope, dynamic": ("(`rope;`scaling`factor`length!(`dynamic;4f;3))", (HEADS,),
                      lambda x, w: turned(x, 10000 * (4 * x.shape[-2] / 3 - 3) ** (x.shape[-1] / (x.shape[-1] - 2)))),
    "rope, dynamic, within": ("(`rope;`scaling`factor`length!(`dynamic;4f;4000))", (HEADS,), lambda x, w: turned(x)),
    "rope, longrope": ("(`rope;`scaling`factor`length`short`long!(`longrope;4f;4000;1 2 3 4f;3 4 5 6f))", (HEADS,),
                       lambda x, w: turned(x, rates=longrope(x, [1, 2, 3, 4]), strength=math.sqrt(1 + math.log(4) / math.log(4000)))),
    "rope, longrope, beyond": ("(`rope;`scaling`length`short`long`attention!(`longrope;3;1 2 3 4f;3 4 5 6f;.5))", (HEADS,),
                               lambda x, w: turned(x, rates=longrope(x, [3, 4, 5, 6]), strength=.5)),
    "rope, yarn": ("(`rope;500f;`scaling`factor`length`low`high!(`yarn;8f;4000;1f;32f))", (HEADS,),
                   lambda x, w: turned(x, rates=yarn(8, 500, 8, 4000, 1, 32), strength=1 + 0.1 * math.log(8))),
    "rope, yarn, attention": ("(`rope;`scaling`factor`length`low`high`attention!(`yarn;2f;4000;1f;32f;.5))", (HEADS,),
                              lambda x, w: turned(x, rates=yarn(8, 10000, 2, 4000, 1, 32), strength=.5)),
    "positions": ("(`positions;9;16)", (X,), lambda x, w: x + w["weight"][:N]),
    "positions, offset": ("(`positions;9;16;2)", (X,), lambda x, w: x + w["weight"][2: N + 2]),
    "alibi": ("(`alibi;4)", (floats(B, 4, N, N),), lambda x, w: x + far(4)),
    "alibi, no power of 2": ("(`alibi;6)", (floats(B, 6, N, N),), lambda x, w: x + far(6)),
    "alibi, fewer queries": ("(`alibi;4)", (floats(B, 4, 2, N),), lambda x, w: x + far(4)[:, -2:]),
    "gqa": ("(`gqa;16;4)", (X,), lambda x, w: attend(x, w)),
    "gqa, shared": ("(`gqa;16;4;2)", (X,), lambda x, w: attend(x, w, kv=2)),
    "gqa, one": ("(`gqa;16;4;1;`bias`outbias!11b)", (X,), lambda x, w: attend(x, w, kv=1)),
    "gqa, rope": ("(`gqa;16;4;2;`rope)", (X,), lambda x, w: attend(x, w, kv=2, turn=turned)),
    "gqa, base": ("(`gqa;16;4;2;500f)", (X,), lambda x, w: attend(x, w, kv=2, turn=lambda t: turned(t, 500))),
    "gqa, rope by name": ("(`gqa;16;4;2;(enlist`rope)!enlist`base`dim!(500f;2))", (X,), lambda x, w: attend(x, w, kv=2, turn=lambda t: turned(t, 500, 2))),
    "gqa, rope as a list": ("(`gqa;16;4;2;(`rope;500f;2))", (X,), lambda x, w: attend(x, w, kv=2, turn=lambda t: turned(t, 500, 2))),
    "gqa, window": ("(`gqa;16;4;2;`rope;3)", (X,), lambda x, w: attend(x, w, kv=2, turn=turned, window=3)),
    "gqa, heads of another size": ("(`gqa;16;4;2;`rope`headdim!(`rope;6))", (X,), lambda x, w: attend(x, w, kv=2, size=6, turn=turned)),
    "gqa, both directions": ("(`gqa;16;4;`causal,0b)", (X,), lambda x, w: attend(x, w, causal=False)),
    "gqa, window in both": ("(`gqa;16;4;`causal`window!(0b;2))", (X,), lambda x, w: attend(x, w, causal=False, window=2)),
    "gqa, alibi": ("(`gqa;16;4;`alibi,1b)", (X,), lambda x, w: attend(x, w, bias=far(4))),
    "gqa, scale": ("(`gqa;16;4;`scale,.3)", (X,), lambda x, w: attend(x, w, scale=.3)),
    "gqa, a mask": ("(`gqa;16;4;`causal,0b)", (X, MASK), lambda x, m, w: attend(
        x, w, causal=False, bias=torch.zeros(N, N).masked_fill(~m, -torch.inf))),
    "gqa, added scores": ("(`gqa;16;4;2)", (X, floats(N, N)), lambda x, m, w: attend(x, w, kv=2, bias=m)),
    "gqa, fused": ("(`gqa;16;4;2;`rope`fused!(`rope;1b))", (X,), lambda x, w: attend(
        x, dict(zip(("q.weight", "k.weight", "v.weight"), w["qkv.weight"].split((16, 8, 8)), strict=True)) | w, kv=2, turn=turned)),
    "gqa, no output layer": ("(`gqa;16;4;`project,0b)", (X,), lambda x, w: attend(x, w, names="q k v")),
    "gqa, lineart": ("(`gqa;16;4;`layer,`lineart)", (X,), lambda x, w: attend(x, {k: t.t() for k, t in w.items()})),
    "gqa, names": ("(`gqa;16;4;(enlist`names)!enlist`a`b`c`d)", (X,), lambda x, w: attend(x, w, names="a b c d")),
    "lineart": ("(`lineart;16;5)", (X,), lambda x, w: F.linear(x, w["weight"].t(), w["bias"])),
    "lineart, no bias": ("(`lineart;16;5;0b)", (X,), lambda x, w: x @ w["weight"]),
    "swiglu": ("(`swiglu;16;24)", (X,), lambda x, w: gated(x, w)),
    "swiglu, gelu": ("(`swiglu;16;24;`gelutanh;1b)", (X,), lambda x, w: gated(x, w, lambda t: F.gelu(t, approximate="tanh"))),
    "swiglu, names": ("(`swiglu;16;24;(enlist`names)!enlist`w1`w3`w2)", (X,), lambda x, w: gated(x, w, names="w1 w3 w2")),
    "moe": ("(`moe;16;24;4)", (X,), lambda x, w: experts(x, w)),
    "moe, one": ("(`moe;16;24;4;1)", (X,), lambda x, w: experts(x, w, 1)),
    "moe, shares as they are": ("(`moe;16;24;5;3;0b)", (X,), lambda x, w: experts(x, w, 3, False)),
    "moe, one place": ("(`moe;16;24;5;3)", (X[:1, :1],), lambda x, w: experts(x, w, 3)),
    "lora": ("(`lora;16;5;3)", (X,), lambda x, w: adapted(x, w, 16 / 3)),
    "lora, rooted": ("(`lora;16;5;`rank`alpha`bias`rooted!(4;8f;0b;1b))", (X,), lambda x, w: adapted(x, w, 4)),
    "dora": ("(`dora;16;5;3;6f)", (X,), lambda x, w: adapted(x, w, 2, True)),
    "dora, no bias": ("(`dora;16;5;`bias,0b)", (X,), lambda x, w: adapted(x, w, 2, True)),
    "block": ("seq(`block;(`layernorm;16);(`linear;16;16);`relu;`tanh)", (X,), branches),
    "skip": ("seq(`skip;seq(`seqnest;(`linear;16;16);`tanh);`relu;(`addnorm;`out;16;16))", (X,), lambda x, w: skipped(
        x, {k.removeprefix("0."): t for k, t in w.items()})),
    "addnorm": ("(`addnorm;16;16;.1)", (X, 2 * X), lambda x, y, w: F.layer_norm(
        F.linear(x, w["dense.weight"], w["dense.bias"]) + y, (D,), w["LayerNorm.weight"], w["LayerNorm.bias"], .1)),
    "pooler": ("(`pooler;16;0b)", (X,), lambda x, w: torch.tanh(F.linear(x[:, 0], w["dense.weight"], w["dense.bias"]))),
    "embedtypes": ("(`embedtypes;10;16;8)", (IDS,), lambda x, w: words(x, w, torch.zeros_like(x))),
    "embedtypes, types": ("(`embedtypes;10;16;8)", (IDS, KINDS), lambda x, t, w: words(x, w, t)),
    "patches": ("(`patches;8 12;4;16)", (floats(B, 3, 8, 12),), patches),
    "seqmask": ("seq(`seqmask;(`linear;16;5);`tanh)", (X,), lambda x, w: torch.tanh(F.linear(x, w["0.weight"], w["0.bias"]))),
    "seqmask, types": ("seq(`seqmask;(`embedtypes;10;16;8))", (IDS, torch.ones_like(IDS), KINDS), lambda x, m, t, w: words(
        x, {k.removeprefix("0."): v for k, v in w.items()}, t)),
}


@pytest.fixture
def session() -> Session:
    return Session(out=io.StringIO(), err=io.StringIO())


def made(s: Session, text: str) -> Any:
    """A module of a definition in q, with random weights."""
    s.run(f"m:module {text if text.startswith(('`', 'seq')) else f'enlist {text}'}")
    m = s.run("m").obj
    torch.manual_seed(len(text))
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape) / 2)
    return m


def calculated(s: Session, inputs: tuple[Tensor, ...]) -> Tensor:
    for i, t in enumerate(inputs):
        s[f"x{i}"] = tensor_handle(t.clone())
    return as_tensor(s.run(f"eforward(m;{';'.join(f'x{i}' for i in range(len(inputs)))})"))


@pytest.mark.parametrize("case", CASES)
def test_against_torch(session: Session, case: str) -> None:
    text, inputs, want = CASES[case]
    m = made(session, text)
    torch.testing.assert_close(calculated(session, inputs), want(*inputs, dict(m.named_parameters())), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("case", CASES)
def test_gradients(session: Session, case: str) -> None:
    """Those of the parameters that are trained."""
    text, inputs, want = CASES[case]
    m = made(session, text)
    own = {n: p for n, p in m.named_parameters() if p.requires_grad}
    if not own:
        return
    weights = dict(m.named_parameters())
    a = torch.autograd.grad(m(*inputs).square().sum(), own.values(), allow_unused=True)
    if "dora" in case:  # the norm counts as a constant
        full = weights["base_layer.weight"] + 16 / 8 * weights["lora_B.weight"] @ weights["lora_A.weight"] if "no" in case else None
        if full is None:
            return
        ratio = (weights["lora_magnitude_vector"] / full.norm(dim=1).detach())[:, None]
        b = torch.autograd.grad(F.linear(inputs[0], ratio * full).square().sum(), own.values(), allow_unused=True)
    else:
        b = torch.autograd.grad(want(*inputs, weights).square().sum(), own.values(), allow_unused=True)
    for name, x, y in zip(own, a, b, strict=True):
        zero = torch.zeros_like(own[name])
        torch.testing.assert_close(zero if x is None else x, zero if y is None else y, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("case", CASES)
def test_state(session: Session, case: str) -> None:
    """A module of the state or definition of another has its options, its parts and its results."""
    text, inputs, _ = CASES[case]
    made(session, text)
    a = calculated(session, inputs)
    session.run("d:module m;s:state m;n:module s")
    assert session.run("s~state n") is True
    assert session.run("d~module module d") is True
    assert session.run("(str m)~str n") is True
    session.run("m:n")
    assert torch.equal(a, calculated(session, inputs))
    session.run("m:clone n")
    assert torch.equal(a, calculated(session, inputs))


def test_a_snapshot_in_a_fresh_process(session: Session, tmp_path: Path) -> None:
    """All types at once: what they give is the same in another process."""
    lines = []
    for i, (text, inputs, _) in enumerate(CASES.values()):
        made(session, text)
        y = calculated(session, inputs)
        session.run(f"m{i}:m;" + ";".join(f"x{i}_{k}:x{k}" for k in range(len(inputs))))
        session[f"y{i}"] = tensor_handle(y)
        given = ";".join(f"x{i}_{k}" for k in range(len(inputs)))
        lines.append(f"(d{i}~module m{i}),(tensor y{i})~tensor eforward(m{i};{given})")
        session.run(f"d{i}:module m{i}")
    session.run(f'snapshot`$":{tmp_path}/a.ks"')
    code = f'resume`$":{tmp_path}/a.ks";\n' + "\n".join(lines) + "\n"
    done = warm.run([sys.executable, "-m", "kshell", "-q"], input=code, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == ["11b"] * len(CASES)


def test_every_type_is_here() -> None:
    names = {e.name for e in registry.entries("module") if e.target.startswith("kshell.nn.blocks.")}
    assert names == {c.split(",")[0] for c in CASES} and len(names) > 12


def test_pooler_of_both(session: Session) -> None:
    session.run("m:module enlist(`pooler;3);x:tensor(`randn;2 4 3);r:evaluate(m;x)")
    assert session.run("(key r)~`last_hidden_state`pooler_output") is True
    assert session.run("(r`last_hidden_state)~tensor x") is True
    assert session.run("2 3~count each 1 first\\r`pooler_output") is True


def test_padding_is_not_looked_at(session: Session) -> None:
    """Rows with padding give what the rows without it give, at either end and in both directions."""
    for causal in "10":
        session.run(f"m:module seq(`seqmask;(`gqa;8;2;`causal,{causal}b);seq(`block;(`rmsnorm;8);(`gqa;`a;8;2;`causal,{causal}b);(`rmsnorm;8);(`swiglu;8;8)));"
                    "x:tensor(`randn;1 5 8)")
        for pad in ("cat((x;tensor(`randn;1 3 8));1);11111000b;0", "cat((tensor(`randn;1 3 8);x);1);00011111b;3"):
            data, mask, first = pad.rsplit(";", 2)
            session.run(f"y:narrow(eforward(m;{data};enlist {mask});1;{first};5)")
            assert session.run("1e-5>max raze over abs(tensor y)-tensor eforward(m;x)") is True, (causal, pad)


@pytest.mark.parametrize(("text", "message"), [
    ("module enlist(`gqa;10;4)", "gqa: size 10 is not divisible by 4 heads"),
    ("module enlist(`gqa;16;4;3)", "gqa: 4 heads are not divisible by 3 heads of keys"),
    ("module enlist(`gqa;16)", "gqa: positive number of heads required"),
    ("module enlist(`gqa;16;4;2;`ropes)", "gqa rope: expecting `rope, its base or its options, given symbol scalar"),
    ("module enlist(`gqa;16;4;2;(`rope;500f;8))", "gqa: turns 8 columns, but heads have 4"),
    ("module enlist(`gqa;16;4;(enlist`names)!enlist`a`b)", "gqa: its layers are q k v out, and need as many names"),
    ("module enlist(`gqa;16;4;(enlist`names)!enlist`a`b`c`a)", "gqa: its layers are q k v out, and need as many names"),
    ("module enlist(`gqa;16;4;(enlist`names)!enlist 1 2)", "gqa names: expecting symbols without dots, given long list"),
    ("module enlist(`gqa;16;4;`dropout,2f)", "gqa: dropout is 2, above 1"),
    ("module enlist(`gqa;16;4;`layer,`conv)", "gqa layer:conv is not one of linear,lineart"),
    ("module enlist(`rope;`scaling,`x)", "rope scaling:x is not one of none,linear,llama3,yarn,dynamic,longrope"),
    ("forward(module enlist(`rope;`scaling`long`short!(`longrope;1 2 3f;1 2 3f));2 4#1e)", "forward: rope: longrope needs 2 divisors, given 3 (given module, real 2x4)"),
    ("module enlist(`rope;`scaling,`longrope)", "rope: longrope needs divisors, short and long"),
    ("module enlist(`rope;2f;2;`scaling,`dynamic)", "rope: dynamic turns more than 2 columns"),
    ("module enlist(`rope;`short,`a)", "rope short: expected double(s), given symbol scalar"),
    ("module enlist(`rope;10f;3)", "rope: the turned size is 3, expecting an even number"),
    ("forward(module`rope;2 3#1e)", "forward: rope: turns 3 columns, the input has 3, of an even number (given module, real 2x3)"),
    ("forward(module enlist(`positions;2;3);1 4 3#1e)", "forward: positions: 4 places, but there are 2 vectors (given module, real 1x4x3)"),
    ("forward(module enlist(`alibi;2);3 4 4#1e)",
     "forward: alibi: expecting scores of 2 heads, as many keys as queries or more (given module, real 3x4x4)"),
    ("module enlist(`moe;4;4;2;3)", "moe: 3 of 2 experts cannot be chosen"),
    ("module enlist(`moe;4;4)", "moe: positive number of experts required"),
    ("module enlist(`swiglu;4;4;`sin)", "swiglu fn:sin is not one of silu,gelu,gelutanh,relu,sigmoid,tanh,identity"),
    ("module enlist(`swiglu;4)", "swiglu: positive hidden size required"),
    ("module enlist(`lora;4)", "lora: positive output size required"),
    ("forward(module seq(`block;`relu);2 3#1e)", "forward: block: its branches have 4 modules, but it has 1 (given module, real 2x3)"),
    ("forward(module seq(`skip;`relu);2 3#1e)", "forward: skip: it has fewer than two modules (given module, real 2x3)"),
    ("forward(module seq(`seqmask;`relu);2 3#1e;2 2#1b)",
     "forward: seqmask: the mask is not of the sizes of the input's first two dimensions (given module, real 2x3, boolean 2x2)"),
    ("module enlist(`patches;8;3;4)", "patches: images of 8x8 are not divisible into 3x3"),
    ("forward(module enlist(`patches;8;4;4);1 3 4 4#1e)",
     "forward: patches: expecting images of 3x8x8, given 1x3x4x4"),
])
def test_errors(session: Session, text: str, message: str) -> None:
    with pytest.raises(QError) as e:
        session.run(text)
    assert str(e.value).split("\n")[0] == message
