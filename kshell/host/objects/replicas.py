"""Modules that torch wraps for several processes, after their parameters were changed.

DistributedDataParallel decides which parameters it reduces when it is made, so after a layer was frozen or replaced its
reducer is made anew, in all processes after the same step; what fully_shard has divided is in `shards.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kshell.errors import QError
from kshell.host.objects.shards import Shards


class Wrapped:
    """The wrapped modules among some objects, and the parameters that they train, as they are now."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self.replicated = [(m, _trained(m)) for m in _modules(objects) if _is_replicated(m)]
        self.sharded = Shards(objects)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Inside, a replicated module computes here alone."""
        for module, _ in self.replicated:
            module.forward = module.module.forward
        try:
            yield
        finally:
            for module, _ in self.replicated:
                del module.forward

    def check(self) -> None:
        """An error if they cannot follow what has changed."""
        self.sharded.check()
        for module, _ in self.replicated:
            if not any(flag for _, flag in _trained(module)):
                raise QError("edit: DistributedDataParallel needs a parameter that is trained")

    def follow(self) -> None:
        """Let them follow what has changed."""
        for module, trained in self.replicated:
            if _trained(module) != trained:
                _renew(module)
        self.sharded.follow()


def _modules(objects: dict[str, Any]) -> list[Any]:
    """All modules in some objects, each once."""
    found: dict[int, Any] = {}
    for x in objects.values():
        for m in x.modules() if hasattr(x, "named_modules") else ():
            found[id(m)] = m
    return list(found.values())


def _is_replicated(m: Any) -> bool:
    parallel: Any = sys.modules.get("torch.nn.parallel")
    return parallel is not None and isinstance(m, parallel.DistributedDataParallel)


def _trained(m: Any) -> list[tuple[int, bool]]:
    return [(id(p), p.requires_grad) for p in m.parameters()]


def _renew(m: Any) -> None:
    """Make the reducer of a DistributedDataParallel anew, as its constructor does; the old one takes its hooks away."""
    distributed: Any = sys.modules["torch.distributed"]
    parameters, sparse = m._build_params_for_reducer()
    names = m._build_debug_param_to_name_mapping(parameters)
    m._ddp_init_helper(parameters, sparse, names, m.static_graph)
    for hook, state in m._comm_hooks:
        distributed._register_comm_hook(m.reducer, state, hook)
