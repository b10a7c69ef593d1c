"""The .pt files of torch.save: a zip of a pickle and of the tensors' memory.

Checksums and bounds are verified, and the pickle is interpreted by our own reader, which knows plain values and the few
names below: those from which tensors, parameters and their types are built. Memory is read from where the zip says it
is.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from kshell.errors import QError
from kshell.kapi.base.lazy_torch import load, torch
from kshell.kapi.tensor import storages
from kshell.store.archive import Compressed, Room, places, pour
from kshell.store.kinds import kind_of, kind_of_archive
from kshell.store.pickled import Maker, Reader, Refused, plain_key
from kshell.values.session.progress import Task

if TYPE_CHECKING:
    from torch import Tensor, UntypedStorage
    from torch import dtype as DType

_TENSOR = 400  # approximate bytes per tensor, besides its memory
_STORAGE = 450  # and per storage, besides its content
# bytes allowed per storage besides its content: a small tensor is larger than its bytes
_GRANTED = 2500
_ZEROS = 1 << 20  # written at once
_STORAGES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Bool": "bool",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}
_SCRIPTED = "a TorchScript program, which torch.jit.load runs"
# how files from torch.save before version 1.6 begin, and what to do with them
_LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_REWRITE = "a file in the form before 1.6 is rewritten in Python: torch.save(torch.load(old),new)"
_PLAIN = (
    "if you trust the file, save its tensors by themselves in Python: c=torch.load(old,weights_only=False), "
    "torch.save(c['model'],new)"
)
_LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


class _Typed:
    """A storage, and the type of its items."""

    __slots__ = ("dtype", "held")

    def __init__(self, held: UntypedStorage, dtype: DType) -> None:
        self.held, self.dtype = held, dtype


class _Class:
    """A stand-in for a class named in a pickle."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class _StorageType:
    """A stand-in for a storage class: the dtype of its items."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype


# ------------------------------------------------------------------ what pickles call


def _strided(
    typed: object,
    offset: int,
    shape: Sequence[int],
    stride: Sequence[int],
    grad: object,
    _hooks: object = None,
    more: Any = None,
) -> Any:
    if not isinstance(typed, _Typed):
        raise ValueError("a tensor without memory")
    return _seen(typed.held, typed.dtype, offset, shape, stride, grad, more)


def _strided_as(
    typed: object,
    offset: int,
    shape: Sequence[int],
    stride: Sequence[int],
    grad: object,
    _hooks: object,
    dtype: object,
    more: Any = None,
) -> Any:
    if not isinstance(typed, _Typed):
        raise ValueError("a tensor without memory")
    return _seen(typed.held, dtype, offset, shape, stride, grad, more)


def _seen(
    held: UntypedStorage,
    dtype: object,
    offset: int,
    shape: Sequence[int],
    stride: Sequence[int],
    grad: object,
    more: Any,
) -> Any:
    tensor = storages.view(held, dtype, shape, stride, offset)
    for key, value in (more or {}).items():
        if value and key in ("conj", "neg"):
            tensor = tensor.conj() if key == "conj" else torch._neg_view(tensor)
    return tensor.requires_grad_(True) if grad else tensor


def _parameter(data: object, grad: object, _hooks: object = None, state: Any = None) -> Any:
    if not isinstance(data, torch.Tensor):
        raise ValueError("a parameter without a tensor")
    return _with(torch.nn.Parameter(data, requires_grad=bool(grad)), state)


def _with(t: Tensor, state: Any) -> Any:
    """A tensor with attributes, which must not be those that tensors already have."""
    for key, value in (state or {}).items():
        if key.__class__ is not str or hasattr(torch.nn.Parameter, key):
            raise Refused(f"a tensor's own {key}")
        t.__dict__[key] = value
    return t


def _of_class(fn: object, cls: object, args: Sequence[Any], state: Any) -> Any:
    if (
        fn.__class__ is not Maker
        or cls.__class__ is not _Class
        or fn.make not in (_strided, _strided_as)
    ):
        raise Refused("a tensor of another class")
    tensor = fn.make(*args)
    if cls.name.endswith("Parameter"):
        tensor = torch.nn.Parameter(tensor, requires_grad=tensor.requires_grad)
    return _with(tensor, state)


def _sparse(layout: object, data: Sequence[Any]) -> Any:
    primary, *remaining = data
    if layout is torch.sparse_coo:
        values, size, *coalesced = remaining
        tensor = torch.sparse_coo_tensor(primary, values, _size(size), check_invariants=True)
        return tensor._coalesced_(True) if coalesced and coalesced[0] else tensor
    secondary, values, size = remaining
    return torch.sparse_compressed_tensor(
        primary, secondary, values, _size(size), layout=layout, check_invariants=True
    )


def _size(x: object) -> tuple[int, ...]:
    if x.__class__ is not tuple or any(length.__class__ is not int or length < 0 for length in x):
        raise ValueError("a wrong size")
    return x


def _bytes(x: object = b"", _encoding: object = "latin-1") -> bytes:
    if x.__class__ is str:
        return x.encode("latin-1")
    if x.__class__ is not bytes:
        raise Refused("bytes of something else")
    return x


def _dict(x: Any = ()) -> dict[Any, Any]:
    pairs = list(x.items() if x.__class__ is dict else x)
    return {plain_key(key): value for key, value in pairs}


def _set(x: Any = ()) -> set[Any]:
    return {plain_key(item) for item in x}


def _complex(x: Any, y: Any = 0.0) -> complex:
    return complex(float(x), float(y))


def _layout(name: object) -> Any:
    if name not in [f"torch.{layout}" for layout in _LAYOUTS]:
        raise Refused(f"layout {name}")
    return getattr(torch, name[6:])


def _device(*args: Any) -> Any:
    if any(argument.__class__ not in (str, int) for argument in args):
        raise ValueError("a wrong device")
    return torch.device(*args)


_MAKERS = {
    "collections.OrderedDict": Maker(_dict, each=300), "collections.Counter": Maker(_dict, each=300),
    "builtins.set": Maker(_set, 240, 200), "builtins.frozenset": Maker(_set, 240, 200),
    "builtins.complex": Maker(_complex), "builtins.bytearray": Maker(_bytes, each=2),
    "_codecs.encode": Maker(_bytes, each=2), "torch.Size": Maker(_size), "torch.device": Maker(_device),
    "torch.serialization._get_layout": Maker(_layout),
    "torch._utils._rebuild_tensor_v2": Maker(_strided, _TENSOR), "torch._utils._rebuild_tensor_v3": Maker(
        _strided_as, _TENSOR),
    "torch._utils._rebuild_parameter": Maker(_parameter, _TENSOR),
    "torch._utils._rebuild_parameter_with_state": Maker(_parameter, 2 * _TENSOR),
    "torch._utils._rebuild_sparse_tensor": Maker(_sparse, 4 * _TENSOR),
    "torch._tensor._rebuild_from_type_v2": Maker(_of_class, 2 * _TENSOR),
}  # fmt: skip
_CLASSES = ("torch.Tensor", "torch._tensor.Tensor", "torch.nn.parameter.Parameter")


def _named(name: str) -> Any:
    """The object for a name in a pickle; Refused if unknown."""
    maker = _MAKERS.get(name)
    if maker is not None:
        return maker
    if name in _CLASSES:
        return _Class(name)
    short_name = name.removeprefix("torch.storage.").removeprefix("torch.")
    if short_name.endswith("Storage") and name in (
        f"torch.{short_name}",
        f"torch.storage.{short_name}",
    ):
        if short_name == "UntypedStorage":
            return _StorageType(torch.uint8)
        if (kind := _STORAGES.get(short_name.removesuffix("Storage"))) is not None:
            return _StorageType(getattr(torch, kind))
    if name == f"torch.{short_name}" and isinstance(
        dtype := vars(load()).get(short_name), torch.dtype
    ):
        return dtype
    raise Refused(name)


# ------------------------------------------------------------------ files


class _File:
    """A zip file written by torch.save."""

    def __init__(self, f: BinaryIO, size: int, room: Room) -> None:
        self.file, self.size, self.room = f, size, room
        self.left = places(f, size, self.room)
        self.work = Task("loading", size)
        self.held: dict[str, Any] = {}  # storages by name

    def member(self, name: str) -> bytes:
        """The bytes of a small member."""
        data = bytearray(self.left[name].length)
        self.pour(name, memoryview(data))
        return bytes(data)

    def pour(self, name: str, into: memoryview | None) -> None:
        pour(self.file, name, self.left.pop(name), into, self.work)

    def read(self) -> tuple[Any, int, Callable[[int], None]]:
        """The value, the number of values in its pickle, and the memory guard."""
        pickles = [name for name in self.left if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            kind, advice = ("", "") if pickles else kind_of_archive(self.file.name, self.left)
            raise QError(
                f"it is {kind}" if kind else f"it has {'two of' if pickles else 'no'} data.pkl",
                hint=advice,
            )
        self.root = pickles[0].removesuffix("data.pkl")
        if f"{self.root}constants.pkl" in self.left:
            raise QError(f"it is {_SCRIPTED}")
        byte_order = self.root + "byteorder"
        if (
            byte_order in self.left
            and self.left[byte_order].length < 9
            and self.member(byte_order) != b"little"
        ):
            raise ValueError("its numbers are those of another kind of machine")
        self.room.need(2 * self.left[pickles[0]].length)
        reader = Reader(self.member(pickles[0]), _named, self.storage, self.room.need)
        value = reader.read()
        for name in list(self.left):  # verify unreferenced members too
            self.pour(name, None)
        return value, reader.made, self.room.need

    def storage(self, asked: Any) -> _Typed:
        """The memory that a pickle refers to: ('storage', class, name, device, number of items)."""
        if asked.__class__ is not tuple or len(asked) != 5 or asked[0] != "storage":
            raise Refused("an object that is kept elsewhere")
        _, kind, key, _, count = asked
        if (
            kind.__class__ is not _StorageType
            or key.__class__ is not str
            or count.__class__ is not int
            or count < 0
        ):
            raise Refused("memory of an unknown kind")
        length = count * kind.dtype.itemsize
        if key not in self.held:
            name = f"{self.root}data/{key}"
            if name not in self.left or self.left[name].length != length:
                raise ValueError(f"memory {key} has a wrong length")
            self.room.need(_STORAGE + length - _GRANTED)
            self.held[key], memory = storages.fresh(length)
            self.pour(name, memory)
        if self.held[key].nbytes() != length:
            raise ValueError(f"memory {key} has a wrong length")
        return _Typed(self.held[key], kind.dtype)


def read(
    path: str, f: BinaryIO, size: int, room: Room | None = None
) -> tuple[Any, int, Callable[[int], None]]:
    """The value of a .pt file, its number of values, and the guard for memory used later; the whole file is verified.
    Raises an error if it is not such a file, or requests more memory than `room` allows or a file of its size may."""
    magic = f.read(len(_LEGACY))
    if magic[:4] != b"PK\3\4":
        kind, advice = kind_of(path, magic)
        raise QError(
            f"ckpt: {path} is not a checkpoint: "
            + (f"it is {kind}" if kind else "those of PyTorch 1.6 and later are zip files"),
            hint=_REWRITE if magic == _LEGACY else advice,
        )
    problem = hint = ""
    try:
        return _File(f, size, room or Room(size)).read()
    except Compressed:  # torch.save does not compress members; TorchScript code is compressed
        f.seek(0)
        members = zipfile.ZipFile(f).namelist()
        scripted = any(name.endswith("/constants.pkl") for name in members)
        kind, hint = (_SCRIPTED, "") if scripted else kind_of_archive(path, members)
        if not kind:
            raise
        problem = f"is not a checkpoint: it is {kind}"
    except Refused as e:
        problem = f"is refused: it holds more than tensors and plain values: {e}"
        hint = _PLAIN
    except QError as e:
        if e.text == "wsfull":
            raise
        problem, hint = f"is not a checkpoint: {e.text}", e.hint
    raise QError(f"ckpt: {path} {problem}", hint=hint)


def add_zeros(f: BinaryIO, n: int) -> None:
    """Add a member of n zeros to a .pt file."""
    with zipfile.ZipFile(f, "a", zipfile.ZIP_STORED) as archive:
        root = next(name for name in archive.namelist() if name.endswith("/data.pkl")).removesuffix(
            "data.pkl"
        )
        with archive.open(f"{root}.data/zeros", "w", force_zip64=True) as member:
            for position in range(0, n, _ZEROS):
                member.write(bytes(min(_ZEROS, n - position)))
