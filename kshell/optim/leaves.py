"""Nested values: lists, tuples and dictionaries, and their leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[Any, ...]


def leaves_of(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The leaves in a value of lists, tuples and dictionaries, with their paths."""
    if isinstance(value, dict | list | tuple):
        for key, v in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves_of(v, (*path, key))
    else:
        yield path, value


def mapped(fn: Callable[[Path, Any], Any], value: Any, path: Path = ()) -> Any:
    """A value of the same form with each leaf replaced by fn(path, leaf)."""
    if isinstance(value, dict):
        return {key: mapped(fn, value, (*path, key)) for key, value in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(mapped(fn, v, (*path, i)) for i, v in enumerate(value))
    return fn(path, value)
