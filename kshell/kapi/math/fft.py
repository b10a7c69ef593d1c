"""Spectral functions: Fourier transforms in 1, 2 and n dimensions, sample frequencies and shifts, windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.kapi.base import guard
from kshell.kapi.base.device_options import TensorOptions, convert_to
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.rows import Row, register

if TYPE_CHECKING:
    from torch import Tensor

# summary of each transform, for the names with and without a leading i
_KINDS = {
    "fft": "Discrete Fourier transform",
    "ifft": "Inverse discrete Fourier transform",
    "rfft": "Fourier transform of real input; returns the non-redundant half",
    "irfft": "Inverse Fourier transform to real output",
    "hfft": "Fourier transform of one half of a Hermitian signal",
    "ihfft": "Inverse Fourier transform to one half of a Hermitian signal",
}
_OVER = {
    "": "along a dimension (the last)",
    "2": "over two dimensions (the last two)",
    "n": "over dimensions (all)",
}
# examples: (expression, output)
_EXAMPLES = {
    "fft": "fft 0 1 2 3e|6 -2 -2 -2\\n0 2  0  -2",
    "ifft": "first ifft 4 0 0 0e|1 1 1 1e",
    "rfft": "rfft 0 1 2 3e|6 -2 -2\\n0 2  0 ",
    "irfft": "return irfft tensor(`complex;(6 -2 -2e;0 2 0e))|0 1 2 3e",
    "hfft": "hfft 1 0 0e|1 1 1 1e",
    "ihfft": "ihfft 4 0 0 0e|1  1  1 \\n-0 -0 -0",
    "fft2": "first fft2 2 2#1 2 3 4e|10 -2\\n-4 0 ",
    "ifft2": "first ifft2 2 2#4 0 0 0e|1 1\\n1 1",
    "rfft2": "first rfft2 2 2#1 2 3 4e|10 -2\\n-4 0 ",
    "irfft2": "irfft2 2 2#4 0 0 0e|1 1\\n1 1",
    "hfft2": "hfft2(2 2#1 0 0 0e;2 2)|1 1\\n1 1",
    "ihfft2": "first ihfft2 2 2#4 0 0 0e|1 1\\n1 1",
    "fftn": "first fftn 2 2#1 2 3 4e|10 -2\\n-4 0 ",
    "ifftn": "first ifftn 2 2#4 0 0 0e|1 1\\n1 1",
    "rfftn": "first rfftn 2 2#1 2 3 4e|10 -2\\n-4 0 ",
    "irfftn": "irfftn 2 2#4 0 0 0e|1 1\\n1 1",
    "hfftn": "hfftn(2 2#1 0 0 0e;2 2)|1 1\\n1 1",
    "ihfftn": "first ihfftn 2 2#4 0 0 0e|1 1\\n1 1",
}


def _transform(name: str) -> Callable[..., Any]:
    """A torch.fft transform whose sizes are checked first."""

    def run(x: Tensor, **options: Any) -> Any:
        guard.transform(name, x, options.get("n", options.get("s")), options.get("dim"))
        return getattr(torch.fft, name)(x, **options)

    return run


def _made(name: str, target: str) -> Callable[..., Any]:
    """A function that creates a tensor, with tensor options."""

    def run(length: int, *, options: TensorOptions | None = None, **found: Any) -> Any:
        guard.length(name, length)
        settings = options or TensorOptions()
        if "out" not in found:
            found |= {"dtype": settings.dtype, "device": settings.device}
        function = torch
        for word in target.split("."):
            function = getattr(function, word)
        return _with(function(length, **found), settings)

    return run


def _with(t: Tensor, o: TensorOptions) -> Any:
    return convert_to(t, o) if o.grad or o.layout or o.pinned else t


def _fourier(name: str) -> Row:
    kind, over = (name[:-1], name[-1]) if name[-1] in _OVER else (name, "")
    options = "size/n:long dim:dim norm:symbol" if not over else "size/s:dims dim:dims norm:symbol"
    return Row(
        name, _transform(name), f"{_KINDS[kind]}, {_OVER[over]}.", _EXAMPLES[name], options=options
    )


def _frequencies(name: str, doc: str, example: str) -> Row:
    return Row(
        name,
        _made(name, f"fft.{name}"),
        doc,
        example,
        inputs=0,
        wrap=True,
        options="length:long* scale/d:number options:options",
    )


def _shift(name: str, doc: str, example: str) -> Row:
    return Row(name, f"torch.fft.{name}", doc, example, options="dim:dims", out=False)


def _window(name: str, shape: str, example: str, more: str = "") -> Row:
    doc = f"{shape} window of a given length; periodic unless the flag is 0b."
    return Row(
        name,
        _made(name, f"{name}_window"),
        doc,
        example,
        inputs=0,
        wrap=True,
        out=False,
        options=f"length:long* periodic:flag {more} options:options",
    )


ROWS = (
    *(_fourier(kind + over) for over in _OVER for kind in _KINDS),
    _frequencies(
        "fftfreq",
        "The sample frequencies of a transform of a given length, with a spacing (1).",
        "tensor fftfreq 5|0 0.2 0.4 -0.4 -0.2e",
    ),
    _frequencies(
        "rfftfreq",
        "The sample frequencies of a transform of real input, with a spacing (1).",
        "tensor rfftfreq 5|0 0.2 0.4e",
    ),
    _shift(
        "fftshift",
        "Shift frequencies so that zero is in the middle, over dimensions (all).",
        "fftshift 0 1 2 -2 -1e|-2 -1 0 1 2e",
    ),
    _shift("ifftshift", "The inverse of fftshift.", "ifftshift -2 -1 0 1 2e|0 1 2 -2 -1e"),
    _window("bartlett", "Bartlett", "tensor bartlett 4|0 0.5 1 0.5e"),
    _window("blackman", "Blackman", "2#1_tensor blackman(5;0b;`double)|0.34 1"),
    _window("hann", "Hann", "tensor hann(5;0b;`double)|0 0.5 1 0.5 0"),
    _window(
        "hamming",
        "Hamming",
        "tensor hamming(5;0b;.5;.5;`double)|0 0.5 1 0.5 0",
        "alpha:number beta:number",
    ),
    _window(
        "kaiser", "Kaiser", "tensor kaiser(3;0b;2;`double)|0.4386763 1 0.4386763", "beta:number"
    ),
)
register(ROWS, "kapi.math.fft")
