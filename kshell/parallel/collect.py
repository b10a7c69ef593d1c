"""What processes do together with tensors and bytes. Everything works for one process without a group too.

Before tensors travel their sizes and types are compared, so that all processes refuse what does not fit together, with
the same ValueError.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from kshell.parallel.group import joined, rank, world

OPS = {"sum": "SUM", "avg": "SUM", "min": "MIN", "max": "MAX", "prod": "PRODUCT"}  # by torch's names
# the order is the number that travels
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
          torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128)
_BYTES = -1  # the number of bytes that are no tensor
_DIMS = 16
_HEAD = 3 + _DIMS


def _home(t: Tensor | None = None) -> Any:
    """The device on which a tensor can travel."""
    if t is not None and t.is_cuda and "nccl" in str(dist.get_backend_config()):
        return t.device
    return torch.device("cpu")


def head_of(t: Tensor | None, n: int = 0) -> Tensor:
    """What is told before a tensor, or n bytes, travel: type, elements, dimensions, sizes."""
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
    made[3:3 + t.dim()] = torch.tensor(list(t.shape), dtype=torch.int64)
    return made


def blank(head: Tensor, device: Any = "cpu") -> Tensor:
    """An empty tensor for what a head announces."""
    kind, n, dims, *sizes = head.tolist()
    if kind == _BYTES:
        return torch.empty(n, dtype=torch.uint8)
    return torch.empty(sizes[:dims], dtype=DTYPES[kind], device=device)


def is_bytes(head: Tensor) -> bool:
    """Does a head announce bytes?"""
    return int(head[0]) == _BYTES


def _text(head: list[int]) -> str:
    if head[0] == _BYTES:
        return "no tensor"
    return f"{str(DTYPES[head[0]]).removeprefix('torch.')} {head[3:3 + head[2]]}"


def heads(head: Tensor) -> list[list[int]]:
    """The heads of all processes."""
    out = [torch.empty_like(head) for _ in range(world())]
    dist.all_gather(out, head)
    return [t.tolist() for t in out]


def _differ(found: list[list[int]]) -> None:
    for r, other in enumerate(found):
        if other != found[0]:
            raise ValueError(f"tensors differ between processes ({_text(found[0])} on 0, {_text(other)} on {r})")


def same(t: Tensor) -> None:
    """Are the tensors of all processes of one size and type? The same ValueError on all, if not."""
    _differ(heads(head_of(t)))


def _all_bytes(found: list[list[int]]) -> None:
    if any(h[0] != _BYTES for h in found):
        _differ([h if h[0] != _BYTES else [_BYTES, 0, 0] for h in found])


def _wire(t: Tensor, home: Any) -> Tensor:
    return t.detach().to(home).contiguous()


def barrier() -> None:
    """Wait until all processes are here."""
    if joined():
        dist.barrier()


def allreduce(t: Tensor, op: str = "sum") -> Tensor:
    """A new tensor: the sum, mean, least, greatest or product over all processes."""
    if op not in OPS:
        raise ValueError(f"unrecognized operation {op}, expecting one of {', '.join(OPS)}")
    if not joined():
        return t.detach().clone()
    same(t)
    if op == "avg" and not (t.is_floating_point() or t.is_complex()):
        raise ValueError(f"the mean of {str(t.dtype).removeprefix('torch.')} tensors")
    if t.dtype is torch.bool:
        raise ValueError("bool tensors have no sum; give numbers")
    work = t.detach().clone(memory_format=torch.contiguous_format).to(_home(t))
    dist.all_reduce(work, getattr(dist.ReduceOp, OPS[op]))
    if op == "avg":
        work /= world()
    return work.to(t.device)


def allgather(t: Tensor) -> Tensor:
    """The tensors of all processes along a new first dimension."""
    if not joined():
        return t.detach().clone()[None]
    same(t)
    mine = _wire(t, _home(t))
    out = [torch.empty_like(mine) for _ in range(world())]
    dist.all_gather(out, mine)
    return torch.stack(out).to(t.device)


def gather_bytes(data: bytes) -> list[bytes]:
    """The bytes of all processes."""
    if not joined():
        return [data]
    found = heads(head_of(None, len(data)))
    _all_bytes(found)
    sizes = [h[1] for h in found]
    mine = torch.zeros(max(sizes), dtype=torch.uint8)
    mine[:len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else mine[:0]
    out = [torch.empty_like(mine) for _ in sizes]
    if len(mine):
        dist.all_gather(out, mine)
    return [t[:n].numpy().tobytes() for t, n in zip(out, sizes, strict=True)]


def _other(r: int, what: str) -> None:
    if not 0 <= r < world():
        raise ValueError(f"{what} {r} is no process of {world()}")


def broadcast(x: Tensor | bytes | None, source: int) -> Tensor | bytes:
    """What the process `source` has, a tensor or bytes, on every process."""
    _other(source, "source")
    if not joined():
        assert x is not None
        return x.detach().clone() if isinstance(x, Tensor) else x
    mine = rank() == source
    head = torch.zeros(_HEAD, dtype=torch.int64)
    if mine:
        head = head_of(x) if isinstance(x, Tensor) else head_of(None, len(x or b""))
    dist.broadcast(head, source)
    work = _payload(x) if mine else blank(head)
    if work.numel():
        dist.broadcast(work, source)
    if is_bytes(head):
        return work.numpy().tobytes()
    return work.clone() if mine else work


def broadcast_(t: Tensor, source: int) -> None:
    """Give a tensor the values that it has on the process `source`, in place. (Sizes are not compared.)"""
    work = _wire(t, _home(t))
    dist.broadcast(work, source)
    with torch.no_grad():
        t.copy_(work)


def _payload(x: Any) -> Tensor:
    """What travels, on the CPU."""
    if isinstance(x, Tensor):
        return _wire(x, torch.device("cpu"))
    return torch.frombuffer(bytearray(x), dtype=torch.uint8) if x else torch.empty(0, dtype=torch.uint8)


def _peer(r: int, what: str) -> None:
    _other(r, what)
    if r == rank():
        raise ValueError(f"{what} {r} is this process itself")


POINTS = [0]  # how many messages this process has begun to send or receive


def send(x: Tensor | bytes, target: int) -> None:
    """Send a tensor or bytes to a process, which receives them."""
    _peer(target, "target")
    POINTS[0] += 1
    dist.send(head_of(x) if isinstance(x, Tensor) else head_of(None, len(x)), target)
    work = _payload(x)
    if work.numel():
        dist.send(work, target)


def receive(source: int) -> Tensor | bytes:
    """What a process sends: a tensor, or bytes."""
    _peer(source, "source")
    POINTS[0] += 1
    head = torch.zeros(_HEAD, dtype=torch.int64)
    dist.recv(head, source)
    work = blank(head)
    if work.numel():
        dist.recv(work, source)
    return work.numpy().tobytes() if is_bytes(head) else work


def alike(tensors: list[Tensor], more: object = "") -> None:
    """Are these tensors alike on every process, one by one, and what else is given? The same ValueError on all, if
    not."""
    text = (";".join(f"{tuple(t.shape)}{t.dtype}" for t in tensors) + str(more)).encode()
    found = gather_bytes(text)
    for r, other in enumerate(found):
        if other != found[0]:
            raise ValueError(f"parameters differ between processes (0 and {r})")
