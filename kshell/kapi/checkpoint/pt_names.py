"""What the pickles of torch.save name: the tensors, parameters and types that our reader builds for these names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.kapi.base.lazy_torch import load, torch
from kshell.kapi.tensor import storages
from kshell.store.pickled import Maker, Refused, plain_key

if TYPE_CHECKING:
    from torch import Tensor, UntypedStorage
    from torch import dtype as DType

_TENSOR = 400  # approximate bytes per tensor, besides its memory
STORAGE = 450  # and per storage, besides its content
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
_LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


class Typed:
    """A storage, and the type of its items. `foreign`: their bytes are in the other order until a tensor tells how wide
    they are."""

    __slots__ = ("dtype", "foreign", "held", "start")

    def __init__(
        self, held: UntypedStorage, dtype: DType, foreign: set[int], start: int = 0
    ) -> None:
        self.held, self.dtype, self.foreign = held, dtype, foreign
        self.start = start  # of the part that it is of the memory, in items

    def turn(self, dtype: DType) -> None:
        """Have the bytes of items in this machine's order, if they are not."""
        if self.held.data_ptr() in self.foreign:
            self.foreign.remove(self.held.data_ptr())
            width = dtype.itemsize // (2 if dtype.is_complex else 1)
            memory = np.frombuffer(storages.memory_of(self.held, self.held.nbytes()), f"u{width}")
            memory.byteswap(inplace=True)


class _Class:
    """A stand-in for a class named in a pickle."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class StorageType:
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
    grad: object = False,
    _hooks: object = None,
    more: Any = None,
) -> Any:
    if not isinstance(typed, Typed) or offset.__class__ is not int or offset < 0:
        raise ValueError("a tensor without memory")
    typed.turn(typed.dtype)
    return _seen(typed.held, typed.dtype, typed.start + offset, shape, stride, grad, more)


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
    if not isinstance(typed, Typed) or not isinstance(dtype, torch.dtype):
        raise ValueError("a tensor without memory")
    typed.turn(dtype)
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
    "torch._utils._rebuild_tensor": Maker(_strided, _TENSOR),
    "torch._utils._rebuild_tensor_v2": Maker(_strided, _TENSOR), "torch._utils._rebuild_tensor_v3": Maker(
        _strided_as, _TENSOR),
    "torch._utils._rebuild_parameter": Maker(_parameter, _TENSOR),
    "torch._utils._rebuild_parameter_with_state": Maker(_parameter, 2 * _TENSOR),
    "torch._utils._rebuild_sparse_tensor": Maker(_sparse, 4 * _TENSOR),
    "torch._tensor._rebuild_from_type_v2": Maker(_of_class, 2 * _TENSOR),
}  # fmt: skip
_CLASSES = ("torch.Tensor", "torch._tensor.Tensor", "torch.nn.parameter.Parameter")


def named(name: str) -> Any:
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
            return StorageType(torch.uint8)
        if (kind := _STORAGES.get(short_name.removesuffix("Storage"))) is not None:
            return StorageType(getattr(torch, kind))
    if name == f"torch.{short_name}" and isinstance(
        dtype := vars(load()).get(short_name), torch.dtype
    ):
        return dtype
    raise Refused(name)
