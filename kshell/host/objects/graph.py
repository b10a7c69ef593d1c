"""What the graph of a loss still has: the tensors that each operation saved for the backward pass. They tell where a
value was not finite though it cannot be computed again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kshell.host.objects.calls import Bad, rows_of

if TYPE_CHECKING:
    from torch import Tensor

MOST = 100_000  # operations that are looked at


def parameters(loss: Tensor) -> Iterator[Tensor]:
    """The leaves of the graph of a loss."""
    return (node.variable for node in _operations(loss) if hasattr(node, "variable"))


def first_bad(loss: Tensor, layers: dict[int, str], batch: int) -> Bad | None:
    """The first operation that saved a value that is not finite: the last layer before it, in or after which the value
    arose, and the rows of a batch of so many. `layers` are the names of layers, by the ids of their parameters."""
    layer = ""
    for operation in _operations(loss):
        saved = _saved_rows(operation)
        if saved is not None:
            size, rows = saved
            return Bad(layer, _of_batch(rows, size, batch))
        layer = _layer(operation, layers) or layer
    return None


def _operations(loss: Tensor) -> Iterator[Any]:
    """The nodes of a graph, each after those that it takes its inputs from."""
    seen: set[Any] = set()
    waiting = [(loss.grad_fn, False)]
    while waiting and len(seen) < MOST:
        node, is_done = waiting.pop()
        if is_done:
            yield node
        elif node is not None and node not in seen:
            seen.add(node)
            waiting.append((node, True))
            waiting += [(inner, False) for inner, _ in reversed(node.next_functions)]


def _layer(operation: Any, layers: dict[int, str]) -> str:
    """The layer whose parameters an operation uses, as they are or transposed; empty if it uses none."""
    inner = [node for node, _ in operation.next_functions if node is not None]
    inner += [node for n in inner if len(n.next_functions) == 1 for node, _ in n.next_functions]
    found = (layers.get(id(node.variable), "") for node in inner if hasattr(node, "variable"))
    return next((name for name in found if name), "")


def _saved_rows(operation: Any) -> tuple[int, list[int]] | None:
    """The number of rows of a tensor that an operation saved, and those that are not finite; None if all are."""
    from torch import Tensor

    names = [name for name in dir(operation) if name.startswith("_saved_")]
    for name in [*names, "saved_tensors"]:
        try:
            saved = getattr(operation, name, None)
        except RuntimeError:  # changed in place or freed
            continue
        for t in saved if isinstance(saved, (tuple, list)) else (saved,):
            if isinstance(t, Tensor) and t.is_floating_point() and (rows := rows_of(t)):
                return len(t) if t.dim() else 1, rows
    return None


def _of_batch(rows: list[int], size: int, batch: int) -> list[int]:
    """The rows of a batch, from those of a tensor in which several may belong to each; none if it has other rows."""
    if not batch or size % batch:
        return []
    return sorted({row // (size // batch) for row in rows})
