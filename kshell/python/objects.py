"""Python classes for q values that neither Python nor numpy has: tables, and functions of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kshell.registry import Hook
from kshell.values.base.core import Value

ARROW, TEXT, HTML = Hook(), Hook(), Hook()  # for tables: python/arrowout.py, python/display.py


class Table(dict[str, Any]):
    """A q table: columns by name, each an array or list; `key` names its key columns.

    It is a dict, so `pandas.DataFrame(t)` accepts it; it offers Arrow data, so `polars.DataFrame(t)` and
    `pyarrow.table(t)` accept it too.
    """

    key: tuple[str, ...]

    def __init__(
        self, columns: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), key: Iterable[str] = ()
    ) -> None:
        super().__init__(columns)
        self.key = tuple(key)
        absent = [name for name in self.key if name not in self]
        if absent:
            raise ValueError(f"key: no column {absent[0]}")

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.values()), ()))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return ARROW.fn(self)

    def __repr__(self) -> str:
        return TEXT.fn(self)

    def _repr_html_(self) -> str:
        return HTML.fn(self)


class Function:
    """A function of a session, callable from Python with Python values. `value` is the q value."""

    __slots__ = ("_call", "_text", "value")

    def __init__(self, value: Value, call: Callable[..., Any], text: str) -> None:
        self.value, self._call, self._text = value, call, text

    def __call__(self, *args: Any) -> Any:
        return self._call(self.value, args)

    def __repr__(self) -> str:
        return self._text
