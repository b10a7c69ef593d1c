"""Tables for `help` besides the registry. Other files fill them; `help` only reads them."""

from __future__ import annotations

from collections.abc import Callable

from kshell.registry import Entry, Option
from kshell.values.base.core import Value

# topic: (text in help(), function for help`topic); topics without text are not listed
TOPICS: dict[str, tuple[str, Callable[[], Value]]] = {}
# kind of entry -> function that returns its options, if not simply the entry's
OPTIONS_OF: dict[str, Callable[[Entry], tuple[Option, ...]]] = {}
