"""The k-api as a whole: registering it, and a program of several processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from kshell import registry


def load_kapi() -> None:
    """Register the functions and types of the k-api, and kshell's own plug-ins; torch is not imported."""
    registry.load_package("kshell.kapi")
    registry.load_package("kshell.families")


def launch(n: int, run: Callable[[], NoReturn], console: bool = False) -> int:
    """Call `run`, which ends its process, on n processes of this machine; the exit code. With `console` they read lines
    together."""
    from kshell.kapi.distributed import processes

    load_kapi()
    return processes.launch(n, run, console)
