"""Warnings of Python that are left out for a while.

`warnings.catch_warnings` does that too, but makes Python forget which warnings it has shown: those of the user's own
code would come again.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class _Muted(threading.local):
    """The beginnings of texts that are left out now, in this thread; in a filter of Python's, where a pattern is."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def match(self, text: str) -> bool:
        return text.startswith(tuple(self.texts))


_MUTED = _Muted()
_FILTER = ("ignore", _MUTED, Warning, None, 0)


@contextmanager
def muted(text: str = "") -> Iterator[None]:
    """Leave out warnings that begin with a text."""
    install()
    _MUTED.texts.append(text)
    try:
        yield
    finally:
        _MUTED.texts.pop()


def install() -> None:
    """Put the filter first, unless it is there, in place of one of Python's own. It stays: Python forgets when filters
    change."""
    if any(found[1] is _MUTED for found in warnings.filters):
        return
    warnings.filterwarnings("ignore", message="left out by kshell")
    warnings.filters[0] = _FILTER  # type: ignore[index]
