"""Tensors of files as torch's: mapped when their numbers are asked for, and copied where they are written.

The pages of a map are private: what changes a tensor changes memory, never the file. Small tensors, and those whose
bytes are not in one place, are read instead. Tensors that share memory in a file share it here.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.checkpoints.base.stored import (
    PIECE,
    WIDTHS,
    Composite,
    File,
    Flipped,
    Memory,
    Run,
    Stored,
    Strided,
    Traits,
    turn,
)
from kshell.errors import QError
from kshell.kapi.base.handles import GONE, TensorHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor import storages
from kshell.values.session.interrupts import PENDING, give_up

if TYPE_CHECKING:
    from torch import Tensor, UntypedStorage

_MAPPED = 1 << 18  # bytes from which on memory is mapped; a map costs pages and a system call
_WINDOW = 1 << 26  # bytes that are mapped at a time to look at them
_PIECE = 1 << 22  # bytes that are read at a time: they fit a processor's cache
_LIBC = ctypes.CDLL(None, use_errno=True)
_FAILED = ctypes.c_void_p(-1).value
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_QUANTIZED = {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}


# ------------------------------------------------------------------ memory


def _mapped(memory: Memory) -> Any:
    """A private map of some memory of a file as a buffer; None if the system makes none."""
    memory.file.check()
    return _map(memory.file, memory.file.start + memory.offset, memory.length)


def _map(file: File, start: int, count: int) -> Any:
    """A private map of bytes of a file, counted from its very begin; None if the system makes none."""
    first = start - start % mmap.ALLOCATIONGRANULARITY
    length = start + count - first
    # Python's own mmap would hold a descriptor for each
    rights = mmap.PROT_READ | mmap.PROT_WRITE
    address = _LIBC.mmap(None, length, rights, mmap.MAP_PRIVATE, file.descriptor, first)
    if address == _FAILED:
        return None
    buffer = (ctypes.c_uint8 * count).from_address(address + start - first)
    weakref.finalize(buffer, _LIBC.munmap, address, length)
    return buffer


class Windows:
    """Maps of files to look at numbers, one at a time: of tensors that stand one after the other it has many."""

    def __init__(self) -> None:
        self._file: File | None = None
        self._start, self._buffer = 0, (ctypes.c_uint8 * 0)()

    def of(self, memory: Memory, at: int, count: int) -> Any:
        """Some bytes of memory, which nobody may write, as a buffer; None if the system makes no map."""
        file = memory.file
        file.check()
        start = file.start + memory.offset + at
        inside = start - self._start
        if file is not self._file or not 0 <= inside <= len(self._buffer) - count:
            rest = file.start + file.size - start
            buffer = _map(file, start, max(count, min(_WINDOW, rest)))
            if buffer is None:
                return None
            self._file, self._start, self._buffer, inside = file, start, buffer, 0
        return (ctypes.c_uint8 * count).from_buffer(self._buffer, inside)


def windows(stored: Stored, maps: Windows) -> Iterator[Any]:
    """The numbers of a tensor, flat, some after the other: maps of parts of the file, if it is as it is in memory."""
    if not isinstance(stored, Strided) or not _is_window(stored, stored.memory):
        for piece in stored.pieces(_PIECE):
            yield piece_of(stored.dtype, piece)
        return
    memory: Any = stored.memory
    for at in range(0, memory.length, _WINDOW):
        count = min(_WINDOW, memory.length - at)
        buffer = maps.of(memory, at, count)
        if buffer is None:
            buffer = bytearray(count)
            memory.into(memoryview(buffer), at)
        yield piece_of(stored.dtype, buffer)


def _is_window(tensor: Strided, memory: Any) -> bool:
    """Is a tensor all of some memory that can be mapped, with no checksum that is still to be compared?"""
    is_all = memory.length == tensor.nbytes and tensor.is_contiguous
    return is_all and _is_mappable(tensor, memory) and not memory.is_to_verify


def _is_mappable(tensor: Strided, memory: Any) -> bool:
    """Are a tensor's bytes in the file as they are in memory, and are there enough of them?"""
    return (
        memory.__class__ is Memory
        and (memory.file.start + memory.offset) % WIDTHS[tensor.dtype] == 0
        and memory.packed < 0
        and memory.length >= _MAPPED
        and not tensor.foreign
    )


def _storage_of(tensor: Strided) -> UntypedStorage:
    """The storage with a tensor's memory, in this machine's order: the same for all tensors that share it."""
    memory: Any = tensor.memory
    known: UntypedStorage | None = getattr(memory, "torch_storage", None)
    if known is not None:
        return known
    storage = None
    if _is_mappable(tensor, memory):
        buffer = _mapped(memory)
        if buffer is not None:
            storage = torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()
            memory.verified(memoryview(buffer))
    if storage is None:
        storage, out = storages.fresh(memory.length)
        memory.into(out)
        if tensor.foreign:
            turn(out, tensor.dtype)
    memory.torch_storage = storage
    return storage


# ------------------------------------------------------------------ tensors


def tensor_of(stored: Stored) -> Tensor:
    """The tensor of torch for one of a file. QError if torch has none for it, or the file has changed."""
    if stored.live is not None:
        return stored.live
    try:
        tensor = _plain(stored)
        if stored.traits is not None:
            tensor = _with_traits(tensor, stored)
        return tensor
    except (ValueError, RuntimeError, TypeError, AttributeError) as e:
        raise QError(
            f"ckpt: a tensor of the file is damaged, or not known to torch: {str(e).splitlines()[0]}"
        ) from None


def _plain(stored: Stored) -> Any:
    if isinstance(stored, Composite):
        return _COMPOSITES.get(stored.kind, _compressed)(stored)
    if isinstance(stored, Flipped):
        tensor = _plain(stored.of)
        for mark in stored.marks:
            tensor = tensor.conj() if mark == "conj" else torch._neg_view(tensor)
        return tensor
    if stored.dtype in _QUANTIZED and stored.options:
        return _quantized(stored)
    dtype = dtype_of(stored.dtype)
    if stored.__class__ is Strided:
        return storages.view(_storage_of(stored), dtype, stored.shape, stored.stride, stored.start)
    storage, out = storages.fresh(stored.nbytes)
    stored.into(out)
    tensor = torch.empty(0, dtype=dtype).set_(storage, 0, stored.shape)
    if dtype is torch.bool and out and max(out) > 1:
        raise ValueError("wrong booleans")
    return tensor


def read_tensor(stored: Stored) -> Any:
    """The numbers of a tensor, read once: not a map, and nothing that others share."""
    if isinstance(stored, Composite) or stored.live is not None:
        return tensor_of(stored)
    ints = _QUANTIZED.get(stored.dtype, stored.dtype)
    storage, out = storages.fresh(stored.nbytes)
    stored.into(out)
    _check_booleans(ints, out)
    return torch.empty(0, dtype=dtype_of(ints)).set_(storage, 0, stored.shape)


def read_part(stored: Stored, start: int, stop: int) -> Any:
    """Some items of a tensor, in a row, of which no others are read."""
    if isinstance(stored, Composite) or stored.live is not None:
        return tensor_of(stored).detach().reshape(-1)[start:stop]
    dtype = dtype_of(_QUANTIZED.get(stored.dtype, stored.dtype))
    part = torch.empty(stop - start, dtype=dtype)
    width = WIDTHS[stored.dtype]
    stored.into(storages.memory_of(part, (stop - start) * width), start * width)
    return part


def is_in_order(stored: Stored) -> bool:
    """Is a tensor in a file, from which its items can be read one after the other?"""
    if isinstance(stored, Composite) or stored.live is not None:
        return False
    return not isinstance(stored, Strided) or stored.is_contiguous


def read_pieces(stored: Stored, items: int) -> Iterator[Any]:
    """The numbers of such a tensor, flat, so many items at a time, in memory that is used again for the next piece."""
    for piece in stored.pieces(items * WIDTHS[stored.dtype]):
        if PENDING:
            give_up()
        _check_booleans(stored.dtype, piece)
        yield piece_of(stored.dtype, piece)


def _check_booleans(dtype: str, data: memoryview) -> None:
    """QError if the bytes of booleans are others than 0 and 1."""
    if dtype == "bool" and len(data) and np.frombuffer(data, np.uint8).max() > 1:
        raise QError("ckpt: a tensor of the file is damaged: it has wrong booleans")


def piece_of(dtype: str, piece: Any) -> Any:
    """The numbers in some bytes, which they share."""
    kind = dtype_of(_QUANTIZED.get(dtype, dtype))
    return torch.frombuffer(piece, dtype=kind) if len(piece) else torch.empty(0, dtype=kind)


def dtype_of(name: str) -> Any:
    """The torch dtype of this name; QError if this torch has none."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise QError(f"ckpt: this torch has no type {name}")
    return dtype


def _with_traits(tensor: Any, stored: Stored) -> Any:
    traits = stored.traits
    if traits is None:
        return tensor
    if traits.cls == "torch.nn.parameter.Parameter":
        tensor = torch.nn.Parameter(tensor, requires_grad=traits.grad)
        for name, value in traits.attributes.items():
            if name.__class__ is str and not hasattr(torch.nn.Parameter, name):
                tensor.__dict__[name] = value
    elif traits.grad and (tensor.is_floating_point() or tensor.is_complex()):
        tensor.requires_grad_(True)
    return tensor


def _quantized(stored: Stored) -> Any:
    if stored.__class__ is not Strided or (
        "scale" not in stored.options and "scales" not in stored.options
    ):
        raise QError("ckpt: a quantised tensor of this kind has no numbers that kshell computes")
    ints = Strided(
        _QUANTIZED[stored.dtype],
        stored.shape,
        stored.memory,
        stored.stride,
        stored.start,
        stored.foreign,
    )
    values, how = _plain(ints), stored.options
    if "scale" in how:
        return torch._make_per_tensor_quantized_tensor(values, how["scale"], how["zero"])
    scales, zeros = _plain(how["scales"]), _plain(how["zeros"])
    return torch._make_per_channel_quantized_tensor(values, scales, zeros, how["axis"])


def _coo(stored: Composite) -> Any:
    parts = stored.parts
    indices, values = _plain(parts["indices"]), _plain(parts["values"])
    tensor = torch.sparse_coo_tensor(indices, values, stored.shape, check_invariants=True)
    return tensor._coalesced_(True) if stored.options.get("coalesced") else tensor


def _compressed(stored: Composite) -> Any:
    first, second, values = (_plain(part) for part in stored.parts.values())
    layout = getattr(torch, stored.kind)
    return torch.sparse_compressed_tensor(
        first, second, values, stored.shape, layout=layout, check_invariants=True
    )


def _nested(stored: Composite) -> Any:
    parts = {name: _plain(part) for name, part in stored.parts.items()}
    names = ("values", "sizes", "strides", "offsets")
    return torch._nested_view_from_buffer(*(parts[name] for name in names)).clone()


def _jagged(stored: Composite) -> Any:
    values, offsets = _plain(stored.parts["values"]), _plain(stored.parts["offsets"])
    steps = offsets.diff()
    if offsets.ndim != 1 or not len(offsets) or (len(steps) and int(steps.min()) < 0):
        raise ValueError("wrong offsets")
    if int(offsets[0]) != 0 or int(offsets[-1]) > len(values):
        raise ValueError("wrong offsets")
    return torch.nested.nested_tensor_from_jagged(values, offsets)


def _meta(stored: Composite) -> Any:
    return torch.empty_strided(
        stored.shape, stored.options["stride"], dtype=dtype_of(stored.dtype), device="meta"
    )


_COMPOSITES = {"sparse_coo": _coo, "nested": _nested, "jagged": _jagged, "meta": _meta}


# ------------------------------------------------------------------ handles


class StoredHandle(TensorHandle):
    """A tensor handle whose tensor is still in a file. For all others it is a TensorHandle, and becomes one as soon as
    the tensor is asked for."""

    __slots__ = ()

    @property
    def __class__(self) -> type:
        return TensorHandle

    @__class__.setter
    def __class__(self, cls: type) -> None:
        _CLASS.__set__(self, cls)

    @property
    def stored(self) -> Stored:
        """The tensor in the file."""
        found: Stored = _OBJ.__get__(self)
        return found

    @property
    def freed(self) -> bool:
        """Is the object gone? The tensor is not asked for."""
        return _OBJ.__get__(self) is GONE

    @property
    def obj(self) -> Any:
        found = _OBJ.__get__(self)
        if isinstance(found, Stored):
            found = _origin(tensor_of(found), found)
        self.obj = found
        return found

    @obj.setter
    def obj(self, x: Any) -> None:
        _OBJ.__set__(self, x)
        if not isinstance(x, Stored):
            self.__class__ = TensorHandle


_OBJ: Any = TensorHandle.__mro__[1].__dict__["obj"]  # the slot of all handles
_CLASS: Any = object.__dict__["__class__"]
# by the identity of a tensor: it, what it was read from, and how often it had been written then
_ORIGINS: dict[int, tuple[Any, Stored, int]] = {}


def _origin(tensor: Tensor, stored: Stored) -> Tensor:
    """Note what a tensor was read from."""
    key = id(tensor)
    gone = weakref.ref(tensor, lambda _: _ORIGINS.pop(key, None))
    _ORIGINS[key] = (gone, stored, tensor._version)
    return tensor


def origin_of(tensor: Tensor) -> Stored | None:
    """What a tensor was read from, if its numbers are still the same."""
    found = _ORIGINS.get(id(tensor))
    if found is None or found[0]() is not tensor:
        return None
    _, stored, version = found
    if isinstance(stored, Composite) or stored.scheme:  # their parts are written by torch alone
        return stored if tensor._version == version else None
    data = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if data.dtype != dtype_of(stored.dtype) or tuple(data.shape) != stored.shape:
        return None
    memory = storages.memory_of(data, data.numel() * data.element_size())
    at = 0
    for piece in stored.pieces():
        if memory[at : at + len(piece)] != piece:
            return None
        at += len(piece)
    return stored


class Unwritten:
    """Tells which tensors of files are still as the files have them. Memory that tensors share counts as a whole, so
    that they still share it where it is written."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bool]] = {}  # by the identity of the memory

    def __call__(self, stored: Stored) -> bool:
        """Is what a tensor has in memory, if anything, what its file has?"""
        of = stored.of if isinstance(stored, Flipped) else stored
        storage = getattr(of.memory, "torch_storage", None) if of.__class__ is Strided else None
        if storage is None:
            return True
        memory: Any = of.memory  # type: ignore[attr-defined]
        if id(memory) not in self._known:
            self._known[id(memory)] = (memory, _is_unwritten(memory, storage, of))
        return self._known[id(memory)][1]


def _is_unwritten(memory: Run, storage: UntypedStorage, of: Any) -> bool:
    if storage.nbytes() != memory.length:
        return False
    held, out = storages.memory_of(storage, memory.length), memoryview(bytearray(PIECE))
    for start in range(0, memory.length, PIECE):
        piece = out[: min(PIECE, memory.length - start)]
        memory.into(piece, start)
        if of.foreign:
            turn(piece, of.dtype)
        if held[start : start + len(piece)] != piece:
            return False
    return True


def stored_of(h: TensorHandle) -> Stored | None:
    """The tensor in a file that a handle stands for, if nobody has asked for its numbers."""
    return h.stored if type(h) is StoredHandle and _OBJ.__get__(h) is not GONE else None


def stored_handle(stored: Stored) -> TensorHandle:
    """A new handle for a tensor in a file."""
    return StoredHandle(stored)


# ------------------------------------------------------------------ tensors that are to be written


class _Live:
    """The memory of tensors of torch, which are to be written; `device` is where they are."""

    def __init__(self, storage: UntypedStorage) -> None:
        self.length, self.device = storage.nbytes(), str(storage.device)
        self._storage = storage
        self._copy: UntypedStorage | None = storage if storage.device.type == "cpu" else None

    def into(self, out: memoryview, start: int = 0) -> None:
        """Fill memory with its bytes from `start` on."""
        if self._copy is None:
            self._copy = self._storage.cpu()
        out[:] = storages.memory_of(self._copy, self.length)[start : start + len(out)]


class Living:
    """Tensors of torch as tensors that are to be written; those that share memory still do."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, _Live]] = {}

    def of(self, t: Tensor) -> Stored:
        """The tensor to be written. QError for kinds that no file has."""
        stored = self._stored(t)
        stored.live = t
        is_parameter = isinstance(t, torch.nn.Parameter)
        attributes = {
            key: value for key, value in t.__dict__.items() if is_parameter and _is_plain(value)
        }
        cls = "torch.nn.parameter.Parameter" if is_parameter else ""
        stored.traits = Traits(cls, t.requires_grad, attributes)
        return stored

    def _stored(self, t: Tensor) -> Stored:
        t = t.detach()
        if t.device.type == "meta":
            return Composite("meta", _name(t), tuple(t.shape), {}, {"stride": tuple(t.stride())})
        if t.layout is not torch.strided:
            return self._sparse(t)
        if t.is_nested:
            raise QError("ckpt: a nested tensor cannot be written")
        if t.is_conj() or t.is_neg():
            marks = ("conj",) * t.is_conj() + ("neg",) * t.is_neg()
            return Flipped(self._stored(_unmarked(t)), marks)
        plain = self._strided(t)
        if t.is_quantized:
            plain.options = self._how(t)
        return plain

    def _strided(self, t: Tensor) -> Strided:
        storage = t.untyped_storage()
        known = self._known.get(storage._cdata)
        if known is None:
            known = self._known[storage._cdata] = (storage, _Live(storage))
        return Strided(
            _name(t), tuple(t.shape), known[1], tuple(t.stride()), int(t.storage_offset())
        )

    def _how(self, t: Tensor) -> dict[str, Any]:
        scheme = str(t.qscheme()).removeprefix("torch.")
        if scheme.startswith("per_tensor"):
            return {"scheme": scheme, "scale": t.q_scale(), "zero": t.q_zero_point()}
        scales, zeros = t.q_per_channel_scales(), t.q_per_channel_zero_points()
        return {
            "scheme": scheme,
            "scales": self._strided(scales),
            "zeros": self._strided(zeros),
            "axis": t.q_per_channel_axis(),
        }

    def _sparse(self, t: Tensor) -> Composite:
        kind = str(t.layout).removeprefix("torch.")
        if kind == "sparse_coo":
            parts = {"indices": t._indices(), "values": t._values()}
        elif kind in ("sparse_csr", "sparse_bsr"):
            parts = {"crow": t.crow_indices(), "col": t.col_indices(), "values": t.values()}
        elif kind in ("sparse_csc", "sparse_bsc"):
            parts = {"ccol": t.ccol_indices(), "row": t.row_indices(), "values": t.values()}
        else:
            raise QError(f"ckpt: a tensor of layout {kind} cannot be written")
        options = {"coalesced": t.is_coalesced()} if kind == "sparse_coo" else {}
        tensors = {name: self._stored(part) for name, part in parts.items()}
        return Composite(kind, _name(t), tuple(t.shape), tensors, options)


def _unmarked(t: Tensor) -> Tensor:
    """The tensor of which one is the lazy conjugate or negative."""
    if t.is_neg():
        t = torch._neg_view(t)
    return t.conj() if t.is_conj() else t


def _name(t: Tensor) -> str:
    return str(t.dtype).removeprefix("torch.")


def _is_plain(x: object) -> bool:
    """Can an attribute of a parameter be written?"""
    if x.__class__ in (list, tuple):
        return all(map(_is_plain, x))
    if x.__class__ is dict:
        return all(_is_plain(key) and _is_plain(value) for key, value in x.items())
    return x is None or x.__class__ in (bool, int, float, str, bytes)
