"""Modules without parameters that change the shape of their input."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F


def _row(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))


class _Sized(nn.Module):
    """Base of modules whose only option is a size."""

    def __init__(self, size: tuple[int, ...]) -> None:
        super().__init__()
        self.size = size

    def extra_repr(self) -> str:
        return f"size={_row(self.size)}"


class Reshape(_Sized):
    """Reshape the input."""

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(self.size)


class Expand(_Sized):
    """Expand the input to a size; -1 keeps a dimension."""

    def forward(self, x: Tensor) -> Tensor:
        return x.expand(self.size)


class Permute(_Sized):
    """Reorder the dimensions of the input."""

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.size)


class Pad(nn.Module):
    """Padding with pairs of sizes, starting at the last dimension."""

    def __init__(self, pad: tuple[int, ...], mode: str = "constant", value: float = 0.0) -> None:
        super().__init__()
        self.pad, self.mode, self.value = pad, mode, value

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x, self.pad, self.mode, self.value if self.mode == "constant" else None)

    def extra_repr(self) -> str:
        return f"pad={_row(self.pad)}, mode={self.mode}, value={self.value:g}"


class AvgPool1d(nn.AvgPool1d):
    """Average pooling with an explicit divisor."""

    kernel_size: tuple[int]
    stride: tuple[int]
    padding: tuple[int]

    def __init__(self, like: nn.AvgPool1d, divisor: int) -> None:
        super().__init__(
            like.kernel_size, like.stride, like.padding, like.ceil_mode, like.count_include_pad
        )
        self.divisor_override = divisor

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(
            x.unsqueeze(-2),
            (1, *self.kernel_size),
            (1, *self.stride),
            (0, *self.padding),
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        ).squeeze(-2)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, divisor_override={self.divisor_override}"


class Squeeze(nn.Module):
    """Remove a dimension of size 1, or all of them."""

    def __init__(self, dim: int | None = None, inplace: bool = False) -> None:
        super().__init__()
        self.dim, self.inplace = dim, inplace

    def forward(self, x: Tensor) -> Tensor:
        if self.dim is None:
            return x.squeeze_() if self.inplace else x.squeeze()
        return x.squeeze_(self.dim) if self.inplace else x.squeeze(self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, inplace={self.inplace}"


class Unsqueeze(nn.Module):
    """Insert a dimension of size 1."""

    def __init__(self, dim: int, inplace: bool = False) -> None:
        super().__init__()
        self.dim, self.inplace = dim, inplace

    def forward(self, x: Tensor) -> Tensor:
        return x.unsqueeze_(self.dim) if self.inplace else x.unsqueeze(self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, inplace={self.inplace}"


class Transpose(nn.Module):
    """Swap two dimensions."""

    def __init__(self, dim0: int = -2, dim1: int = -1) -> None:
        super().__init__()
        self.dim0, self.dim1 = dim0, dim1

    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(self.dim0, self.dim1)

    def extra_repr(self) -> str:
        return f"dim0={self.dim0}, dim1={self.dim1}"
