"""Python's own classes as types of modules, losses and optimizers: `\\l f.py`, classes of `__main__`, `.p.type`."""

from __future__ import annotations

import linecache
import os
from typing import Any

from kshell import registry
from kshell.embedpy import code
from kshell.embedpy.applying import guarded
from kshell.embedpy.into_q import to_q
from kshell.embedpy.names import object_of
from kshell.embedpy.out_of_q import to_python
from kshell.errors import QError, first_line
from kshell.lang.names.define import name
from kshell.lang.session.loading import PYTHON_MODULE
from kshell.python.torch_side import adopt
from kshell.values.base.core import NIL, Value
from kshell.values.base.functions import FROM_PYTHON, RUN_PYTHON, TO_PYTHON, Foreign
from kshell.values.base.symbols import Sym
from kshell.values.session.context import running
from kshell.values.session.restrict import allow_python

TO_PYTHON.set(to_python)
FROM_PYTHON.set(to_q)


@RUN_PYTHON.set
def _run(word: str, obj: Any, *args: Any, **named: Any) -> Any:
    """The result of a type's class or function, where Python may run."""
    allow_python(word)
    return guarded(word, obj, *args, **named)


@name(".p.type", effect="changes")
def name_type(x: Any, y: Value) -> Value:
    """Give a Python class, or a function that makes modules, losses or optimizers, a name: it is a type then, as those
    of kshell are.

    q).p.e"import torch"
    q).p.type[`square;.p.eval"lambda n: torch.nn.Linear(n,n)"]
    q)options module enlist(`square;3)
    n| 3
    """
    if x.__class__ is not Sym:
        raise QError("type", hint="the first argument is the name, a symbol")
    if not isinstance(y, Foreign):
        raise QError("type", hint="the second argument is a class or function of Python")
    _types().named(".p.type", x.s, object_of(y))
    return NIL


def _types() -> Any:
    """kapi/base/python_types.py, once all types of kshell are there, whose names no other may take."""
    running().names.load_builtins()
    return adopt().python_types


def _has_classes(variables: dict[str, Any], module: str) -> bool:
    """Has a module classes of its own that are derived from others, of torch perhaps?"""
    return any(
        isinstance(value, type) and value.__module__ == module and value.__bases__ != (object,)
        for value in list(variables.values())
    )


@PYTHON_MODULE.set
def load(path: str) -> None:
    """Load a Python file as a module of its own: register its entries, and make its classes types. Exceptions become
    q errors with its path."""
    try:
        linecache.checkcache()
        loaded = registry.load_file(path)
    except QError:
        raise
    except Exception as e:
        message = first_line(f"{path}: {e or type(e).__name__}")
    else:
        variables, module = vars(loaded.module), loaded.module.__name__
        if code.has_torch():
            stem = os.path.basename(path).removesuffix(".py")
            before = vars(loaded.before) if loaded.before is not None else {}
            _types().put_classes(variables, module, stem, path, loaded.content, before)
        return
    raise QError(message)


@code.RAN.set
def _ran(text: str, file: str) -> None:
    """After statements in `__main__`: its new classes are types."""
    if "class" not in text or not code.has_torch():
        return
    main = code.main_module()
    if not _has_classes(vars(main), main.__name__):
        return
    shown = os.path.relpath(file) if file.endswith(".p") else ""
    _types().put_classes(vars(main), main.__name__, main.__name__, shown, text.encode())
