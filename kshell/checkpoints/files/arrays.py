"""The files of NumPy, .npy and .npz, as tensors."""

from __future__ import annotations

import contextlib
import io
from tokenize import TokenError
from typing import Any

import numpy as np

from kshell.checkpoints.base.stored import WIDTHS, File, Memory, Strided, contiguous
from kshell.checkpoints.files.pt import Zip, bare
from kshell.errors import QError
from kshell.store.archive import Room

BEGIN = b"\x93NUMPY"
_LONGEST = 1 << 16  # bytes of a header
_KINDS = "biufc"  # booleans and numbers


def read_array(file: File, room: Room) -> Any:
    """The tensor of a .npy file; an array of texts, times or rows, an object of its pickle. ValueError and the like if
    it is damaged."""
    return _value(Memory(file, 0, file.size), "it", room)


def read_arrays(archive: Zip, room: Room) -> dict[str, Any]:
    """The same of the members of a .npz file, by name."""
    return {
        name.removesuffix(".npy"): _value(archive.memory(name), name, room)
        for name in archive.members
    }


def _value(memory: Memory, name: str, room: Room) -> Any:
    """What an array is that stands somewhere in a file, perhaps compressed."""
    begin = bytearray(min(_LONGEST, memory.length))
    memory.into(memoryview(begin))
    start, shape, is_fortran, dtype = _header(begin, name)
    kind = "" if dtype.fields or dtype.kind not in _KINDS else str(dtype.newbyteorder("="))
    if dtype.hasobject:
        if memory.packed >= 0 or dtype.kind != "O":
            text = f"{name} is an array of {dtype} in a compressed file, which kshell does not read"
            raise QError(f"ckpt: {memory.file.path}: {text}")
        return bare(memory.file.part(memory.offset + start, memory.length - start), room)
    size = int(np.prod(shape, dtype=object)) if shape else 1
    if size * dtype.itemsize != memory.length - start:
        raise ValueError(f"{name} has a wrong length")
    if kind not in WIDTHS:
        room.need(2 * memory.length)
        data = bytearray(memory.length - start)
        _part(memory, start).into(memoryview(data))
        array = np.frombuffer(data, dtype)
        return array.reshape(shape[::-1]).T if is_fortran else array.reshape(shape)
    stride = contiguous(tuple(shape[::-1]))[::-1] if is_fortran else None
    return Strided(kind, shape, _part(memory, start), stride, 0, not dtype.isnative)


def _part(memory: Memory, start: int) -> Memory:
    """The memory behind a header."""
    if memory.packed < 0:
        return Memory(memory.file, memory.offset + start, memory.length - start, memory.key)
    return _Inner(memory, start)


class _Inner(Memory):
    """What follows a header in a compressed member."""

    def __init__(self, whole: Memory, start: int) -> None:
        super().__init__(whole.file, whole.offset, whole.length - start, whole.key, whole.packed)
        self._whole, self._start = whole, start

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all memory."""
        self._whole.into(out, self._start + start)


def _header(memory: bytearray, name: str) -> tuple[int, tuple[int, ...], bool, np.dtype]:
    """Where the items begin; the shape, whether columns are together, and the type."""
    stream = io.BytesIO(memory)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"{name} has version {version} of the format")
    shape: tuple[int, ...] = (-1,)
    is_fortran, dtype = False, np.dtype("f8")
    with contextlib.suppress(ValueError, SyntaxError, TokenError, TypeError):
        if version == (1, 0):
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(
                stream, max_header_size=_LONGEST
            )
        else:
            shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(
                stream, max_header_size=_LONGEST
            )
    if any(n.__class__ is not int or n < 0 for n in shape) or not dtype.itemsize:
        raise ValueError(f"{name} has a wrong head")
    return stream.tell(), tuple(shape), is_fortran, dtype
