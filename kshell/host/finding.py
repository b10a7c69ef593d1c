"""The objects of a training program, under the names of its variables.

Looked at are the variables of the functions that wait for the step, innermost first, then those of their modules; and
one level down, the attributes of the objects in them, such as a trainer's model. Nothing is changed, and nothing is
kept that a frame would not keep.
"""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kshell import registry
from kshell.errors import QError
from kshell.host.watcher import OWN
from kshell.kapi.base.handles import KHandle
from kshell.kapi.optim import host_schedulers, host_wrappers
from kshell.python import taking
from kshell.python.session import check
from kshell.values.session import context

OPTIMIZED = 0x1  # of a code object: its variables are not in a dictionary
_PLAIN = (int, float, bool, str)
_LONGEST = 1_000  # characters of a text that is taken


def frames(innermost: types.FrameType | None) -> list[types.FrameType]:
    """The frames that lead to one, without kshell's own, innermost first."""
    found = []
    while innermost is not None:
        if not innermost.f_code.co_filename.startswith(OWN):
            found.append(innermost)
        innermost = innermost.f_back
    return found


def objects(stack: list[types.FrameType], stepped: Iterable[Any]) -> dict[str, Any]:
    """Objects by name: modules, optimizers, schedulers, tensors and plain values of the program, and the optimizers
    that have stepped, with their modules, if no variable has them."""
    main = vars(sys.modules["__main__"])  # of a notebook, of a program that trains in a thread
    own = [f for f in stack if taking.is_own(f) or f.f_globals is main]
    found = _Found()
    found.add(_of_session())
    own = own if own or found.names else stack
    for frame in own:
        found.add(_variables(frame))
    modules = [dict(frame.f_globals) for frame in own] + [dict(main)]
    for variables in modules:
        found.add(variables)
    found.add_attributes([x for frame in own for x in _variables(frame).values()])
    found.add_attributes([x for variables in modules for x in variables.values()])
    # a trainer's optimizer may wrap one, which a frame further in has
    selves = [f.f_locals.get("self") for f in stack if f.f_code.co_flags & OPTIMIZED]
    found.add_attributes(reversed(selves))
    for frame in stack:
        _forget(frame)
    found.add_unnamed(stepped)
    return found.names


def _of_session() -> dict[str, Any]:
    """What the variables of a q session have that makes the step: the program is one of kshell's own."""
    session = context.perhaps()
    if session is None:
        return {}
    variables = dict(session.names.spaces["."])
    objects = {name: x.obj if isinstance(x, KHandle) else x for name, x in variables.items()}
    # the k-api's optimizers and schedulers have torch's in them
    return {name: getattr(x, "torch", x) for name, x in objects.items()}


def _variables(frame: types.FrameType) -> dict[str, Any]:
    return dict(frame.f_locals)


def _forget(frame: types.FrameType) -> None:
    """Let a frame not keep the copy of its variables that asking for them made (before Python 3.13)."""
    if frame.f_code.co_flags & OPTIMIZED and frame.f_locals.__class__ is dict:
        frame.f_locals.clear()


# optimizers whose modules were looked for among all objects, and what was found
_HOLDERS: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class _Found:
    """Objects by name; the first one of a name has it."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._known: set[int] = set()

    def add(self, variables: Mapping[str, Any]) -> None:
        """Add the variables of a function or module; an object may have several names."""
        for name, x in variables.items():
            if name in self.names or not _is_name(name):
                continue
            if _is_live(x):
                self._known.add(id(x))
                # the program's own would keep the graph of the loss
                self.names[name] = x.detach() if getattr(x, "grad_fn", None) is not None else x
            elif _is_plain(x) and registry.find("api", name) is None:
                self.names[name] = x

    def add_attributes(self, holders: Iterable[Any]) -> None:
        for holder in holders:
            attributes = _attributes(holder)
            for name, x in (attributes or {}).items():
                if name not in self.names and _is_object(x) and id(x) not in self._known:
                    self.add({name: x})

    def add_unnamed(self, stepped: Iterable[Any]) -> None:
        """Optimizers that no variable has, and modules whose parameters they step."""
        for optimizer in stepped:
            if not any(_steps(x, optimizer) for x in self.names.values()):
                self._name("optimizer", optimizer)
            self._add_module_of(optimizer)

    def _add_module_of(self, optimizer: Any) -> None:
        mine = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if any(mine & {id(p) for p in m.parameters()} for m in self._modules()):
            return
        if optimizer not in _HOLDERS:  # it takes a while to look
            holders = [m for m in _all_modules() if mine <= {id(p) for p in m.parameters()}]
            smallest = min(holders, key=lambda m: sum(1 for _ in m.modules()), default=None)
            _HOLDERS[optimizer] = None if smallest is None else weakref.ref(smallest)
        holder = _HOLDERS[optimizer]
        module = holder() if holder is not None else None
        if module is not None:
            self._name("model", module)

    def _modules(self) -> Iterator[Any]:
        return (x for x in self.names.values() if isinstance(x, sys.modules["torch"].nn.Module))

    def _name(self, name: str, x: Any) -> None:
        free = next(
            n for i in range(len(self.names) + 2) if (n := f"{name}{i or ''}") not in self.names
        )
        self.names[free] = x
        self._known.add(id(x))


def _is_name(name: str) -> bool:
    try:
        check(name)
    except QError:
        return False
    return name[:1] != "_"


def _is_plain(x: Any) -> bool:
    """Is it a number or a short text? Others are not copied for a glance."""
    return type(x) in _PLAIN and not (type(x) is str and len(x) > _LONGEST)


def _is_live(x: Any) -> bool:
    """Is it an object with a handle: a tensor, module, optimizer or scheduler?"""
    return issubclass(type(x), sys.modules["torch"].Tensor) or _is_object(x)


def _is_object(x: Any) -> bool:
    """Is it a module, optimizer or scheduler?"""
    torch: Any = sys.modules["torch"]
    cls = type(x)
    if cls.__module__ == "builtins":
        return False
    return (
        issubclass(cls, (torch.nn.Module, torch.optim.Optimizer))
        or host_schedulers.proper(x) is not None
        or host_wrappers.is_optimizer(x)
    )


def _attributes(x: Any) -> dict[str, Any] | None:
    """The attributes of an object of the program or a library; None of what has none that could be of interest."""
    cls = type(x)
    if cls.__module__ in ("builtins", "types", "typing", "numpy") or issubclass(
        cls, (type, types.ModuleType, sys.modules["torch"].nn.Module)
    ):
        return None
    try:
        attributes = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None
    return attributes if attributes.__class__ is dict else None


def _steps(x: Any, optimizer: Any) -> bool:
    """Is it this optimizer, or a wrapper around it?"""
    return x is optimizer or (
        host_wrappers.is_optimizer(x) and any(y is optimizer for y in host_wrappers.chain(x))
    )


def _all_modules() -> list[Any]:
    """All modules of the process: a look at every object, for a program that keeps its model where nobody looks."""
    module = sys.modules["torch"].nn.Module
    return [x for x in gc.get_objects() if issubclass(type(x), module)]
