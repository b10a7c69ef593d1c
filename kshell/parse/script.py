"""Scripts: which physical lines make one statement, which are comments, where the script ends."""

from __future__ import annotations

from collections.abc import Iterator

from kshell.parse.lex import left_open, string_end

Span = tuple[int, int]  # the offsets where a text begins and ends


def logical_lines(text: str, comments: bool = False, typed: bool = False) -> Iterator[Span]:
    """The offsets of each statement of a text. A line that begins with a blank or a closing bracket continues the one
    before; a lone `/` begins a comment that a lone `\\` ends; outside one that ends the script, unless it is the whole
    text. With `comments`, each line that is one counts as a statement. Of a `typed` text, not a script, all lines up to
    the end of a string continue it."""
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
            end = offset + len(stripped)
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
    if start >= 0:
        yield start, end


def _string_end(text: str, start: int, here: int) -> int:
    """Where a string ends that is open between two offsets, the first that of a statement; 0 if none is."""
    if text[start] == "\\" or text.find('"', start, here) < 0:
        return 0
    kind, length = left_open(text[start:here])
    return string_end(text, start + length + 1) if kind == '"' else 0


def split_script(text: str, comments: bool = False, typed: bool = False) -> list[tuple[int, str]]:
    """(line number from 1, text) of each statement of a script, or of a `typed` text, for running one after the other;
    with `comments`, of lines that are comments too."""
    if text.startswith("\ufeff"):
        text = text[1:]  # a mark that some editors write before UTF-8
    if text.startswith("#!"):
        text = "/" + text[1:]  # the line that names the interpreter is a comment
    statements = []
    line = 1
    counted = 0
    for start, end in logical_lines(text, comments, typed):
        line += text.count("\n", counted, start)
        counted = start
        statements.append((line, text[start:end]))
    return statements
