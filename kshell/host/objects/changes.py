"""What a query changes in the objects of a training program, and how to put it back.

Before a query the structure is noted: options of parameter groups, states, the parts of modules, flags. A tensor that
is about to be written is copied first, which torch's dispatch says of every operation; so a query that changes nothing
copies nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.host.objects.parts import alone, check_written, local
from kshell.kapi.checkpoint.unwritten import storage_of, written

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

LONGEST = 200  # characters of a value in the log
_PARTS = ("_parameters", "_buffers", "_modules")


class Change(NamedTuple):
    """One difference: where, the value before and after as texts, and how to put back the one before."""

    where: str
    before: str
    after: str
    undo: Callable[[], None]


class Before:
    """The state of named objects before a query: modules, optimizers and schedulers."""

    def __init__(self, objects: dict[str, Any]) -> None:
        import torch

        kinds = torch.nn.Module, torch.optim.Optimizer
        self.modules = [(n, _Module(m, n)) for n, m in objects.items() if isinstance(m, kinds[0])]
        self.optimizers = [
            (n, _Optimizer(o)) for n, o in objects.items() if isinstance(o, kinds[1])
        ]
        self.others = [
            (n, x, _shallow(vars(x))) for n, x in objects.items() if not isinstance(x, kinds)
        ]
        self.tensors: dict[int, list[tuple[str, Tensor]]] = {}  # by storage
        for name, module in self.modules:
            for path, t in module.tensors():
                self._know(f"{name}.{path}", t)
        for name, optimizer in self.optimizers:
            for path, t in optimizer.tensors():
                self._know(f"{name}.{path}", t)
        # those whose storage was written, each with a copy of what it was
        self.copies: dict[int, list[tuple[str, Tensor, Tensor]]] = {}

    def _know(self, name: str, t: Tensor) -> None:
        t = local(t)
        key = storage_of(t)
        if key and not any(x is t for _, x in self.tensors.get(key, ())):
            self.tensors.setdefault(key, []).append((name, t))

    def watching(self) -> Any:
        """A context manager: inside it, tensors that were there before are copied when they are about to be written."""
        return _mode()(self)

    def about_to_write(self, t: Tensor) -> None:
        """An operation is about to write a tensor."""
        key = storage_of(t)
        check_written(key)
        if key in self.tensors and key not in self.copies:
            self.copies[key] = [(name, x, x.detach().clone()) for name, x in self.tensors[key]]

    def changes(self) -> list[Change]:
        """The differences from then to now."""
        found: list[Change] = []
        seen: set[int] = set()
        for name, module in self.modules:
            found += module.changes(name, seen)
        for name, optimizer in self.optimizers:
            found += optimizer.changes(name)
        for name, x, attributes in self.others:
            found += _attribute_changes(name, x, attributes)
        for name, t, copy in (x for several in self.copies.values() for x in several):
            # a part may have no elements here, and its edit is the same in all processes
            if not t.numel() or not _same(t, copy):
                found.append(Change(name, _summary(copy), _summary(t), _writer(t, copy)))
        return found


class _Module:
    """The parts of a module and of all modules in it, and the flags of its parameters."""

    def __init__(self, module: Module, name: str) -> None:
        self.parts = [
            (path, m, [dict(getattr(m, part)) for part in _PARTS], m.training)
            for path, m in module.named_modules()
        ]
        self.flags = [
            (path, p, p.requires_grad, local(p).detach()) for path, p in module.named_parameters()
        ]

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        for path, _, (parameters, buffers, _), _ in self.parts:
            for name, t in (*parameters.items(), *buffers.items()):
                if t is not None:
                    yield f"{path}.{name}" if path else name, t

    def changes(self, name: str, seen: set[int]) -> Iterator[Change]:
        """The differences, but of modules that were looked at already."""
        for path, m, parts, training in self.parts:
            if id(m) in seen:
                continue
            seen.add(id(m))
            where = f"{name}.{path}" if path else name
            for part, before in zip(_PARTS, parts, strict=True):
                now = getattr(m, part)
                if _unlike(now, before):
                    names = [k for k in (*before, *now) if now.get(k) is not before.get(k)]
                    first = names[0] if names else ""
                    yield Change(
                        f"{where}.{first}".rstrip("."),
                        _kind(before.get(first)),
                        _kind(now.get(first)),
                        _filler(now, before),
                    )
            if m.training != training:
                yield Change(
                    f"{where} training",
                    str(training),
                    str(m.training),
                    lambda m=m, t=training: setattr(m, "training", t),  # type: ignore[misc]
                )
        for path, p, flag, data in self.flags:
            if id(p) in seen:
                continue
            seen.add(id(p))
            if p.requires_grad != flag:
                yield Change(
                    f"{name}.{path} requires_grad",
                    str(flag),
                    str(p.requires_grad),
                    lambda p=p, f=flag: p.requires_grad_(f),  # type: ignore[misc]
                )
            now = local(p)
            if now.data_ptr() != data.data_ptr() or now.shape != data.shape:
                yield Change(f"{name}.{path}", _summary(data), _summary(now), _replacer(p, data))


class _Optimizer:
    """The groups and states of an optimizer."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.groups = [(group, _shallow(group)) for group in optimizer.param_groups]
        self.states = {p: (state, dict(state)) for p, state in optimizer.state.items()}

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        import torch

        for i, (state, _) in enumerate(self.states.values()):
            for name, t in state.items():
                if isinstance(t, torch.Tensor):
                    yield f"state[{i}].{name}", t

    def changes(self, name: str) -> Iterator[Change]:
        now = self.optimizer.param_groups
        if [id(g) for g in now] != [id(g) for g, _ in self.groups]:
            before = [group for group, _ in self.groups]
            yield Change(f"{name} groups", str(len(before)), str(len(now)), _refill(now, before))
        for i, (group, options) in enumerate(self.groups):
            for key in dict.fromkeys((*options, *group)):
                if _differs(options.get(key), group.get(key)):
                    yield Change(
                        f"{name} group {i} {key}",
                        _text(options.get(key)),
                        _text(group.get(key)),
                        _setter(group, key, options),
                    )
        states = self.optimizer.state
        changed = [p for p in (*self.states, *states) if self._differs(states, p)]
        if changed:
            yield Change(
                f"{name} state",
                f"of {len(self.states)} parameters",
                f"of {len(states)} parameters",
                self._state_back,
            )

    def _differs(self, states: Any, p: Tensor) -> bool:
        if p not in self.states or p not in states:
            return True
        state, before = self.states[p]
        return states[p] is not state or _unlike(state, before)

    def _state_back(self) -> None:
        states = self.optimizer.state
        states.clear()
        for p, (state, before) in self.states.items():
            state.clear()
            state.update(before)
            states[p] = state


# ------------------------------------------------------------------ comparing


def _shallow(attributes: dict[str, Any]) -> dict[str, Any]:
    """A copy of attributes in which lists are copied too."""
    return {k: list(x) if x.__class__ is list else x for k, x in attributes.items()}


def _unlike(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    return list(now) != list(before) or any(now[k] is not before[k] for k in now)


def _differs(before: Any, now: Any) -> bool:
    """Are two values of options unlike? Tensors and other objects are compared by identity."""
    if before is now:
        return False
    if before.__class__ is list and now.__class__ is list:
        return len(before) != len(now) or any(map(_differs, before, now))
    plain = (int, float, bool, str, tuple, type(None))
    return not (isinstance(before, plain) and isinstance(now, plain) and before == now)


def _attribute_changes(name: str, x: Any, before: dict[str, Any]) -> Iterator[Change]:
    now = vars(x)
    for key in dict.fromkeys((*before, *now)):
        if key[:8] != "_kshell_" and _differs(before.get(key), now.get(key)):
            yield Change(
                f"{name} {key}",
                _text(before.get(key)),
                _text(now.get(key)),
                _setter(now, key, before),
            )


def _same(t: Tensor, copy: Tensor) -> bool:
    import torch

    if t.shape != copy.shape or t.dtype != copy.dtype:
        return False
    with torch.no_grad():
        return torch.equal(t.detach(), copy) or bool(
            t.is_floating_point() and torch.allclose(t.detach(), copy, 0.0, 0.0, equal_nan=True)
        )


# ------------------------------------------------------------------ putting back


def _setter(now: dict[str, Any], key: str, before: dict[str, Any]) -> Callable[[], None]:
    def undo() -> None:
        if key not in before:
            now.pop(key, None)
        elif before[key].__class__ is list and now.get(key).__class__ is list:
            now[key][:] = before[key]
        else:
            now[key] = before[key]

    return undo


def _filler(now: dict[str, Any], before: dict[str, Any]) -> Callable[[], None]:
    def undo() -> None:
        now.clear()
        now.update(before)

    return undo


def _refill(now: list[Any], before: list[Any]) -> Callable[[], None]:
    def undo() -> None:
        now[:] = before

    return undo


def _writer(t: Tensor, copy: Tensor) -> Callable[[], None]:
    def undo() -> None:
        import torch

        with torch.no_grad():
            t.detach().copy_(copy)

    return undo


def _replacer(p: Tensor, data: Tensor) -> Callable[[], None]:
    def undo() -> None:
        p.data = data

    return undo


# ------------------------------------------------------------------ texts


def _kind(x: Any) -> str:
    if x is None:
        return ""
    if hasattr(x, "named_modules"):
        return " ".join(repr(x).split())[:LONGEST]
    return _summary(x) if hasattr(x, "detach") else _text(x)


def _text(x: Any) -> str:
    if x is None:
        return ""
    if x.__class__ is list and any(hasattr(y, "detach") for y in x):
        return f"{len(x)} parameters"
    return _summary(x) if hasattr(x, "detach") else repr(x)[:LONGEST]


def _summary(t: Tensor) -> str:
    """The size of a tensor, and its value or norm."""
    t = local(t)
    if t.numel() == 1:
        return f"{t.detach().reshape(()).item():g}"
    size = "x".join(map(str, t.shape))
    return (
        f"{size}, norm {t.detach().double().norm().item():.6g}" if t.layout is _strided() else size
    )


def _strided() -> Any:
    import torch

    return torch.strided


_MODE: list[Any] = []


def _mode() -> Any:
    """A dispatch mode that tells a Before which tensors are about to be written."""
    if not _MODE:
        _MODE.append(_make())
    return _MODE[0]


def _make() -> type:
    from torch import Tensor
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Watching(TorchDispatchMode):
        def __init__(self, before: Before) -> None:
            super().__init__()
            self.before = before

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # otherwise torch imports its compiler at the first operation

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            args, kwargs = alone(func, types, args, kwargs or {})
            if func._schema.is_mutable:
                for leaf in tree_leaves(written(func._schema, args, kwargs)):
                    if isinstance(leaf, Tensor):
                        self.before.about_to_write(leaf)
            return func(*args, **kwargs)

    return Watching
