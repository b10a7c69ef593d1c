"""Tables of q as those of pandas, polars and Arrow: numbers without nulls are not copied, symbols are categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.python import arrowout, noted, outof
from kshell.python.objects import Table as PythonTable
from kshell.values.base import types as T
from kshell.values.base.core import Table, Vec
from kshell.values.base.from_numpy import view_of
from kshell.values.base.symbols import sym_at

_COUNTED = (T.H, T.I, T.J)


class Arrow:
    """A table as what libraries take for Arrow data, and for nothing else."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return arrowout.stream(self._table)


def _column(x: Any) -> Any:
    """A column as an array or list, as a Session gives it; numbers without nulls are a view, symbols are coded."""
    if x.__class__ is not Vec:
        return [outof.from_q(item) for item in x.items]
    if x.t == T.C:
        return (
            list(x.a.tobytes().decode("ascii")) if (x.a < 128).all() else np.frombuffer(x.a, "S1")
        )
    if x.t == T.S:
        distinct, places = _distinct(x.a)
        return arrowout.Coded([sym_at(code).s for code in distinct.tolist()], places)
    if x.t in (T.B, T.X, T.E, T.F) or (x.t in _COUNTED and not (x.a == T.NULL[x.t]).any()):
        return view_of(x.a)
    return outof.vector(x)


def _distinct(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct codes of symbols, and the place of each item among them."""
    most = int(codes.max(initial=0))
    if most > 8 * len(codes) + 1000:
        distinct, places = np.unique(codes, return_inverse=True)
        return distinct, places.astype(np.int32)
    distinct = np.flatnonzero(np.bincount(codes, minlength=most + 1))
    place = np.empty(most + 1, np.int32)
    place[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, place[codes]


def _arrow(x: Table, key: list[str]) -> Any:
    """A table that offers Arrow data."""
    columns = zip(x.names, map(_column, x.cols), strict=True)
    return Arrow(PythonTable(columns, key))


def to_pyarrow(pyarrow: Any, x: Table, key: list[str]) -> Any:
    """A table of Arrow."""
    made = pyarrow.table(_arrow(x, key))
    return made.replace_schema_metadata({noted.KEY: noted.note(x, key)})


def to_polars(polars: Any, x: Table, key: list[str]) -> Any:
    """A DataFrame of polars."""
    return polars.DataFrame(_arrow(x, key))


def to_pandas(pandas: Any, x: Table, key: list[str]) -> Any:
    """A DataFrame of pandas, with the key columns as its index."""
    columns = {
        name: _of_pandas(pandas, column) for name, column in zip(x.names, x.cols, strict=True)
    }
    made = pandas.DataFrame(columns, copy=False)
    made = made.set_index(key) if key else made
    made.attrs[noted.KEY] = noted.note(x, key)
    return made


def _of_pandas(pandas: Any, x: Any) -> Any:
    """A column as pandas has it: integers with nulls as its nullable ones, symbols as categories."""
    made = _column(x)
    if x.__class__ is Vec and x.t == T.S:
        categories = pandas.Index(made.texts, dtype=object)
        return pandas.Categorical.from_codes(made.places, categories=categories)
    if isinstance(made, np.ma.MaskedArray):
        return pandas.arrays.IntegerArray(made.data, np.ma.getmaskarray(made))
    if isinstance(made, np.ndarray) and made.dtype.kind in "mM":
        unit = np.datetime_data(made.dtype)[0]
        return made if unit in ("s", "ms", "ns") else made.astype(f"{made.dtype.kind}8[s]")
    is_list = isinstance(made, list) and x.__class__ is not Vec
    return pandas.Series(made, dtype=object) if is_list else made
