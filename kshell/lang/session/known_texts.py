"""Texts that were evaluated lately, parsed and compiled: clients ask the same again and again, and so do loops over
`value`."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from kshell import registry
from kshell.errors import Source
from kshell.lang.compiler.built_ins import is_infix
from kshell.parse import parse_text
from kshell.parse import tree as N
from kshell.values.change.names import Names

LONGEST = 500  # characters
MOST = 500  # texts

Parsed = tuple[Source, Sequence[N.Line]]


class KnownTexts:
    """The statements of texts. Each holds its compiled code once it has run (`Session._statement`), so a text is known
    by what its code depends on, too: the namespace, whether assignments are checked, the names that code does not look
    up when it runs, and the registry."""

    def __init__(self) -> None:
        self._texts: dict[tuple[object, ...], Parsed] = {}
        self._lock = threading.Lock()

    def parsed(self, text: str, names: Names) -> Parsed:
        """The statements of a text, which are not to be changed."""
        # a keyword of the user's own is a part of the code
        if len(text) > LONGEST or names.spaces.get(".q"):
            return _parsed(text)
        key = text, names.current, names.checked, names.generation, registry.version()
        known = self._texts.get(key)
        if known is None:
            known = _parsed(text)
            # of several statements, one may depend on what another changes
            only = known[1][0] if len(known[1]) == 1 else None
            if isinstance(only, N.Statement) and not isinstance(only.expr, N.View):
                only.keeps = True
                self._add(key, known)
        return known

    def _add(self, key: tuple[object, ...], known: Parsed) -> None:
        with self._lock:
            while len(self._texts) >= MOST:
                del self._texts[next(iter(self._texts))]  # the one added first
            self._texts[key] = known


def _parsed(text: str) -> Parsed:
    source = Source(text)
    return source, parse_text(text, is_infix, source)
