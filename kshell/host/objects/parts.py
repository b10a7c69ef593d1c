"""The part of a tensor that this process has. What torch computes of a distributed tensor it asks of all processes, and
they do not answer while they train; so a query sees the part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kshell.errors import QError

COLLECTIVE = ("c10d", "_c10d_functional", "c10d_functional")  # torch's namespaces of operations


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


def alone(func: Any, types: Iterable[type], args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of an operation that this process can carry out alone; an error if there are none."""
    if func.namespace in COLLECTIVE:
        raise QError(
            f"nyi: {func.overloadpacket.__name__} would wait for the other processes, which train"
        )
    if any(hasattr(cls, "placements") for cls in types):
        from torch.utils._pytree import tree_map

        return tree_map(local, args), tree_map(local, kwargs)
    return args, kwargs
