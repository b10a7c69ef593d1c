"""What can follow at the prompt where Python is named: modules to import, variables of `__main__`, attributes of
objects. Nothing is imported, called or computed for it."""

from __future__ import annotations

import inspect
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from typing import Any

from kshell import registry
from kshell.embedpy import code
from kshell.registry import Entry
from kshell.values.base.functions import PyCall

_IMPORTS, _GETS = (".p.import", ".p.pyimport"), (".p.get", ".p.pyget")


def names(call: str, prefix: str) -> list[tuple[str, str]]:
    """The symbols that can be the first argument of a call, with what they are."""
    if call in _IMPORTS:
        return [(name, "module") for name in _modules(prefix)]
    return [(name, _kind(x)) for name, x in _variables().items()] if call in _GETS else []


def attributes(call: str, first: str, value: Any, prefix: str) -> list[tuple[str, str]]:
    """The attributes of the Python object that a call is about, of those whose paths begin with the prefix: `value` is
    that of the name that is called, `first` the symbol before the last argument, if it has one."""
    if value.__class__ is PyCall and not value.how and not first:
        obj = value.obj
    elif call in _IMPORTS and first in sys.modules:
        obj = sys.modules[first]
    elif call in _GETS and first in _variables():
        obj = _variables()[first]
    else:
        return []
    path, dot, last = prefix.rpartition(".")
    for step in path.split(".") if dot else ():
        obj = inspect.getattr_static(obj, step, None)
        if inspect.isdatadescriptor(obj):  # its value would have to be computed
            return []
    found = sorted(name for name in dir(obj) if name[:1] != "_" or last[:1] == "_")
    return [
        (path + dot + name, _kind(inspect.getattr_static(obj, name, None)))
        for name in found
        if name.startswith(last)
    ]


def _variables() -> Mapping[str, Any]:
    main = sys.modules["__main__"]
    return {} if code.is_command(main) else vars(main)


def _kind(x: Any) -> str:
    """A word for what an object is."""
    if inspect.ismodule(x) or inspect.isclass(x):
        return "module" if inspect.ismodule(x) else "class"
    if callable(x) or isinstance(x, (staticmethod, classmethod)):
        return "function"
    return "attribute" if hasattr(x, "__get__") else type(x).__name__


def _modules(prefix: str) -> Iterator[str]:
    """The modules that can be imported; after a dot, those in a package."""
    package, dot, _ = prefix.rpartition(".")
    if not dot:
        yield from sorted({*sys.builtin_module_names, *(m.name for m in pkgutil.iter_modules())})
        return
    places: Any = None
    for i in range(package.count(".") + 1):
        spec = PathFinder.find_spec(".".join(package.split(".")[: i + 1]), places)
        places = spec.submodule_search_locations if spec is not None else None
        if places is None:
            return
    yield from (f"{package}.{m.name}" for m in pkgutil.iter_modules(places))


registry.add(
    Entry(
        "python",
        "handler",
        {2: names, 4: attributes},
        doc="What can follow at the prompt where Python is named.",
        topic=".p",
    )
)
