"""Packages whose modules are imported on first use, because they import torch or are rarely needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType


def lazy_package(package: str) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package: `package.module` imports the module. AttributeError if there is no such module.

    The package also lists its modules under TYPE_CHECKING, so that their types are known.
    """

    def load(name: str) -> ModuleType:
        path = f"{package}.{name}"
        if not name.startswith("_"):
            try:
                return importlib.import_module(path)
            except ModuleNotFoundError as error:
                if error.name != path:  # it exists, but something it needs does not
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
