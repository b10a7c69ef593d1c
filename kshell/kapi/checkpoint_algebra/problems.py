"""Texts of errors."""

from __future__ import annotations

from collections.abc import Sequence

from kshell.errors import SAID, UNSAID, CallError

_FEW = 4  # names in a message


def problem(text: str) -> CallError:
    """The error for a checkpoint or adapter that cannot be used; the gateway puts the name of the call before the
    text."""
    return CallError(UNSAID, text, given=SAID)


def first_few(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {more} more" if more > 0 else "")
