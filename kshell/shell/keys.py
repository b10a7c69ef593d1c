"""Prompt keys that differ from prompt_toolkit's defaults: Enter, Alt-Enter, paste."""

from __future__ import annotations

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from kshell.parse import python_block
from kshell.parse.lex import complete, open_at
from kshell.shell.context import statement_start

INDENT = "  "
DRAWN = 1000  # maximum lines that are redrawn normally when they run


def wants_more(text: str) -> bool:
    """Does Enter start another line? After an open bracket, string or comment; and after a line that begins with a
    blank outside brackets, until an empty one."""
    if text.startswith("p)"):
        lines = text.split("\n")
        is_block = len(lines) > 1 and lines[-1].strip() and lines[-1][0] in " \t"
        return bool(is_block) or python_block.wants_more(text)
    if not complete(text):
        return True
    start = text.rfind("\n") + 1
    last_line = text[start:]
    if not start or not last_line.strip() or last_line[0] not in " \t":
        return False
    return complete(text[statement_start(text) : start - 1])


def new_line(buffer: Buffer) -> None:
    """Start another line, indented like the previous one, or by two. Nothing is added inside a string, where it would
    be part of the text; lines in a block comment are left as they are."""
    line = buffer.document.current_line_before_cursor
    inside = open_at(buffer.document.text_before_cursor)
    indent = "" if inside == '"' else line[: len(line) - len(line.lstrip())]
    if not inside:
        indent = indent or INDENT
    buffer.insert_text("\n" + indent)


def accept(buffer: Buffer) -> None:
    """End the prompt with the current text. If it has many lines, they are erased first: redrawing those outside the
    terminal would take a tenth of a millisecond each; the caller writes them faster."""
    get_app().erase_when_done = buffer.document.line_count > DRAWN
    buffer.validate_and_handle()


def bindings() -> KeyBindings:
    """The key bindings."""
    key_bindings = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @key_bindings.add("enter", filter=typing)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            # accept the chosen completion; the next Enter runs the line
            buffer.complete_state = None
        elif wants_more(buffer.text):
            new_line(buffer)
        else:
            accept(buffer)

    @key_bindings.add("escape", "enter", filter=typing)
    def _alt_enter(event: KeyPressEvent) -> None:
        new_line(event.current_buffer)

    @key_bindings.add(Keys.BracketedPaste, filter=typing)
    def _paste(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        buffer = event.current_buffer
        ends_line = text[-1:] == "\n" and buffer.document.is_cursor_at_the_end
        buffer.insert_text(text.rstrip("\n") if ends_line else text)
        if ends_line and complete(buffer.text):
            accept(buffer)
        elif ends_line:
            buffer.insert_text("\n")

    return key_bindings
