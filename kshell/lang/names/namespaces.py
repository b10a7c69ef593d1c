"""The permanent namespaces as values: `.Q`, `.h`, `.j`, `.z` and `.o` are dictionaries of what is defined in them.

(`.q`, that of the keywords, is in q_data.py.)"""

from __future__ import annotations

from kshell import registry
from kshell.errors import QError
from kshell.lang.names.define import name, verb
from kshell.registry import Entry
from kshell.values.base.build import string
from kshell.values.base.core import NIL, Dict, List, Value, sym_vec, text_of
from kshell.values.base.functions import Prim


def contents(space: str) -> Dict:
    """The names of a permanent namespace with their values, `::` under the null symbol first; without those that have
    no value now."""
    prefix = space + "."
    members: dict[str, Value] = {"": NIL}
    for entry in registry.entries("name"):
        if entry.name.startswith(prefix):
            value = _value_now(entry)
            if value is not None:
                members[entry.name[len(prefix) :]] = value
    return Dict(sym_vec(members), List(list(members.values())))


def _value_now(entry: Entry) -> Value | None:
    """The function with a registered name, or the value of its variable; None if it has none, as most of a partitioned
    database's before one is loaded."""
    if 0 not in entry.fns:
        return Prim(entry.name, entry.fns, entry, entry.qtype)
    try:
        return entry.fns[0]()
    except QError as e:
        if e.text != entry.name:
            raise
    return None


@name(".Q")
def utilities() -> Value:
    """The utilities of the namespace .Q, by name.

    q)`trp in key .Q
    1b
    q).Q[`ty]1 2
    "j"
    """
    return contents(".Q")


@name(".h")
def markup() -> Value:
    """What the namespace .h has for web pages, by name.

    q)type .h`hy
    100h
    """
    return contents(".h")


@name(".j")
def json() -> Value:
    """The functions of the namespace .j, for JSON, by name.

    q)key .j
    ``j`jd`k
    """
    return contents(".j")


@name(".z")
def system() -> Value:
    """The namespace .z: clock, host, process, command line, each as it is now, and the callbacks that are assigned.

    q).z[`K`q]
    4.1
    0b
    q).z.ps:{0N!x}
    q)`ps`pg in key .z
    10b
    """
    return contents(".z")


@name(".o")
def odbc() -> Value:
    """What the namespace .o has for drivers of databases, by name.

    q)key .o
    ``ex
    """
    return contents(".o")


@name(".o.ex")
def execute(x: Value) -> Value:
    """Evaluate a statement from a JDBC driver: q if it begins with `q)`, else SQL, by `.s.e`; kshell has none itself.

    q)t:([]a:1 2)
    q).o.ex"q)select from t where a>1"
    a
    -
    2
    """
    text = text_of(x)
    return verb("value", 1)(string(text if text.startswith("q)") else f"s){text}"))
