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
    array = as_nd(x) if x.__class__ is List else x
    if isinstance(array, (Vec, Nd)) and array.t in (T.E, T.F):
        return array.a if array.a.dtype == np.float64 else array.a.astype(np.float64)
    return None


def _needed(x: Value) -> Array:
    array = float_array(x)
    if array is None:
        raise QError("type")
    return array


# up to this size, products are summed from first to last, as in q, for the same last digits
_SMALL = 16
_FEW = 4096  # operands with more items use BLAS


def _product(a: Array, b: Array, size: int = 0) -> Array:
    """Matrix or dot product. `size` is the size of the larger operand when the product is one of many."""
    length = b.shape[0]
    if not length:
        return np.zeros(a.shape[:-1] + b.shape[1:])
    if length > _SMALL or (size or max(a.size, b.size)) > _FEW:
        return np.asarray(
            np.dot(a.reshape(-1, length), b.reshape(length, -1)).reshape(a.shape[:-1] + b.shape[1:])
        )
    if a.ndim == b.ndim == 1:
        left, right = a.tolist(), b.tolist()
        total = left[0] * right[0]
        for index in range(1, length):
            total += left[index] * right[index]
        return np.array(total)
    terms = np.multiply.outer if b.ndim == 2 else np.multiply
    result = terms(a[..., 0], b[0])
    for index in range(1, length):
        result = result + terms(a[..., index], b[index])
    return np.asarray(result)


def products(vectors: Value, other: Value, first: bool) -> Value | None:
    """The products of many vectors of equal length with one matrix or vector, on either side: one matrix product for
    all of them. None if there is no such product."""
    left, right = float_array(vectors), float_array(other)
    if left is None or right is None or left.ndim != 2 or right.ndim > 2 or not right.size:
        return None
    if not first and right.ndim == 2:
        right = right.T
    return (
        None
        if left.shape[1] != right.shape[0]
        else regular(T.F, _product(left, right, max(left.shape[1], right.size)))
    )


def _inverse(a: Array) -> Array:
    """Inverse of a square matrix by LU decomposition with partial pivoting."""
    count = len(a)
    if count > _SMALL:
        return np.linalg.inv(a)
    upper, x = a.copy(), np.eye(count)
    for step in range(count):
        pivot = step + int(np.argmax(np.abs(upper[step:, step])))
        if not upper[pivot, step]:
            raise np.linalg.LinAlgError
        upper[[step, pivot]], x[[step, pivot]] = upper[[pivot, step]], x[[pivot, step]]
        factor = (upper[step + 1 :, step] / upper[step, step])[:, None]
        upper[step + 1 :] -= factor * upper[step]
        x[step + 1 :] -= factor * x[step]
    for step in reversed(range(count)):
        x[step] /= upper[step, step]
        x[:step] -= upper[:step, step, None] * x[step]
    return x


def _normal_solution(a: Array, b: Array) -> Array | None:
    """The least-squares solution of a = x mmu b by Cholesky decomposition of the normal equations, as in q; None if the
    rows of b are not independent."""
    normal, x = _product(b, b.T), _product(b, a.T)
    count = len(normal)
    for step in range(count):
        if not normal[step, step] > 0:
            return None
        normal[step, step] = np.sqrt(normal[step, step])
        normal[step + 1 :, step] /= normal[step, step]
        normal[step + 1 :, step + 1 :] -= np.multiply.outer(
            normal[step + 1 :, step], normal[step + 1 :, step]
        )
    for step in range(count):
        x[step] /= normal[step, step]
        x[step + 1 :] -= np.multiply.outer(normal[step + 1 :, step], x[step])
    for step in reversed(range(count)):
        x[step] /= normal[step, step]
        x[:step] -= np.multiply.outer(normal[step, :step], x[step])
    return np.ascontiguousarray(x.T)


@verb("mmu", handle=True)
def mmu(x: Value, y: Value) -> Value:
    """Matrix product, or dot product of two vectors, of floats. Two lists of matrices are multiplied pairwise.

    q)(1 2f;3 4f)mmu 5 6f
    17 39f
    """
    left, right = _needed(x), _needed(y)
    if left.ndim == right.ndim > 2:
        if left.shape[:-2] != right.shape[:-2] or left.shape[-1] != right.shape[-2]:
            raise QError("length")
        return regular(T.F, np.matmul(left, right))
    if left.shape[-1] != right.shape[0]:
        raise QError("length")
    return regular(T.F, _product(left, right))


@verb("inv", handle=True)
def inv(x: Value) -> Value:
    """Inverse of a square float matrix; null if it is singular.

    q)inv(2 0f;0 4f)
    0.5 0
    0   0.25
    """
    matrix = _needed(x)
    if matrix.ndim != 2:
        raise QError("type")
    if matrix.shape[0] != matrix.shape[1]:
        raise QError("length")
    try:
        return Nd(T.F, _inverse(matrix))
    except np.linalg.LinAlgError:
        return Nd(T.F, np.full(matrix.shape, np.nan))


@verb("lsq", handle=True)
def lsq(x: Value, y: Value) -> Value:
    """Least-squares solution: the matrix that multiplied by y comes closest to x; null if an item is null or infinite.

    q)(enlist 1 2 3f)lsq(1 1 1f;0 1 2f)
    1 1
    """
    left, right = _needed(x), _needed(y)
    if left.ndim != 2 or right.ndim != 2:
        raise QError("type")
    if left.shape[1] != right.shape[1]:
        raise QError("length")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return Nd(T.F, np.full((len(left), len(right)), np.nan))
    solution = _normal_solution(left, right)
    return Nd(
        T.F,
        np.ascontiguousarray(np.linalg.lstsq(right.T, left.T, rcond=None)[0].T)
        if solution is None
        else solution,
    )
