"""Float matrices: mmu, inv, lsq, and the dot product of `$`."""

from __future__ import annotations

import numpy as np

from kshell.errors import QError
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, regular
from kshell.values.base.core import List, Nd, Value, Vec
from kshell.values.engine.dispatch import Array


def float_array(x: Value) -> Array | None:
    """A float (or real) vector or matrix as float64; None for anything else."""
    found = as_nd(x) if x.__class__ is List else x
    if isinstance(found, (Vec, Nd)) and found.t in (T.E, T.F):
        return found.a if found.a.dtype == np.float64 else found.a.astype(np.float64)
    return None


def _needed(x: Value) -> Array:
    a = float_array(x)
    if a is None:
        raise QError("type")
    return a


_SMALL = (
    16  # up to this size, products are summed from first to last, as in q, for the same last digits
)
_FEW = 4096  # operands with more items use BLAS


def _product(a: Array, b: Array, size: int = 0) -> Array:
    """Matrix or dot product. `size` is the size of the larger operand when the product is one of many."""
    n = b.shape[0]
    if not n:
        return np.zeros(a.shape[:-1] + b.shape[1:])
    if n > _SMALL or (size or max(a.size, b.size)) > _FEW:
        return np.asarray(
            np.dot(a.reshape(-1, n), b.reshape(n, -1)).reshape(a.shape[:-1] + b.shape[1:])
        )
    if a.ndim == b.ndim == 1:
        u, v = a.tolist(), b.tolist()
        total = u[0] * v[0]
        for k in range(1, n):
            total += u[k] * v[k]
        return np.array(total)
    terms = np.multiply.outer if b.ndim == 2 else np.multiply
    out = terms(a[..., 0], b[0])
    for k in range(1, n):
        out = out + terms(a[..., k], b[k])
    return np.asarray(out)


def products(vectors: Value, other: Value, first: bool) -> Value | None:
    """The products of many vectors of equal length with one matrix or vector, on either side: one matrix product for
    all of them. None if there is no such product."""
    a, b = float_array(vectors), float_array(other)
    if a is None or b is None or a.ndim != 2 or b.ndim > 2 or not b.size:
        return None
    if not first and b.ndim == 2:
        b = b.T
    return (
        None if a.shape[1] != b.shape[0] else regular(T.F, _product(a, b, max(a.shape[1], b.size)))
    )


def _inverse(a: Array) -> Array:
    """Inverse of a square matrix by LU decomposition with partial pivoting."""
    count = len(a)
    if count > _SMALL:
        return np.linalg.inv(a)
    u, x = a.copy(), np.eye(count)
    for k in range(count):
        m = k + int(np.argmax(np.abs(u[k:, k])))
        if not u[m, k]:
            raise np.linalg.LinAlgError
        u[[k, m]], x[[k, m]] = u[[m, k]], x[[m, k]]
        factor = (u[k + 1 :, k] / u[k, k])[:, None]
        u[k + 1 :] -= factor * u[k]
        x[k + 1 :] -= factor * x[k]
    for k in reversed(range(count)):
        x[k] /= u[k, k]
        x[:k] -= u[:k, k, None] * x[k]
    return x


def _normal_solution(a: Array, b: Array) -> Array | None:
    """The least-squares solution of a = x mmu b by Cholesky decomposition of the normal equations, as in q; None if the
    rows of b are not independent."""
    m, x = _product(b, b.T), _product(b, a.T)
    count = len(m)
    for k in range(count):
        if not m[k, k] > 0:
            return None
        m[k, k] = np.sqrt(m[k, k])
        m[k + 1 :, k] /= m[k, k]
        m[k + 1 :, k + 1 :] -= np.multiply.outer(m[k + 1 :, k], m[k + 1 :, k])
    for k in range(count):
        x[k] /= m[k, k]
        x[k + 1 :] -= np.multiply.outer(m[k + 1 :, k], x[k])
    for k in reversed(range(count)):
        x[k] /= m[k, k]
        x[:k] -= np.multiply.outer(m[k, :k], x[k])
    return np.ascontiguousarray(x.T)


@verb("mmu", handle=True)
def mmu(x: Value, y: Value) -> Value:
    """Matrix product, or dot product of two vectors, of floats. Two lists of matrices are multiplied pairwise.

    q)(1 2f;3 4f)mmu 5 6f
    17 39f
    """
    a, b = _needed(x), _needed(y)
    if a.ndim == b.ndim > 2:
        if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
            raise QError("length")
        return regular(T.F, np.matmul(a, b))
    if a.shape[-1] != b.shape[0]:
        raise QError("length")
    return regular(T.F, _product(a, b))


@verb("inv", handle=True)
def inv(x: Value) -> Value:
    """Inverse of a square float matrix; null if it is singular.

    q)inv(2 0f;0 4f)
    0.5 0
    0   0.25
    """
    a = _needed(x)
    if a.ndim != 2:
        raise QError("type")
    if a.shape[0] != a.shape[1]:
        raise QError("length")
    try:
        return Nd(T.F, _inverse(a))
    except np.linalg.LinAlgError:
        return Nd(T.F, np.full(a.shape, np.nan))


@verb("lsq", handle=True)
def lsq(x: Value, y: Value) -> Value:
    """Least-squares solution: the matrix that multiplied by y comes closest to x; null if an item is null or infinite.

    q)(enlist 1 2 3f)lsq(1 1 1f;0 1 2f)
    1 1
    """
    a, b = _needed(x), _needed(y)
    if a.ndim != 2 or b.ndim != 2:
        raise QError("type")
    if a.shape[1] != b.shape[1]:
        raise QError("length")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return Nd(T.F, np.full((len(a), len(b)), np.nan))
    found = _normal_solution(a, b)
    return Nd(
        T.F,
        np.ascontiguousarray(np.linalg.lstsq(b.T, a.T, rcond=None)[0].T)
        if found is None
        else found,
    )
