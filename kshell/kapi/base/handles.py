"""Handles: q values that own torch objects; the session's handle table; the classes of handles.

A handle keeps its torch object alive through Python's reference count, so an object is freed when no q value refers to
it. `free` ends it earlier: the handle then raises 'stale pointer.

A function that takes over its arguments (`model`, `vector`, `dict`, a module put into another) borrows them: they
return to their handles when the whole is freed or nothing refers to it any more, so a failing line loses nothing.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kshell.errors import SAID, CallError, QError
from kshell.kapi.base.handle_kind import ANSWERS, HandleKind
from kshell.registry import Hook
from kshell.values.base.core import Dict, List, Value, Vec
from kshell.values.base.functions import Foreign
from kshell.values.base.symbols import Sym
from kshell.values.session.context import CODE, LINE, running
from kshell.values.session.interrupts import brief, edit

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from kshell.kapi.optim.optimizer import Opt
    from kshell.kapi.optim.scheduler import Sched
    from kshell.kapi.optim.wraps import Wrap
    from kshell.kapi.train.model import Model

F = TypeVar("F", bound=Callable[..., Any])
H = TypeVar("H", bound="KHandle")


class _Gone:
    """Placeholder for the object of a freed handle."""

    def __repr__(self) -> str:
        return "<freed>"


GONE = _Gone()
STALE = "stale pointer"

# one sequence per process; 16 apart and eight digits, so that they look like addresses
_NUMBERS = itertools.count(50_000_016, 16)


LENT = "was lent to a function for the time of one call"  # why a temporary handle is stale


class KHandle(HandleKind):
    """Base class of the k-api's handles. `obj` is the owned object (GONE once freed), `kind` its class name in q,
    `usage` a hint on how to use an object that is not a function. `lent` is set if the object is part of another
    handle's. `why` is set when it is freed: the reason, and the q code that ran.

    A subclass with a `kind` is a kind of handle; kapi/base/handle_kind.py defines its interface.
    """

    __slots__ = ("lent", "obj", "why")
    lent: Lending | None
    obj: Any

    def __init__(self, obj: Any) -> None:
        self.obj = obj
        self.number = next(_NUMBERS)
        table().add(self)

    @property
    def freed(self) -> bool:
        return self.obj is GONE

    def get(self) -> Any:
        """The torch object; 'stale pointer if freed."""
        obj = self.obj
        if obj is GONE:
            raise stale(self)
        return obj

    def free(self, why: str = "") -> None:
        """Release the object; further use raises 'stale pointer. Parts lent to it return to their handles. `why` is the
        reason; by default, the running line."""
        self.obj = GONE
        self.lent = None
        self.why: tuple[str, Any] = (why, None) if why else ("was freed", CODE[0]())
        table().live.pop(self.number, None)
        for lending in lendings(self):
            give_back(lending)

    def monad(self, name: str) -> Value:
        if name == "first":
            return self.number
        if self.obj is GONE:
            raise stale(self)
        return self.do_monad(name)

    def dyad(self, name: str, x: Value, y: Value) -> Value:
        if self.obj is GONE:
            raise stale(self)
        return self.do_dyad(name, x, y)

    def index(self, args: Sequence[Value]) -> Value:
        self.get()
        return self.do_index(args)

    def reached(self, name: str) -> str:
        return "" if self.obj is GONE else self.do_reached(name)

    @edit("amend")
    def amend(self, args: Sequence[Value], f: Value | None, y: Value) -> Value:
        self.get()
        return self.do_amend(args, f, y)

    def undo(self, args: Sequence[Value]) -> Callable[[], None]:
        self.get()
        return self.do_undo(args)

    def same(self, other: Value) -> bool:
        return self is other or (other.__class__ is self.__class__ and self.do_same(other))

    def length(self) -> int:
        if not self.folded:
            return super().length()
        self.get()
        return self.do_length()

    def choose(self, x: Value, y: Value, z: Value) -> Value:
        self.get()
        return self.do_choose(x, y, z)

    def rows(self) -> list[Value]:
        if not self.folded:
            return [self]
        self.get()
        return self.do_rows()

    def __repr__(self) -> str:
        return f"{self.kind}#{self.number}"


class TensorHandle(KHandle):
    """A tensor; obj is a torch.Tensor, or None for the undefined tensor."""

    __slots__ = ()
    folded = True
    kind, values, cost = "tensor", "tensor", 400


class VectorHandle(KHandle):
    """A vector of tensors; obj is a Python list of tensors."""

    __slots__ = ()
    kind, values, shares, cost = "vector", "vector", False, 0

    def parts(self) -> list[Value]:
        return [TensorHandle(t) for t in self.get()]


class DictHandle(KHandle):
    """A dictionary of tensors; obj is a Python dict of names and tensors."""

    __slots__ = ()
    kind, plural, values, shares, cost = "dictionary", "dictionaries", "dict", False, 0


class ModuleHandle(KHandle):
    """A module; obj is a torch.nn.Module."""

    __slots__ = ()
    kind, usage, cost = "module", "forward(m;x) is its output", 8000

    def torch_module(self, call: str) -> Any:
        return self.obj


class LossHandle(KHandle):
    """A loss; obj is the loss module."""

    __slots__ = ()
    kind, plural, usage, cost = "loss", "losses", "loss(l;x;y) is its value", 8000

    def torch_module(self, call: str) -> Any:
        return self.obj


class OptimizerHandle(KHandle):
    """An optimizer; obj is an object from kapi/optim/optimizer.py."""

    __slots__ = ()
    kind, usage, cost = "optimizer", "step o makes a step", 12000

    def torch_module(self, call: str) -> Any:
        if self.obj.container is None:
            raise CallError(call, "no module registered with given optimizer", given=SAID)
        return self.obj.container

    def stepped(self) -> Opt | None:
        o: Opt = self.obj
        return o


class ModelHandle(KHandle):
    """A model: module, loss and optimizer together; obj is an object from kapi/train/model.py."""

    __slots__ = ()
    kind, usage, shares = "model", "forward(k;x) is its output", False

    def torch_module(self, call: str) -> Any:
        return self.obj.module

    def stepped(self) -> Opt | None:
        o: Opt = self.obj.optimizer
        return o


class SchedulerHandle(KHandle):
    """A learning-rate scheduler; obj is an object from kapi/optim/scheduler_types.py."""

    __slots__ = ()
    kind = "scheduler"


class RuleHandle(KHandle):
    """A scaling rule for learning rates; obj is an object from families/adaptdl/api.py."""

    __slots__ = ()
    kind = "rule"

    def stepped(self) -> Opt | None:
        o: Opt = self.obj.opt
        return o if o.wraps.get("scale") is self.obj else None


# ------------------------------------------------------------------ parts of wholes


class Lending(weakref.ref[KHandle]):
    """A record that the object of one handle, the part, is inside another's, the whole, which is referenced weakly.
    `kept` is the object if the part raises 'stale pointer meanwhile; GONE if both share the object."""

    __slots__ = ("kept", "part")
    part: weakref.ref[KHandle]
    kept: Any


def lend(parts: Iterable[Value], whole: KHandle, shared: bool = False) -> None:
    """Lend the objects of those values that are handles to a whole until it is freed. Shared parts stay usable; only
    functions about ownership (`mapped`, `class`, `obj`) leave them out."""
    for part in parts:
        if not isinstance(part, KHandle) or part is whole or part.obj is GONE:
            continue
        lending = Lending(whole, give_back)
        lending.part, lending.kept = weakref.ref(part), GONE if shared else part.obj
        part.lent = lending
        if not shared:
            part.obj = GONE
            part.why = "went into another object", CODE[0]()


@brief
def give_back(lending: Lending) -> None:
    """Return the object to a part's handle."""
    h, kept = lending.part(), lending.kept
    if h is not None and getattr(h, "lent", None) is lending:
        h.lent = None
        if h.obj is GONE:
            h.obj = kept


def lendings(whole: KHandle) -> list[Lending]:
    """The loans in which a handle is the whole."""
    return [
        getweakref for getweakref in weakref.getweakrefs(whole) if isinstance(getweakref, Lending)
    ]


def module_of(h: KHandle) -> Any:
    """The module of a module or model handle."""
    return h.obj if isinstance(h, ModuleHandle) else h.obj.module


def whole_of(h: KHandle) -> KHandle | None:
    """The handle to which a handle's object is lent; None if it is not lent."""
    lending = getattr(h, "lent", None)
    whole = lending() if lending is not None else None
    return None if whole is None or whole.obj is GONE else whole


# ------------------------------------------------------------------ the session's table


class HandleTable:
    """The live handles of one session, by number, referenced weakly. Also holds the k-api's per-session data."""

    def __init__(self) -> None:
        self.live: dict[int, weakref.ref[KHandle]] = {}
        self._sweep_at = 256
        # the session's default dtype, settings, ..., by the file that owns the key
        self.state: dict[str, Any] = {}

    def add(self, h: KHandle) -> None:
        live = self.live
        live[h.number] = weakref.ref(h)
        if len(live) > self._sweep_at:
            self.live = {key: value for key, value in live.items() if value() is not None}
            self._sweep_at = 2 * len(self.live) + 256

    def __iter__(self) -> Iterator[KHandle]:
        """The live handles, in order of creation."""
        for ref in list(self.live.values()):
            h = ref()
            if h is not None and not h.freed:
                yield h

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def free_all(self) -> None:
        """Free every live handle."""
        why = "was freed", CODE[0]()
        for ref in self.live.values():  # including those whose objects are lent
            h = ref()
            if h is not None:
                h.obj, h.lent, h.why = GONE, None, why
        self.live.clear()


_ALONE = HandleTable()  # for handles made by Python code without a running session


def table() -> HandleTable:
    """The handle table of the running session."""
    try:
        return running().handles
    except LookupError:
        return _ALONE


# ------------------------------------------------------------------ making handles


def tensor_handle(t: Tensor | None) -> TensorHandle:
    """A new handle for a tensor (None: the undefined tensor)."""
    return TensorHandle(t)


def vector_handle(tensors: Iterable[Any]) -> VectorHandle:
    """A new handle for a list of tensors."""
    return VectorHandle(list(tensors))


def dict_handle(tensors: dict[str, Any]) -> DictHandle:
    """A new handle for a dictionary of tensors by name."""
    return DictHandle(dict(tensors))


def module_handle(m: Module) -> ModuleHandle:
    """A new handle for a module."""
    return ModuleHandle(m)


def loss_handle(m: Module) -> LossHandle:
    """A new handle for a loss."""
    return LossHandle(m)


def optimizer_handle(o: Opt) -> OptimizerHandle:
    """A new handle for an optimizer."""
    return OptimizerHandle(o)


def model_handle(m: Model) -> ModelHandle:
    """A new handle for a model."""
    return ModelHandle(m)


def scheduler_handle(s: Sched) -> SchedulerHandle:
    """A new handle for a scheduler."""
    return SchedulerHandle(s)


def rule_handle(r: Wrap) -> RuleHandle:
    """A new handle for a scaling rule."""
    return RuleHandle(r)


# ------------------------------------------------------------------ asking


# the q value of a torch object of Python, None for anything else: kapi/console/adopt.py
ADOPT = Hook(lambda obj: None)


def handle(x: Value) -> KHandle | None:
    """x if it is a live handle; the handle of a torch object for one that is a Python object, bare or wrapped; None for
    anything else. 'stale pointer if it was freed."""
    if isinstance(x, KHandle):
        if x.obj is GONE:
            raise stale(x)
        return x
    if isinstance(x, Foreign):
        found = ADOPT.fn(x.obj)
        return found if isinstance(found, KHandle) else None
    return None


_LONG = 256  # items: a longer list is data, not arguments


def adopted(x: Value, depth: int = 3) -> Value:
    """x with handles in the place of Python objects that are torch's: x itself, items of lists and of dictionaries in
    it. All arguments of k-api functions go through here, so none has to know of such objects."""
    if x.__class__ is List:
        if depth and x.flat is None and len(x.items) <= _LONG:
            for i, item in enumerate(x.items):
                if item.__class__ not in _PLAIN:
                    new = adopted(item, depth - 1)
                    if new is not item:
                        done = (adopted(rest, depth - 1) for rest in x.items[i + 1 :])
                        return List([*x.items[:i], new, *done])
    elif x.__class__ is Dict and depth:
        values: Any = adopted(x.v, depth - 1)
        return x if values is x.v else Dict(x.k, values)
    elif isinstance(x, Foreign):
        found = ADOPT.fn(x.obj)
        return found if isinstance(found, KHandle) else x
    return x


_PLAIN = frozenset({Vec, Sym, int, float, bool})  # the usual arguments that hold no objects


def stale(h: KHandle) -> QError:
    """The error for using a freed handle; its hint says what freed it."""
    why, code = getattr(h, "why", ("was freed", None))
    line = LINE[0](code) if code is not None else ""
    return QError(STALE, hint=f"the {h.kind} {why}" + (f" by: {line}" if line else ""))


def kind_of(x: Value, cls: type[H]) -> H | None:
    """x if it is a live handle of the class, else None; 'stale pointer if x is any freed handle."""
    h = handle(x)
    return h if isinstance(h, cls) else None


def behaviour(name: str, *classes: type[KHandle]) -> Callable[[F], F]:
    """Add a method to classes from another file: fn(handle, ...). Its name must be in ANSWERS or HandleKind."""
    if name not in ANSWERS and not hasattr(HandleKind, name):
        raise ValueError(f"handles have no method {name}")
    own = isinstance(HandleKind.__dict__.get(name), classmethod)  # a class method: without a handle

    def register(fn: F) -> F:
        for cls in classes:
            if name in cls.__dict__:
                raise ValueError(f"{name} of {cls.__name__} is registered twice")
            setattr(cls, name, staticmethod(fn) if own else fn)
        return fn

    return register


def behaves(name: str, h: KHandle) -> Callable[..., Any] | None:
    """The function for `name` in this handle's class, or None."""
    return getattr(h.__class__, name, None)


def ask(name: str, h: KHandle, *args: Any) -> Any:
    """Do `name` for a handle by its class; `name: not implemented for modules` if its class does not support it."""
    if h.obj is GONE:
        raise stale(h)
    fn = getattr(h.__class__, name, None)
    if fn is None:
        raise h.refusal(name)
    return fn(h, *args)
