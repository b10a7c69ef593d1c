"""Checks before calls that would crash or hang torch instead of raising an error (observed with the CPU build).

Other dangerous inputs are caught elsewhere: sparse indices outside the size (torch's own checks are enabled when it is
loaded), offsets of embedding bags (torch checks them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kshell import nn, optim
from kshell.errors import SAID, CallError, QError
from kshell.kapi.base.call import reserve
from kshell.kapi.base.lazy_torch import torch

if TYPE_CHECKING:
    from torch import Tensor
    from torch import dtype as DType
    from torch.optim import Optimizer

# torch treats most windows as 32-bit integers; elsewhere it iterates over them
WINDOW_MAX = (1 << 31) - 1
WINDOWS = ("size", "stride", "pad", "dilate")


def windows(name: str, given: dict[str, Any]) -> None:
    """The windows of a convolution or pooling layer, by option: `maxpool1d` hangs on a window of 2^40."""
    for key in WINDOWS:
        value = given.get(key)
        sizes: Iterable[Any] = value if isinstance(value, list | tuple) else (value,)
        if any(size.__class__ is int and abs(size) > WINDOW_MAX for size in sizes):
            raise CallError(name, f"{key} is more than {WINDOW_MAX}")


def ctc(x: Tensor, y: Tensor, nx: Tensor, ny: Tensor) -> None:
    """The inputs, targets and lengths of a ctc loss: torch reads out of bounds if they are out of range."""
    classes, steps = x.shape[-1], x.shape[0]
    if y.numel() and (int(y.min()) < 0 or int(y.max()) >= classes):
        raise CallError("ctc", f"targets must be in the range 0-{classes - 1}")
    longest = y.shape[-1] if y.dim() > 1 else y.numel()
    for name, n, limit in (("input", nx, steps), ("target", ny, longest)):
        if n.numel() and (int(n.min()) < 0 or int(n.max()) > limit):
            raise CallError("ctc", f"{name} lengths must be in the range 0-{limit}")
    if y.dim() == 1 and x.dim() == 3 and int(ny.sum()) > y.numel():
        raise QError(
            f"ctc: target lengths add up to {int(ny.sum())}, but {y.numel()} target(s) given"
        )


SIZE_MAX = (1 << 31) - 1  # the libraries for transforms and powers use 32-bit counts


def transform(name: str, x: Tensor, size: int | Sequence[int] | None, dim: Any) -> None:
    """The sizes of a Fourier transform: torch attempts one of length 2^40 instead of rejecting it."""
    sizes = [size] if isinstance(size, int) else size or ()
    if any(size > SIZE_MAX for size in sizes):
        raise CallError(name, f"size is more than {SIZE_MAX}")
    reserve([size for size in sizes if size > 0], 2 * x.element_size())


def length(name: str, n: int) -> None:
    """The length of a window or of sample frequencies."""
    if n < 0:
        raise QError(f"{name}: length is {n}")
    reserve((n,), 8)
    if n > SIZE_MAX:
        raise CallError(name, f"length is more than {SIZE_MAX}")


def finite(name: str, x: Tensor) -> None:
    """A matrix for eigenvalues: LAPACK reads out of bounds if a value is null or infinite."""
    if not bool(torch.isfinite(x).all()):
        raise CallError(name, "the input has nulls or infinities")


def unknowns(name: str, a: Tensor) -> None:
    """The matrix of a least-squares problem: `gelss` crashes the process if it has no columns or rows."""
    if not a.numel():
        raise CallError(name, "the matrix has no elements")


def factors(name: str, lu: Tensor, pivots: Tensor) -> None:
    """A factorization and its pivots: torch indexes one by the other without checks."""
    if lu.dim() < 2:
        raise QError(f"{name}: expecting a matrix or matrices, given {lu.dim()} dimension(s)")
    if pivots.dtype != torch.int32:
        raise CallError(name, "expecting pivots of type int")
    if tuple(pivots.shape) != (*lu.shape[:-2], min(lu.shape[-2:])):
        raise CallError(
            name,
            f"size of pivots, {list(pivots.shape)}, does not fit that of matrices, {list(lu.shape)}",
            given=SAID,
        )
    if pivots.numel() and (int(pivots.min()) < 1 or int(pivots.max()) > lu.shape[-2]):
        raise CallError(name, f"pivots must be in the range 1-{lu.shape[-2]}")


def exponent(name: str, n: int) -> None:
    """The exponent of a matrix power: torch hangs on -2^63."""
    if abs(n) > SIZE_MAX:
        raise CallError(name, f"n is beyond {SIZE_MAX}")


def multiples(name: str, *given: Any) -> None:
    """Integers for a least common multiple: torch divides by an overflowed value if one is the minimum of its type."""
    for t in given:
        if t.dtype.is_floating_point or t.dtype.is_complex or t.dtype == torch.bool:
            continue
        if bool((t == torch.iinfo(t.dtype).min).any()):
            raise QError(f"{name}: {torch.iinfo(t.dtype).min} has no multiple of its type")


# ------------------------------------------------------------------ outputs of calls that fail

# tensors up to this many elements are backed up during calls that can fail midway
KEPT = 1 << 20


def large(tensors: Iterable[Any]) -> bool:
    """Is one of the tensors too large to be copied on each call?"""
    return any(tensor.numel() > KEPT for tensor in tensors)


class kept:
    """A block that writes to tensors; if it fails, their sizes are restored and (unless `sizes` says that only these
    change) their values. torch resizes outputs before it knows whether it can compute, or has the memory."""

    __slots__ = ("before",)

    def __init__(self, tensors: Iterable[Any], sizes: bool = False) -> None:
        self.before = [
            (
                tensor,
                tensor.size(),
                tensor.stride(),
                tensor.storage_offset(),
                tensor.detach().clone() if not sizes and tensor.numel() else None,
            )
            for tensor in tensors
            if tensor.layout is torch.strided and tensor.device.type != "meta"
        ]

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is None:
            return
        with torch.no_grad():
            for t, size, stride, offset, values in self.before:
                if t.size() != size or t.stride() != stride:
                    t.set_(t.untyped_storage(), offset, size, stride)
                if values is not None and not torch.equal(t, values):
                    t.copy_(values)


class whole_step:
    """A block in which an optimizer moves parameters, computes the loss and moves them again; if it fails, parameters
    and state are restored."""

    __slots__ = ("before", "parameters", "state")

    def __init__(self, o: Optimizer) -> None:
        self.parameters = kept(param for group in o.param_groups for param in group["params"])
        self.state = optim.state_tree.StateTree(o)
        self.before = self.state.copy()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self.parameters.__exit__(kind)
        if kind is not None:
            self.state.restore(self.before)


def before_a_device(check: Callable[..., None]) -> Callable[..., None]:
    """Marks a check for inputs that would kill a GPU context: it runs whenever a call's inputs are on a device."""
    check.device = True  # type: ignore[attr-defined]
    return check


def guarded(
    name: str, fn: Callable[..., Any], check: Callable[..., None] | None
) -> Callable[..., Any]:
    """fn, preceded by its check on devices if it has one."""
    if not getattr(check, "device", False):
        return fn

    def run(x: Tensor, *more: Any, **options: Any) -> Any:
        if not x.is_cpu and check is not None:
            check(name, x, *more, **options)
        return fn(x, *more, **options)

    return run


def indices(low: int = 0) -> Callable[..., None]:
    """A check for the second input of a call: indices into a dimension of the first, or into all its elements if there
    is none; at least `low` times its size. Cases that torch rejects itself before it starts are left to torch."""

    @before_a_device
    def check(
        name: str, x: Tensor, at: Tensor, *_: Any, dim: int | None = None, **more: Any
    ) -> None:
        if at.dtype not in (torch.int64, torch.int32) or not at.numel() or not readable(at):
            return
        if dim is None:
            n, where = x.numel(), ""
        elif -x.dim() <= dim < x.dim():
            n, where = x.shape[dim], f"dimension {dim} with "
        else:
            return
        least, most = (int(i) for i in (torch.aminmax(at) if at.is_cpu else span(at)))
        # of the tensor that it is part of
        if (least < low * n or most >= n) and at._base is not None:
            least, most = (int(i) for i in torch.aminmax(at))
        if least < low * n or most >= n:
            raise CallError(
                name,
                f"index {most if most >= n else least} is out of bounds for {where}size {n}",
                says=(most if most >= n else least, dim, n),
            )

    return check


# ------------------------------------------------------------------ what a GPU does not refuse


def span(t: Tensor) -> tuple[float, float]:
    """The minimum and maximum of a tensor, or of the one that it is part of; read back from a device, and cached until
    something writes it."""
    return nn.bounds.span(t)


def copied(t: Tensor, there: Tensor) -> None:
    """A copy on a device takes the range of its source, which the CPU can read without synchronizing."""
    nn.bounds.copied(t, there)


def readable(t: Tensor) -> bool:
    """Does a tensor have values, and may they be read now?"""
    return nn.bounds.readable(t)


def within(name: str, t: Tensor, n: int, what: str) -> None:
    """A check for indices into n items."""
    nn.bounds.within(name, t, n, what)


def classes(x: Tensor, y: Tensor, ignore: int | None) -> None:
    """A check for targets that are class indices. On the CPU torch makes this check, with these words; a GPU fails with
    an error that makes it unusable for the process."""
    n = x.shape[1 if x.dim() > 1 else 0] if x.dim() else 0
    if y.is_floating_point() or not y.numel():
        return
    low, high = span(y)
    if low >= 0 and high < n:
        return

    def wrong(t: Tensor) -> Any:
        outside = (t < 0) | (t >= n)
        return t[outside if ignore is None else outside & (t != ignore)]

    y = nn.bounds.original(y)
    if not nn.bounds.passes(y, ("classes", n, ignore), lambda t: not wrong(t).numel()):
        raise IndexError(f"Target {int(wrong(y)[0])} is out of bounds.")


def probabilities(x: Tensor) -> None:
    """A check, for the same reason, for inputs that must be between 0 and 1."""
    low, high = span(x) if x.numel() else (0, 0)
    if not (low >= 0 and high <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")


def divisor(name: str, x: Tensor, y: Tensor, **more: Any) -> None:
    """A check for the second input of a call, an integer divisor."""
    if x.is_floating_point() or y.is_floating_point() or y.device.type == "meta":
        return
    if int(torch.count_nonzero(y)) == y.numel():
        return
    raise CallError(name, "division by zero")


@before_a_device
def source(name: str, x: Tensor, mask: Tensor, y: Tensor, **more: Any) -> None:
    """A check that there are enough elements for the positions."""
    if mask.dtype is torch.bool and readable(mask):
        n = int(mask.expand_as(x).sum()) if mask.dim() <= x.dim() else int(mask.sum())
        if n > y.numel():
            raise QError(f"{name}: {y.numel()} element(s) for {n} places")


def castable(
    name: str, x: Tensor, *, outs: Sequence[Any], dtype: DType | None = None, **more: Any
) -> None:
    """A check that the output can hold the result type: for sums, torch finds out only after computing."""
    fits(name, [dtype or x.dtype], outs)


def fits(name: str, types: Iterable[Any], outs: Sequence[Any]) -> None:
    """Can outputs hold results of these types?"""
    for kind, out in zip(types, outs, strict=False):
        if not torch.can_cast(kind, out.dtype):
            text = f"{name}: the result is {kind}, which does not fit an output of {out.dtype}"
            raise QError(text.replace("torch.", ""))
