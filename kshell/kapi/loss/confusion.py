"""`confusion`: the confusion matrix of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.errors import CallError, QError
from kshell.kapi.base.args import items, long_of, names_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensors, is_array, kname
from kshell.kapi.base.handles import TensorHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base.build import longs
from kshell.values.base.core import Dict, Table, Value, sym_vec

if TYPE_CHECKING:
    from torch import Tensor

_MOST = 1 << 12  # maximum number of classes; the table has its square of counts


def _classes(x: Tensor, what: str, scores: bool) -> tuple[Any, int]:
    """Class indices as a one-dimensional tensor, from indices or scores; and the number of classes if given as scores,
    else 0."""
    if x.is_complex():
        raise QError(
            f"confusion: expected class numbers or scores as {what}, given complex numbers"
        )
    if scores:
        if not x.shape[-1]:
            raise QError(f"confusion: the scores given as {what} are of no class")
        return x.argmax(-1).reshape(-1), int(x.shape[-1])
    if x.is_floating_point() and not bool((torch.isfinite(x) & (x == torch.round(x))).all()):
        raise CallError("confusion", f"expected whole numbers of classes as {what}")
    return x.reshape(-1).to(torch.int64), 0


def _counts(y: Tensor, p: Tensor, ignored: int | None, n: int) -> np.ndarray:
    """Counts by true and predicted class for pairs of class indices; with n classes, or as many as occur if n is 0."""
    if ignored is not None:
        keep = y != ignored
        y, p = y[keep], p[keep]
    low, high = (
        (min(int(y.min()), int(p.min())), max(int(y.max()), int(p.max()))) if y.numel() else (0, -1)
    )
    if low < 0:
        raise CallError(
            "confusion",
            f"class number {low} is below 0; (y;p;names;{low}) ignores it as a true class",
            says=(low,),
        )
    if n and high >= n:
        raise CallError("confusion", f"class number {high}, of {n} classes", says=(high, n))
    n = n or high + 1
    if n > _MOST:
        raise QError(f"confusion: up to {_MOST} classes, given {n}")
    return torch.bincount(y * n + p, minlength=n * n).cpu().numpy().reshape(n, n)


def _pair(given: Sequence[Value]) -> tuple[Any, Any, int]:
    """The true and predicted classes, and the number of classes according to scores."""
    for x, role in zip(given, ("true classes", "predictions"), strict=True):
        if not (isinstance(x, TensorHandle) or is_array(x)):
            raise CallError("confusion", expected=f"a tensor or array as {role}", given=kname(x))
    (y, p), _ = as_tensors(given)
    depth = p.dim() - y.dim()
    if abs(depth) > 1 or (y.shape[:-1] if depth < 0 else y.shape) != (
        p.shape[:-1] if depth > 0 else p.shape
    ):
        raise QError(
            f"confusion: true classes of size {list(y.shape)} and predictions of size {list(p.shape)} do not "
            "fit: they are of one size, or one of them has scores along one more dimension"
        )
    both = not depth and y.dim() > 1 and y.is_floating_point() and p.is_floating_point()
    truth, classes_y = _classes(y, "true classes", depth < 0 or both)
    predicted, classes_p = _classes(p, "predictions", depth > 0 or both)
    return truth, predicted, max(classes_y, classes_p)


def _names(x: Value, classes: int) -> list[str]:
    """The class names; `()` for none. With scores, their number must match."""
    names = names_of(x)
    if names is None or len(set(names)) != len(names):
        raise CallError(
            "confusion", expected="the names of the classes, all different", given=kname(x)
        )
    if names and classes and len(names) != classes:
        raise QError(f"confusion: {len(names)} name(s) and scores of {classes} classes")
    return names


def _class_to_ignore(x: Value) -> int:
    number = long_of(x)
    if number is None:
        raise CallError("confusion", expected="the number of the class to ignore", given=kname(x))
    return number


@api(
    "confusion",
    "confusion(y;p)",
    "confusion(y;p;names)",
    "confusion(y;p;names;ignored)",
    since="kshell",
    effect="none",
)
def confusion(x: Value) -> Value:
    """The confusion matrix of true classes y and predicted classes p, as a keyed table of counts.

    There is a row per true class and a column per predicted class. Both arguments are tensors or arrays of class
    indices from 0. One with an extra dimension holds scores; the predicted class is the index of the greatest score
    along the last dimension. Two arguments of real numbers with two or more dimensions both hold scores. The number of
    classes is the number of names, else the number of scores, else one more than the greatest index. Items whose true
    class is `ignored` are left out; names may be `()`.

    q)confusion(0 0 1 2;0 1 1 1)
    class| 0 1 2
    -----| -----
    0    | 1 1 0
    1    | 0 1 0
    2    | 0 1 0
    q)confusion(1 -1 0;(.1 .9;.5 .5;.8 .2);`cat`dog;-1)
    class| cat dog
    -----| -------
    cat  | 1   0
    dog  | 0   1
    """
    args = items(x)
    if not 2 <= len(args) <= 4:
        raise QError(f"confusion: expecting 2-4 args, given {len(args)}")
    ignored = _class_to_ignore(args[3]) if len(args) == 4 else None
    y, p, classes = _pair(args[:2])
    names = _names(args[2], classes) if len(args) > 2 else []
    counts = _counts(y, p, ignored, len(names) or classes)
    names = names or [str(index) for index in range(len(counts))]
    key = "true" if "class" in names else "class"
    return Dict(
        Table([key], [sym_vec(names)]),
        Table(list(names), [longs(column.copy()) for column in counts.T]),
    )
