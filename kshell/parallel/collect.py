"""Collective operations on tensors and bytes. Everything also works with a single process and no group.

Before tensors are sent, their sizes and types are compared (`meet`), so that all processes refuse a mismatch with the
same ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from kshell.errors import said
from kshell.parallel.group import joined, rank, timeout, world
from kshell.parallel.meet import carried, meet, told

# by torch's names
OPS = {
    "sum": "SUM",
    "avg": "SUM",
    "min": "MIN",
    "max": "MAX",
    "prod": "PRODUCT",
}
# sent as the position in this order
DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
)
_BYTES = -1  # the type number of bytes that are not a tensor
_DIMS = 16
_HEAD = 3 + _DIMS


def _home(t: Tensor | None = None) -> Any:
    """The device on which a tensor can be sent."""
    if t is not None and t.is_cuda and "nccl" in str(dist.get_backend_config()):
        return t.device
    return torch.device("cpu")


def head_of(t: Tensor | None, n: int = 0) -> Tensor:
    """The header sent before a tensor, or before n bytes: type, elements, dimensions, sizes."""
    made = torch.zeros(_HEAD, dtype=torch.int64)
    if t is None:
        made[0], made[1] = _BYTES, n
        return made
    if hasattr(t, "full_tensor"):
        raise ValueError("a sharded tensor is one of all processes already")
    if t.dtype not in DTYPES:
        raise ValueError(f"{str(t.dtype).removeprefix('torch.')} tensors cannot be sent")
    if t.dim() > _DIMS:
        raise ValueError(f"a tensor of more than {_DIMS} dimensions cannot be sent")
    made[0], made[1], made[2] = DTYPES.index(t.dtype), t.numel(), t.dim()
    made[3 : 3 + t.dim()] = torch.tensor(list(t.shape), dtype=torch.int64)
    return made


def blank(head: Tensor, device: torch.device | str = "cpu") -> Tensor:
    """An empty tensor for what a header announces."""
    kind, n, dims, *sizes = head.tolist()
    if kind == _BYTES:
        return torch.empty(n, dtype=torch.uint8)
    return torch.empty(sizes[:dims], dtype=DTYPES[kind], device=device)


def is_bytes(head: Tensor) -> bool:
    """Does a header announce bytes?"""
    return int(head[0]) == _BYTES


def about(t: Tensor) -> str:
    """Type and sizes, as text, of a tensor that can be sent."""
    head_of(t)
    return plain(t)


def plain(t: Tensor) -> str:
    """A tensor's type and sizes as text."""
    return f"{str(t.dtype).removeprefix('torch.')} {list(t.shape)}"


def _wire(t: Tensor, home: torch.device) -> Tensor:
    return t.detach().to(home).contiguous()


def barrier(call: str = "barrier") -> None:
    """Block until all processes are here."""
    if joined():
        meet(call)


def allreduce(t: Tensor, op: str = "sum") -> Tensor:
    """A new tensor: the sum, mean, minimum, maximum or product over all processes."""
    if op not in OPS:
        raise said(
            ValueError(f"unrecognized operation {op}, expecting one of {', '.join(OPS)}"), op
        )
    if not joined():
        return t.detach().clone()
    text = about(t)
    if op == "avg" and not (t.is_floating_point() or t.is_complex()):
        raise ValueError(f"the mean of {str(t.dtype).removeprefix('torch.')} tensors")
    if t.dtype is torch.bool:
        raise ValueError("bool tensors have no sum; give numbers")
    if t.is_complex() and op in ("min", "max"):
        raise said(ValueError(f"complex tensors have no {op}"), op)
    meet("allreduce", told(("tensors", text), ("operations", op)))
    work = t.detach().clone(memory_format=torch.contiguous_format).to(_home(t))
    carried(lambda: dist.all_reduce(work, getattr(dist.ReduceOp, OPS[op])))
    if op == "avg":
        work /= world()
    return work.to(t.device)


def allgather(t: Tensor) -> Tensor:
    """The tensors of all processes along a new first dimension."""
    if not joined():
        return t.detach().clone()[None]
    meet("allgather", told(("tensors", about(t))))
    mine = _wire(t, _home(t))
    out = [torch.empty_like(mine) for _ in range(world())]
    carried(lambda: dist.all_gather(out, mine))
    return torch.stack(out).to(t.device)


def gather_bytes(data: bytes, call: str = "allgather") -> list[bytes]:
    """The bytes of all processes, which are in the same call."""
    if not joined():
        return [data]
    sizes = meet(call, told(("tensors", "no tensor")), len(data))
    mine = torch.zeros(max(sizes), dtype=torch.uint8)
    mine[: len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else mine[:0]
    out = [torch.empty_like(mine) for _ in sizes]
    if len(mine):
        carried(lambda: dist.all_gather(out, mine))
    return [t[:size].numpy().tobytes() for t, size in zip(out, sizes, strict=True)]


def _other(r: int, what: str) -> None:
    if not 0 <= r < world():
        raise said(ValueError(f"{what} {r} is no process of {world()}"), r, world())


def broadcast(x: Tensor | bytes | None, source: int) -> Tensor | bytes:
    """Broadcast a tensor or bytes from the process `source` to every process."""
    _other(source, "source")
    if not joined():
        assert x is not None
        return x.detach().clone() if isinstance(x, Tensor) else x
    mine = rank() == source
    head = torch.zeros(_HEAD, dtype=torch.int64)
    if mine:
        head = head_of(x) if isinstance(x, Tensor) else head_of(None, len(x or b""))
    meet("broadcast", told(("kinds", "a value"), ("sources", str(source))))
    carried(lambda: dist.broadcast(head, source))
    work = _payload(x) if mine else blank(head)
    if work.numel():
        carried(lambda: dist.broadcast(work, source))
    if is_bytes(head):
        return work.numpy().tobytes()
    return work.clone() if mine else work


def broadcast_(t: Tensor, source: int) -> None:
    """Overwrite a tensor with its values on the process `source`, in place. (Sizes are not compared: see `alike`.)"""
    work = _wire(t, _home(t))
    carried(lambda: dist.broadcast(work, source))
    with torch.no_grad():
        t.copy_(work)


def _payload(x: Tensor | bytes | None) -> Tensor:
    """The tensor to send, on the CPU."""
    if isinstance(x, Tensor):
        return _wire(x, torch.device("cpu"))
    return (
        torch.frombuffer(bytearray(x), dtype=torch.uint8)
        if x
        else torch.empty(0, dtype=torch.uint8)
    )


def _peer(r: int, what: str) -> None:
    _other(r, what)
    if r == rank():
        raise said(ValueError(f"{what} {r} is this process itself"), r)


POINTS = [0]  # the number of messages this process has started to send or receive


def send(x: Tensor | bytes, target: int) -> None:
    """Send a tensor or bytes to a process."""
    _peer(target, "target")
    head = head_of(x) if isinstance(x, Tensor) else head_of(None, len(x))
    POINTS[0] += 1
    _from_one(lambda: dist.send(head, target), target, "took nothing")
    work = _payload(x)
    if work.numel():
        _from_one(lambda: dist.send(work, target), target, "took nothing")


def receive(source: int) -> Tensor | bytes:
    """Receive a tensor or bytes from a process."""
    _peer(source, "source")
    POINTS[0] += 1
    head = torch.zeros(_HEAD, dtype=torch.int64)
    _from_one(lambda: dist.recv(head, source), source, "sent nothing")
    work = blank(head)
    if work.numel():
        _from_one(lambda: dist.recv(work, source), source, "sent nothing")
    return work.numpy().tobytes() if is_bytes(head) else work


def _from_one(fn: Callable[[], Any], r: int, what: str) -> None:
    """Communicate with one process; on timeout, the error says what it did not do."""
    try:
        fn()
        return
    except RuntimeError as exc:
        if "timed out" not in str(exc).lower():
            raise
    raise RuntimeError(f"process {r} {what} within {timeout():g} s")


def alike(call: str, tensors: Iterable[Tensor], *more: tuple[str, str]) -> None:
    """Check that tensors, pairwise, and further (name, value) pairs are alike on every process; if not, the same
    ValueError on all."""
    meet(
        call,
        told(
            *(
                ("parameters", f"parameter {i}: {plain(tensor)}")
                for i, tensor in enumerate(tensors)
            ),
            *more,
        ),
    )
