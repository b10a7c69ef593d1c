"""The part of a tensor that this process has. What torch computes of a distributed tensor it asks of all processes, and
they do not answer while they train; so a query sees the part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kshell.errors import QError

COLLECTIVE = ("c10d", "_c10d_functional", "c10d_functional")  # torch's namespaces of operations
_INSTEAD: list[Any] = []  # what stands in the place of parts, the last one now


def local(t: Any) -> Any:
    """The part of a distributed tensor that is here; anything else is itself."""
    return t._local_tensor if hasattr(t, "placements") and hasattr(t, "_local_tensor") else t


def layers(module: Any) -> dict[int, str]:
    """The names of the layers of a module, by the ids of their parameters; also of the whole parameters that
    `fully_shard` computes with in the place of parts."""
    names = {id(m): name for name, m in module.named_modules()}
    found = {id(p): names[id(m)] for m in module.modules() for p in m.parameters(recurse=False)}
    for m in module.modules():
        state = m._get_fsdp_state() if hasattr(m, "_get_fsdp_state") else None
        for part in getattr(getattr(state, "_fsdp_param_group", None), "fsdp_params", ()):
            layer = names.get(id(part._module_info.module), "")
            found[id(getattr(part, "_unsharded_param", None))] = layer
    return found


@contextmanager
def replaced_by(stand: Any) -> Iterator[None]:
    """Inside, operations get stand(t) in the place of a part t; `stand.given` has the storages of what it gave."""
    _INSTEAD.append(stand)
    try:
        yield
    finally:
        _INSTEAD.pop()


def check_written(storage: int) -> None:
    """An error if what is about to be written stands for a part."""
    if _INSTEAD and storage in _INSTEAD[-1].given:
        raise QError("nyi: whole values can only be read")


def alone(func: Any, types: Iterable[type], args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of an operation that this process can carry out alone; an error if there are none."""
    if func.namespace in COLLECTIVE:
        raise QError(
            f"nyi: {func.overloadpacket.__name__} would wait for the other processes, which train"
        )
    if any(hasattr(cls, "placements") for cls in types):
        from torch.utils._pytree import tree_map

        stand = _INSTEAD[-1] if _INSTEAD else local
        return tree_map(stand, args), tree_map(stand, kwargs)
    return args, kwargs
