"""Weights that are in several tensors of a file, as one tensor each: those of bitsandbytes, GPTQ, AWQ and torchao, and
float8 with scales.

Only parts that fit each other are joined. All other tensors stay as they are, also those whose layout depends on a
kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from math import prod
from typing import Any, NamedTuple

from kshell.checkpoints.base.stored import Stored
from kshell.checkpoints.quantized import schemes
from kshell.checkpoints.quantized.on_demand import OnDemand
from kshell.store.archive import Room, bounded

_LONGEST_STATE = 1 << 16  # bytes of the JSON of a weight of bitsandbytes
_LONGEST_BLOCK = 1 << 20
_LARGEST = 1e38  # about the largest float32
_FLOATS = ("float16", "bfloat16", "float32")
_SCALES = (*_FLOATS, "float64", "float8_e8m0fnu")
_ZEROS = (*_FLOATS, "int8", "uint8", "int16", "int32", "int64")
_FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
_USUAL_BLOCK = (128, 128)  # of scales of float8 whose settings do not say it
_STATE = ".quant_state.bitsandbytes__"
Tensors = Mapping[str, Stored]
Found = Iterator[tuple[str, OnDemand]]


def joined(
    tensors: dict[str, Stored], metadata: dict[str, str], settings: dict[str, Any]
) -> dict[str, Stored]:
    """The tensors of a file or folder, where a quantised weight replaces the tensors that are its `parts`. `metadata`
    are the texts of safetensors files; `settings` is what quantize_config.json holds, or `quantization_config` of
    config.json: without it, words of GPTQ and AWQ are not joined. Numbers are computed when they are read; here, only
    descriptions in JSON are read. Parts that do not fit each other are no error: they stay as they are."""
    places: dict[str, str] = {}
    made: dict[str, OnDemand] = {}
    for name, weight in chain(
        _torchao(tensors, metadata),
        _bitsandbytes_4(tensors),
        _bitsandbytes_8(tensors),
        _words(tensors, settings),
        _float8(tensors, settings),
    ):
        is_free = name not in tensors or name in weight.parts
        if is_free and name not in made and not places.keys() & weight.parts.keys():
            made[name] = weight
            places.update(dict.fromkeys(weight.parts, name))
    found: dict[str, Stored] = {}
    for name, tensor in tensors.items():
        if name in places:
            found[places[name]] = made[places[name]]
        else:
            found[name] = tensor
    return found


def torchao(
    kind: str, dtype: str, parts: Mapping[str, Stored], sizes: Sequence[int] = ()
) -> schemes.Scaled | None:
    """A tensor of torchao from its parts by torchao's names of them, made `dtype`: Int8Tensor (`qdata`, `scale`,
    perhaps `zero_point`; `sizes` is its block_size) or Float8Tensor (`qdata`, `scale`). None for others, whose layout
    depends on a kernel, and for parts that do not fit each other."""
    weight, scale, zero = parts.get("qdata"), parts.get("scale"), parts.get("zero_point")
    if weight is None or scale is None or scale.dtype not in _SCALES or dtype not in _FLOATS:
        return None
    blocks: Sequence[int] | None = None
    if kind == "Int8Tensor" and weight.dtype == "int8":
        blocks = sizes
    elif kind == "Float8Tensor" and weight.dtype in _FLOAT8:
        blocks, zero = schemes.blocks_of(weight.shape, scale.shape), None
    if not blocks or len(blocks) != len(weight.shape):
        return None
    if not weight.count or any(b < 1 or n % b for n, b in zip(weight.shape, blocks, strict=True)):
        return None
    if zero is not None and zero.dtype not in _ZEROS:
        return None
    wanted = prod(schemes.grid(weight.shape, blocks))
    if scale.count != wanted or (zero is not None and zero.count != wanted):
        return None
    return schemes.Scaled(dtype, kind, parts, weight, scale, blocks, zero)


def _described(data: bytes | bytearray) -> dict[str, Any]:
    """The dictionary in JSON; an empty one if there is none."""
    try:
        found = bounded(data, Room(len(data)))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _sizes(found: Any) -> tuple[int, ...]:
    """Positive integers of a list; nothing if it is none."""
    if not isinstance(found, list) or any(n.__class__ is not int or n < 1 for n in found):
        return ()
    return tuple(found)


def _torchao(tensors: Tensors, metadata: Mapping[str, str]) -> Found:
    """Tensors that torchao has flattened: a.weight is a._weight_qdata, a._weight_scale and so on, with a description
    of it in the metadata."""
    for name, text in metadata.items():
        module, dot, weight = name.rpartition(".")
        if not dot or not text.startswith("{"):
            continue
        about = _described(text.encode(errors="replace"))
        data, names = about.get("_data"), about.get("_tensor_data_names")
        if not isinstance(data, dict) or not isinstance(names, list):
            continue
        keys = {str(key): f"{module}._{weight}_{key}" for key in names}
        dtype = data.get("dtype")
        if not isinstance(dtype, dict) or not all(key in tensors for key in keys.values()):
            continue
        made = torchao(
            str(about.get("_type")),
            str(dtype.get("_data")),
            {short: tensors[key] for short, key in keys.items()},
            _sizes(data.get("block_size")),
        )
        if made is not None:
            made.parts = {key: tensors[key] for key in keys.values()}
            yield name, made


def _bitsandbytes_4(tensors: Tensors) -> Found:
    """nf4 and fp4 of bitsandbytes: the weight, and beside it absmax, quant_map and a description."""
    for key in tensors:
        name, mark, kind = key.rpartition(_STATE)
        if mark and kind in ("nf4", "fp4") and name in tensors:
            made = _four_bits(tensors, name, key, kind)
            if made is not None:
                yield name, made


def _four_bits(tensors: Tensors, name: str, key: str, kind: str) -> schemes.FourBits | None:
    state = tensors[key]
    if state.dtype != "uint8" or state.count > _LONGEST_STATE:
        return None
    about = _described(state.read())
    shape, block = _sizes(about.get("shape")), _block(about.get("blocksize"))
    table, scales = tensors.get(f"{name}.quant_map"), tensors.get(f"{name}.absmax")
    if not shape or not block or block % 2 or table is None or scales is None:
        return None
    count, parts = prod(shape), {name: tensors[name], key: state}
    parts |= {f"{name}.quant_map": table, f"{name}.absmax": scales}
    if not (count + 1) // 2 <= tensors[name].nbytes < (count + 1) // 2 + 16:
        return None
    if table.dtype not in _FLOATS or table.count != 16 or scales.count != -(-count // block):
        return None
    nested = None
    if scales.dtype == "uint8":
        nested = _nested(tensors, name, about, scales, parts)
    if scales.dtype not in _FLOATS and nested is None:
        return None
    scheme = kind if nested is None else f"{kind}-nested"
    cast_to = str(about.get("dtype"))
    return schemes.FourBits(
        shape,
        scheme,
        parts,
        tensors[name],
        table,
        scales,
        block,
        nested,
        cast_to if cast_to in _FLOATS else "float32",
    )


def _block(found: Any) -> int:
    """The length of a block; 0 if it is none."""
    return found if found.__class__ is int and 0 < found <= _LONGEST_BLOCK else 0


def _nested(
    tensors: Tensors, name: str, about: Mapping[str, Any], scales: Stored, parts: dict[str, Stored]
) -> schemes.Nested | None:
    """What makes scales of codes; the tensors are put among the parts."""
    table = tensors.get(f"{name}.nested_quant_map")
    outer = tensors.get(f"{name}.nested_absmax")
    block, offset = _block(about.get("nested_blocksize")), about.get("nested_offset")
    if table is None or outer is None or not block:
        return None
    if (
        not isinstance(offset, float | int)
        or abs(offset) > _LARGEST
        or table.dtype not in _FLOATS
        or table.count != 256
    ):
        return None
    if outer.dtype not in _FLOATS or outer.count != -(-scales.count // block):
        return None
    parts |= {f"{name}.nested_quant_map": table, f"{name}.nested_absmax": outer}
    return schemes.Nested(table, outer, block, float(offset))


def _bitsandbytes_8(tensors: Tensors) -> Found:
    """Rows in 8 bits of bitsandbytes: weight, SCB, and weight_format, which is 0 for rows; others are tiled for
    kernels of old."""
    for key, scale in tensors.items():
        stem = key.removesuffix("SCB")
        name = f"{stem}weight"
        weight, form = tensors.get(name), tensors.get(f"{stem}weight_format")
        if stem == key or (stem and not stem.endswith(".")) or weight is None:
            continue
        if weight.dtype != "int8" or len(weight.shape) != 2 or not weight.count:
            continue
        if scale.dtype not in _FLOATS or scale.shape != weight.shape[:1]:
            continue
        parts = {name: weight, key: scale}
        if form is not None:
            if form.dtype != "uint8" or form.count != 1 or form.read()[0]:
                continue
            parts[f"{stem}weight_format"] = form
        blocks = (1, weight.shape[1])
        yield (
            name,
            schemes.Scaled("float32", "int8-rows", parts, weight, scale, blocks, factor=1 / 127),
        )


class _Parts(NamedTuple):
    """The parts of a weight of GPTQ or AWQ, and its name."""

    name: str
    parts: dict[str, Stored]
    weight: Stored
    zeros: Stored
    scales: Stored
    groups: Stored | None


def _words(tensors: Tensors, settings: Mapping[str, Any]) -> Found:
    """Numbers of a few bits in words: l.qweight, l.qzeros, l.scales and l.g_idx of GPTQ or AWQ are l.weight."""
    join = _of_settings(settings)
    for key in tensors:
        stem = key.removesuffix("qweight")
        if join is None or stem == key or (stem and not stem.endswith(".")):
            continue
        parts = _word_parts(tensors, stem)
        made = None if parts is None else join(parts)
        if parts is not None and made is not None:
            yield parts.name, made


def _word_parts(tensors: Tensors, stem: str) -> _Parts | None:
    """The parts whose names begin so; None if one is missing, or of another type or number of dimensions."""
    names = [f"{stem}{part}" for part in ("qweight", "qzeros", "scales", "g_idx")]
    weight, zeros, scales, groups = (tensors.get(name) for name in names)
    if weight is None or zeros is None or scales is None:
        return None
    if weight.dtype != "int32" or zeros.dtype != "int32" or scales.dtype not in _FLOATS:
        return None
    if any(len(part.shape) != 2 or not part.count for part in (weight, zeros, scales)):
        return None
    parts = {name: tensors[name] for name in names if name in tensors}
    return _Parts(f"{stem}weight", parts, weight, zeros, scales, groups)


Join = Callable[[_Parts], schemes.Grouped | None]


def _of_settings(settings: Mapping[str, Any]) -> Join | None:
    """What joins words as settings say; None if they say nothing that is known."""
    bits = settings.get("bits", settings.get("w_bit"))
    group = settings.get("group_size", settings.get("q_group_size"))
    method = settings.get("quant_method", "awq" if "w_bit" in settings else "gptq")
    form = settings.get("checkpoint_format", settings.get("format"))
    if bits.__class__ is not int or group.__class__ is not int or settings.get("is_marlin_format"):
        return None
    if method == "gptq" and bits in (2, 3, 4, 8) and form in (None, "gptq", "gptq_v2"):
        return partial(_gptq, bits, group, form != "gptq_v2")
    version = str(settings.get("version", form)).lower()
    if method == "awq" and bits == 4 and version == "gemm":
        return partial(_awq, group)
    return None


def _gptq(bits: int, group: int, is_less: bool, of: _Parts) -> schemes.Grouped | None:
    """A weight of GPTQ; `is_less`: one less than each zero point is stored."""
    count, outputs = of.scales.shape
    rows = of.weight.shape[0]
    inputs = rows * 32 // bits
    if of.weight.shape != (inputs * bits // 32, outputs):
        return None
    if of.zeros.shape != (count, outputs * bits // 32) or outputs * bits % 32 or rows * 32 % bits:
        return None
    if of.groups is not None:
        if of.groups.dtype not in ("int32", "int64") or of.groups.shape != (inputs,):
            return None
    elif not _fits(inputs, group, count):
        return None
    return schemes.Grouped(
        of.name,
        inputs,
        f"gptq{bits}",
        of.parts,
        schemes.gptq_weight(of.weight, bits),
        schemes.gptq_zeros(of.zeros, bits, is_less),
        of.scales,
        of.groups or _length(inputs, group),
    )


def _awq(group: int, of: _Parts) -> schemes.Grouped | None:
    inputs, words = of.weight.shape
    count, outputs = of.scales.shape
    if of.groups is not None or outputs != 8 * words or of.zeros.shape != (count, words):
        return None
    if not _fits(inputs, group, count):
        return None
    return schemes.Grouped(
        of.name,
        inputs,
        "awq4",
        of.parts,
        schemes.awq(of.weight),
        schemes.awq(of.zeros),
        of.scales,
        _length(inputs, group),
    )


def _length(inputs: int, group: int) -> int:
    """The inputs of one group; -1 is one group of all."""
    return group if group > 0 else inputs


def _fits(inputs: int, group: int, count: int) -> bool:
    """Are there so many groups of inputs?"""
    return (group > 0 or group == -1) and count == -(-inputs // _length(inputs, group))


def _float8(tensors: Tensors, settings: Mapping[str, Any]) -> Found:
    """Weights of float8 with scales by which they are multiplied, whatever their name is: one, one a row, or one a
    block."""
    sizes = _sizes(settings.get("weight_block_size")) or _USUAL_BLOCK
    for name, weight in tensors.items():
        if weight.dtype not in _FLOAT8 or not weight.shape or not weight.count:
            continue
        for key in (f"{name}_scale_inv", f"{name}_scale"):
            scale = tensors.get(key)
            if scale is None or scale.dtype not in _SCALES:
                continue
            blocks = schemes.blocks_of(weight.shape, scale.shape, sizes)
            if blocks is not None:
                by = "x".join(map(str, blocks[-2:]))
                is_blocks = scale.count > 1 and blocks[-1] < weight.shape[-1]
                scheme = f"{weight.dtype}-{by}" if is_blocks else weight.dtype
                parts = {name: weight, key: scale}
                yield name, schemes.Scaled("float32", scheme, parts, weight, scale, blocks)
                break
