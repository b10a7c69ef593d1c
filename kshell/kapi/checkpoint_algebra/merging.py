"""Merging the tensors of several models that have one name: means, task vectors, TIES, DARE, spherical interpolation.

The arithmetic is that of mergekit 0.1.5 in float32, or in float64 for tensors of that type; the result is rounded once,
to the type of the first tensor or the base. Long tensors are worked on in pieces, so that the memory is that of the
tensors, the result and a few pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.errors import said
from kshell.kapi.base.lazy_torch import torch
from kshell.values.session.interrupts import PENDING, give_up

if TYPE_CHECKING:
    from torch import Generator, Tensor
    from torch import dtype as DType

PIECE = 1 << 20  # items of which sums are made at a time
NEAR = 1 << 18  # items that are worked on at a time: those of a few tensors fit a cache
_SMALL = 1e-7  # an l1 norm below which nothing is rescaled
_PARALLEL = 0.9995  # the cosine above which two tensors count as parallel
_ZERO = 1e-8  # the norm below which a tensor counts as zero


def wide(dtype: DType) -> Any:
    """The type in which tensors of a type are computed."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _flat(t: Tensor) -> Any:
    return t.detach().reshape(-1)


def pieces(count: int, most: int = 0) -> Iterator[slice]:
    """The places of the pieces of so many items, in order, each of PIECE items or `most`; an interrupt ends them."""
    step = most or PIECE
    for start in range(0, count, step):
        if PENDING:
            give_up()
        yield slice(start, start + step)


def _same_shapes(tensors: Sequence[Any]) -> None:
    for tensor in tensors[1:]:
        if tensor.shape != tensors[0].shape:
            raise said(
                ValueError(f"the sizes differ: {list(tensors[0].shape)} and {list(tensor.shape)}")
            )


def linear(tensors: Iterable[Tensor], weights: Sequence[float], normalize: bool = True) -> Any:
    """The weighted sum of tensors, `sum(w_i x_i)`, divided by `sum(w_i)` if `normalize`. They are added in their
    order, and each is needed only once, so that an iterator may read one at a time.

    Wortsman et al. 2022, "Model soups" (arXiv 2203.05482); mergekit's `linear`. ValueError if the sizes differ.
    """
    result: Any = None
    dtype = None
    for tensor, weight in zip(tensors, weights, strict=True):
        if PENDING:
            give_up()
        if result is None:
            dtype = tensor.dtype
            result = torch.zeros_like(tensor, dtype=wide(dtype), requires_grad=False)
        _same_shapes([result, tensor])
        values = tensor.detach()
        if values.itemsize < 2:  # torch does not mix types of 8 bits with others
            values = values.to(result.dtype)
        result.addcmul_(values, torch.tensor(weight, dtype=result.dtype).to(result.device))
        del tensor, values  # before the next is read
    if result is None:
        raise ValueError("there is nothing to add")
    if normalize:
        result.div_(torch.tensor(weights, dtype=result.dtype).sum().to(result.device))
    return result.to(dtype)


class Kept(NamedTuple):
    """Which items of a difference are kept, and what they are multiplied with: `mask(piece, difference)` is a boolean
    tensor for a piece, None for all."""

    mask: Callable[[slice, Any], Any] | None = None
    factor: float = 1.0


def _merged(
    base: Tensor,
    tensors: Sequence[Tensor],
    weights: Sequence[float],
    kept: Sequence[Kept],
    scale: float,
    is_elected: bool,
    normalize: bool,
) -> Any:
    """`base + scale sum(w_i d_i)`, where d_i are the kept items of x_i - base. If `is_elected`, items count only where
    their sign is that of the sum. If `normalize`, the sum is divided by that of the weights that count."""
    kind = wide(base.dtype)
    before, others = _flat(base), [_flat(tensor) for tensor in tensors]
    result = torch.empty(before.shape, dtype=base.dtype, device=base.device)
    factors = [torch.tensor(weight, dtype=kind, device=base.device) for weight in weights]
    for piece in pieces(len(before), NEAR):
        start = before[piece].to(kind)
        changes = [
            _kept_of(other[piece].to(kind) - start, keep, piece).mul_(factor)
            for other, keep, factor in zip(others, kept, factors, strict=True)
        ]
        if is_elected:
            total, divisor = _elected(changes, factors)
        else:
            total = _sum(changes)
            divisor = _sum(factors)
            divisor = torch.ones_like(divisor) if divisor.abs() < _ZERO else divisor
        if normalize:
            total /= divisor
        if scale != 1:
            total *= scale
        result[piece] = (start + total).to(base.dtype)
    return result.reshape(base.shape)


def _kept_of(change: Tensor, keep: Kept, piece: slice) -> Any:
    if keep.mask is not None:
        change *= keep.mask(piece, change)
    if keep.factor != 1:
        change *= keep.factor
    return change


def _sum(tensors: Sequence[Any]) -> Any:
    """The sum: in order up to four tensors, in torch's order for more."""
    return torch.stack(list(tensors)).sum(dim=0)


def _elected(changes: Sequence[Any], factors: Sequence[Any]) -> tuple[Any, Any]:
    """The sum of the items whose sign is that of the sum of all, and that of their weights (1 where it is 0)."""
    sign = (_sum(changes) >= 0).to(changes[0].dtype).mul_(2).sub_(1)
    masks = [change.sign() == sign for change in changes]
    total = _sum([change * mask for change, mask in zip(changes, masks, strict=True)])
    divisor = _sum([mask * factor for mask, factor in zip(masks, factors, strict=True)])
    divisor[divisor == 0] = 1
    return total, divisor


def task_arithmetic(
    base: Tensor, tensors: Sequence[Tensor], weights: Sequence[float], scale: float = 1.0
) -> Any:
    """`base + scale sum(w_i (x_i - base))`: task vectors, added with weights.

    Ilharco et al. 2022, "Editing models with task arithmetic" (arXiv 2212.04089). The differences are added first, then
    the base. ValueError if the sizes differ.
    """
    _same_shapes([base, *tensors])
    return _merged(base, tensors, weights, [Kept()] * len(tensors), scale, False, False)


def ties(
    base: Tensor,
    tensors: Sequence[Tensor],
    weights: Sequence[float],
    density: Sequence[float],
    scale: float = 1.0,
    normalize: bool = True,
) -> Any:
    """TIES: of each difference `d_i = x_i - base` the share `density` of the largest items is kept; where the signs of
    `w_i d_i` differ, that of their sum is elected (+1 for 0) and the others are left out; the sum of the rest is
    divided by the sum of its weights if `normalize`, multiplied by `scale` and added to the base.

    Yadav et al. 2023, "TIES-merging: resolving interference when merging models" (arXiv 2306.01708). Of n items
    `max(1, int(density n))` are kept. Items of equal size at the border are kept in the order of torch's argsort.
    ValueError if the sizes differ.
    """
    _same_shapes([base, *tensors])
    kept = [
        Kept(_largest(base, tensor, share)) for tensor, share in zip(tensors, density, strict=True)
    ]
    return _merged(base, tensors, weights, kept, scale, True, normalize)


def _largest(base: Tensor, tensor: Tensor, density: float) -> Callable[[slice, Any], Any] | None:
    """The mask of the largest items of a difference; None if all are kept."""
    count = base.numel()
    if density >= 1 or not count:
        return None
    if density <= 0:
        return _none
    sizes = _sizes(base, tensor)
    keep = max(1, int(density * count))
    least = sizes.numpy().copy()
    least.partition(count - keep)  # in numpy: torch's needs the places of all items
    border = float(least[count - keep])
    del least
    if border == 0 or int((sizes >= border).sum()) == keep:
        return partial(_at_least, border)
    mask = torch.zeros(count, dtype=torch.bool)
    mask[torch.argsort(sizes, descending=True)[:keep]] = True
    return partial(_of_mask, mask)


def _sizes(base: Tensor, tensor: Tensor) -> Any:
    """The absolute values of a difference, on the CPU."""
    kind = wide(base.dtype)
    before, other = _flat(base), _flat(tensor)
    sizes = torch.empty(before.shape, dtype=kind)
    for piece in pieces(len(before), NEAR):
        sizes[piece] = (other[piece].to(kind) - before[piece].to(kind)).abs_()
    return sizes


def _none(piece: slice, change: Tensor) -> Any:
    return torch.zeros_like(change, dtype=torch.bool)


def _at_least(border: float, piece: slice, change: Tensor) -> Any:
    return change.abs() >= border


def _of_mask(mask: Tensor, piece: slice, change: Tensor) -> Any:
    return mask[piece].to(change.device)


def dropped(count: int, density: float, generator: Generator) -> Any:
    """The mask of the items that DARE keeps: each with probability `density`, drawn from the generator."""
    mask = torch.empty(count, dtype=torch.bool)
    for piece in pieces(count, NEAR):
        part = mask[piece]
        part[:] = torch.bernoulli(torch.full(part.shape, density), generator=generator)
    return mask


def dare(
    base: Tensor,
    tensors: Sequence[Tensor],
    weights: Sequence[float],
    density: Sequence[float],
    masks: Sequence[Tensor],
    scale: float = 1.0,
    rescale: str = "l1",
    is_elected: bool = False,
    normalize: bool = False,
) -> Any:
    """DARE: of each difference `d_i = x_i - base` only the items of its mask are kept, which is drawn by `dropped`;
    then they are added as task vectors, or as in TIES if `is_elected`.

    Yu et al. 2023, "Language models are super Mario" (arXiv 2311.03099): what is kept is divided by the density, 1-p
    (`rescale` is "paper"). mergekit multiplies it so that its l1 norm is that of the whole difference ("l1"); "none"
    leaves it. A density of 1 keeps all. ValueError if the sizes differ.
    """
    _same_shapes([base, *tensors])
    kept = []
    for tensor, share, mask in zip(tensors, density, masks, strict=True):
        factor = {"l1": lambda t=tensor, m=mask: _l1_ratio(base, t, m)}.get(rescale)
        if share >= 1:
            kept.append(Kept())
        elif factor is not None:
            kept.append(Kept(partial(_of_mask, mask), factor()))
        else:
            paper = 1 / share if rescale == "paper" and share > 0 else 1.0
            kept.append(Kept(partial(_of_mask, mask), paper))
    return _merged(base, tensors, weights, kept, scale, is_elected, normalize)


def _l1_ratio(base: Tensor, tensor: Tensor, mask: Tensor) -> float:
    """The l1 norm of a difference over that of its kept items; 1 if one of them is almost 0."""
    whole = rest = 0.0
    kind = wide(base.dtype)
    before, other = _flat(base), _flat(tensor)
    for piece in pieces(len(before), NEAR):
        sizes = (other[piece].to(kind) - before[piece].to(kind)).abs_().double().cpu()
        whole += float(sizes.sum())
        rest += float((sizes * mask[piece]).sum())
    return 1.0 if whole < _SMALL or rest < _SMALL else whole / rest


def slerp(a: Tensor, b: Tensor, t: float) -> Any:
    """Spherical interpolation between two tensors, each taken as one vector: `(sin((1-t) o) a + sin(t o) b) / sin o`
    with o the angle between them; linear, `(1-t) a + t b`, if they are almost parallel (cosine above 0.9995).

    Shoemake 1985, "Animating rotation with quaternion curves"; mergekit's `slerp`. ValueError if the sizes differ.
    """
    _same_shapes([a, b])
    kind = wide(a.dtype)
    x, y = _flat(a), _flat(b)
    share = torch.tensor([[t]], dtype=kind, device=x.device)
    if not len(x):
        return a.detach().clone()
    x_norm, y_norm = _norm(x, kind), _norm(y, kind)
    products = [
        ((x[p].to(kind) / x_norm) * (y[p].to(kind) / y_norm)).reshape(1, -1).sum(1, keepdim=True)
        for p in pieces(len(x))
    ]
    cosine = torch.stack(products).sum(dim=0).clamp(-1, 1)
    if float(cosine.abs()) > _PARALLEL:
        first, second = 1 - share, share
    else:
        angle = torch.acos(cosine)
        first = torch.sin((1 - share) * angle) / torch.sin(angle)
        second = torch.sin(share * angle) / torch.sin(angle)
    result = torch.empty_like(x)
    for p in pieces(len(x)):
        result[p] = (first * x[p].to(kind) + second * y[p].to(kind)).reshape(-1)
    return result.reshape(a.shape)


def _norm(x: Tensor, kind: Any) -> Any:
    """The norm of a vector, 1 if it is almost 0."""
    parts = [
        torch.linalg.vector_norm(x[p].to(kind).reshape(1, -1), dim=1, keepdim=True)
        for p in pieces(len(x))
    ]
    norm = torch.linalg.vector_norm(torch.stack(parts), dim=0)
    return (norm if float(norm) > _ZERO else torch.ones_like(norm)).reshape(())
