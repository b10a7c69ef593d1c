"""Positions: rotary, learned and as a bias of attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kshell.errors import said
from kshell.nn.blocks.context import CURRENT, places

# ------------------------------------------------------------------ rotary


def frequencies(dim: int, base: float | Tensor) -> Tensor:
    """The angle of each pair per place: base to the power of -2i/dim."""
    return 1.0 / base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim)


def _unscaled(m: Rope, dim: int, reach: int) -> tuple[Tensor, float]:
    return frequencies(dim, m.base), 1.0


def _linear(m: Rope, dim: int, reach: int) -> tuple[Tensor, float]:
    """Every place is divided by the factor."""
    return frequencies(dim, m.base) / m.factor, 1.0


def _llama3(m: Rope, dim: int, reach: int) -> tuple[Tensor, float]:
    """Waves longer than length/low are slowed down by the factor, those shorter than length/high stay, and those
    between are mixed."""
    rates = frequencies(dim, m.base)
    turns = m.length * rates / (2 * math.pi)  # of a wave within the original length
    share = ((turns - m.low) / (m.high - m.low)).clamp(0, 1)
    return (1 - share) * rates / m.factor + share * rates, 1.0


def _yarn(m: Rope, dim: int, reach: int) -> tuple[Tensor, float]:
    """Pairs that turn more than `high` times within the original length stay, those that turn less than `low` times are
    slowed down, with a ramp between; the scores are scaled (Peng et al. 2023, arXiv 2309.00071)."""
    rates = frequencies(dim, m.base)

    def pair(turns: float) -> float:
        return dim * math.log(m.length / (turns * 2 * math.pi)) / (2 * math.log(m.base))

    first, last = max(math.floor(pair(m.high)), 0), min(math.ceil(pair(m.low)), dim - 1)
    ramp = (torch.arange(dim // 2, dtype=torch.float32) - first) / max(last - first, 0.001)
    slowed = ramp.clamp(0, 1)
    rates = rates / m.factor * slowed + rates * (1 - slowed)
    return rates, m.attention or (1.0 if m.factor <= 1 else 0.1 * math.log(m.factor) + 1)


def _dynamic(m: Rope, dim: int, reach: int) -> tuple[Tensor, float]:
    """Beyond the original length, the base grows with the number of places."""
    stretch = m.factor * torch.tensor(float(reach)) / m.length - (m.factor - 1)
    return frequencies(dim, m.base * stretch ** (dim / (dim - 2))), 1.0


def _longrope(m: Rope, dim: int, reach: int) -> tuple[Tensor, float]:
    """Each pair has a divisor of its own, one up to the original length and another beyond it; the scores are scaled
    (Ding et al. 2024, arXiv 2402.13753)."""
    divisors = m.long if reach > m.length else m.short
    if len(divisors) != dim // 2:
        raise said(
            ValueError(f"rope: longrope needs {dim // 2} divisors, given {len(divisors)}"),
            dim // 2,
            len(divisors),
        )
    rates = 1.0 / (
        torch.tensor(divisors, dtype=torch.float32)
        * m.base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim)
    )
    usual = 1.0 if m.factor <= 1 else math.sqrt(1 + math.log(m.factor) / math.log(m.length))
    return rates, m.attention or usual


SCALINGS: dict[str, Callable[[Rope, int, int], tuple[Tensor, float]]] = {
    "none": _unscaled,
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
    "dynamic": _dynamic,
    "longrope": _longrope,
}


class Rope(nn.Module):
    """Rotary positions: pairs of (.., places, size) are turned by an angle that grows with their place; Su et al. 2021
    (arXiv 2104.09864). A pair is a column and the one half the size later, or with `adjacent` its neighbour."""

    def __init__(
        self,
        base: float = 10000.0,
        dim: int | None = None,
        adjacent: bool = False,
        scaling: str = "none",
        factor: float = 1.0,
        length: int = 8192,
        low: float = 1.0,
        high: float = 4.0,
        attention: float | None = None,
        short: Sequence[float] = (),
        long: Sequence[float] = (),
    ) -> None:
        super().__init__()
        if dim is not None and dim % 2:
            raise said(ValueError(f"rope: the turned size is {dim}, expecting an even number"), dim)
        if scaling == "dynamic" and dim == 2:
            raise said(ValueError("rope: dynamic turns more than 2 columns"), 2)
        if scaling == "longrope" and not (short and long):
            raise said(ValueError("rope: longrope needs divisors, short and long"))
        self.base, self.dim, self.adjacent, self.scaling = base, dim, adjacent, scaling
        self.factor, self.length, self.low, self.high = factor, length, low, high
        self.attention, self.short, self.long = attention, tuple(short or ()), tuple(long or ())
        self._known: tuple[Any, Tensor, Tensor] | None = None  # tables of cosine and sine

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": None}  # a copy computes its tables again

    def _key(self, dim: int, stage: int, x: Tensor) -> tuple[Any, ...]:
        """What the tables depend on."""
        settings = (self.base, self.scaling, self.factor, self.length, self.low, self.high)
        more = (self.attention, self.short, self.long, stage)
        return (dim, x.dtype, x.device, self.adjacent, *settings, *more)

    def _stage(self, reach: int) -> int:
        """A number of places that has the same angles as this one: the least, or the original length."""
        if reach <= self.length or self.scaling not in ("dynamic", "longrope"):
            return self.length
        return reach if self.scaling == "dynamic" else self.length + 1

    def _turns(self, at: Tensor, dim: int, reach: int, x: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and sine for places, (.., places, dim): the sine has the signs of the turn."""
        rates, strength = SCALINGS[self.scaling](self, dim, reach)
        angles = at.to(rates)[..., None] * rates
        cosine, sine = angles.cos() * strength, angles.sin() * strength
        if self.adjacent:
            cosine = cosine.repeat_interleave(2, -1)
            sine = torch.stack((-sine, sine), -1).flatten(-2)
        else:
            cosine, sine = torch.cat((cosine, cosine), -1), torch.cat((-sine, sine), -1)
        return cosine.to(x.device, x.dtype), sine.to(x.device, x.dtype)

    def _tables(
        self, key: Any, dim: int, stage: int, most: int, x: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Cosine and sine for at least `most` places."""
        known = self._known
        if known is not None and known[0] == key and len(known[1]) >= most:
            return known[1], known[2]
        count = max(most, 128, 0 if known is None else 2 * len(known[1]))
        with torch.inference_mode(False):  # it may be used with gradients later
            cosine, sine = self._turns(torch.arange(count, dtype=torch.float32), dim, stage, x)
            self._known = known = (key, cosine, sine)
        return known[1], known[2]

    def _at(self, dim: int, n: int, x: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and sine for the places of an input: the modules of a calculation that turn alike share them."""
        first, rows = places(n, x.device)
        stage = self._stage(first + n)
        key = self._key(dim, stage, x)
        context = CURRENT.get()
        found: tuple[Tensor, Tensor] | None = None if context is None else context.tables.get(key)
        if found is not None and (rows is not None or len(found[0]) == n):
            return found
        if self.scaling == "dynamic" and stage > self.length:  # angles of this number of places
            at = torch.arange(first, first + n) if rows is None else rows
            found = self._turns(at, dim, stage, x)
        else:
            cosine, sine = self._tables(key, dim, stage, first + n, x)
            places_here = slice(first, first + n) if rows is None else rows
            found = cosine[places_here], sine[places_here]
        if rows is not None:
            found = found[0].unsqueeze(1), found[1].unsqueeze(1)
        if context is not None:
            context.tables[key] = found
        return found

    def forward(self, x: Tensor) -> Tensor:
        size, n = x.shape[-1], x.shape[-2]
        dim = self.dim or size
        if dim > size or dim % 2:
            raise said(
                ValueError(f"rope: turns {dim} columns, the input has {size}, of an even number"),
                dim,
                size,
            )
        cosine, sine = self._at(dim, n, x)
        part = x if dim == size else x[..., :dim]
        if self.adjacent:
            other = part.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
        else:
            other = part.roll(dim // 2, -1)
        turned = part * cosine + other * sine
        return turned if dim == size else torch.cat((turned, x[..., dim:]), -1)

    def extra_repr(self) -> str:
        extra = (
            "" if self.scaling == "none" else f", scaling={self.scaling}, factor={self.factor:g}"
        )
        return f"base={self.base:g}, dim={self.dim}, adjacent={self.adjacent}{extra}"


# ------------------------------------------------------------------ learned


class LearnedPositions(nn.Module):
    """Adds a learned vector for each place to (batch, places, cols)."""

    def __init__(self, rows: int, cols: int, offset: int = 0) -> None:
        super().__init__()
        self.rows, self.cols, self.offset = rows, cols, offset
        self.weight = nn.Parameter(torch.empty(rows, cols))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[-2]
        first, rows = places(n, x.device)
        first += self.offset
        if first + n > self.rows:
            raise said(
                ValueError(f"positions: {first + n} places, but there are {self.rows} vectors"),
                first + n,
                self.rows,
            )
        if rows is not None:
            return x + F.embedding(rows + self.offset, self.weight)
        return x + self.weight[first : first + n]

    def extra_repr(self) -> str:
        return f"rows={self.rows}, cols={self.cols}, offset={self.offset}"


# ------------------------------------------------------------------ ALiBi


def slopes(heads: int) -> list[float]:
    """The slope of each head: 2 to the power of -8i/heads; where that is no power of 2, those of the power below, then
    every second one of the power above."""
    power = 1 << (heads.bit_length() - 1)
    found = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    return found + [2 ** (-4 * i / power) for i in range(1, 2 * (heads - power), 2)]


def distances(heads: int, n: int, keys: int, like: Tensor) -> Tensor:
    """The bias of each score, (heads, n, keys): minus the slope for each place between; the last n keys are those of
    the n queries."""
    context = CURRENT.get()
    name = ("alibi", heads, n, keys)
    found: Tensor | None = None if context is None else context.tables.get(name)
    if found is None:
        at = torch.arange(keys, device=like.device)
        apart = (at[None, :] - at[keys - n :, None]).abs().neg()
        found = torch.tensor(slopes(heads), device=like.device)[:, None, None] * apart
        found = found.to(like.dtype)
        if context is not None:
            context.tables[name] = found
    return found


class Alibi(nn.Module):
    """Adds to scores of attention, (.., heads, queries, keys), a bias that falls with the distance; Press et al. 2021
    (arXiv 2108.12409). The last keys are those of the queries."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() < 3 or x.shape[-3] != self.heads or x.shape[-2] > x.shape[-1]:
            raise ValueError(
                f"alibi: expecting scores of {self.heads} heads, as many keys as queries or more"
            )
        return x + distances(self.heads, x.shape[-2], x.shape[-1], x)

    def extra_repr(self) -> str:
        return f"heads={self.heads}"
