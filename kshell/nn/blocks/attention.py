"""Attention whose heads share keys and values, with a cache, a window, rotary positions or a bias by distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kshell.errors import said
from kshell.nn.blocks.context import CURRENT, Context
from kshell.nn.blocks.feedforward import LAYERS
from kshell.nn.blocks.positions import Rope, distances

NAMES = {  # of its layers, by whether they are fused and whether there is an output layer
    (False, True): ("q", "k", "v", "out"),
    (False, False): ("q", "k", "v"),
    (True, True): ("qkv", "out"),
    (True, False): ("qkv",),
}


class GroupedAttention(nn.Module):
    """Self-attention of (batch, places, dim), where groups of heads share a head of keys and values; Ainslie et al.
    2023 (arXiv 2305.13245).

    A second input is a mask of (places, places) or that with dimensions in front: boolean, true where attention may
    look, or floats that are added to the scores. Within a context with a cache, the input continues what came before.
    """

    most_inputs = 2

    def __init__(
        self,
        dim: int,
        heads: int,
        kvheads: int | None = None,
        headdim: int | None = None,
        rope: Rope | None = None,
        window: int | None = None,
        causal: bool = True,
        bias: bool = False,
        outbias: bool = False,
        dropout: float = 0.0,
        alibi: bool = False,
        scale: float | None = None,
        fused: bool = False,
        project: bool = True,
        layer: str = "linear",
        names: Sequence[str] = (),
    ) -> None:
        super().__init__()
        kvheads = kvheads or heads
        if heads % kvheads:
            raise said(
                ValueError(f"gqa: {heads} heads are not divisible by {kvheads} heads of keys"),
                heads,
                kvheads,
            )
        if headdim is None and dim % heads:
            raise said(ValueError(f"gqa: size {dim} is not divisible by {heads} heads"), dim, heads)
        self.dim, self.heads, self.kvheads, self.headdim = (
            dim,
            heads,
            kvheads,
            headdim or dim // heads,
        )
        self.window, self.causal, self.dropout, self.alibi = window, causal, dropout, alibi
        self.bias, self.outbias, self.scale = bias, outbias, scale
        self.fused, self.project, self.layer = fused, project, layer
        self.names = tuple(names) or NAMES[fused, project]
        if len(self.names) != len(NAMES[fused, project]) or len({*self.names}) != len(self.names):
            raise said(
                ValueError(
                    f"gqa: its layers are {' '.join(NAMES[fused, project])}, and need as many names"
                )
            )
        make = LAYERS[layer]
        many, few = heads * self.headdim, kvheads * self.headdim
        sizes = [many + 2 * few] if fused else [many, few, few]
        for name, size in zip(self.names, sizes, strict=False):
            self.add_module(name, make(dim, size, bias))
        if project:
            self.add_module(self.names[-1], make(many, dim, outbias))
        if rope is not None:
            self.rope = rope

    def _heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, (batch, heads, places, size); the first two with rotary positions."""
        b, n, _ = x.shape
        children: dict[str, Any] = self._modules
        h, kv, d = self.heads, self.kvheads, self.headdim
        if self.fused:
            all_heads = children[self.names[0]](x).view(b, n, h + 2 * kv, d)
            both, v = all_heads.split((h + kv, kv), 2)
        else:
            q, k, v = (children[name](x).view(b, n, -1, d) for name in self.names[:3])
            if "rope" not in children:
                return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
            both = torch.cat((q, k), 2)
        both = both.transpose(1, 2)
        if "rope" in children:
            both = children["rope"](both)
        return both[:, :h], both[:, h:], v.transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        b, n, _ = x.shape
        q, k, v = self._heads(x)
        context = CURRENT.get()
        cache = None if context is None else context.layer(self, self.window)
        if cache is not None:
            keys, values = cache.extended(
                k.reshape(b * self.kvheads, n, -1), v.reshape(b * self.kvheads, n, -1)
            )
            if n == 1 and mask is None and context is not None and context.mask is None:
                return self._out(self._one(q, keys, values), b, n)
            k, v = keys.unflatten(0, (b, self.kvheads)), values.unflatten(0, (b, self.kvheads))
        return self._out(self._several(q, k, v, mask, context), b, n)

    def _out(self, heads: Tensor, b: int, n: int) -> Tensor:
        out = heads.reshape(b, n, -1)
        if not self.project:
            return out
        last: Any = self._modules[self.names[-1]]
        found: Tensor = last(out)
        return found

    def _one(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Attention of one query per row to all keys: a few plain products."""
        shared = self.heads // self.kvheads
        scale = self.scale or self.headdim**-0.5
        scores = torch.bmm(q.reshape(-1, shared, self.headdim) * scale, keys.transpose(1, 2))
        if self.alibi:
            bias = distances(self.heads, 1, keys.size(1), scores)
            scores = (
                scores.unflatten(0, (-1, self.kvheads)) + bias.view(self.kvheads, shared, -1)
            ).flatten(0, 1)
        shares = torch.softmax(scores, -1)
        if self.dropout and self.training:
            shares = F.dropout(shares, self.dropout)
        return torch.bmm(shares, values)

    def _several(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, context: Context | None
    ) -> Tensor:
        """Attention by torch's own function; (batch, places, heads, size)."""
        n, count = q.size(2), k.size(2)
        allowed = self._allowed(q, count, context)
        is_causal = self.causal and allowed is None and n == count and n > 1
        added = allowed
        if self.alibi or mask is not None:
            is_causal = False
            allowed = (
                self._causal(n, count, q.device) if allowed is None and self.causal else allowed
            )
            added = self._added(q, count, allowed, mask)
        out = F.scaled_dot_product_attention(
            q,
            k,
            v,
            added,
            self.dropout if self.training else 0.0,
            is_causal,
            scale=self.scale,
            enable_gqa=self.heads != self.kvheads,
        )
        return out.transpose(1, 2)

    def _causal(self, n: int, count: int, device: torch.device) -> Tensor | None:
        """Where the last n of some places may look, (n, count); None if each may look at all."""
        narrow = self.window is not None and count > self.window
        if not narrow and (not self.causal or n == 1):
            return None
        at = torch.arange(count, device=device)
        apart = at[count - n :, None] - at[None, :]
        if not self.causal:
            return apart.abs() < (self.window or count)
        found = apart >= 0
        return found & (apart < self.window) if self.window is not None and narrow else found

    def _allowed(self, q: Tensor, count: int, context: Context | None) -> Tensor | None:
        """Where attention may look, if a causal flag is not all that says it."""
        n = q.size(2)
        narrow = self.window is not None and count > self.window
        padding = None if context is None else context.mask
        if padding is None and not narrow and (n == count or n == 1):
            return None
        name = ("allowed", self.window, self.causal, n, count)
        if context is not None and name in context.tables:
            known: Tensor = context.tables[name]
            return known
        found = self._causal(n, count, q.device)
        if padding is not None:
            rows = padding[:, None, None, -count:].bool()
            found = rows if found is None else found & rows
            # a place of padding looks at itself, because looking nowhere gives no number
            at = torch.arange(count, device=q.device)
            found = found | (at[count - n :, None] == at[None, :]) if self.causal else found
        if context is not None and found is not None:
            context.tables[name] = found
        return found

    def _added(self, q: Tensor, count: int, allowed: Tensor | None, mask: Tensor | None) -> Tensor:
        """What is added to the scores: the bias by distance, a given mask, -infinity where attention may not look."""
        n = q.size(2)
        added = torch.zeros((), dtype=q.dtype, device=q.device)
        if self.alibi:
            added = added + distances(self.heads, n, count, q)
        for part in (allowed, mask):
            if part is None:
                continue
            if part.dtype == torch.bool:
                added = torch.where(part, added, torch.finfo(q.dtype).min)
            else:
                added = added + part.to(q.dtype)
        return added.expand(*added.shape[:-2], n, count) if added.dim() < 3 else added

    def extra_repr(self) -> str:
        words = (
            f"dim={self.dim}, heads={self.heads}, kvheads={self.kvheads}, headdim={self.headdim}"
        )
        return words + f", window={self.window}, causal={self.causal}, dropout={self.dropout:g}"
