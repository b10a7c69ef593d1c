"""Errors that the call which ends gets its name into."""

from __future__ import annotations

from kshell.errors import SAID, UNSAID, CallError


def problem(text: str) -> CallError:
    """The error of a call for what is wrong with a checkpoint or an adapter that it was given; the text says all but
    the name of the call."""
    return CallError(UNSAID, text, given=SAID)
