"""torch module types that ktorch does not have, one row each, as in types.py. They are listed by ``help`modules``; the
table of ``help`module`` is ktorch's."""

from __future__ import annotations

from typing import Any

from kshell.kapi.module.types import LS, B, D, L, S, Z, row

_TORCH: dict[str, Any] = {"since": "torch"}

# ------------------------------------------------------------------ one place of a sequence

_CELL = (L("in", "input_size", low=1), L("hidden", "hidden_size", low=1), B("bias", "", True))
_CELLS: dict[str, Any] = {
    "eg": (10, 20),
    "need": {"in": "positive input size required", "hidden": "positive hidden size required"},
    **_TORCH,
}
row(
    "rnncell",
    "RNNCell",
    "One step of an Elman recurrent layer: the next state from input and state.",
    *_CELL,
    S("fn", "nonlinearity", "tanh", choices=("tanh", "relu")),
    n=(1, 2),
    **_CELLS,
)
row(
    "grucell",
    "GRUCell",
    "One step of a gated recurrent layer: the next state from input and state.",
    *_CELL,
    n=(1, 2),
    **_CELLS,
)
row(
    "lstmcell",
    "LSTMCell",
    "One step of a long short-term memory layer: the next two states from input and states.",
    *_CELL,
    n=(1, 3),
    result="tuple",
    **_CELLS,
)

# ------------------------------------------------------------------ activations, normalization, dropout

for _n, _c, _s in (
    ("hardsigmoid", "Hardsigmoid", "Piecewise linear approximation of the sigmoid."),
    ("hardswish", "Hardswish", "The input times its hard sigmoid."),
):
    row(_n, _c, _s, B("inplace", "", False), **_TORCH)
row(
    "rmsnorm",
    "RMSNorm",
    "Root mean square normalization over the last dimensions.",
    LS("shape", "normalized_shape", low=0),
    D("eps", "", None),
    B("affine", "elementwise_affine", True),
    eg=((32, 10),),
    need={"shape": "no normalized shape given"},
    **_TORCH,
)
row(
    "drop1d",
    "Dropout1d",
    "Dropout of entire 1-d channels.",
    D("p", "", 0.5),
    B("inplace", "", False),
    shortflag=True,
    **_TORCH,
)

# ------------------------------------------------------------------ shape

for _n, _c, _s in (
    (
        "pixelshuffle",
        "PixelShuffle",
        "Rearrange channels into an image enlarged by a factor.",
    ),
    (
        "pixelunshuffle",
        "PixelUnshuffle",
        "Rearrange an image into channels of an image reduced by a factor.",
    ),
):
    row(
        _n,
        _c,
        _s,
        L("factor", "upscale_factor" if _n == "pixelshuffle" else "downscale_factor", low=1),
        eg=(2,),
        need={"factor": "no factor given"},
        **_TORCH,
    )
row(
    "channelshuffle",
    "ChannelShuffle",
    "Interleave the channels of groups.",
    L("groups", low=1),
    eg=(2,),
    need={"groups": "no number of groups given"},
    **_TORCH,
)
row(
    "unflatten",
    "Unflatten",
    "Split one dimension into several.",
    L("dim"),
    LS("size", "unflattened_size"),
    eg=(1, (2, 3)),
    need={"dim": "no dimension given", "size": "no size given"},
    **_TORCH,
)
_PADS: dict[str, Any] = {"need": {"pad": "no padding sizes given"}, **_TORCH}
for _d in (1, 2, 3):
    _sizes = ((1, 2), (1, 1, 2, 0), (1, 1, 2, 0, 1, 1))[_d - 1]
    row(
        f"circular{_d}d",
        f"CircularPad{_d}d",
        f"Circular padding (from the opposite edge), {_d}-d.",
        Z("pad", "padding"),
        widths={"pad": 2 * _d},
        eg=(_sizes,),
        **_PADS,
    )
    if _d != 2:
        row(
            f"zeropad{_d}d",
            f"ZeroPad{_d}d",
            f"Padding with zeros, {_d}-d.",
            Z("pad", "padding"),
            widths={"pad": 2 * _d},
            eg=(_sizes,),
            **_PADS,
        )
row(
    "reflect3d",
    "ReflectionPad3d",
    "Padding by reflection of the edge, 3-d.",
    Z("pad", "padding"),
    widths={"pad": 6},
    eg=((1, 1, 1, 0, 1, 1),),
    **_PADS,
)
