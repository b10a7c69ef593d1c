"""The files of NumPy, .npy and .npz, as tensors."""

from __future__ import annotations

import contextlib
import io
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np

from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.storages import DIMS, fresh
from kshell.store.archive import Place, Room, pour
from kshell.values.session.progress import Task

ARRAY = b"\x93NUMPY"
_LONGEST = 1 << 16  # bytes of a header
_KINDS = "biufc"  # booleans and numbers


def read_array(f: BinaryIO, size: int, room: Room) -> Any:
    """The tensor of a .npy file. ValueError and the like if it is damaged, or holds anything but numbers."""
    return _tensor(f, Place(0, size, 0), "it", room, Task("loading", size))


def read_arrays(f: BinaryIO, members: dict[str, Place], room: Room, work: Task) -> dict[str, Any]:
    """The tensors of the members of a .npz file, by name."""
    return {
        name.removesuffix(".npy"): _tensor(f, place, name, room, work)
        for name, place in members.items()
    }


def _tensor(f: BinaryIO, place: Place, name: str, room: Room, work: Task) -> Any:
    """The tensor of an array that stands somewhere in a file, perhaps compressed."""
    room.need(2 * place.length)
    _, memory = fresh(place.length)
    pour(f, name, place, memory, work, lenient=True)
    start, shape, is_fortran, dtype = _header(memory, name)
    kind = getattr(torch, _torch_name(dtype), None)
    count = (place.length - start) // dtype.itemsize
    if kind is None or dtype.hasobject or len(shape) > DIMS:
        raise ValueError(f"{name} is an array of {dtype}, which no tensor holds")
    size = 1
    for n in shape:
        size *= n
    if size != count or (place.length - start) % dtype.itemsize:
        raise ValueError(f"{name} has a wrong length")
    items = np.frombuffer(memory[start:], dtype)
    if not dtype.isnative:
        items = items.byteswap().view(dtype.newbyteorder("="))
    if dtype.kind == "b" and size and int(items.view(np.uint8).max()) > 1:
        raise ValueError(f"{name} has wrong booleans")
    whole = torch.from_numpy(np.array(items))
    if is_fortran:
        return whole.reshape(shape[::-1]).permute(*range(len(shape))[::-1])
    return whole.reshape(shape)


def _header(memory: memoryview, name: str) -> tuple[int, tuple[int, ...], bool, np.dtype]:
    """Where the items begin; the shape, whether columns are together, and the type."""
    stream = io.BytesIO(memory[:_LONGEST])
    version = np.lib.format.read_magic(stream)
    read: Any = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"{name} has version {version} of the format")
    shape, is_fortran, dtype = (-1,), False, np.dtype("f8")
    with contextlib.suppress(ValueError, SyntaxError, TokenError, TypeError):
        shape, is_fortran, dtype = read(stream, max_header_size=_LONGEST)
    if any(n.__class__ is not int or n < 0 for n in shape) or not dtype.itemsize:
        raise ValueError(f"{name} has a wrong head")
    return stream.tell(), shape, is_fortran, dtype


def _torch_name(dtype: np.dtype) -> str:
    return "" if dtype.fields or dtype.kind not in _KINDS else str(dtype.newbyteorder("="))
