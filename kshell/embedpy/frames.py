"""Names of `.p` for frames: tables of q as those of pandas, polars and Arrow."""

from __future__ import annotations

import importlib

from kshell import python
from kshell.embedpy.applying import guarded
from kshell.errors import QError
from kshell.lang.names.define import name, verb
from kshell.values.base.core import Dict, List, Table, Value, Vec
from kshell.values.base.functions import FROM_ARROW, PyCall

FROM_ARROW.set(lambda x: python.into.to_q(x))
_ALONE = "x"  # the name of the column that a list is


def _split(x: Value, word: str) -> tuple[Table, list[str]]:
    """A table with its keys among its columns, and their names. A list is a table of one column."""
    if x.__class__ is Table:
        return x, []
    if x.__class__ is Dict and x.keyed:
        keys, values = x.tables
        return Table([*keys.names, *values.names], [*keys.cols, *values.cols]), list(keys.names)
    if isinstance(x, Vec | List):
        return Table([_ALONE], [x]), []
    kind = verb("type", 1)(x)
    raise QError(f"{word}: expected a table or a list, given type {getattr(kind, 'v', kind)}h")


_EXAMPLE = """

    q)type[@[.p.NAME;1 2;{x}]]in 105 10h  / an error's text, without the package
    1b
    """


def _register(word: str, package: str, doc: str) -> None:
    def convert(x: Value) -> Value:
        module = guarded("import", importlib.import_module, package)
        columns, key = _split(x, word)
        made = guarded(word, getattr(python.frames, f"to_{package}"), module, columns, key)
        return PyCall(made if x.__class__ in (Table, Dict) else made[_ALONE])

    convert.__doc__ = doc + _EXAMPLE.replace("NAME", word)
    name(f".p.{word}", effect="changes")(convert)


_register(
    "topd", "pandas", "A table as a DataFrame of pandas, its keys as the index; a list as a Series."
)
_register("topl", "polars", "A table as a DataFrame of polars; a list as a Series.")
_register("topa", "pyarrow", "A table as a Table of Arrow; a list as an array.")
