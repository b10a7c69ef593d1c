"""Module types for activations, shape changes and distances, one row each."""

from __future__ import annotations

from kshell.kapi.module import builders as make
from kshell.kapi.module.types import LS, B, D, L, S, row

# ------------------------------------------------------------------ activations

_INPLACE = B("inplace", "", False)
for _n, _c, _s in (
    ("relu", "ReLU", "Rectified linear unit."),
    ("relu6", "ReLU6", "Rectified linear unit up to 6."),
    ("selu", "SELU", "Scaled exponential linear unit."),
):
    row(_n, _c, _s, _INPLACE)
for _n, _c, _s in (
    ("elu", "ELU", "Exponential linear unit."),
    ("celu", "CELU", "Smooth exponential linear unit."),
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
    ("softmax", "Softmax", "Softmax over one dimension."),
    ("softmin", "Softmin", "Softmin over one dimension."),
    ("logsoftmax", "LogSoftmax", "Logarithm of softmax."),
):
    row(_n, _c, _s, L("dim"), eg=(1,), need={"dim": "no dimension given"})
row(
    "softplus",
    "Softplus",
    "Smooth rectified linear unit.",
    D("beta", "", 1.0),
    D("threshold", "", 20.0),
)
_LEVELS = "both threshold level & replacement value must be given"
# fmt: off  # a table
row(
    "threshold",
    "Threshold",
    "Values up to a threshold become another value.",
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
    "Values limited to a range.",
    D("min", "min_val", -1.0),
    D("max", "max_val", 1.0),
    _INPLACE,
    shortflag=True,
)
row(
    "rrelu",
    "RReLU",
    "Rectified linear unit with a random negative slope.",
    D("lower", "", 0.125),
    D("upper", "", 1 / 3),
    _INPLACE,
    shortflag=True,
)
row(
    "prelu",
    "PReLU",
    "Rectified linear unit with a learnt negative slope.",
    L("in", "num_parameters", 1, 1),
    D("init", "", 0.25),
    place=make.prelu_place,
)
row(
    "gelu",
    "GELU",
    "Gaussian error linear unit; its approximation by tanh, if told, is what GPT-2 has.",
    S("approximate", "", "none", choices=("none", "tanh")),
    hide=lambda o: {
        key: value for key, value in o.items() if value != "none"
    },  # ktorch's type has no options
    text=lambda m: "" if m.approximate == "none" else f"approximate={m.approximate}",
)
# fmt: on
for _n, _c, _s in (
    ("logsigmoid", "LogSigmoid", "Log of the sigmoid."),
    ("identity", "Identity", "The input itself."),
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
    "Dimensions start to end made one.",
    L("start", "start_dim", 1),
    L("end", "end_dim", -1),
)
for _n, _c, _s, _eg in (
    ("reshape", "Reshape", "The input in another shape.", (-1, 1, 28, 28)),
    ("expand", "Expand", "The input broadcast to a size.", (-1, -1, 28, 28)),
    ("permute", "Permute", "The input with dimensions reordered.", (0, 2, 3, 1)),
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
    "The input without dimensions of size 1.",
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
    "The input with a new dimension of size 1.",
    L("dim"),
    _INPLACE,
    eg=(0,),
    need={"dim": "no dimension given"},
    pytorch="torch.unsqueeze",
)
row(
    "transpose",
    "kshell.nn.shape.Transpose",
    "The input with two dimensions swapped.",
    L("dim0", "", -2),
    L("dim1", "", -1),
    always=("dim0", "dim1"),
    pytorch="knn.Transpose",
)
row(
    "pairwise",
    "PairwiseDistance",
    "p-norm distance of two inputs.",
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
    "Cosine similarity of two inputs.",
    L("dim", "", 1),
    D("eps", "", 1e-8),
    n=(2, 2),
    text=lambda m: f"dim={m.dim}, eps={m.eps:g}",
)
# fmt: on
