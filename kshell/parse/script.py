"""Scripts: which physical lines form a statement, which are comments, where the script ends."""

from __future__ import annotations

from collections.abc import Iterator

from kshell.parse.lex import left_open, string_end
from kshell.parse.python_block import python_end

Span = tuple[int, int]  # start and end offsets of a text


def logical_lines(text: str, comments: bool = False, typed: bool = False) -> Iterator[Span]:
    """The offsets of each statement in a text. A line that begins with a blank or a closing bracket continues the
    previous one; a lone `/` begins a comment that a lone `\\` ends; outside a comment, a lone `\\` ends the script,
    unless it is the whole text. With `comments`, each comment line counts as a statement. In a `typed` text, as opposed
    to a script, lines up to the end of a string belong to its statement."""
    if text.strip() == "\\":
        yield 0, len(text)
        return
    start = end = -1
    following = within = 0
    skipping = False
    for line in text.split("\n"):
        stripped = line.rstrip()
        offset, following = following, following + len(line) + 1
        if typed and start >= 0 and not skipping and line[:1] not in " \t" and within <= offset:
            within = _string_end(text, start, offset)
        if offset < within:
            end = offset + len(stripped) if stripped else end
        elif skipping:
            skipping = stripped != "\\"
        elif stripped == "/":
            skipping = True
        elif not stripped or (line[0] == "/" and not comments):
            continue
        elif stripped == "\\":
            break
        elif start >= 0 and line[0] in " \t)]}" and text[start] != "\\":
            end = offset + len(stripped)
        else:
            if start >= 0:
                yield start, end
            start, end = offset, offset + len(stripped)
            if line.startswith("p)"):
                within = python_end(text, offset)
    if start >= 0:
        yield start, end


def _string_end(text: str, start: int, here: int) -> int:
    """The end of a string that is open between two offsets, the first of which starts a statement; 0 if there is
    none."""
    if text[start] == "\\" or text.find('"', start, here) < 0:
        return 0
    kind, length = left_open(text[start:here])
    return string_end(text, start + length + 1) if kind == '"' else 0


def split_script(text: str, comments: bool = False, typed: bool = False) -> list[tuple[int, str]]:
    """(line number from 1, text) of each statement in a script, or a `typed` text, for running them one after another;
    with `comments`, also of comment lines."""
    if text.startswith("\ufeff"):
        text = text[1:]  # byte order mark written by some editors
    if text.startswith("#!"):
        text = "/" + text[1:]  # the interpreter line is a comment
    statements = []
    line = 1
    counted = 0
    for start, end in logical_lines(text, comments, typed):
        line += text.count("\n", counted, start)
        counted = start
        statements.append((line, text[start:end]))
    return statements
