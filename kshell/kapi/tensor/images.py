"""Images: tensors as PNG files, and grids of images."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import items, long_of, number_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, is_array, kname, result
from kshell.kapi.base.handles import TensorHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.store.atomic import write_bytes
from kshell.values.base.core import NULL_J, Value
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from torch import Tensor

_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # number of channels -> PNG colour type


def _picture(x: Value, call: str) -> Any:
    if x.__class__ is not TensorHandle and not is_array(x):
        raise CallError(call, expected="tensor or array", given=kname(x))
    return as_tensor(x).detach()


def png_bytes(t: Tensor) -> bytes:
    """A (channels, height, width) or (height, width) tensor of values from 0 to 255 as a PNG file. (PNG specification,
    third edition, sections 5 and 11.)"""
    t = t.cpu()
    t = t[None] if t.dim() == 2 else t
    if t.dim() != 3 or t.shape[0] not in _COLOURS or not t.numel():
        raise QError(f"png: expecting 1-4 channels x height x width, given size {list(t.shape)}")
    pixels = t.clamp(0, 255).to(torch.uint8).permute(1, 2, 0).contiguous()
    height, width, channels = pixels.shape
    # 0 at the start of each row: no filter
    rows = torch.cat((pixels.new_zeros(height, 1), pixels.reshape(height, -1)), 1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.numpy().tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@api("png", "png(file;x)", effect="changes")
def png(x: Value) -> Value:
    """Write an image, channels x height x width, of values from 0 to 255 to a PNG file; returns the file.

    q)png(`:grey.png;1 2 3#0 50 100 150 200 250)
    `:grey.png
    q)4#read1`:grey.png
    0x89504e47
    q)hdel`:grey.png
    `:grey.png
    """
    args = items(x)
    if (
        len(args) != 2
        or args[0].__class__ is not Sym
        or len(args[0].s) < 2
        or not args[0].s.startswith(":")
    ):
        raise CallError("png", "expecting (file symbol;tensor or array)")
    write_bytes(args[0].s[1:], png_bytes(_picture(args[1], "png")))
    return args[0]


@api("makegrid", "makegrid(x;rows[;cols;pad;padvalue])", effect="none")
def makegrid(x: Value) -> Value:
    """Arrange images, n x channels x height x width, in a grid with padding between and around them.

    Either rows or columns may be 0N or omitted, and is then computed. The default padding is 2 pixels of value 0.
    Single-channel images become three-channel.

    q)first makegrid(4 1 1#1 2 3 4;2;2;0)
    1 2
    3 4
    q)size makegrid(tensor(`ones;6 3 8 8);2)
    3 22 32
    """
    args = items(x)
    if not 2 <= len(args) <= 5:
        raise QError(f"makegrid: expecting 2-5 args, (x;rows;cols;pad;padvalue), given {len(args)}")
    images = _picture(args[0], "makegrid")
    numbers = [
        _count(arg, label) for arg, label in zip(args[1:4], ("rows", "cols", "pad"), strict=False)
    ]
    padding = number_of(args[4]) if len(args) == 5 else 0
    if padding is None:
        raise QError(f"makegrid: padding value is {kname(args[4])}, expecting a number")
    if images.dim() not in (3, 4) or not images.numel():
        raise QError(
            f"makegrid: expecting 3 or 4-dimensional input, given size {list(images.shape)}"
        )
    images = images[:, None] if images.dim() == 3 else images
    images = images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images
    if all(number is None for number in numbers[:2]):
        raise CallError("makegrid", "both rows & columns cannot be null")
    return result(grid(images, numbers, padding), args[0].__class__ is TensorHandle)


def _count(x: Value, word: str) -> int | None:
    number = long_of(x)
    if x is NULL_J and word != "pad":
        return None
    if number is None or number < (word != "pad"):
        raise QError(
            f"makegrid: {word} is {kname(x) if number is None else number}, expecting a "
            f"{'positive long' if word != 'pad' else 'long from 0'}"
        )
    return number


def grid(t: Tensor, numbers: Sequence[int | None], value: float) -> Any:
    """The images of a 4-dimensional tensor in rows and columns; images that do not fit are left out."""
    count, channels, height, width = t.shape
    rows, columns, pad = [*numbers, *(None, None, 2)[len(numbers) :]]
    rows = -(-count // (columns or 1)) if rows is None else rows
    columns = -(-count // rows) if columns is None else columns
    pad = pad or 0
    t = t[: rows * columns]
    high, wide = height + pad, width + pad
    canvas = t.new_full((rows * columns, channels, high, wide), value)
    canvas[: t.shape[0], :, :height, :width] = t
    canvas = (
        canvas.view(rows, columns, channels, high, wide)
        .permute(2, 0, 3, 1, 4)
        .reshape(channels, rows * high, columns * wide)
    )
    return torch.nn.functional.pad(canvas, (pad, 0, pad, 0), value=value) if pad else canvas
