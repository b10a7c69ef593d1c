"""Continuing sequences of tokens: the next token is the likeliest, or drawn at random, again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from kshell.errors import said
from kshell.nn import ops, shape, tables
from kshell.nn.blocks import adapters, containers, embeddings, feedforward, positions
from kshell.nn.blocks.attention import GroupedAttention
from kshell.nn.blocks.context import Context, using

# classes whose result at a place depends on that place alone, or that know where the input begins
_BY_PLACE: tuple[type, ...] = (
    nn.Embedding,
    nn.Linear,
    nn.Dropout,
    nn.Identity,
    nn.Bilinear,
    nn.ReLU,
    nn.GELU,
    nn.SiLU,
    nn.Sigmoid,
    nn.Tanh,
    nn.Softmax,
    nn.LogSoftmax,
    ops.Mul,
    ops.DropPath,
    shape.Unsqueeze,
    tables.Embedding,
    adapters.Lora,
    embeddings.TypedEmbeddings,
    feedforward.TransposedLinear,
    feedforward.Gated,
    feedforward.Experts,
    positions.LearnedPositions,
    positions.Rope,
)
_AROUND: tuple[type, ...] = (
    nn.Sequential,
    nn.ModuleList,
    nn.ModuleDict,
    containers.Block,
    containers.Skip,
    containers.AddNorm,
    containers.Masked,
)


def _by_place(m: nn.Module) -> bool:
    """Is a module, those inside aside, one that can be given a sequence in pieces?"""
    if isinstance(m, GroupedAttention):
        return m.causal
    if isinstance(m, nn.LayerNorm | nn.RMSNorm):
        return len(m.normalized_shape) == 1
    return isinstance(m, _BY_PLACE + _AROUND)


def has_cache(m: nn.Module) -> bool:
    """Can a module be given a sequence in pieces, with what its attention has seen kept between them?"""
    parts = list(m.modules())
    return any(isinstance(part, GroupedAttention) for part in parts) and all(map(_by_place, parts))


@dataclass
class Choice:
    """How the next token is chosen: the likeliest at temperature 0, else at random among those that top-k and top-p
    leave."""

    temperature: float = 0.0
    topk: int = 0
    topp: float = 1.0
    generator: torch.Generator | None = None

    def __call__(self, scores: Tensor) -> Tensor:
        if not self.temperature:
            return scores.argmax(-1)
        scores = scores.float() / self.temperature
        if 0 < self.topk < scores.size(-1):
            least = torch.topk(scores, self.topk)[0][..., -1:]
            scores = scores.masked_fill(scores < least, -torch.inf)
        if self.topp < 1:
            ordered, order = torch.sort(scores)
            rest = ordered.softmax(-1).cumsum(-1) <= 1 - self.topp
            rest[..., -1] = False  # the likeliest stays
            scores = scores.masked_fill(rest.scatter(-1, order, rest), -torch.inf)
        return torch.multinomial(scores.softmax(-1), 1, generator=self.generator).squeeze(-1)


def _scores(out: Any, rows: int, n: int) -> Tensor:
    """The scores of the last place in a module's output."""
    if not isinstance(out, Tensor):
        out = out.get("logits") if isinstance(out, dict) else getattr(out, "logits", None)
    if (
        not isinstance(out, Tensor)
        or out.dim() != 3
        or tuple(out.shape[:2]) not in ((rows, n), (rows, 1))
    ):
        size = "x".join(map(str, out.shape)) if isinstance(out, Tensor) else "no scores"
        raise said(
            ValueError(
                f"the module gives {size} for tokens of {rows}x{n}, expecting scores of each token at each place"
            )
        )
    return out[:, -1]


def continued(
    m: nn.Module,
    ids: Tensor,
    most: int,
    choose: Choice,
    stop: Sequence[int] = (),
    skipped: Tensor | None = None,
    cached: bool = True,
    pause: Callable[[], None] = lambda: None,
) -> tuple[Tensor, Tensor]:
    """Rows of tokens with up to `most` tokens more, and how many each row has, that which stopped it included.

    `skipped` are the numbers of padding at the start of the rows; `pause` is called before each token. Without a cache,
    the whole sequence is calculated for each token."""
    rows, start = ids.shape
    out = ids.new_zeros((rows, start + most))
    out[:, :start] = ids
    context = Context()
    context.limit = start + most
    lengths = torch.full((rows,), start + most, device=ids.device)
    alive = torch.ones(rows, dtype=torch.bool, device=ids.device)
    stops = torch.tensor(list(stop), device=ids.device, dtype=ids.dtype)
    if cached:
        context.layers = {}
    if skipped is not None:
        context.skipped = skipped
        whole = torch.arange(start + most, device=ids.device) >= skipped[:, None]
    n = at = start
    with torch.no_grad(), using(context):
        while at < start + most:
            pause()
            if skipped is not None:
                context.mask = whole[:, :at]
            piece = out[:, at - n : at] if cached else out[:, :at]
            context.is_last_asked = isinstance(m, containers.Masked) and piece.size(1) > 1
            chosen = choose(_scores(m(piece), rows, piece.size(1)))
            if len(stops):
                chosen = torch.where(alive, chosen, stops[0])
            out[:, at] = chosen
            at += 1
            if cached:
                context.advance(n)
                n = 1
            else:
                context.tables.clear()
            if len(stops):
                ended = alive & torch.isin(chosen, stops)
                lengths[ended] = at
                alive &= ~ended
                if not alive.any():
                    break
    return out[:, :at], lengths.clamp(max=at)
