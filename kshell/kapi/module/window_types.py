"""Module types that slide a window over the input or change its size: pooling, padding, folding; one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.kapi.module import builders as make
from kshell.kapi.module.types import DS, LS, B, D, L, S, Z, cpp_value, row

if TYPE_CHECKING:
    from torch.nn import Module

# ------------------------------------------------------------------ pooling

_KERNEL = {"size": "no kernel size given"}
for _d in (1, 2, 3):
    row(
        f"maxpool{_d}d",
        f"MaxPool{_d}d",
        f"Max pooling, {_d}-d.",
        Z("size", "kernel_size"),
        Z("stride", "", None),
        Z("pad", "padding", 0),
        Z("dilate", "dilation", 1),
        B("ceiling", "ceil_mode", False),
        dims=_d,
        eg=(3 if _d == 1 else (3, 2, 2)[:_d],),
        need=_KERNEL,
        like={"stride": "size"},
    )
_WITH_DIVISOR: dict[int, Any] = {
    1: {"make": make.avgpool1d, "read": make.AVGPOOL1D_READ, "made": "kshell.nn.shape.AvgPool1d"},
    2: {},
    3: {},
}
for _d in (1, 2, 3):
    row(
        f"avgpool{_d}d",
        f"AvgPool{_d}d",
        f"Average pooling, {_d}-d.",
        Z("size", "kernel_size"),
        Z("stride", "", None),
        Z("pad", "padding", 0),
        B("ceiling", "ceil_mode", False),
        B("countpad", "count_include_pad", True),
        L("divisor", "divisor_override" if _d > 1 else "-", None),
        dims=_d,
        eg=(3 if _d == 1 else (3, 2, 2)[:_d],),
        need=_KERNEL,
        like={"stride": "size"},
        **_WITH_DIVISOR[_d],
    )
for _k, _w in (("avg", "average"), ("max", "max")):
    for _d in (1, 2, 3):
        row(
            f"adapt{_k}{_d}d",
            f"Adaptive{_k.title()}Pool{_d}d",
            f"Adaptive {_w} pooling to a given size, {_d}-d.",
            Z("size", "output_size", choices=("null",)),
            dims=_d,
            eg=(3 if _d == 1 else (3, 2, 4)[:_d],),
            need={"size": "no output size given"},
        )
for _d in (2, 3):
    row(
        f"fmaxpool{_d}d",
        f"FractionalMaxPool{_d}d",
        f"Fractional max pooling, {_d}-d.",
        Z("size", "kernel_size"),
        Z("outsize", "output_size", None),
        DS("ratio", "output_ratio", None),
        dims=_d,
        eg=((2, 4, 3)[:_d],),
        also={"outsize": (16, 32, 24)[:_d]},
        need=_KERNEL,
        make=make.fractional,
        args=f"module enlist(`fmaxpool{_d}d;2;16)",
    )


def _lppool(dims: int) -> Callable[[Any], str]:
    """The options of a power-average pool in libtorch's form."""

    def size(v: object) -> str:
        sizes = v if isinstance(v, tuple) else (v,) * dims
        return str(list(sizes) if dims > 1 else sizes[0])

    return lambda m: (
        f"norm_type={m.norm_type:g}, kernel_size={size(m.kernel_size)}, "
        f"stride={size(m.stride or m.kernel_size)}, ceil_mode={m.ceil_mode}"
    )


for _d in (1, 2):
    row(
        f"lppool{_d}d",
        f"LPPool{_d}d",
        f"Power-average pooling, {_d}-d.",
        D("p", "norm_type"),
        Z("size", "kernel_size"),
        Z("stride", "", None),
        B("ceiling", "ceil_mode", False),
        dims=_d,
        eg=(2.0, 3) if _d == 1 else (1.2, (2, 3)),
        need={"p": "no power given", **_KERNEL},
        like={"stride": "size"},
        text=_lppool(_d),
    )

# ------------------------------------------------------------------ padding, folding, resizing

_PADS = {"pad": "no padding sizes given"}


def _padding(m: Any) -> str:
    return f"padding={list(m.padding)}"


def _resize(m: Module) -> str:
    """The options of a resizing module in libtorch's form."""
    key, size = ("size", m.size) if m.scale_factor is None else ("scale_factor", m.scale_factor)
    sizes = ", ".join(
        cpp_value(number) for number in (size if isinstance(size, tuple | list) else (size,))
    )
    return f"{key}=[{sizes}], mode={cpp_value(make.upsample_mode(m))}"


row(
    "pad",
    "kshell.nn.shape.Pad",
    "Padding with sizes per dimension, starting at the last.",
    LS("pad"),
    S("mode", "", "constant", choices=("constant", "reflect", "replicate", "circular")),
    D("value", "", 0.0),
    eg=((1, 2, 2, 1, 1, 2),),
    need=_PADS,
    pytorch="torch.nn.functional.pad",
    place=make.pad_place,
    make=make.pad,
    empty=True,
)
for _d in (1, 2, 3):
    row(
        f"pad{_d}d",
        f"ConstantPad{_d}d",
        f"Padding with a constant, {_d}-d.",
        Z("pad", "padding"),
        D("value", "", 0.0),
        widths={"pad": 2 * _d},
        own={"value": 0.0},
        always=("value",),
        eg=((1, 2) if _d == 1 else (1, 1, 2, 2) if _d == 2 else (3, 3, 6, 6, 0, 1),),
        need=_PADS,
        also={"value": 3.5} if _d == 3 else {},
    )
for _n, _c, _last in (("reflect", "Reflection", 2), ("replicate", "Replication", 3)):
    for _d in range(1, _last + 1):
        row(
            f"{_n}{_d}d",
            f"{_c}Pad{_d}d",
            f"Padding by {_c.lower()} of the edge, {_d}-d.",
            Z("pad", "padding"),
            widths={"pad": 2 * _d},
            need=_PADS,
            text=_padding,
            eg=((1, 2) if _d == 1 else (1, 1, 2, 0) if _d == 2 else (3, 3, 6, 6, 1, 1),),
        )
# fmt: off  # a table
row(
    "zeropad2d",
    "ZeroPad2d",
    "Padding with zeros, 2-d.",
    Z("pad", "padding"),
    widths={"pad": 4},
    eg=((1, 1, 2, 0),),
    need=_PADS,
    text=_padding,
)
row(
    "fold",
    "Fold",
    "Combine sliding blocks into images.",
    Z("out", "output_size"),
    Z("size", "kernel_size"),
    Z("dilate", "dilation", 1),
    Z("pad", "padding", 0),
    Z("stride", "", 1),
    dims=2,
    eg=((4, 6), (2, 3)),
    need={"out": "no output size given", **_KERNEL},
)
row(
    "unfold",
    "Unfold",
    "Extract sliding blocks of images as columns.",
    Z("size", "kernel_size"),
    Z("dilate", "dilation", 1),
    Z("pad", "padding", 0),
    Z("stride", "", 1),
    dims=2,
    eg=((2, 3),),
    need=_KERNEL,
)
row(
    "upsample",
    "Upsample",
    "Resize to a size or by a scale.",
    LS("size", "", None),
    DS("scale", "scale_factor", None),
    S(
        "mode",
        "",
        "nearest",
        choices=("nearest", "linear", "bilinear", "bicubic", "trilinear", "nearestexact"),
    ),
    B("align", "align_corners", None),
    make=make.upsample,
    read={"mode": make.upsample_mode},
    args="module enlist(`upsample;`scale,2.0)",
    text=_resize,
)
# fmt: on
