"""A writer of GGUF files, right ones and others."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

LETTERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
Field = tuple[int, Any]  # type, value; of an array (type of the items, items)
Tensor = tuple[int, Sequence[int], bytes]  # type, shape as torch has it, bytes


def text(value: str | bytes, order: str = "<") -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(order + "Q", len(data)) + data


def field(kind: int, value: Any, order: str = "<") -> bytes:
    if kind == 8:
        return text(value, order)
    if kind == 9:
        inner, items = value
        return struct.pack(order + "IQ", inner, len(items)) + b"".join(field(inner, item, order) for item in items)
    return struct.pack(order + LETTERS[kind], value)


def described(name: str, kind: int, shape: Sequence[int], offset: int, order: str = "<") -> bytes:
    return text(name, order) + struct.pack(f"{order}I{len(shape)}QIQ", len(shape), *reversed(shape), kind, offset)


def head(tensors: Sequence[bytes], fields: Sequence[bytes], version: int = 3, order: str = "<") -> bytes:
    return b"GGUF" + struct.pack(order + "IQQ", version, len(tensors), len(fields)) + b"".join([*fields, *tensors])


def entry(key: str, kind: int, value: Any, order: str = "<") -> bytes:
    return text(key, order) + struct.pack(order + "I", kind) + field(kind, value, order)


def whole(tensors: Mapping[str, Tensor], fields: Mapping[str, Field], version: int = 3, align: int = 32,
          order: str = "<") -> bytes:
    """A file as its writers make it."""
    data, rows = b"", []
    for name, (kind, shape, content) in tensors.items():
        data += bytes(-len(data) % align)
        rows.append(described(name, kind, shape, len(data), order))
        data += content
    start = head(rows, [entry(key, *value, order) for key, value in fields.items()], version, order)
    return start + bytes(-len(start) % align) + data
