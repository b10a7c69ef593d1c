"""What the user says of a table that is data: which columns are inputs and targets, which rows, how they are read."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError
from kshell.kapi.base.args import long_of, longs_of, name_of, names_of, number_of, unknown
from kshell.kapi.base.convert import default_dtype, kname
from kshell.kapi.module.api import tensors_of_module
from kshell.kapi.tables.array_files import Images
from kshell.kapi.tables.columns import DROP, ERROR, Columns
from kshell.kapi.tables.parts import Parts
from kshell.kapi.tables.queries import Selected
from kshell.kapi.tables.rows import Rows
from kshell.kapi.tables.splits import TRAIN, Side, Split, side_of, split_of
from kshell.values.base.core import Dict, Table, Value, seq_items
from kshell.values.base.symbols import sym

if TYPE_CHECKING:
    from torch.nn import Module

OPTIONS = ("x", "y", "nulls", "window", "ahead", "vocabulary", "weight", "split", "side", "size")
# calls that set data for testing, of which each row comes once
TESTS = ("test", "testrun", "testdata")


def options_given(x: Value | None, call: str) -> dict[str, Value]:
    if x is None:
        return {}
    names = names_of(x.k) if x.__class__ is Dict else None
    if names is None:
        raise CallError(call, expected="a dictionary of options by name", given=kname(x))
    for name in names:
        if name not in OPTIONS:
            raise unknown(f"unrecognized {call} option of a table: ", name, OPTIONS)
    assert isinstance(x, Dict)
    return dict(zip(names, seq_items(x.v), strict=True))


def least_one(options: dict[str, Value], name: str, usual: int, call: str) -> int:
    given = options.get(name)
    if given is None:
        return usual
    number = long_of(given)
    if number is None or number < 1:
        raise CallError(call, at=name, expected="a number of at least one", given=kname(given))
    return number


def resize(parts: Parts, options: dict[str, Value], call: str) -> None:
    """Make images have the size that an option says: rows and columns, or one number for both."""
    given = options.get("size")
    if given is None:
        return
    if not isinstance(parts, Images):
        raise CallError(call, at="size", expected="a folder of images", given=parts.what)
    one = long_of(given)
    sizes = longs_of(given) if one is None else [one, one]
    if sizes is None or len(sizes) != 2 or min(sizes) < 1:
        raise CallError(
            call, at="size", expected="rows and columns, or one number for both", given=kname(given)
        )
    parts.resize((sizes[0], sizes[1]))


def column_of(options: dict[str, Value], name: str, table: Table, call: str) -> str | None:
    """The column that an option names."""
    given = options.get(name)
    if given is None:
        return None
    column = name_of(given)
    if column is None:
        raise CallError(call, at=name, expected="the name of a column", given=kname(given))
    if column not in table.names:
        raise unknown(f"{name}: no column ", column, table.names)
    return column


def rows_of_side(
    rows: Selected, first: Table, options: dict[str, Value], call: str
) -> tuple[Rows, Split | None]:
    """The rows on a side of a split, and the split, if there is one."""
    given, side = options.get("split"), options.get("side")
    if given is None:
        if side is not None:
            raise CallError(call, at="side", expected="the option split with it", given=kname(side))
        return rows, None
    split = split_of(given, first.names, call)
    piece, others = side_of(sym(TRAIN) if side is None else side, split, call)
    return Side(rows, split, piece, others), split


def columns_of(
    table: Table, left_out: Set[str | None], options: dict[str, Value], m: Module, call: str
) -> Columns:
    """Which columns are inputs and targets: what is said, else the last one that is not left out is the target."""
    usual = [name for name in table.names if name not in left_out]
    chosen: dict[str, list[str] | None] = {}
    for side in ("x", "y"):
        given = options.get(side)
        names = None if given is None else names_of(given)
        if given is not None and names is None:
            raise CallError(call, at=side, expected="names of columns", given=kname(given))
        for name in names or ():
            if name not in table.names:
                raise unknown(f"{side}: no column ", name, table.names)
        chosen[side] = None if names is None else list(names)
    x, y = chosen["x"], chosen["y"]
    if y is None:
        left = [name for name in usual if name not in (x or ())]
        y = left[-1:] if x is not None or len(left) > 1 else []
    if x is None:
        x = [name for name in usual if name not in y]
    if not x:
        raise CallError(
            call, expected="a column of inputs", given=f"the columns {', '.join(table.names)}"
        )
    return Columns(x, y, _nulls(options.get("nulls"), call), _dtype(m))


def _nulls(x: Value | None, call: str) -> str | float:
    if x is None:
        return ERROR
    name, number = name_of(x), number_of(x)
    if name in (DROP, ERROR):
        return name
    if number is None:
        raise CallError(call, at="nulls", expected="`error, `drop or a number", given=kname(x))
    return float(number)


def vocabulary_of(x: Value, call: str) -> dict[str, dict[str, int]]:
    columns = names_of(x.k) if x.__class__ is Dict else None
    words = [names_of(item) for item in seq_items(x.v)] if isinstance(x, Dict) else []
    if columns is None or None in words:
        raise CallError(
            call, at="vocabulary", expected="a dictionary of symbols by column", given=kname(x)
        )
    return {
        column: {word: i for i, word in enumerate(found or ())}
        for column, found in zip(columns, words, strict=True)
    }


def _dtype(m: Module) -> Any:
    """The type of the module's parameters that are no whole numbers."""
    found = (t.dtype for t in tensors_of_module(m) if t.is_floating_point())
    return next(found, default_dtype())
