"""Layers as functions of their weights, under torch's names: convolution, normalization, dropout, embedding, attention,
sampling.

After the input come weights, then options; omitted weights are not used. The batch normalization function begins with a
capital, because `batchnorm` is ktorch's function on modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.kapi.base import guard
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.rows import Row, register

if TYPE_CHECKING:
    from torch import Tensor


def _functional(name: str) -> Callable[..., Any]:
    """A function of torch.nn.functional, looked up when called."""

    def run(*tensors: Any, **options: Any) -> Any:
        return getattr(torch.nn.functional, name)(*tensors, **options)

    return run


def _convolution(name: str, torch_name: str) -> Callable[..., Any]:
    def run(x: Tensor, w: Tensor, b: Tensor | None = None, **options: Any) -> Any:
        guard.windows(
            name,
            {
                "stride": options.get("stride"),
                "pad": options.get("padding"),
                "dilate": options.get("dilation"),
            },
        )
        return getattr(torch.nn.functional, torch_name)(x, w, b, **options)

    return run


def _convolutions() -> list[Row]:
    rows = []
    for dims in (1, 2, 3):
        size = "1 1 " + " ".join(["2"] * dims)
        rows.append(
            Row(
                f"conv{dims}d",
                _convolution(f"conv{dims}d", f"conv{dims}d"),
                f"Convolution of x with weights y, {dims}-d; plus a bias.",
                f"raze over conv{dims}d({size}#1e;{size}#1e)|,{2**dims}e",
                inputs=2,
                more=1,
                out=False,
                since="torch",
                options="stride:dims pad/padding:pad dilate/dilation:dims groups:long",
                forms=(f"conv{dims}d(x;y[;bias];stride;pad;dilate;groups)",),
            )
        )
        rows.append(
            Row(
                f"convtranspose{dims}d",
                _convolution(f"convtranspose{dims}d", f"conv_transpose{dims}d"),
                f"Transposed convolution of x with weights y, {dims}-d; plus a bias.",
                f"sum raze over convtranspose{dims}d({size}#1e;{size}#1e)|{4**dims}e",
                inputs=2,
                more=1,
                out=False,
                since="torch",
                forms=(f"convtranspose{dims}d(x;y[;bias];stride;pad;outpad;groups;dilate)",),
                options="stride:dims pad/padding:dims outpad/output_padding:dims groups:long dilate/dilation:dims",
            )
        )
    return rows


def _layer_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, **options: Any
) -> Any:
    return torch.nn.functional.layer_norm(x, options.pop("shape"), weight, bias, **options)


def _rms_norm(x: Tensor, weight: Tensor | None = None, **options: Any) -> Any:
    return torch.nn.functional.rms_norm(x, options.pop("shape"), weight, **options)


def _group_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, **options: Any
) -> Any:
    return torch.nn.functional.group_norm(x, options.pop("groups"), weight, bias, **options)


def _batch_norm(
    x: Tensor,
    mean: Tensor,
    var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    **options: Any,
) -> Any:
    return torch.nn.functional.batch_norm(x, mean, var, weight, bias, **options)


_NORMS = (
    Row(
        "layernorm",
        _layer_norm,
        "Normalize the last dimensions (of a given shape) to mean 0 and standard deviation 1; times weight, plus bias.",
        "layernorm(1 3f;2)|-0.999995 0.999995",
        more=2,
        lead="shape:dims*",
        options="eps:number",
        out=False,
        since="torch",
        forms=("layernorm(x;shape[;weight;bias];eps)",),
    ),
    Row(
        "rmsnorm",
        _rms_norm,
        "Divide the last dimensions (of a given shape) by their root mean square; times weight.",
        "rmsnorm(3 4f;2;`eps,0f)|0.8485281 1.131371",
        more=1,
        lead="shape:dims*",
        options="eps:number",
        out=False,
        since="torch",
        forms=("rmsnorm(x;shape[;weight];eps)",),
    ),
    Row(
        "groupnorm",
        _group_norm,
        "Normalize groups of channels to mean 0 and standard deviation 1; times weight, plus bias.",
        "groupnorm(1 2#1 3f;1)|-0.999995 0.999995",
        more=2,
        lead="groups:long*",
        options="eps:number",
        out=False,
        since="torch",
        forms=("groupnorm(x;groups[;weight;bias];eps)",),
    ),
    Row(
        "instancenorm",
        _functional("instance_norm"),
        "Normalize each channel to mean 0 and standard deviation 1.",
        "raze over instancenorm 1 1 2#1 3f|-0.999995 0.999995",
        options="eps:number",
        out=False,
        since="torch",
    ),
    Row(
        "Batchnorm",
        _batch_norm,
        "Normalize x by channel with means y and variances z; times weight, plus bias.\n\nIn training, the "
        "batch's own statistics are used, and y and z are updated with the momentum (.1).",
        "Batchnorm(2 1#1 3f;enlist 2f;enlist 4f;`eps,0f)|-0.5\\n0.5",
        inputs=3,
        more=2,
        out=False,
        since="torch",
        options="training:flag momentum:number eps:number",
        writes=(1, 2),
        forms=("Batchnorm(x;y;z[;weight;bias];training;momentum;eps)",),
    ),
)


def _dropout(name: str, torch_name: str, doc: str, size: str) -> Row:
    return Row(
        name,
        _functional(torch_name),
        doc,
        f"distinct raze over {name}({size}#1f;.5;0b)|,1f",
        out=False,
        since="torch",
        options="p:number training:flag",
    )


_DROPS = (
    _dropout(
        "dropout",
        "dropout",
        "Set random elements to 0 with a probability (.5) and scale up the others; "
        "0b means evaluation, which changes nothing.",
        "2 2",
    ),
    _dropout("dropout2d", "dropout2d", "Set random 2-d channels to 0.", "1 2 2 2"),
    _dropout(
        "dropout3d",
        "dropout3d",
        "Set random 3-d channels to 0.",
        "1 2 2 2 2",
    ),
    _dropout(
        "alphadropout",
        "alpha_dropout",
        "Dropout that preserves mean 0 and standard deviation 1.",
        "2 2",
    ),
)


def _attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **options: Any
) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, **options)


def _embedding(x: Tensor, w: Tensor, **options: Any) -> Any:
    if not x.is_cpu:
        guard.within("embedding", x, w.shape[0] if w.dim() else 0, "rows")
    return torch.nn.functional.embedding(x, w, **options)


_LOOKING = (
    Row(
        "embedding",
        _embedding,
        "The rows of weight matrix y at indices x.",
        "embedding(1 0;2 2#1 2 3 4f)|3 4\\n1 2",
        inputs=2,
        out=False,
        since="torch",
        options="padindex/padding_idx:long",
    ),
    Row(
        "scaleddotproductattention",
        _attention,
        "Scaled dot-product attention with queries x, keys y and values z.\n\nAn optional "
        "mask is boolean, or added to the scores; causal: ignore later positions.",
        "raze over scaleddotproductattention(1 1 2#0f;1 2 2#1f;1 2 2#1 2 3 4f)|2 3f",
        inputs=3,
        more=1,
        out=False,
        since="torch",
        options="dropout/dropout_p:float causal/is_causal:flag scale:float",
        forms=("scaleddotproductattention(x;y;z[;mask];dropout;causal;scale)",),
    ),
)


def _grid_sample(x: Tensor, grid: Tensor, align_corners: bool = False, **options: Any) -> Any:
    return torch.nn.functional.grid_sample(x, grid, align_corners=align_corners, **options)


def _affine_grid(theta: Tensor, size: list[int], align_corners: bool = False) -> Any:
    return torch.nn.functional.affine_grid(theta, size, align_corners)


_SAMPLING = (
    Row(
        "gumbelsoftmax",
        _functional("gumbel_softmax"),
        "Gumbel softmax: a differentiable sample of classes from logits x.\n\ntau: "
        "temperature (1); hard: return one-hot vectors.",
        "1e-6>abs 1-sum gumbelsoftmax 1 2 3f|1b",
        out=False,
        since="torch",
        options="tau:float hard:flag dim:long",
    ),
    Row(
        "gridsample",
        _grid_sample,
        "Sample images x at the positions of grid y, from -1 to 1.\n\nmode: `bilinear, `nearest or "
        "`bicubic; pad: `zeros, `border or `reflection; align: -1 and 1 are the centres of the outermost pixels.",
        "raze over gridsample(1 1 2 2#1 2 3 4f;1 1 1 2#0f)|,2.5",
        inputs=2,
        out=False,
        since="torch",
        options="mode:symbol pad/padding_mode:symbol align/align_corners:flag",
    ),
    Row(
        "affinegrid",
        _affine_grid,
        "The sampling grid of affine maps x for gridsample, for images of a given size.",
        "raze over affinegrid(1 2 3#1 0 0 0 1 0f;1 1 1 2)|-0.5 0 0.5 0",
        lead="size:dims*",
        out=False,
        since="torch",
        options="align/align_corners:flag",
        forms=("affinegrid(x;size;align)",),
    ),
    Row(
        "gaussiannll",
        _functional("gaussian_nll_loss"),
        "Gaussian negative log likelihood of targets y, with means x and variances z.\n\n"
        "full: include the constant term; reduce: `mean, `sum or `none.",
        "gaussiannll(1 2f;1 4f;1 2f)|0.6732868",
        inputs=3,
        out=False,
        since="torch",
        options="full:flag eps:number reduce/reduction:symbol",
    ),
)

ROWS = (*_convolutions(), *_NORMS, *_DROPS, *_LOOKING, *_SAMPLING)
register(ROWS, "functions of layers")
