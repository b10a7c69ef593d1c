"""Completion: names from the registry and the session, by what stands before the cursor."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from kshell import registry
from kshell.session import Session

# a symbol as the first item after one of these calls names an entry of a kind
_KIND_OF = {"opt": "optimizer", "module": "module", "loss": "loss", "help": "", "setting": "setting"}
_CALL = re.compile(r"(\w+)\s*[\[(]?\s*`(\w*)$")
_NESTED = re.compile(r"\(\s*`(\w*)$")
_COMMAND = re.compile(r"^\\(\w*)$")
_WORD = re.compile(r"[.a-zA-Z][\w.]*$")


def in_string_or_comment(text: str) -> bool:
    """Does the text end inside a string or a comment?"""
    quoted, i = False, 0
    while i < len(text):
        c = text[i]
        if quoted and c == "\\":
            i += 1
        elif c == '"':
            quoted = not quoted
        elif c == "/" and not quoted and (i == 0 or text[i - 1].isspace()):
            return True
        i += 1
    return quoted


def candidates(session: Session, text: str) -> list[str]:
    """What may complete the text before the cursor, sorted."""
    if in_string_or_comment(text):
        return []
    m = _COMMAND.search(text)
    if m:
        return _starting((e.name for e in registry.entries("command")), m[1])
    m = _CALL.search(text)
    if m and m[1] in _KIND_OF:
        kind = _KIND_OF[m[1]]
        session.names.load_builtins()
        kinds = [kind] if kind else ["module", "loss", "optimizer", "topic", "api", "verb"]
        return _starting((e.name for k in kinds for e in registry.entries(k)), m[2])
    m = _NESTED.search(text)
    if m and "module" in text:
        session.names.load_builtins()
        return _starting((e.name for e in registry.entries("module")), m[1])
    m = _WORD.search(text)
    return _starting(_names(session), m[0]) if m else []


def _names(session: Session) -> Iterable[str]:
    names = session.names
    names.load_builtins()
    for kind in ("verb", "api", "name"):
        yield from (e.name for e in registry.entries(kind))
    yield from names.members(names.current)
    for space in names:
        if space != ".":
            yield from (f"{space}.{n}" for n in names.members(space))


def _starting(names: Iterable[str], prefix: str) -> list[str]:
    return sorted({n for n in names if n.startswith(prefix) and n != prefix})


class QCompleter(Completer):
    """The completions for prompt_toolkit, each with its entry's summary beside it."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        found = candidates(self.session, text)
        tail = re.search(r"[.\w]*$", text)
        size = len(tail[0]) if tail else 0
        for name in found[:200]:
            yield Completion(name, -size, display_meta=summary(name))


def summary(name: str) -> str:
    """The first line of help of a name, whatever kind it is."""
    for kind in registry.KINDS:
        entry = registry.find(kind, name)
        if entry is not None:
            return entry.summary
    return ""
