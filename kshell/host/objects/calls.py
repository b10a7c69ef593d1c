"""The calls of a program's outermost modules, noted so that they can be repeated, layer by layer.

Which modules are called outermost is found out in the first steps, for which `Module.__call__` is another function;
from then on these modules have a hook. What a call changes in plain attributes of its modules, as a counter, is noted
too, so that the repeated call begins with the same.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections import deque
from collections.abc import Iterator
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.host.objects.generators import Random
from kshell.host.objects.parts import local

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

MOST = 16  # calls that are kept; a loss is of the last ones
STEPS = 2  # steps in which outermost modules are looked for
_PLAIN = (int, float, bool, str)
Attribute = tuple[
    dict[str, Any], str, Any
]  # the attributes of a module, the name of one, its value


class _Outer:
    """A module that the program itself calls."""

    def __init__(self, module: Module) -> None:
        self.ref = weakref.ref(module)
        self.draws = False  # does a call draw random numbers?
        self.counters: list[tuple[dict[str, Any], str]] = []  # attributes that a call changes
        self.hook: Any = None

    def compare(self, before: list[Attribute], random: Random) -> None:
        """Find out what a call changed: plain attributes, and the state of random numbers."""
        self.counters = [(x, key) for x, key, value in before if x.get(key) is not value]
        self.draws = random.has_drawn()


class Call(NamedTuple):
    """A call of an outermost module, and the state before it that the call depends on."""

    outer: _Outer
    args: list[Any]
    kwargs: dict[str, Any]
    made: list[Tensor]  # the arguments that other modules made
    random: Random | None  # None if it draws no numbers
    attributes: list[Attribute]
    casts: list[tuple[str, Any]]


class Bad(NamedTuple):
    """Where a value is not finite: the name of the layer, and the rows of the batch."""

    layer: str
    rows: list[int]


class Calls:
    """The calls since the last backward pass."""

    def __init__(self, thread: int) -> None:
        self.thread = thread  # the one that trains
        self._outer: dict[int, _Outer] = {}
        self._kept: deque[Call] = deque(maxlen=MOST)
        self._are_old = True  # are those that are kept of a loss that was looked at?
        self._steps = 0  # for which outermost modules are still looked for
        self._has_called = False  # in this step
        self._original: Any = None  # Module.__call__, while another one is in its place
        self.repeating = False

    def begin(self) -> None:
        """Note calls from now on."""
        self._steps = STEPS
        self._put()

    def end(self) -> None:
        """Note no more."""
        self._steps = 0
        self._take_away()
        for outer in self._outer.values():
            outer.hook.remove()
        self._outer.clear()
        self._kept.clear()

    def looked_at(self) -> None:
        """The loss of these calls was looked at: the next call begins anew."""
        self._are_old = True

    def step_is_plain(self) -> bool:
        """Is a step about to be made after which `step_ended` has nothing to do?"""
        if self._steps or not self._has_called:
            return False
        self._has_called = False
        return True

    def step_ended(self) -> None:
        """A step has ended. If nothing was called in it that is known, look for what is."""
        if self._steps:
            self._steps -= 1
            if not self._steps:
                self._take_away()
        elif not self._has_called:
            self.begin()
        self._has_called = False

    # ------------------------------------------------------------ outermost modules

    def _put(self) -> None:
        """Put a function in the place of Module.__call__ that notes the outermost ones."""
        import torch

        cls: Any = torch.nn.Module
        if self._original is not None:
            return
        original = self._original = cls.__call__

        @functools.wraps(original)
        def called(module: Module, *args: Any, **kwargs: Any) -> Any:
            if get_ident() != self.thread or not torch.is_grad_enabled():
                return original(module, *args, **kwargs)
            self._take_away()  # modules inside are not outermost
            try:
                return self._first(module, original, args, kwargs)
            finally:
                if self._steps:
                    self._put()

        cls.__call__ = called

    def _take_away(self) -> None:
        import torch

        cls: Any = torch.nn.Module
        if self._original is not None:
            cls.__call__, self._original = self._original, None

    def _first(self, module: Module, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of an outermost module; its first one tells what it changes."""
        known = self._outer.get(id(module))
        if known is not None and known.ref() is module:
            return call(module, *args, **kwargs)
        outer = _Outer(module)
        random, before = Random(), list(_plain(module))
        self._keep(outer, args, kwargs, random, before)
        try:
            return call(module, *args, **kwargs)
        finally:
            outer.compare(before, random)
            if known is not None:
                known.hook.remove()
            with contextlib.suppress(RuntimeError):  # scripted modules take no hooks
                outer.hook = module.register_forward_pre_hook(self._noting(outer), with_kwargs=True)
                self._outer[id(module)] = outer

    # ------------------------------------------------------------ noting

    def _noting(self, outer: _Outer) -> Any:
        from torch import is_grad_enabled

        def called(module: Module, args: Any, kwargs: dict[str, Any]) -> None:
            if self.repeating or not is_grad_enabled() or get_ident() != self.thread:
                return
            attributes = [(x, key, x.get(key)) for x, key in outer.counters]
            self._keep(outer, args, kwargs, Random() if outer.draws else None, attributes)

        return called

    def _keep(self, outer: _Outer, args: Any, kwargs: Any, random: Any, attributes: Any) -> None:
        self._has_called = True
        if self._are_old:
            self._kept.clear()
            self._are_old = False
        made: list[Tensor] = []
        # without the graph, which is the program's to let go
        given = [_apart(x, made) for x in args]
        self._kept.append(Call(outer, given, kwargs, made, random, attributes, _casts()))

    # ------------------------------------------------------------ repeating

    def made_rows(self) -> list[int]:
        """The rows of what one module gave to another that are not finite."""
        found = (rows_of(t) for call in self._kept for t in call.made)
        return next((rows for rows in found if rows), [])

    def batch(self) -> int:
        """The rows of the batch; 0 if that is not known."""
        sizes = (len(t) for call in self._kept for t in _all_tensors(call) if t.dim())
        return next(sizes, 0)

    def repeat(self, names: dict[int, str]) -> Bad | None:
        """Call the modules again, and find the first layer whose output is not finite; an input that is not finite is
        named as the input. None if there is none, or if that cannot be repeated. `names` are those of layers, by the
        id of the module."""
        for call in list(self._kept):
            if any(map(rows_of, call.made)):  # the call that made it had no bad output this time
                return None
            for t in tensors_in((call.args, call.kwargs)):
                if not any(t is x for x in call.made) and rows_of(t):
                    return Bad("the input", rows_of(t))
            module: Any = call.outer.ref()
            # of compiled modules and those of a job, the module inside, which waits for nobody
            for wrapper in ("_orig_mod", "module"):
                if wrapper == "_orig_mod" or type(module).__name__ == "DistributedDataParallel":
                    module = getattr(module, wrapper, module)
            if module is None or any(hasattr(p, "placements") for p in module.parameters()):
                continue
            found = self._repeated(call, module, names)
            if found is not None:
                return found
        return None

    def _repeated(self, call: Call, module: Module, names: dict[int, str]) -> Bad | None:
        import torch

        found: list[Bad] = []
        hooks = [
            m.register_forward_hook(_finding(names.get(id(m), name), found))
            for name, m in module.named_modules()
            if not any(True for _ in m.children())
        ]
        buffers = [(b, b.detach().clone()) for b in map(local, module.buffers())]
        now, attributes = Random(), [(x, key, x.get(key)) for x, key, _ in call.attributes]
        self.repeating = True
        try:
            if call.random is not None:
                call.random.restore()
            _set_attributes(call.attributes)
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.no_grad())
                for device, dtype in call.casts:
                    stack.enter_context(torch.autocast(device, dtype))
                module(*call.args, **call.kwargs)
        except _Found:
            pass
        finally:
            self.repeating = False
            for hook in hooks:
                hook.remove()
            with torch.no_grad():
                for b, copy in buffers:
                    b.copy_(copy)
            _set_attributes(attributes)
            now.restore()
        return found[0] if found else None


class _Found(Exception):
    """The layer was found; the rest of the call is of no interest."""


def _finding(name: str, found: list[Bad]) -> Any:
    def hook(module: Module, args: Any, output: Any) -> None:
        for t in tensors_in(output):
            rows = rows_of(t)
            if rows:
                found.append(Bad(name, rows))
                raise _Found

    return hook


def _apart(x: Any, made: list[Tensor]) -> Any:
    """An argument; of a tensor that was computed, one without what it was computed by."""
    if getattr(x, "grad_fn", None) is None:
        return x
    made.append(x.detach())
    return made[-1]


def _plain(module: Module) -> Iterator[Attribute]:
    """The attributes of a module, and of those in it, that are numbers and texts."""
    for m in module.modules():
        for key, x in vars(m).items():
            if type(x) in _PLAIN:
                yield vars(m), key, x


def _set_attributes(attributes: list[Attribute]) -> None:
    for x, key, value in attributes:
        x[key] = value


def _casts() -> list[tuple[str, Any]]:
    """The devices with autocast, and its types."""
    import torch

    return [
        (device, torch.get_autocast_dtype(device))
        for device in ("cpu", "cuda")
        if torch.is_autocast_enabled(device)
    ]


def _all_tensors(call: Call) -> Iterator[Tensor]:
    from torch import Tensor
    from torch.utils._pytree import tree_leaves

    leaves = tree_leaves((call.args, call.kwargs))
    return (leaf for leaf in leaves if isinstance(leaf, Tensor))


def tensors_in(x: Any) -> Iterator[Tensor]:
    """The floating-point tensors in a value."""
    from torch import Tensor
    from torch.utils._pytree import tree_leaves

    return (
        leaf for leaf in tree_leaves(x) if isinstance(leaf, Tensor) and leaf.is_floating_point()
    )


def rows_of(t: Tensor) -> list[int]:
    """The rows, by the first dimension, with values that are not finite; the row of a number is 0."""
    import torch

    if not t.numel():
        return []
    bad = ~torch.isfinite(local(t).detach())
    rows: list[int] = (
        bad.reshape(len(bad) if bad.dim() else 1, -1).any(1).nonzero().flatten().tolist()
    )
    return rows
