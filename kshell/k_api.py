"""The k-api as a whole: registering it, and launching a program on several processes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NoReturn

from kshell import families, registry


def load_kapi() -> None:
    """Register the functions and types of the k-api and of kshell's families of optimizers: only each family's module
    `api`, because the others import torch."""
    import pkgutil

    registry.load_package("kshell.kapi")
    for family in pkgutil.iter_modules(families.__path__):
        importlib.import_module(f"{families.__name__}.{family.name}.api")


def launch(n: int, run: Callable[[], NoReturn], console: bool = False) -> int:
    """Call `run`, which ends its process, in n processes of this machine; returns the exit code. With `console`, they
    read lines together."""
    from kshell.kapi.distributed import processes

    load_kapi()
    return processes.launch(n, run, console)
