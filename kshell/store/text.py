"""Text files: lines, and columns of typed values, delimited or of fixed width."""

from __future__ import annotations

from typing import BinaryIO

from kshell.errors import refused
from kshell.store import unfinished


def read_bytes(path: str, offset: int = 0, length: int = -1) -> bytes:
    """The bytes of a file, or `length` of them from `offset`; operating system errors become q errors."""
    problem: OSError | None = None

    def work(f: BinaryIO) -> bytes:
        if offset:
            f.seek(offset)
        return f.read(length)

    try:
        return unfinished.opened(path, work)
    except OSError as error:
        problem = error
    raise refused(problem)


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a text, without line breaks; a final line break does not start another line."""
    if not data:
        return []
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def split_fields(line: bytes, sep: bytes) -> list[bytes]:
    """The fields of one line; a field in double quotes may contain the separator, and doubled quotes."""
    if b'"' not in line:
        return line.split(sep)
    fields: list[bytes] = []
    remaining = line
    while True:
        if remaining[:1] == b'"':
            end = _closing(remaining)
            fields.append(remaining[1:end].replace(b'""', b'"'))
            remaining = remaining[end + 1 :]
            position = remaining.find(sep)
        else:
            position = remaining.find(sep)
            fields.append(remaining if position < 0 else remaining[:position])
        if position < 0:
            return fields
        remaining = remaining[position + len(sep) :]


def _closing(text: bytes) -> int:
    """The position of the quote that closes the one at the start of the text; its length if there is none."""
    position = 1
    while True:
        position = text.find(b'"', position)
        if position < 0:
            return len(text)
        if text[position : position + 2] != b'""':
            return position
        position += 2


def split_pairs(data: bytes, sep: bytes) -> list[bytes]:
    """Split a text at each separator that is not in double quotes."""
    pieces = [b""]
    for index, part in enumerate(data.split(b'"')):
        if index % 2:
            pieces[-1] += b'"' + part + b'"'
        else:
            first, *following = part.split(sep)
            pieces[-1] += first
            pieces += following
    return pieces


def columns(data: bytes, sep: bytes, n: int, breaks: bool = False) -> list[list[bytes]]:
    """The first n columns of delimited text; missing fields are empty. Processed all at once if no field is quoted.
    With `breaks`, a line break in quotes belongs to its field."""
    lines = (
        split_pairs(data.replace(b"\r\n", b"\n").removesuffix(b"\n"), b"\n")
        if breaks
        else lines_of(data)
    )
    if b'"' not in data and lines:
        per_line = lines[0].count(sep) + 1
        flat = sep.join(lines).split(sep)
        if len(flat) == per_line * len(lines) and all(
            line.count(sep) == per_line - 1 for line in lines
        ):
            return [
                flat[index::per_line] if index < per_line else [b""] * len(lines)
                for index in range(n)
            ]
    rows = [split_fields(line, sep) for line in lines]
    return [[row[index] if index < len(row) else b"" for row in rows] for index in range(n)]


def fixed(data: bytes, widths: list[int]) -> list[list[bytes]]:
    """The columns of fixed-width text: one record per line, or without line breaks."""
    lines = lines_of(data)
    size = sum(widths)
    if len(lines) == 1 and size and len(data) >= 2 * size and len(data) % size == 0:
        lines = [data[start : start + size] for start in range(0, len(data), size)]
    result, offset = [], 0
    for width in widths:
        result.append([line[offset : offset + width] for line in lines])
        offset += width
    return result


def csv_field(text: bytes, sep: bytes) -> bytes:
    """A field for writing: in quotes if it contains the separator or a line break."""
    if sep in text or b"\n" in text:
        return b'"' + text.replace(b'"', b'""') + b'"'
    return text
