"""PyTorch's tensors, parameters and types in pickles: what the names of all its versions mean, without torch."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from math import prod
from typing import Any

from kshell.checkpoints.base.stored import (
    MOST_DIMS,
    WIDTHS,
    Composite,
    Flipped,
    Stored,
    Strided,
    Traits,
)
from kshell.checkpoints.pickles import distributed
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import (
    KNOWN,
    WORDS,
    Kept,
    Meanings,
    Unknown,
    Word,
    given,
    known,
)

# fmt: off  # a table
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
    "QInt8": "qint8",
    "QUInt8": "quint8",
    "QInt32": "qint32",
    "QUInt4x2": "quint4x2",
    "QUInt2x4": "quint2x4",
}
# fmt: on
_ALIASES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64",
            "short": "int16", "cfloat": "complex64", "cdouble": "complex128", "chalf": "complex32"}  # fmt: skip
_PACKED = ("quint4x2", "quint2x4")  # of which a byte has several
_LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
_SCHEMES = ("per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric",
            "per_channel_affine_float_qparams")  # fmt: skip
_COMPRESSED = {  # names of the first two parts, as torch's methods have them
    "sparse_csr": ("crow", "col"), "sparse_bsr": ("crow", "col"),
    "sparse_csc": ("ccol", "row"), "sparse_bsc": ("ccol", "row"),
}  # fmt: skip
_FACTORS = ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_qtensor",
            "_rebuild_parameter", "_rebuild_meta_tensor_no_storage")  # fmt: skip


_JAGGED = "torch.nested._internal.nested_tensor._rebuild_njt"


def storage_dtype(name: str) -> tuple[str, bool] | None:
    """The type of the items of a storage class, and whether the class has none of its own."""
    parts = name.split(".")
    if parts[0] != "torch" or len(parts) > 3 or parts[1:-1] not in ([], ["cuda"], ["storage"]):
        return None
    if parts[-1] == "UntypedStorage":
        return "uint8", True
    dtype = (
        _STORAGES.get(parts[-1].removesuffix("Storage")) if parts[-1].endswith("Storage") else None
    )
    return None if dtype is None else (dtype, False)


def _word(name: str) -> Any:
    short = name.removeprefix("torch.")
    if short in WIDTHS or short in _ALIASES or short in _LAYOUTS or short in _SCHEMES:
        return Word(name)
    return Word(name) if storage_dtype(name) else None


WORDS["torch."] = _word


def _dtype(m: Meanings, x: Any) -> str:
    name = m.plain(x, Word).removeprefix("torch.")
    name = _ALIASES.get(name, name)
    if name not in WIDTHS:
        raise Unknown
    return name


def _kept(m: Meanings, x: Any) -> Kept:
    return m.plain(x, Kept)


def _view(
    m: Meanings,
    kept: Kept,
    dtype: str,
    offset: Any,
    shape: Any,
    stride: Any,
    grad: Any,
    more: Any = None,
) -> Stored:
    """The tensor that views some memory; ValueError if it is out of bounds."""
    sizes, steps = m.ints(shape), m.ints(stride)
    if offset.__class__ is not int:
        raise Unknown
    start = kept.start + offset
    tensor: Stored = Strided(dtype, sizes, kept.memory, steps, start, m.is_foreign)
    marks = tuple(key for key, flag in _dict(m, more).items() if flag and key in ("conj", "neg"))
    if marks:
        tensor = Flipped(tensor, marks)
    tensor.traits = Traits(grad=bool(grad))
    return tensor


def _dict(m: Meanings, x: Any) -> dict[Any, Any]:
    value = m.of(x)
    return value if isinstance(value, dict) else {}


@known("torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2")
def _tensor(m: Meanings, x: Node) -> Stored:
    storage, offset, shape, stride, *more = given(x, 4)
    kept = _kept(m, storage)
    grad, _hooks, marks = (*more, False, None, None)[:3]
    return _view(m, kept, kept.dtype, offset, shape, stride, grad, marks if len(more) > 2 else None)


@known("torch._utils._rebuild_tensor_v3")
def _typed_tensor(m: Meanings, x: Node) -> Stored:
    storage, offset, shape, stride, grad, _hooks, dtype, *more = given(x, 7)
    return _view(m, _kept(m, storage), _dtype(m, dtype), offset, shape, stride, grad, *more[:1])


@known("torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state")
def _parameter(m: Meanings, x: Node) -> Stored:
    data, grad, *more = given(x, 2)
    attributes = _dict(m, more[1]) if len(more) > 1 else {}
    return _with(m.of(data), Traits("torch.nn.parameter.Parameter", bool(grad), attributes))


@known("torch.nn.parameter.Parameter")
def _old_parameter(m: Meanings, x: Node) -> Stored:
    if x.how == "call":
        return _with(m.of(x.args[0]), Traits(x.name, bool(x.args[1])))
    data, grad, *_ = m.plain(x.state, tuple)
    return _with(m.of(data), Traits(x.name, bool(grad)))


def _with(tensor: Any, traits: Traits) -> Stored:
    """The same tensor, as an object of a class, with attributes."""
    if not isinstance(tensor, Stored):
        raise Unknown
    result = copy.copy(tensor)
    result.traits, result.origin = traits, None
    return result


@known("torch._tensor._rebuild_from_type_v2", "torch._tensor._rebuild_from_type")
def _of_class(m: Meanings, x: Node) -> Stored:
    maker, cls, args, state = given(x, 4, 4)
    if maker.__class__ is not Global or cls.__class__ is not Global or args.__class__ is not tuple:
        raise Unknown
    if maker.known == distributed.WRAPPER:
        return distributed.part_of(m, cls, args, state)
    if maker.known == _JAGGED:
        return _with(_jagged(m, Node("call", maker, args)), Traits(cls.known))
    if maker.known.removeprefix("torch._utils.") not in _FACTORS:
        raise Unknown
    tensor = KNOWN[maker.known](m, Node("call", maker, args))
    traits = tensor.traits or Traits()
    return _with(tensor, Traits(cls.known, traits.grad, _dict(m, state), state))


@known("torch._utils._rebuild_qtensor")
def _quantized(m: Meanings, x: Node) -> Stored:
    storage, offset, shape, stride, how, grad, *_ = given(x, 6)
    kept = _kept(m, storage)
    scheme, *numbers = m.plain(how, tuple)
    if kept.dtype in _PACKED and prod(m.ints(shape)) > kept.memory.length:
        raise Unknown
    tensor = _view(m, kept, kept.dtype, offset, shape, stride, grad)
    tensor.scheme = m.plain(scheme, Word).removeprefix("torch.")
    scales, zeros, *axis = (m.of(number) for number in numbers)
    if tensor.scheme.startswith("per_channel"):
        _check_channels(tensor, scales, zeros, *axis)
        tensor.options = {"scales": scales, "zeros": zeros, "axis": axis[0]}
    else:
        tensor.options = {"scale": float(scales), "zero": int(zeros)}
    return tensor


def _check_channels(tensor: Stored, scales: Any, zeros: Any, axis: Any) -> None:
    if not isinstance(scales, Stored) or not isinstance(zeros, Stored) or axis.__class__ is not int:
        raise Unknown
    length = (tensor.shape[axis],) if 0 <= axis < len(tensor.shape) else None
    if scales.shape != length or zeros.shape != length:
        raise ValueError("a quantised tensor has scales of a wrong size")


@known("torch._utils._rebuild_sparse_tensor")
def _sparse(m: Meanings, x: Node) -> Stored:
    layout, data = given(x, 2, 2)
    kind = m.plain(layout, Word).removeprefix("torch.")
    parts = m.plain(data, tuple)
    if kind == "sparse_coo":
        indices, values, size, *more = parts
        named = {"indices": indices, "values": values}
        options = {"coalesced": bool(more and more[0])}
    else:
        first, second = _COMPRESSED[kind]
        *_, size = parts
        named = {first: parts[0], second: parts[1], "values": parts[2]}
        options = {}
    tensors = _tensors(m, named)
    return Composite(kind, tensors["values"].dtype, m.ints(size), tensors, options)


@known("torch._utils._rebuild_nested_tensor")
def _nested(m: Meanings, x: Node) -> Stored:
    tensors = _tensors(
        m, dict(zip(("values", "sizes", "strides", "offsets"), given(x, 4, 4), strict=True))
    )
    sizes = tensors["sizes"].shape
    return Composite("nested", tensors["values"].dtype, (sizes[0] if sizes else 0,), tensors)


@known(_JAGGED)
def _jagged(m: Meanings, x: Node) -> Stored:
    fields = m.plain(x.args[0], dict)
    tensors = {
        name: found for name, part in fields.items() if isinstance(found := m.of(part), Stored)
    }
    named = {name.removeprefix("_"): tensor for name, tensor in tensors.items()}
    values, offsets = named["values"], named["offsets"]
    options = {name: n for name, n in fields.items() if n.__class__ in (int, bool)}
    return Composite("jagged", values.dtype, (offsets.shape[0] - 1,), named, options)


def _tensors(m: Meanings, parts: dict[str, Any]) -> dict[str, Stored]:
    found = {name: m.of(part) for name, part in parts.items()}
    if any(not isinstance(tensor, Stored) for tensor in found.values()):
        raise Unknown
    return found


@known("torch._utils._rebuild_meta_tensor_no_storage")
def _meta(m: Meanings, x: Node) -> Stored:
    dtype, shape, stride, grad, *_ = given(x, 4)
    tensor = Composite("meta", _dtype(m, dtype), m.ints(shape), {}, {"stride": m.ints(stride)})
    tensor.traits = Traits(grad=bool(grad))
    return tensor


@known("torch.Size")
def _size(m: Meanings, x: Node) -> tuple[int, ...]:
    sizes = m.ints(x.args[0] if x.args else ())
    if len(sizes) > MOST_DIMS or any(n < 0 for n in sizes):
        raise Unknown
    return sizes


@known("torch.device")
def _device(m: Meanings, x: Node) -> Word:
    parts: Sequence[Any] = [m.plain(part, str, int) for part in x.args]
    return Word(":".join(map(str, parts)))


@known("torch.serialization._get_layout")
def _layout(m: Meanings, x: Node) -> Word:
    name = m.plain(x.args[0], str)
    if name.removeprefix("torch.") not in _LAYOUTS:
        raise Unknown
    return Word(name)


def _device_tensor(m: Meanings, x: Node) -> Stored:
    """A tensor of a device that other programs drive, saved as NumPy's array or as a tensor."""
    found = m.of(x.args[0])
    if not isinstance(found, Stored):
        raise Unknown
    return found


known("torch._utils._rebuild_device_tensor_from_cpu_tensor")(_device_tensor)


# ------------------------------------------------------------------ TorchScript


@known("torch.jit._pickle.restore_type_tag")
def _tagged(m: Meanings, x: Node) -> Any:
    return m.of(x.args[0])


@known(*(f"torch.jit._pickle.build_{kind}list" for kind in ("int", "tensor", "double", "bool")))
def _list(m: Meanings, x: Node) -> Any:
    return m.plain(x.args[0], list, tuple)


@known("torch.jit._pickle.build_tensor_from_id")
def _constant(m: Meanings, x: Node) -> Any:
    number = x.args[0]
    if number.__class__ is not int or number < 0:
        raise Unknown
    return m.constants[number]
