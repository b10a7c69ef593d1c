"""Functions of Python that a file may name: of files that `\\l` loaded, of `__main__`, and torch's functions.

A name in a file brings nothing about: it counts only if the function is here already. So no module is imported, and
none is searched but these; a function of another module of the user's counts if it is a variable of `__main__`.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from types import FunctionType
from typing import Any, NamedTuple

from kshell import registry
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.python_types import MAIN

_FUNCTIONAL = "torch.nn.functional"


class Named(NamedTuple):
    """A function that has a name: that of its module or file and its own, the file, and a digest of what it is defined
    by; both may be empty."""

    function: Any
    full: str
    file: str = ""
    digest: str = ""


def named(full: str) -> Named | None:
    """The function of a name; None if it is none here."""
    stem, _, word = full.rpartition(".")
    for path, loaded in registry.loaded_files().items():
        if _stem(path) == stem and _is_function(function := vars(loaded.module).get(word), word):
            if function.__module__ == loaded.module.__name__:
                return Named(function, full, loaded.path, _digest(loaded.content))
    if stem == _FUNCTIONAL:
        function = vars(torch.nn.functional).get(word)
        own = _is_function(function, word) and function.__module__ == stem
        return Named(function, full) if own else None
    mine: Any = vars(sys.modules[MAIN]).get(word)
    if _is_function(mine, word) and mine.__module__ == stem and _is_users(stem):
        return Named(mine, full, *_defined(mine))
    return None


def _is_function(x: Any, word: str) -> bool:
    return type(x) is FunctionType and x.__qualname__ == word


def name_of(obj: Any) -> Named | None:
    """The name of a function, from which a file can find it again; None if it has none."""
    if type(obj) is not FunctionType:
        return None
    stems = [_stem(path) for path in registry.loaded_files()]
    for stem in (*stems, obj.__module__):
        found = named(f"{stem}.{obj.__name__}")
        if found is not None and _same(found.function, obj):
            return found
    return None


def _same(a: Any, b: Any) -> bool:
    """Is it the function, or what became of it when its file was loaded again?"""
    return a is b or (a.__module__ == b.__module__ and a.__globals__ is not b.__globals__)


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".py")


def _is_users(name: str) -> bool:
    """Is a module the user's: `__main__`, or one that is neither of Python, nor of kshell, nor of a package?"""
    if name == MAIN:
        return True
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    is_installed = "site-packages" in file or "dist-packages" in file
    top = name.partition(".")[0]
    return bool(file) and not is_installed and top not in {*sys.stdlib_module_names, "kshell"}


def _defined(function: FunctionType) -> tuple[str, str]:
    """The file of a function and a digest of its text; both empty if Python has no text of it."""
    path = function.__code__.co_filename
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError, SyntaxError):
        return "", ""
    return os.path.relpath(path) if os.path.isabs(path) else "", _digest(text.encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def record_of(found: Named) -> dict[str, str]:
    """What a file keeps of a function."""
    return {"function": found.full, "file": found.file, "digest": found.digest}
