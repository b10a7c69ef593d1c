"""The line below the prompt: the signature of the function at the cursor, and the session's device, memory and
handles."""

from __future__ import annotations

import sys

from prompt_toolkit.application import get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples

from kshell import registry
from kshell.entry_kinds import words
from kshell.registry import REQUIRED, Entry
from kshell.session import Session
from kshell.shell.complete import named, q_text
from kshell.shell.context import WORDS, place, statement_start

DEBUGGER = "debugger: \\ leaves, ` up, . down, & where, :r continues with r, 'e signals e"
LONGEST = 4000  # maximum characters of a statement searched for the function at the cursor


def toolbar(session: Session, right: str) -> StyleAndTextTuples:
    """The two halves of the line, as wide as the terminal: the signature, and what stands at the right."""
    app = get_app()
    document = app.current_buffer.document
    room = app.output.get_size().columns - len(right) - 3
    left = "" if room < 10 else signature(session, document.text_before_cursor)
    if len(left) > room:
        left = left[: room - 2] + ".."
    return [("class:bottom-toolbar.text", f"{left:{max(room, 0)}}  {right}")]


def status(session: Session) -> str:
    """Device, memory and number of handles."""
    device, used_bytes, handles = session.status()
    return f"{device}  {used_bytes / 1e6:,.0f} MB  {handles} handle{'s' * (handles != 1)}"


def signature(session: Session, text: str) -> str:
    """The signature of the function at the end of a text: the name there, or the call whose arguments it is in. In the
    debugger, for an empty text, what can be typed there."""
    if session.suspended and not text:
        return DEBUGGER
    line = text[statement_start(text, LONGEST) :]
    if len(line) > LONGEST:
        return ""
    if line[:1] == "\\":
        word = line[1:].split(" ")[0].split(":")[0]
        entry = registry.find("command", word)
        return f"{'  '.join(entry.forms)}   {entry.summary}" if entry is not None else ""
    position = place(text)
    if position is None:
        return ""
    previous = position.arg[-1].text if position.arg and position.arg[-1].kind in WORDS else ""
    if position.kind == "word" and position.prefix:
        described = of_name(session, position.prefix)
        if described:
            return described
    for call in reversed(position.calls[1:]):
        entry = named(session, call) if len(call.args) > 1 else None
        if entry is not None and entry.options:
            return f"{entry.name}: {options_text(entry)}"
        if call.head and not previous:
            previous = call.head
        if previous:
            break
    return of_name(session, previous) if previous else ""


def of_name(session: Session, name: str) -> str:
    """The signature of a function with this name; empty if it is not one."""
    names = session.names
    space, last = names.split(name)
    value = names.spaces.get(space, {}).get(last) if last[:2] != "__" else None
    if value is not None:
        return (
            f"{name}:{session.show(value)}".split("\n")[0]
            if value.__class__.__name__.startswith("Lambda")
            else ""
        )
    entry = next(
        (candidate for kind in words() if (candidate := kind.find(name)) is not None),
        None,
    )
    if entry is None:
        return ""
    return f"{'  '.join(forms(session, entry))}   {entry.summary}"


def forms(session: Session, entry: Entry) -> tuple[str, ...]:
    """The forms of an entry; before the k-api is loaded, only those it declares."""
    return entry.forms or (
        session.forms(entry) if "kshell.kapi.console.help" in sys.modules else (entry.name,)
    )


def options_text(entry: Entry) -> str:
    """The options of an entry with their defaults."""
    return "  ".join(
        option.name
        if option.default is REQUIRED or option.default is None
        else f"{option.name}={q_text(option.default)}"
        for option in entry.options
    )
