"""The program's objects as variables of a session."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import Any

from kshell.host import finding
from kshell.host.steps import Counted
from kshell.kapi.optim import host_schedulers, host_wrappers
from kshell.python.session import Session


class Variables:
    """Those that are the program's: each with the object and its value in q. Those of clients are left alone."""

    def __init__(self) -> None:
        self.bound: dict[str, tuple[Any, Any]] = {}

    def find(self, session: Session, stack: list[FrameType], stepped: Iterable[Any]) -> None:
        """Make variables of what the frames and the optimizers that stepped have now."""
        found = finding.objects(stack, stepped)
        space = session.names.spaces["."]
        for name in [n for n in self.bound if n not in found]:
            self._unbind(session, name)
        for name, x in sorted(found.items(), key=lambda item: _rank(item[1])):
            bound = self.bound.get(name)
            if bound is not None and bound[0] is x and space.get(name) is bound[1]:
                continue
            if name in space and (bound is None or space[name] is not bound[1]):
                continue
            with suppress(Exception):
                session[name] = x
                self.bound[name] = x, space[name]

    def let_go(self, session: Session) -> None:
        """Hold none of the program's objects: nobody is there."""
        for name in list(self.bound):
            self._unbind(session, name)

    def _unbind(self, session: Session, name: str) -> None:
        space = session.names.spaces["."]
        if space.get(name) is self.bound.pop(name)[1]:
            del space[name]

    def objects(self) -> dict[str, Any]:
        """The modules, optimizers and schedulers that an edit can change, by the longest of their names."""
        torch: Any = sys.modules["torch"]
        kinds = torch.nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler
        found: dict[str, Any] = {}
        for name in sorted(self.bound, key=len, reverse=True):
            for y in _inner(self.bound[name][0]):
                if isinstance(y, kinds) and not any(y is z for z in found.values()):
                    found[name] = y
        return found

    def names_of(self, counted: Iterable[Counted]) -> dict[int, str]:
        """The names of optimizers that have stepped, by their number."""
        found = {}
        for known in counted:
            optimizer = known.ref()
            for name, (x, _) in self.bound.items():
                if optimizer is not None and any(y is optimizer for y in _inner(x)):
                    found[known.number] = name
        return found

    def module_of(self, optimizer: Any, stack: list[FrameType]) -> Any:
        """The smallest module with all parameters of an optimizer, among the variables, or what the frames have while
        there are none; None if there is none."""
        torch: Any = sys.modules["torch"]
        objects = [x for x, _ in self.bound.values()]
        if not objects:
            objects = list(finding.objects(stack, [optimizer]).values())
        mine = {id(p) for group in optimizer.param_groups for p in group["params"]}
        modules = [x for x in objects if isinstance(x, torch.nn.Module)]
        holders = [m for m in modules if mine <= {id(p) for p in m.parameters()}]
        return min(holders, key=lambda m: sum(1 for _ in m.modules()), default=None)


def _rank(x: object) -> int:
    """Modules are first, then optimizers, whose parameters take their names."""
    torch: Any = sys.modules["torch"]
    if isinstance(x, torch.nn.Module):
        return 0
    return 1 if hasattr(x, "param_groups") else 2


def _inner(x: Any) -> list[Any]:
    """An object, and those that it wraps."""
    if host_wrappers.is_optimizer(x):
        return host_wrappers.chain(x)
    scheduler = host_schedulers.proper(x)
    return [x] if scheduler is None else [scheduler]
