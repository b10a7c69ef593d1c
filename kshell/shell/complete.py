"""Completion: what can be typed at the cursor, from the registry and the session, given the text before it."""

from __future__ import annotations

import os
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile
from typing import NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from kshell import registry
from kshell.entry_kinds import taken_by, types, words
from kshell.parse.lex import scan
from kshell.registry import REQUIRED, Entry, Option
from kshell.session import Session
from kshell.shell.context import GROUP, WORDS, Call, Place, place, statement_start

MOST = 300  # maximum number of candidates
SETTLED = 2_000_000_000  # nanoseconds after which a folder's modification time is sure to differ
_COMMAND = re.compile(r"\\(\S*)\Z")
_TIMED = re.compile(r"\\ts?(:\d*)? (?!\d*\Z)")
_PATH = re.compile(r"\\(?:l|cd|1|2|_) +(.*)\Z", re.DOTALL)
_SPACE = re.compile(r"\\[dvfa] +(\S*)\Z")
_PLAIN = re.compile(r"[\w.:/~%-]+", re.ASCII)


class Found(NamedTuple):
    """One candidate: the text that replaces the last `size` characters, and a short description."""

    text: str
    size: int
    note: str = ""


def candidates(session: Session, text: str, after: str = "") -> list[str]:
    """The texts that can complete the text before the cursor."""
    return [offer.text for offer in offers(session, text, after)]


def offers(session: Session, text: str, after: str = "") -> list[Found]:
    """The completions of the text before the cursor, where `after` is the text after it; none in strings and
    comments."""
    line = text[statement_start(text) :]
    if line[:1] == "\\":
        return _command(session, line)
    position = place(text)
    if position is None:
        return []
    session.names.load_builtins()
    size = len(position.prefix)
    if position.kind == "file":
        attributes = session.attributes(*_python_call(position), position.prefix)
        if attributes:
            return _matching(attributes, position.prefix, size)
        return files(position.prefix)
    candidates = (
        _symbols(session, position)
        if position.kind == "symbol"
        else _words(session, position, after)
    )
    return _matching(candidates, position.prefix, size)


def _matching(found: Iterable[tuple[str, str]], prefix: str, size: int) -> list[Found]:
    """Those that begin with the prefix, without duplicates, in the given order."""
    seen: dict[str, str] = {}
    for name, note in found:
        if name.startswith(prefix) and name != prefix and name not in seen:
            seen[name] = note
    return [Found(name, size, note) for name, note in list(seen.items())[:MOST]]


# ------------------------------------------------------------------ commands, files


def _command(session: Session, line: str) -> list[Found]:
    match = _COMMAND.match(line)
    if match:
        return _matching(
            (
                (entry.name, entry.summary)
                for entry in sorted(registry.entries("command"), key=lambda e: e.name)
            ),
            match[1],
            len(match[1]),
        )
    match = _PATH.match(line)
    if match:
        return files(os.path.expanduser(match[1]), len(match[1].rpartition("/")[2]))
    match = _SPACE.match(line)
    if match:
        return _matching(((space, "namespace") for space in session.names), match[1], len(match[1]))
    match = _TIMED.match(line)
    return offers(session, line[match.end() :]) if match else []


def files(path: str, size: int | None = None) -> list[Found]:
    """The files and folders with which a path can continue; hidden ones if its last part begins with a dot."""
    folder, _, beginning = path.rpartition("/")
    folder = folder or ("/" if path[:1] == "/" else ".")
    try:
        names = _listed_names(folder)
    except OSError:
        return []
    start = bisect_left(names, beginning)
    following = islice(names, start, None)
    shown = (
        name
        for name in takewhile(lambda n: n.startswith(beginning), following)
        if name != beginning and (name[0] != "." or beginning[:1] == ".")
    )
    entries = [(name, os.path.isdir(os.path.join(folder, name))) for name in islice(shown, MOST)]
    return [
        Found(
            name + "/" * is_folder,
            len(beginning) if size is None else size,
            "folder" if is_folder else "file",
        )
        for name, is_folder in entries
    ]


_LISTED: dict[str, tuple[tuple[int, int, int], list[str]]] = {}


def _listed_names(folder: str) -> list[str]:
    """The names in a folder, sorted. Those of the last folder are cached until its modification time, or the folder,
    changes."""
    where = os.path.abspath(folder)
    status = os.stat(folder)
    state = (status.st_dev, status.st_ino, status.st_mtime_ns)
    if where in _LISTED and _LISTED[where][0] == state:
        return _LISTED[where][1]
    names = sorted(os.listdir(folder))
    _LISTED.clear()
    if time.time_ns() - status.st_mtime_ns > SETTLED:
        _LISTED[where] = state, names
    return names


# ------------------------------------------------------------------ symbols


def _symbols(session: Session, at: Place) -> Iterator[tuple[str, str]]:
    """The symbols possible at this position."""
    head, first = _python_call(at)
    if head and not first:
        yield from session.python_names(head, at.prefix)
    previous = at.arg[-1] if at.arg else None
    choices = list(_of_call(session, at))
    if previous is not None and previous.kind in WORDS:
        choices += [*session.words(previous.text), *session.parts(previous.text)]
    if choices:
        yield from (row for row in choices if _PLAIN.fullmatch(row[0]))
    else:
        yield from ((name, "variable") for name in session.names.members(session.names.current))
        if at.prefix[:1] == ".":
            yield from _qualified(session)


def _python_call(at: Place) -> tuple[str, str]:
    """The name that is applied at a place, to a symbol as its first argument, or as its second one; and the first one,
    else empty."""
    call = at.calls[-1]
    if at.arg:
        return (at.arg[-1].text if at.arg[-1].kind in WORDS else ""), ""
    is_call = call.kind == "[" and len(call.args) <= 2
    return (call.head if is_call else ""), call.symbol(0) if len(call.args) == 2 else ""


def _qualified(session: Session) -> Iterator[tuple[str, str]]:
    """The namespaces, and their variables by full name."""
    names = session.names
    yield from sorted(
        (f"{space}.{name}", "variable")
        for space in names
        if space != "."
        for name in names.members(space)
    )
    yield from sorted((space + ".", "namespace") for space in names if space != ".")


def _of_call(session: Session, at: Place) -> Iterator[tuple[str, str]]:
    """The symbols accepted by the calls around a position, those of the innermost call first. A list of symbols accepts
    what its first one does."""
    if at.arg and not (len(at.arg) == 1 and at.arg[0].kind == "`"):
        return
    entry: Entry | None = None
    for depth, call in enumerate(reversed(at.calls[1:])):
        if call.kind == "{":
            return
        index = len(call.args) - 1
        if index:
            entry = named(session, call)
            if depth == 0:
                yield from _choices(call, entry)
        if entry is not None and (depth or index):
            yield from ((option.name, option_note(option)) for option in entry.options)
        if call.head:
            yield from _listed(session, call, depth, named(session, call) if index else None)
            for name in call.names():
                yield from session.parts(name)
            if call.kind == "[":
                yield from session.parts(call.head)
            return


def _listed(
    session: Session, call: Call, depth: int, entry: Entry | None
) -> Iterator[tuple[str, str]]:
    """The symbols that a call accepts, where they are possible: not after one that says what to create."""
    if not _taken(call) or entry is None or (call.head == "module" and depth):
        yield from session.words(call.head)


def _taken(call: Call) -> list[str]:
    """The kinds whose type symbols a call takes; other calls take any."""
    return [kind.name for kind in taken_by(call.head) if kind.form]


def named(session: Session, call: Call) -> Entry | None:
    """The entry named by a symbol of a call before the current argument, or by the call itself."""
    taken = _taken(call)
    kinds = taken or [*(kind.name for kind in types()), "api"]
    names = [s for index in range(len(call.args) - 1) if (s := call.symbol(index))]
    if call.head and not taken:
        names.append(call.head)
    entries = (registry.find(kind, name) for name in names for kind in kinds)
    return next(
        (entry for entry in entries if entry is not None and session.options_of(entry)), None
    )


def _choices(call: Call, entry: Entry | None) -> Iterator[tuple[str, str]]:
    """The possible values of the option named by the previous argument."""
    name = call.symbol(len(call.args) - 2)
    for option in entry.options if entry is not None else ():
        if option.name == name:
            yield from (
                (choice, f"{option.name}{', the default' * (choice == option.default)}")
                for choice in option.choices
            )


def option_note(o: Option) -> str:
    """Type, default and description of an option."""
    value = (
        "required"
        if o.default is REQUIRED
        else ""
        if o.default is None
        else f"= {q_text(o.default)}"
    )
    return " ".join(piece for piece in (value or o.type, o.doc) if piece)


def q_text(x: object) -> str:
    """The default of an option in q notation."""
    if isinstance(x, bool):
        return f"{int(x)}b"
    if isinstance(x, float):
        return f"{x:g}"
    return "`" + x if isinstance(x, str) else str(x)


# ------------------------------------------------------------------ words


def _words(session: Session, at: Place, after: str) -> Iterator[tuple[str, str]]:
    """The names possible at this position: columns and local variables first, then globals, then q's own."""
    columns = list(_query(session, at, after))
    yield from columns
    if not at.prefix:
        if not columns:
            yield from (
                ("`" + name, note) for name, note in _of_call(session, at) if _PLAIN.fullmatch(name)
            )
        return
    if session.suspended:
        yield from ((name, "local") for name in session.suspended[-1].level.locals)
    yield from ((name, "local") for name in sorted(at.names))
    owner, dot, _ = at.prefix.rpartition(".")
    if dot and at.prefix[0] != ".":
        yield from ((f"{owner}.{name}", note) for name, note in session.parts(owner))
        return
    names = session.names
    if at.prefix[0] == ".":
        yield from _qualified(session)
    else:
        yield from ((name, "variable") for name in names.members(names.current))
    yield from _registered()


_SORTED: dict[int, list[tuple[str, str]]] = {}


def _registered() -> list[tuple[str, str]]:
    """The names of the registry with their summaries, sorted."""
    if registry.version() not in _SORTED:
        _SORTED.clear()
        every = (entry for kind in words() for entry in kind.entries())
        _SORTED[registry.version()] = sorted(
            (entry.name, entry.summary)
            for entry in every
            if entry.name[0].isalpha() or "." in entry.name
        )
    return _SORTED[registry.version()]


def _query(session: Session, at: Place, after: str) -> Iterator[tuple[str, str]]:
    """In a query: its columns, or tables after `from`."""
    kinds = "".join(token.kind for token in at.arg)
    start = kinds.rfind("q")
    if start < 0:
        return
    source = kinds.find("f", start)
    if source < 0:
        yield from _columns(session, _source(after))
    elif source == len(kinds) - 1:
        yield from _tables(session)
    elif "w" in kinds[source:]:
        yield from _columns(
            session, at.arg[source + 1].text if at.arg[source + 1].kind != GROUP else ""
        )


def _source(after: str) -> str:
    """The name after `from` in a text."""
    tokens = list(scan(after.split("\n", 1)[0]))
    position = next((index for index, token in enumerate(tokens) if token.kind == "f"), -1)
    return tokens[position + 1].text if 0 <= position < len(tokens) - 1 else ""


def _columns(session: Session, table: str) -> Iterator[tuple[str, str]]:
    """The columns of a table; of all tables if the table is unknown."""
    columns = session.parts(table.lstrip("`")) if table else []
    yield from columns
    if not columns:
        for name, _ in _tables(session):
            yield from ((column, f"column of {name}") for column, _ in session.parts(name))


def _tables(session: Session) -> Iterator[tuple[str, str]]:
    for name in session.table_names():
        yield name, "table: " + " ".join(column for column, _ in session.parts(name)[:20])[:60]


# ------------------------------------------------------------------ prompt_toolkit


class QCompleter(Completer):
    """The candidates for prompt_toolkit, each with its description."""

    def __init__(
        self, session: Session, find: Callable[[Session, str, str], list[Found]] = offers
    ) -> None:
        self.session, self.find = session, find

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        before = document.text_before_cursor
        for name, size, note in self.find(self.session, before, document.text[len(before) :]):
            yield Completion(name, -size, display_meta=note)
