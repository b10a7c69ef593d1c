"""Matrices of floats: mmu, inv, lsq, and the dot product of `$`."""

from __future__ import annotations

import numpy as np

from kshell.errors import QError
from kshell.registry import verb
from kshell.values import types as T
from kshell.values.build import as_nd, regular
from kshell.values.core import List, Nd, Value, Vec
from kshell.values.dispatch import Array


def float_array(x: Value) -> Array | None:
    """A float (or real) vector or matrix as float64; None for anything else."""
    if x.__class__ is List:
        x = as_nd(x)
    if (x.__class__ is Vec or x.__class__ is Nd) and x.t in (T.E, T.F):
        return x.a if x.a.dtype == np.float64 else x.a.astype(np.float64)
    return None


def _needed(x: Value) -> Array:
    a = float_array(x)
    if a is None:
        raise QError("type")
    return a


@verb("mmu", handle=True)
def mmu(x: Value, y: Value) -> Value:
    """Matrix product, or dot product of two vectors; of floats.

    q)(1 2f;3 4f)mmu 5 6f
    17 39f
    """
    a, b = _needed(x), _needed(y)
    if a.shape[-1] != b.shape[0]:
        raise QError("length")
    return regular(T.F, np.asarray(np.tensordot(a, b, 1)))


@verb("inv", handle=True)
def inv(x: Value) -> Value:
    """Inverse of a square matrix of floats; null where there is none.

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
        return Nd(T.F, np.linalg.inv(a))
    except np.linalg.LinAlgError:
        return Nd(T.F, np.full(a.shape, np.nan))


@verb("lsq", handle=True)
def lsq(x: Value, y: Value) -> Value:
    """The matrix that multiplied by y comes nearest to x, by least squares.

    q)(enlist 1 2 3f)lsq(1 1 1f;0 1 2f)
    1 1
    """
    a, b = _needed(x), _needed(y)
    if a.ndim != 2 or b.ndim != 2:
        raise QError("type")
    if a.shape[1] != b.shape[1]:
        raise QError("length")
    return Nd(T.F, np.ascontiguousarray(np.linalg.lstsq(b.T, a.T, rcond=None)[0].T))
