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
    except OSError as e:
        problem = e
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
    out: list[bytes] = []
    rest = line
    while True:
        if rest[:1] == b'"':
            end = _closing(rest)
            out.append(rest[1:end].replace(b'""', b'"'))
            rest = rest[end + 1 :]
            at = rest.find(sep)
        else:
            at = rest.find(sep)
            out.append(rest if at < 0 else rest[:at])
        if at < 0:
            return out
        rest = rest[at + len(sep) :]


def _closing(text: bytes) -> int:
    """The position of the quote that closes the one at the start of the text; its length if there is none."""
    at = 1
    while True:
        at = text.find(b'"', at)
        if at < 0:
            return len(text)
        if text[at : at + 2] != b'""':
            return at
        at += 2


def split_pairs(data: bytes, sep: bytes) -> list[bytes]:
    """Split a text at each separator that is not in double quotes."""
    out = [b""]
    for k, part in enumerate(data.split(b'"')):
        if k % 2:
            out[-1] += b'"' + part + b'"'
        else:
            first, *rest = part.split(sep)
            out[-1] += first
            out += rest
    return out


def columns(data: bytes, sep: bytes, n: int, breaks: bool = False) -> list[list[bytes]]:
    """The first n columns of delimited text; missing fields are empty. Processed all at once if no field is quoted.
    With `breaks`, a line break in quotes belongs to its field."""
    lines = (
        split_pairs(data.replace(b"\r\n", b"\n").removesuffix(b"\n"), b"\n")
        if breaks
        else lines_of(data)
    )
    if b'"' not in data and lines:
        per = lines[0].count(sep) + 1
        flat = sep.join(lines).split(sep)
        if len(flat) == per * len(lines) and all(line.count(sep) == per - 1 for line in lines):
            return [flat[i::per] if i < per else [b""] * len(lines) for i in range(n)]
    rows = [split_fields(line, sep) for line in lines]
    return [[row[i] if i < len(row) else b"" for row in rows] for i in range(n)]


def fixed(data: bytes, widths: list[int]) -> list[list[bytes]]:
    """The columns of fixed-width text: one record per line, or without line breaks."""
    lines = lines_of(data)
    size = sum(widths)
    if len(lines) == 1 and size and len(data) >= 2 * size and len(data) % size == 0:
        lines = [data[k : k + size] for k in range(0, len(data), size)]
    out, at = [], 0
    for width in widths:
        out.append([line[at : at + width] for line in lines])
        at += width
    return out


def csv_field(text: bytes, sep: bytes) -> bytes:
    """A field for writing: in quotes if it contains the separator or a line break."""
    if sep in text or b"\n" in text:
        return b'"' + text.replace(b'"', b'""') + b'"'
    return text
