"""Tensors of which a file has the part of one process: DTensor and ShardedTensor of torch.distributed.

The part is the tensor; its options say of what size the whole is, and where the part begins in it, if that can be told.
"""

from __future__ import annotations

import copy
from math import prod
from typing import Any

from kshell.checkpoints.base.stored import Stored, Traits
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Meanings, Unknown

_DTENSOR = "torch.distributed.tensor."
_SHARDED = "torch.distributed._shard.sharded_tensor."
WRAPPER = "torch._utils._rebuild_wrapper_subclass"


def part_of(m: Meanings, cls: Global, declared: Any, state: Any) -> Stored:
    """The part that a process has of a tensor of a wrapping class. Unknown for other classes, and if there are none or
    several parts."""
    if cls.known.startswith(_DTENSOR):
        tensor, offsets = _of_dtensor(m, m.plain(m.plain(state, tuple)[1], dict))
    elif cls.known.startswith(_SHARDED):
        tensor, offsets = _of_shards(m, m.plain(state, tuple))
    else:
        raise Unknown
    part = copy.copy(tensor)
    part.traits, part.origin = Traits(cls.known), None
    shape = m.ints(m.of(m.plain(declared, tuple)[2]))
    fits = offsets is not None and all(
        o + n <= size for o, n, size in zip(offsets, part.shape, shape, strict=True)
    )
    part.options = {"whole": shape, "offsets": offsets} if fits else {"size": shape}
    return part


def _fields(m: Meanings, x: Any) -> dict[str, Any]:
    """The state of an object: its attributes, also those in slots."""
    node = m.plain(x, Node)
    state = m.of(node.state)
    parts = state if state.__class__ is tuple else (state,)
    return {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}


def _of_dtensor(m: Meanings, state: dict[str, Any]) -> tuple[Stored, tuple[int, ...] | None]:
    local = m.of(state["_local_tensor"])
    if not isinstance(local, Stored):
        raise Unknown
    spec = _fields(m, state["_spec"])
    mesh = _fields(m, spec["mesh"])
    sizes, at = _sizes(m, mesh), m.of(mesh.get("_coordinate_on_dim"))
    placements = [m.plain(x, Node) for x in m.plain(spec["placements"], tuple, list)]
    meta = m.of(spec.get("tensor_meta"))
    if meta.__class__ is not Node or at is None or len(sizes) != len(placements):
        return local, None
    extent = [(0, n) for n in m.ints(m.of(meta.args[0]))]  # first item, and number, by dimension
    for size, k, placement in zip(sizes, m.ints(at), placements, strict=True):
        kind = placement.name.rsplit(".", 1)[-1]
        if kind == "Shard":
            dim = _fields(m, placement)["dim"]
            first, count = extent[dim]
            extent[dim] = _share(first, count, k, size)
        elif kind != "Replicate":  # sums of parts, and rows that are not together
            return local, None
    if tuple(n for _, n in extent) != local.shape:
        return local, None
    return local, tuple(first for first, _ in extent)


def _share(first: int, count: int, k: int, size: int) -> tuple[int, int]:
    """What process k of so many has of some rows: equal numbers, the last ones fewer or none."""
    step = -(-count // size)
    return first + min(k * step, count), max(min(step, count - k * step), 0)


def _sizes(m: Meanings, mesh: dict[str, Any]) -> list[int]:
    """The number of processes in each dimension of a mesh, as this and earlier versions say it."""
    if "_layout" in mesh:
        axes = m.plain(_fields(m, mesh["_layout"])["axes"], tuple, list)
        return [prod(m.ints(m.of(_fields(m, axis)["shape"]))) for axis in axes]
    whole = m.of(mesh.get("mesh"))
    return list(whole.shape) if isinstance(whole, Stored) else []


def _of_shards(m: Meanings, state: tuple[Any, ...]) -> tuple[Stored, tuple[int, ...]]:
    shards = m.plain(state[0], list, tuple)
    if len(shards) != 1:
        raise Unknown
    shard = _fields(m, shards[0])
    tensor = m.of(shard["tensor"])
    if not isinstance(tensor, Stored):
        raise Unknown
    return tensor, m.ints(m.of(_fields(m, shard["metadata"])["shard_offsets"]))
