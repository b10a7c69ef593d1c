"""Tables for `help` beside the registry. Other files fill them; `help` only reads them."""

from __future__ import annotations

from collections.abc import Callable

from kshell.registry import Entry, Option
from kshell.values.base.core import Value

# topic: (what help() says of it, what help`topic gives); those without a text are known, but not listed
TOPICS: dict[str, tuple[str, Callable[[], Value]]] = {}
# kind of entry: its options, where they are not simply those of the entry
OPTIONS_OF: dict[str, Callable[[Entry], tuple[Option, ...]]] = {}
