"""The console's text for a value: lists line by line; matrices, dictionaries and tables in aligned columns.

Only what fits on the console is formatted: rows beyond its height and text beyond its width are replaced by `..`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from kshell.lang.console.error_report import error_text
from kshell.lang.console.format import vec_texts
from kshell.lang.console.one_line import NO_LIMIT, cut, s1_text
from kshell.values.base import types as T
from kshell.values.base.core import NIL, Dict, List, ListValue, Nd, Table, Value, Vec, is_list
from kshell.values.base.functions import Handle
from kshell.values.base.symbols import Sym

# vectors of these have no blanks between items, so a list of them is not shown as a matrix
_RUNS = (
    T.B,
    T.X,
    T.C,
)


@overload
def head(x: Table, n: int) -> Table: ...
@overload
def head(x: List, n: int) -> List: ...
@overload
def head(x: ListValue, n: int) -> ListValue: ...
def head(x: ListValue, n: int) -> ListValue:
    """The first n items of a list or rows of a table, without copying the rest."""
    if x.__class__ is Table and x.cols.__class__ is not list:
        x = x.cols.head(n)  # type: ignore[attr-defined]  # of a table on disk
    if len(x) <= n:
        return x
    if x.__class__ is Vec:
        return Vec(x.t, x.a[:n], "", x.dom)
    if x.__class__ is Nd:
        return Nd(x.t, x.a[:n])
    if x.__class__ is Table:
        return Table(x.names, [head(column, n) for column in x.cols])
    return List(x.items[:n])


def width_of(text: str) -> int:
    """The width of a text as q counts it, in bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def opened(x: Value) -> Value:
    """A handle as q's list of one item, its number; anything else unchanged."""
    return List([x.number]) if isinstance(x, Handle) else x


def pad(texts: Sequence[str]) -> list[str]:
    """Texts padded with blanks to the longest of them."""
    widths = list(map(width_of, texts))
    width = max(widths, default=0)
    return [
        text + " " * (width - text_width) for text, text_width in zip(texts, widths, strict=True)
    ]


class Layout:
    """The lines of values, at a given precision, in a window of `rows` lines and `columns` characters.

    At most `rows` minus two lines are shown, so one line less is enough to detect overflow.
    """

    def __init__(self, digits: int, rows: int, columns: int) -> None:
        self.digits, self.rows, self.columns = digits, rows, columns
        # columns of a matrix or table that can fit
        self.most = columns // 2 + 1 if columns < NO_LIMIT else columns

    def one(self, x: Value) -> str:
        return s1_text(x, self.digits, self.columns)

    def lines(self, x: Value) -> list[str]:
        """The lines of any value, at most a few more than fit."""
        if x.__class__ is Dict and x.v.__class__ is Sym:
            return [self.one(x)]
        if x.__class__ is Table and x.cols.__class__ is not list:
            if not x.cols.there():  # type: ignore[attr-defined]
                return [self.one(x)]
        if x is NIL:
            return []
        if x.__class__ is Table:
            return self.table(x)
        if x.__class__ is Dict:
            return self.mapping(x)
        x = opened(x)
        if isinstance(x, List) and len(x):
            return self.items(x)
        return self.one(x).split("\n")

    # ---------------------------------------------------------------- columns
    def texts(self, x: ListValue) -> list[str]:
        """The texts of a list's items as shown in a matrix row, in a column or next to keys: the lines of a matrix,
        empty for each row of a matrix without columns, else source form."""
        if x.__class__ is Vec:
            return vec_texts(x, self.digits)
        if len(x) and self.is_matrix(x):
            return self.matrix(x)
        items = x.items
        if items and all(
            is_list(item) and not len(item) and not (item.__class__ is Vec and item.t in _RUNS)
            for item in items
        ):
            return [""] * len(items)
        return [self.one(item) for item in items]

    def joined(self, columns: Sequence[Sequence[str]], sep: str = " ") -> list[str]:
        """Columns of text side by side."""
        return [sep.join(row) for row in zip(*map(pad, columns), strict=True)]

    # ---------------------------------------------------------------- lists
    def items(self, x: List) -> list[str]:
        x = head(x, self.rows - 1)
        if x.__class__ is List and any(isinstance(item, Handle) for item in x.items):
            x = List([opened(item) for item in x.items])
        if self.is_matrix(x):
            return self.matrix(x)
        return [line for item in x.items for line in self.one(item).split("\n")]

    def matrix(self, x: ListValue) -> list[str]:
        """The lines of a matrix: items of each row formatted separately, then aligned in columns."""
        rows = [self.texts(head(row, self.most)) for row in x.items if is_list(row)]
        return self.joined(list(zip(*rows, strict=True)))

    def is_matrix(self, x: ListValue) -> bool:
        """Does x print in aligned columns: lists of equal length, not all strings, booleans or bytes?"""
        if x.__class__ is Nd:
            return x.a.shape[1] > 0 and not (x.a.ndim == 2 and x.t in _RUNS)
        items = x.items
        if not is_list(items[0]):
            return False
        count = len(items[0])
        if not count or any(not is_list(row) or len(row) != count for row in items):
            return False
        return not all(row.__class__ is Vec and row.t in _RUNS for row in items)

    # ---------------------------------------------------------------- tables and dictionaries
    def table(self, t: Table) -> list[str]:
        if not t.names:
            return []
        t = head(t, self.rows - 3)
        columns = [
            [name, *self.column(column)]
            for name, column in zip(t.names[: self.most], t.cols, strict=False)
        ]
        title, *rows = self.joined(columns)
        return [title, "-" * width_of(title), *rows]

    def column(self, c: ListValue) -> list[str]:
        """The texts of a table's column; for tensors, their content."""
        rows = c.items if isinstance(c, List) and len(c) else []
        shown = [row.show() for row in rows if isinstance(row, Handle)]
        if rows and len(shown) == len(rows):
            return shown
        return self.texts(c)

    def mapping(self, d: Dict) -> list[str]:
        rows = self.rows - (3 if Table in (d.k.__class__, d.v.__class__) else 1)
        shown_keys, shown_values = head(d.k, rows), head(d.v, rows)
        keys, values = self.side(shown_keys), self.side(shown_values)
        if shown_values.__class__ is Table and not shown_values.names:
            values = [""] * len(keys)  # all columns are keys
        if shown_keys.__class__ is not shown_values.__class__ and Table in (
            shown_keys.__class__,
            shown_values.__class__,
        ):
            keys, values = self.titled(keys, shown_keys), self.titled(values, shown_values)
        if not keys:
            return []
        padded = pad(keys)
        lines = [f"{key}| {value}" for key, value in zip(padded, values, strict=True)]
        if shown_keys.__class__ is Table or shown_values.__class__ is Table:
            rule = max(map(width_of, values))
            lines[1] = f"{'-' * width_of(padded[0])}| {'-' * rule}"
        return lines

    def side(self, x: ListValue) -> list[str]:
        """The lines of a dictionary's keys or values, one per item."""
        if x.__class__ is Table:
            return self.table(x) if x.names else []
        return self.texts(List([opened(item) for item in x.items]) if x.__class__ is List else x)

    def titled(self, lines: list[str], x: ListValue) -> list[str]:
        """Lines next to a table's: two blank ones for title and rule, unless they belong to a table."""
        return lines if x.__class__ is Table else ["", "", *lines]


def lines_of(x: Value, settings: Any) -> list[str]:
    """The lines of a value at the console's size."""
    return lines_in(x, settings.P, *settings.c)


def lines_in(x: Value, digits: int, rows: int, columns: int) -> list[str]:
    """The lines of a value in a console of `rows` lines, two of them for the prompt, and `columns` characters."""
    lines = Layout(digits, rows, columns).lines(x)
    if len(lines) > rows - 2:
        lines = [*lines[: rows - 3], ".."]
    return [cut(line, columns) for line in lines]


def show_text(x: Value, settings: Any) -> str:
    """The console's text for a value, without the last line break; empty for :: and an empty dictionary."""
    return "\n".join(lines_of(x, settings))


__all__ = ["Layout", "error_text", "head", "lines_in", "lines_of", "show_text"]
