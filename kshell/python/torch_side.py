"""The k-api's handles for torch objects, whose modules are imported when one is met."""

from __future__ import annotations

from types import ModuleType


def adopt() -> ModuleType:
    """kapi/console/adopt.py: torch objects as handles, and back."""
    from kshell.kapi.console import adopt as module

    return module
