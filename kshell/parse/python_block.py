"""Which lines of a text belong to a `p)` statement: a block of Python code."""

from __future__ import annotations

import io
import re

_GOES_ON = re.compile(r"(else|elif|except|finally)\b")
_BEGINS = re.compile(
    r"(if|for|while|try|async for|else|elif|except)\b"
)  # what that can follow, on one line


def python_end(text: str, start: int) -> int:
    """The offset where the block of Python code ends that begins with the `p)` at an offset. Indented lines belong to
    it, empty ones and comments that have such a line after them, parts of a statement such as `else` and `except`, what
    a decorator is for, and everything up to the end of an open bracket or string."""
    lines = text[start + 2 :].split("\n")
    kept = 1
    for i in range(1, len(lines)):
        line = lines[i]
        if line[:1] in (" ", "\t") and line.strip():
            kept = i + 1
        elif not line.strip() or line[0] == "#":
            continue
        elif _is_open(lines[:i]):
            kept = i + 1
        elif kept == i or not any(part.strip() for part in lines[kept:i]):
            before = lines[kept - 1]
            is_part = _GOES_ON.match(line) and (before[:1] in (" ", "\t") or _BEGINS.match(before))
            if not is_part and not lines[kept - 1].startswith("@"):
                break
            kept = i + 1
        else:
            break
    return start + 2 + len("\n".join(lines[:kept]).rstrip())


def _is_open(lines: list[str]) -> bool:
    """Is a bracket or a string of several lines open at the end of these lines?"""
    text = "\n".join(lines)
    if not any(mark in text for mark in ("(", "[", "{", '"""', "'''", "\\")):
        return False
    import tokenize

    try:
        for _ in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
            pass
    except tokenize.TokenError:
        return True
    except (IndentationError, SyntaxError):
        pass
    return False


def belongs(block: str, line: str) -> bool:
    """Is the next typed line of Python code that was incomplete?"""
    lines = block[2:].split("\n")
    return line[:1] in (" ", "\t") or lines[-1].startswith("@") or _is_open(lines)


def wants_more(text: str) -> bool:
    """Would further lines belong to typed Python code, without which it is incomplete? `text` begins with `p)`."""
    lines = text[2:].split("\n")
    if _is_open(lines):
        return True
    return lines[-1].rstrip().endswith((":", "\\")) or lines[-1].startswith("@")
