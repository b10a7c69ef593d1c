"""Module types for activations, shape changes and distances, one row each."""

from __future__ import annotations

from kshell.kapi.module import builders as make
from kshell.kapi.module.types import LS, B, D, L, S, row

# ------------------------------------------------------------------ activations

_INPLACE = B("inplace", "", False)
for _n, _c, _s in (
    ("relu", "ReLU", "Rectified linear unit."),
    ("relu6", "ReLU6", "Rectified linear unit capped at 6."),
    ("selu", "SELU", "Scaled exponential linear unit."),
):
    row(_n, _c, _s, _INPLACE)
for _n, _c, _s in (
    ("elu", "ELU", "Exponential linear unit."),
    ("celu", "CELU", "Continuously differentiable exponential linear unit."),
):
    row(_n, _c, _s, D("alpha", "", 1.0), _INPLACE, shortflag=True)
row(
    "leakyrelu",
    "LeakyReLU",
    "Rectified linear unit with a small negative slope.",
    D("slope", "negative_slope", 0.01),
    _INPLACE,
    shortflag=True,
)
row("glu", "GLU", "Gated linear unit.", L("dim", "", -1))
for _n, _c in (("hardshrink", "Hardshrink"), ("softshrink", "Softshrink")):
    row(_n, _c, f"{_c[:4]} shrinkage.", D("lambda", "lambd", 0.5))
for _n, _c, _s in (
    ("softmax", "Softmax", "Softmax along a dimension."),
    ("softmin", "Softmin", "Softmin along a dimension."),
    ("logsoftmax", "LogSoftmax", "Logarithm of softmax."),
):
    row(_n, _c, _s, L("dim"), eg=(1,), need={"dim": "no dimension given"})
row(
    "softplus",
    "Softplus",
    "Softplus, a smooth approximation of the rectified linear unit.",
    D("beta", "", 1.0),
    D("threshold", "", 20.0),
)
_LEVELS = "both threshold level & replacement value must be given"
# fmt: off  # a table
row(
    "threshold",
    "Threshold",
    "Replace values up to a threshold by another value.",
    D("threshold"),
    D("value"),
    _INPLACE,
    eg=(0.1, 0.0),
    shortflag=True,
    need={"threshold": _LEVELS, "value": _LEVELS},
)
row(
    "hardtanh",
    "Hardtanh",
    "Clamp values to a range.",
    D("min", "min_val", -1.0),
    D("max", "max_val", 1.0),
    _INPLACE,
    shortflag=True,
)
row(
    "rrelu",
    "RReLU",
    "Rectified linear unit with a random slope for negative values.",
    D("lower", "", 0.125),
    D("upper", "", 1 / 3),
    _INPLACE,
    shortflag=True,
)
row(
    "prelu",
    "PReLU",
    "Rectified linear unit with a learned slope for negative values.",
    L("in", "num_parameters", 1, 1),
    D("init", "", 0.25),
    place=make.prelu_place,
)
row(
    "gelu",
    "GELU",
    "Gaussian error linear unit, optionally with the tanh approximation of GPT-2.",
    S("approximate", "", "none", choices=("none", "tanh")),
    # ktorch's type has no options
    hide=lambda o: {key: value for key, value in o.items() if value != "none"},
    text=lambda m: "" if m.approximate == "none" else f"approximate={m.approximate}",
)
# fmt: on
for _n, _c, _s in (
    ("logsigmoid", "LogSigmoid", "Log of the sigmoid."),
    ("identity", "Identity", "The input, unchanged."),
    ("mish", "Mish", "Mish activation."),
    ("sigmoid", "Sigmoid", "Logistic sigmoid."),
    ("silu", "SiLU", "Sigmoid linear unit."),
    ("softsign", "Softsign", "x over 1+|x|."),
    ("softmax2d", "Softmax2d", "Softmax over channels."),
    ("tanh", "Tanh", "Hyperbolic tangent."),
    ("tanhshrink", "Tanhshrink", "x minus tanh x."),
):
    row(_n, _c, _s)

# ------------------------------------------------------------------ shape and distance

row(
    "flatten",
    "Flatten",
    "Flatten the dimensions from start to end.",
    L("start", "start_dim", 1),
    L("end", "end_dim", -1),
)
for _n, _c, _s, _eg in (
    ("reshape", "Reshape", "Reshape the input.", (-1, 1, 28, 28)),
    ("expand", "Expand", "Expand the input to a size.", (-1, -1, 28, 28)),
    ("permute", "Permute", "Reorder the dimensions of the input.", (0, 2, 3, 1)),
):
    row(
        _n,
        f"kshell.nn.shape.{_c}",
        _s,
        LS("size"),
        eg=(_eg,),
        need={"size": "no size given"},
        empty=True,
        pytorch=f"torch.{_n}" if _n != "expand" else "torch.Tensor.expand",
    )
# fmt: off  # a table
row(
    "squeeze",
    "kshell.nn.shape.Squeeze",
    "Remove dimensions of size 1.",
    L("dim", "", None),
    _INPLACE,
    also={"dim": 1},
    shortflag=True,
    pytorch="torch.squeeze",
    hide=lambda o: {key: value for key, value in o.items() if value is not None},
)
row(
    "unsqueeze",
    "kshell.nn.shape.Unsqueeze",
    "Insert a dimension of size 1.",
    L("dim"),
    _INPLACE,
    eg=(0,),
    need={"dim": "no dimension given"},
    pytorch="torch.unsqueeze",
)
row(
    "transpose",
    "kshell.nn.shape.Transpose",
    "Swap two dimensions.",
    L("dim0", "", -2),
    L("dim1", "", -1),
    always=("dim0", "dim1"),
    pytorch="knn.Transpose",
)
row(
    "pairwise",
    "PairwiseDistance",
    "p-norm distance between two inputs.",
    D("p", "", 2.0),
    D("eps", "", 1e-6),
    B("keepdim", "", False),
    n=(2, 2),
    read={"p": lambda m: float(m.norm)},
    text=lambda m: f"p={m.norm:g}, eps={m.eps:g}, keepdim={m.keepdim}",
)
row(
    "similar",
    "CosineSimilarity",
    "Cosine similarity between two inputs.",
    L("dim", "", 1),
    D("eps", "", 1e-8),
    n=(2, 2),
    text=lambda m: f"dim={m.dim}, eps={m.eps:g}",
)
# fmt: on
