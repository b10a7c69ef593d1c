"""Rows for indexing.py: functions that select and scatter elements, and that split, repeat and join tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.kapi.base import guard
from kshell.kapi.base.call import reserve
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.rows import ANY, Row

if TYPE_CHECKING:
    from torch import Tensor


def _along(name: str) -> Callable[..., Any]:
    """A torch function whose dimension comes after its first input."""

    def run(x: Tensor, *rest: Any, dim: int, **options: Any) -> Any:
        return getattr(torch, name)(x, dim, *_one_each(name, rest), **options)

    return run


def _one_each(name: str, rest: tuple[Any, ...]) -> tuple[Any, ...]:
    """The indices and elements of a scatter; a single number is used for all elements."""
    if not name.startswith("scatter") or rest[-1].dim():
        return rest
    return *rest[:-1], rest[-1].expand(rest[0].shape)


def _along_(name: str) -> Callable[..., Any]:
    """The in-place tensor method with that name."""

    def run(x: Tensor, *rest: Any, dim: int, **options: Any) -> None:
        getattr(x, name)(dim, *_one_each(name, rest), **options)

    return run


def _method(name: str, key: str) -> Callable[..., Any]:
    """A tensor method with one option."""

    def run(x: Tensor, **options: Any) -> Any:
        counts = options[key]
        if name in ("repeat", "tile"):
            reserve([*x.shape, *(count for count in counts if count > 0)], x.element_size())
        return getattr(x, name)(*(counts if isinstance(counts, list) else [counts]))

    return run


def _joined(name: str) -> Callable[..., Any]:
    """A torch function of a list of tensors."""

    def run(*tensors: Any) -> Any:
        return getattr(torch, name)(tensors)

    return run


def split(x: Tensor, size: list[int], dim: int = 0) -> Any:
    """torch.split into parts of one size or of given sizes."""
    return torch.split(x, size[0] if len(size) == 1 else size, dim)


def tensorsplit(x: Tensor, places: list[int], dim: int = 0) -> Any:
    """torch.tensor_split into a number of parts or at given positions."""
    return torch.tensor_split(x, places[0] if len(places) == 1 else places, dim)


def masked_fill(x: Tensor, mask: Tensor, value: Tensor | float) -> Any:
    """torch.masked_fill."""
    return torch.masked_fill(x, mask, value)


def repeat_interleave(x: Tensor, times: Tensor, **options: Any) -> Any:
    """torch.repeat_interleave; the size of the result is checked."""
    if not times.dim() and times.is_floating_point() and bool(times == times.long()):
        times = times.long()  # a number next to a tensor takes its type
    if times.numel():
        reserve(
            (int(times.sum()) if times.dim() else int(times) * max(x.numel(), 1),), x.element_size()
        )
    return torch.repeat_interleave(x, times, **options)


def countnonzero(x: Tensor, **options: Any) -> Any:
    """torch.count_nonzero."""
    return torch.count_nonzero(x, **options)


def meshgrid(*tensors: Any) -> Any:
    """torch.meshgrid, with the first list along the first dimension."""
    return torch.meshgrid(*tensors, indexing="ij")


def row(name: str, target: str | Callable[..., Any], doc: str, example: str, **fields: Any) -> Row:
    """A row for a function that ktorch does not have."""
    return Row(
        name,
        target if callable(target) else f"torch.{target}",
        doc,
        example,
        since="torch",
        **fields,
    )


def _put(
    name: str,
    torch_name: str,
    doc: str,
    example: str,
    options: str = "",
    inputs: int = 3,
    out: bool = True,
    low: int = 0,
) -> Row:
    return row(
        name,
        _along(torch_name),
        doc,
        example,
        inputs=inputs,
        lead="dim:dim*",
        options=options,
        out=out,
        inplace=_along_(f"{torch_name}_"),
        half=guard.indices(low),
    )


def _many(name: str, target: str | Callable[..., Any], doc: str, example: str) -> Row:
    return row(name, target, doc, example, inputs=ANY, out=False)


CHOOSING = (
    row(
        "Where",
        "where",
        "Elements of y where x is true, of z elsewhere.",
        "Where(101b;1 2 3;4 5 6)|1 5 3",
        inputs=3,
    ),
    row(
        "gather",
        _along("gather"),
        "Elements of x at indices y along a dimension.",
        "gather(2 2#1 2 3 4;1;2 1#1 0)|2\\n3",
        inputs=2,
        lead="dim:dim*",
        half=guard.indices(),
    ),
    row(
        "takealong",
        "take_along_dim",
        "Elements of x at indices y along a dimension; sizes broadcast.",
        "takealong(2 2#1 2 3 4;2 1#1 0;1)|2\\n3",
        inputs=2,
        options="dim:dim",
        half=guard.indices(),
    ),
    row(
        "take",
        "take",
        "Elements of flattened x at indices y.",
        "take(2 2#1 2 3 4;3 0)|4 1",
        inputs=2,
        half=guard.indices(-1),
    ),
    row(
        "maskedselect",
        "masked_select",
        "The elements of x where y is true, as a list.",
        "maskedselect(1 2 3;101b)|1 3",
        inputs=2,
    ),
    row(
        "maskedfill",
        masked_fill,
        "x filled with a value where y is true.",
        "maskedfill(1 2 3;101b;9)|9 2 9",
        inputs=2,
        options="value:scalar*",
        out=False,
        inplace="masked_fill_",
    ),
    row(
        "maskedscatter",
        "masked_scatter",
        "x with the elements of z, in order, where y is true.",
        "maskedscatter(1 2 3;101b;8 9)|8 2 9",
        inputs=3,
        out=False,
        inplace="masked_scatter_",
        half=guard.source,
    ),
    _put(
        "scatter",
        "scatter",
        "x with elements of z written to indices y along a dimension.",
        "scatter(4#0;0;2 0;7 8)|8 0 7 0",
    ),
    _put(
        "scatteradd",
        "scatter_add",
        "x with elements of z added at indices y along a dimension.",
        "scatteradd(4#0;0;2 0 2;7 8 9)|8 0 16 0",
    ),
    _put(
        "indexadd",
        "index_add",
        "x with slices of z, times alpha (1), added at indices y of a dimension.",
        "indexadd(3 2#0;0;2 0;2 2#1 2 3 4)|3 4\\n0 0\\n1 2",
        "alpha:number",
    ),
    _put(
        "indexcopy",
        "index_copy",
        "x with slices of z copied to indices y of a dimension.",
        "indexcopy(3 2#0;0;2 0;2 2#1 2 3 4)|3 4\\n0 0\\n1 2",
    ),
    _put(
        "indexfill",
        "index_fill",
        "x filled with a value at indices y of a dimension.",
        "indexfill(4#0;0;1 3;9)|0 9 0 9",
        "value:scalar*",
        inputs=2,
        out=False,
        low=-1,
    ),
    row(
        "nonzero",
        "nonzero",
        "The indices of non-zero elements, one per row.",
        "nonzero 0 7 0 8|1\\n3",
    ),
    row(
        "countnonzero",
        countnonzero,
        "The number of non-zero elements, overall or over dimensions.",
        "countnonzero 0 7 0 8|2",
        options="dim:dims",
        out=False,
    ),
)

PARTS = (
    row(
        "split",
        split,
        "Split a dimension (the first) into parts of one size, or of given sizes.",
        "split(til 5;2)|0 1\\n2 3\\n,4",
        options="size:dims* dim:dim",
        out=False,
    ),
    row(
        "chunk",
        "chunk",
        "Split a dimension (the first) into a number of parts.",
        "chunk(til 4;2)|0 1\\n2 3",
        options="chunks:long* dim:dim",
        out=False,
    ),
    row(
        "tensorsplit",
        tensorsplit,
        "Split a dimension (the first) into a number of parts, or at given positions.",
        "tensorsplit(til 4;enlist 2)|0 1\\n2 3",
        options="places:dims* dim:dim",
        out=False,
    ),
    row(
        "unbind",
        "unbind",
        "Slices along a dimension (the first), which is removed.",
        "unbind(2 2#1 2 3 4;1)|1 3\\n2 4",
        options="dim:dim",
        out=False,
    ),
    row(
        "repeat",
        _method("repeat", "times"),
        "Repeat a tensor along dimensions; extra dimensions are added in front.",
        "repeat(1 2;2 2)|1 2 1 2\\n1 2 1 2",
        options="times:dims*",
        out=False,
    ),
    row(
        "tile",
        _method("tile", "times"),
        "Repeat a tensor along dimensions.",
        "tile(1 2;2)|1 2 1 2",
        options="times:dims*",
        out=False,
    ),
    row(
        "repeatitems",
        repeat_interleave,
        "Repeat each item a number of times, along a dimension or flattened.",
        "repeatitems(1 2;2 3)|1 1 2 2 2",
        inputs=2,
        options="dim:dim",
        out=False,
    ),
    row(
        "rot90",
        "rot90",
        "A matrix rotated by a number (1) of quarter turns.",
        "rot90 2 2#1 2 3 4|2 4\\n1 3",
        options="k:long dims:dims",
        out=False,
    ),
    row(
        "movedim",
        "movedim",
        "Move dimensions to other positions.",
        "movedim(2 3#til 6;0;1)|0 3\\n1 4\\n2 5",
        options="source:dims* destination:dims*",
        out=False,
    ),
    row(
        "unflatten",
        "unflatten",
        "Split one dimension into several.",
        "unflatten(til 4;0;2 2)|0 1\\n2 3",
        options="dim:dim* sizes:dims*",
        out=False,
    ),
    _many(
        "hstack",
        _joined("hstack"),
        "Stack tensors or arrays horizontally.",
        "hstack(1 2;3 4)|1 2 3 4",
    ),
    _many(
        "vstack",
        _joined("vstack"),
        "Stack tensors or arrays vertically.",
        "vstack(1 2;3 4)|1 2\\n3 4",
    ),
    _many(
        "dstack",
        _joined("dstack"),
        "Stack tensors or arrays along a third dimension.",
        "first dstack(1 2;3 4)|1 3\\n2 4",
    ),
    _many(
        "blockdiag",
        "block_diag",
        "A matrix with the given matrices along its diagonal.",
        "blockdiag(1 2;3 4)|1 2 0 0\\n0 0 3 4",
    ),
    _many(
        "meshgrid",
        meshgrid,
        "The coordinates of a grid, from its axes.",
        "meshgrid(1 2;3 4)|1 1 2 2\\n3 4 3 4",
    ),
    _many(
        "cartesian",
        "cartesian_prod",
        "All combinations of the items of lists.",
        "cartesian(1 2;3 4)|1 3\\n1 4\\n2 3\\n2 4",
    ),
)
