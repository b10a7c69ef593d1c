"""q's verbs along the first dimension of a tensor: running and moving totals, neighbours, bars, parts.

Float nulls are ignored or propagated as q's verbs do. Integer tensors have no null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import long_of, longs_of
from kshell.kapi.base.convert import dtype_name, kname
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base.core import Value

if TYPE_CHECKING:
    from torch import Tensor

Fn = Callable[..., Any]


def floating(t: Tensor) -> Any:
    """A tensor prepared for means: integers become floats."""
    return t if _has_nulls(t) else t.to(torch.get_default_dtype())


def _has_nulls(t: Tensor) -> bool:
    return t.is_floating_point() or t.is_complex()


def _nulls_as(t: Tensor, value: float) -> Any:
    return torch.where(torch.isnan(t), value, t) if _has_nulls(t) else t


def _here(t: Tensor) -> Any:
    """Which elements are not null?"""
    return torch.isnan(t).logical_not() if _has_nulls(t) else torch.ones_like(t, dtype=torch.bool)


def _beside(v: Tensor, t: Tensor) -> Any:
    """A list with one value per row, with as many dimensions as t."""
    return v.reshape(-1, *[1] * (t.dim() - 1))


# ------------------------------------------------------------------ running


def _alone(t: Tensor, value: float) -> Any:
    """A list with its nulls ignored; in rows they propagate, as between q's vectors."""
    return _nulls_as(t, value) if t.dim() == 1 else t


def sums(t: Tensor) -> Any:
    return torch.cumsum(_alone(t, 0), 0)


def prds(t: Tensor) -> Any:
    return torch.cumprod(_alone(t, 1), 0)


def maxs(t: Tensor) -> Any:
    """Running maximum; a null is lowest, in rows also at the start."""
    highest = torch.cummax(_nulls_as(t, -torch.inf), 0).values
    return (
        torch.where(torch.cumsum(_here(t), 0) == 0, torch.nan, highest)
        if t.dim() > 1 and _has_nulls(t)
        else highest
    )


def mins(t: Tensor) -> Any:
    return torch.cummin(_alone(t, torch.inf), 0).values


def avgs(t: Tensor) -> Any:
    """Running means; a scalar is returned unchanged."""
    t = floating(t)
    if not t.dim():
        return t
    valid = _here(t) if t.dim() == 1 else _beside(torch.ones(len(t), device=t.device), t)
    return sums(t) / torch.cumsum(valid.to(t.dtype), 0)


def fills(t: Tensor) -> Any:
    """Each null replaced by the preceding value."""
    if not t.dim() or not len(t) or not _has_nulls(t):
        return t.clone()
    positions = _beside(torch.arange(len(t), device=t.device), t)
    return torch.gather(t, 0, torch.cummax(torch.where(torch.isnan(t), 0, positions), 0).values)


def ema(a: Tensor | float, t: Tensor) -> Any:
    """The exponential moving average, with one factor or one per row: y[i] is a*t[i] + (1-a)*y[i-1]. Blocks of 1, 2,
    4.. rows are combined, so that few calls are needed whatever the length."""
    t = floating(t)
    if not t.dim():
        raise CallError("ema", "expected a list")
    if isinstance(a, torch.Tensor):
        if a.dim() > 1 or (a.dim() and len(a) != len(t)):
            raise QError("length")
        a = _beside(a.to(t.dtype), t) if a.dim() else a.to(t.dtype)
    if len(t) < 2:
        return t.clone()
    average = torch.cat((t[:1], (a * t)[1:]))
    decay = torch.broadcast_to(torch.as_tensor(1 - a, dtype=t.dtype, device=t.device), t.shape)
    span = 1
    while span < len(t):
        average = torch.cat((average[:span], average[span:] + decay[span:] * average[:-span]))
        decay = torch.cat((decay[:span], decay[span:] * decay[:-span]))
        span *= 2
    return average


# ------------------------------------------------------------------ moving


def _count(name: str, x: Value) -> int:
    number = int(x) if isinstance(x, bool) else long_of(x)
    if number is None:
        raise CallError(name, expected="a long", given=kname(x))
    return number


def _after(t: Tensor, k: int, value: float) -> Any:
    """t shifted down by k rows, with a value in front."""
    return torch.cat((t.new_full((min(k, len(t)), *t.shape[1:]), value), t[: max(len(t) - k, 0)]))


def _window_sum(t: Tensor, n: int) -> Any:
    """Sums of the last n rows, combined from windows of 1, 2, 4.. rows, which avoids differences of large totals."""
    sums, offset, width = torch.zeros_like(t), 0, 1
    n = min(n, len(t))
    while n > 0:
        if n & 1:
            sums = sums + _after(t, offset, 0)
            offset += width
        n >>= 1
        if n:
            t = t + _after(t, width, 0)
            width *= 2
    return sums


def _window_best(t: Tensor, n: int, better: Fn) -> Any:
    width, n = 1, min(n, len(t))
    while width < n:
        step = min(width, n - width)
        t = torch.cat((t[:step], better(t[step:], t[:-step])))
        width += step
    return t


def _moving(name: str, fn: Fn) -> Fn:
    def run(x: Value, t: Tensor) -> Any:
        width = _count(name, x)
        return fn(t, width) if t.dim() else fn(t.reshape(1), width).reshape(())

    return run


def _msum(t: Tensor, n: int) -> Any:
    t = _nulls_as(t, 0)
    return _window_sum(t.to(torch.int64) if t.dtype == torch.bool else t, n)


def _mavg(t: Tensor, n: int) -> Any:
    t = floating(t)
    return _msum(t, n) / _window_sum(_here(t).to(t.dtype), n)


def _mdev(t: Tensor, n: int) -> Any:
    t = floating(t)
    valid = _here(t) & torch.isfinite(t)
    middle = torch.where(valid, t, 0).sum(0) / valid.sum(0).clamp(min=1)
    t = t - torch.round(middle.detach())  # squares of centred values lose little precision
    mean = _mavg(t, n)
    square = _mavg(t * t, n) - mean * mean
    above = square > 0
    return torch.where(
        above,
        torch.sqrt(torch.where(above, square, 1)),
        torch.where(torch.isnan(square), square, 0),
    )


# ------------------------------------------------------------------ neighbours


def _whole(t: Tensor) -> Any:
    """Booleans and bytes as signed numbers."""
    return t.to(torch.int32) if t.dtype in (torch.bool, torch.uint8) else t


def deltas(t: Tensor) -> Any:
    t = _whole(t)
    return torch.cat((t[:1], t[1:] - t[:-1])) if t.dim() else t


def ratios(t: Tensor) -> Any:
    return torch.cat((floating(t[:1]), t[1:] / t[:-1])) if t.dim() else t


def deltas_from(x: Tensor, t: Tensor) -> Any:
    t = _whole(t)
    return torch.cat((t[:1] - x, t[1:] - t[:-1])) if t.dim() else t - x


def ratios_from(x: Tensor, t: Tensor) -> Any:
    return torch.cat((t[:1] / x, t[1:] / t[:-1])) if t.dim() else t / x


def differ(t: Tensor) -> Any:
    """Which rows differ from their predecessor; nulls are equal."""
    if not t.dim():
        return t
    later, earlier = t[1:], t[:-1]
    changed = later != earlier
    if _has_nulls(t):
        changed = changed & (torch.isnan(later) & torch.isnan(earlier)).logical_not()
    first = torch.ones(len(t[:1]), dtype=torch.bool, device=t.device)
    return torch.cat((first, changed.flatten(1).any(1) if t.dim() > 1 else changed))


def _shifted(name: str, t: Tensor, n: int) -> Any:
    """The row n places before each; null if there is none."""
    shift = min(abs(n), len(t))
    if not shift:
        return t.clone()
    if _has_nulls(t):
        null: Any = torch.nan
    elif t.dtype in (torch.bool, torch.uint8, torch.int8):
        null = 32 if t.dtype == torch.int8 else 0
    else:
        raise QError(
            f"{name}: whole numbers ({dtype_name(t.dtype)}) of a tensor have no null to put in, floats have"
        )
    gap = t.new_full((shift, *t.shape[1:]), null)
    return torch.cat((gap, t[: len(t) - shift]) if n > 0 else (t[shift:], gap))


def xprev(x: Value, t: Tensor) -> Any:
    shift = _count("xprev", x)
    if not t.dim():
        raise CallError("xprev", "expected a list")
    return _shifted("xprev", t, shift)


# ------------------------------------------------------------------ bars and parts


def xbar(x: Tensor, t: Tensor) -> Any:
    """t rounded down to a multiple of x, in its type."""
    if not _has_nulls(t) and not _has_nulls(x):
        return torch.floor_divide(t, x) * x
    return torch.floor(t / x) * x


def sublist(x: Value, t: Tensor) -> Any:
    """At most x rows, from the end if negative; two numbers are start and count."""
    count = _count("sublist", x) if longs_of(x) is None or long_of(x) is not None else None
    if not t.dim():
        raise CallError("sublist", "expected a list")
    if count is not None:
        return t[:count] if count >= 0 else t[max(len(t) + count, 0) :]
    pair = longs_of(x) or []
    if len(pair) != 2:
        raise QError("length")
    start, size = pair
    first = min(max(start, 0), len(t))
    return t[first : min(max(start + max(size, 0), first), len(t))]


def parts(name: str, x: Value, t: Tensor) -> list[Any]:
    """Parts of x rows each, or parts that begin at rows x."""
    starts = longs_of(x)
    if starts is None or not t.dim():
        raise CallError(name, "expected long(s)" if starts is None else "expected a list")
    if long_of(x) is not None:
        if starts[0] <= 0:
            raise QError("domain")
        return list(torch.split(t, starts[0])) if len(t) else []
    if starts and (
        starts[0] < 0 or any(stop < start for start, stop in zip(starts, starts[1:], strict=False))
    ):
        raise QError("domain")
    if starts and starts[-1] > len(t):
        raise QError("length")
    return [t[start:stop] for start, stop in zip(starts, [*starts[1:], len(t)], strict=True)]


def without(t: Tensor, x: Value) -> Any:
    """t without the row at an index, if it exists."""
    index = _count("_", x)
    if not t.dim():
        raise CallError("_", "expected a list")
    return torch.cat((t[:index], t[index + 1 :])) if 0 <= index < len(t) else t


MONADS: dict[str, Fn] = {
    "sums": sums,
    "prds": prds,
    "maxs": maxs,
    "mins": mins,
    "avgs": avgs,
    "fills": fills,
    "deltas": deltas,
    "ratios": ratios,
    "differ": differ,
    "prev": lambda t: _shifted("prev", t, 1) if t.dim() else t,
    "next": lambda t: _shifted("next", t, -1) if t.dim() else t,
}
# verbs whose left argument is a q value
COUNTED: dict[str, Fn] = {
    "msum": _moving("msum", _msum),
    "mavg": _moving("mavg", _mavg),
    "mdev": _moving("mdev", _mdev),
    "mcount": _moving("mcount", lambda t, n: _window_sum(_here(t).to(torch.int64), n)),
    "mmax": _moving("mmax", lambda t, n: _window_best(_nulls_as(t, -torch.inf), n, torch.maximum)),
    "mmin": _moving("mmin", lambda t, n: _window_best(t, n, torch.minimum)),
    "xprev": xprev,
    "sublist": sublist,
}
DYADS: dict[str, Fn] = {"xbar": xbar, "deltas": deltas_from, "ratios": ratios_from}
