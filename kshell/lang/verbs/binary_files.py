"""Files: raw bytes, and fixed-width records."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs import internal
from kshell.lang.verbs.files import path_of, range_of
from kshell.registry import verb
from kshell.store import atomic, compress, kdb, text
from kshell.values.base import types as T
from kshell.values.base.core import List, Nd, Value, Vec, atom_t, raw, sym_vec, text_of
from kshell.values.base.symbols import Sym
from kshell.values.session.restrict import refuse

_WIDTHS = {"b": 1, "x": 1, "h": 2, "i": 4, "j": 8, "e": 4, "f": 8, "c": 1, "p": 8, "d": 4, "t": 4, "m": 4, "n": 8,
           "u": 4, "v": 4, "z": 8, "g": 16}  # fmt: skip


@verb("1:", effect="own")
def binary_file(x: Value, y: Value) -> Value:
    """Binary files: save bytes, or load typed fixed-width columns.

    q)`:/tmp/kshell_doc.bin 1:0x0100000002000000
    `:/tmp/kshell_doc.bin
    q)(enlist"i";enlist 4)1:`:/tmp/kshell_doc.bin
    1 2
    q)hdel`:/tmp/kshell_doc.bin;
    """
    if x.__class__ is Sym:
        return save_binary(x, y, None)
    if x.__class__ is List and len(x) == 4 and x.items[0].__class__ is Sym:
        return save_binary(x.items[0], y, internal.packing(*x.items[1:]))
    if x.__class__ is not List or len(x) != 2:
        raise QError("type")
    types, widths = x.items
    # widths first: most significant byte first
    is_big_endian = not (types.__class__ is Vec and types.t == T.C)
    if is_big_endian:
        types, widths = widths, types
    if widths.__class__ is not Vec or widths.t not in (T.H, T.I, T.J):
        raise QError("type")
    content = (
        y.a.tobytes() if y.__class__ is Vec and y.t in (T.X, T.C) else text.read_bytes(*range_of(y))
    )
    return List(
        _records(
            text_of(types),
            [int(width) for width in widths.a],
            content,
            ">" if is_big_endian else "<",
        )
    )


def save_binary(file: Sym, y: Value, packing: kdb.Packing | None) -> Value:
    """Write the raw bytes of an atom or vector; a list is written as a data file."""
    refuse("1:")
    path = path_of(file)
    if isinstance(y, List):
        kdb.write(path, y, packing)
        return file
    qtype = y.t if y.__class__ is Vec else atom_t(y)
    if not qtype or qtype in (T.S, T.ENUM):
        raise QError("type")
    content = y.a.tobytes() if y.__class__ is Vec else np.array(raw(y), T.DTYPE[qtype]).tobytes()
    if packing is not None and packing.algorithm:
        content = compress.pack(content, packing.logical, packing.level)
    atomic.write_bytes(path, content)
    return file


def _records(codes: str, widths: list[int], data: bytes, order: Literal["<", ">"]) -> list[Value]:
    if len(codes) != len(widths):
        raise QError("length")
    total = sum(widths)
    if total <= 0 or min(widths) < 0:
        raise QError("length")
    rows = np.frombuffer(data, np.uint8, len(data) // total * total).reshape(-1, total)
    columns: list[Value] = []
    offset = 0
    for code, width in zip(codes, widths, strict=True):
        field = np.ascontiguousarray(rows[:, offset : offset + width])
        offset += width
        if code != " ":
            columns.append(_field(code.lower(), width, field, order))
    return columns


def _field(code: str, w: int, part: np.ndarray, order: Literal["<", ">"]) -> Value:
    """The values of one field in all records."""
    if code == "*" or (code == "c" and w > 1):
        return Nd(T.C, part) if len(part) else List([])
    if code == "s":
        return sym_vec(
            [bytes(record).rstrip(b"\0 ").decode("utf-8", "surrogateescape") for record in part]
        )
    if _WIDTHS.get(code) != w:
        raise QError("type")
    qtype = T.BY_CHAR[code]
    if code == "g":
        return Vec(qtype.num, part.view(qtype.dtype).reshape(-1))
    return Vec(
        qtype.num, part.view(qtype.dtype.newbyteorder(order)).reshape(-1).astype(qtype.dtype)
    )
