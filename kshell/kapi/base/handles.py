"""Handles: q values that own torch objects; the session's handle table; behaviours registered by class.

A handle keeps its torch object alive through Python's reference count, so an object is freed when no q value refers to
it. `free` does so earlier; the handle then raises 'stale pointer.

A function that takes ownership of its arguments (`model`, `vector`, `dict`, a module put into another) borrows them:
the handles get their objects back when the whole is freed or unreferenced, so a failed line loses nothing.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from kshell.errors import QError
from kshell.values.base.core import Sym, Value
from kshell.values.base.functions import Handle
from kshell.values.session.context import CODE, LINE, running
from kshell.values.session.interrupts import brief, edit

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


class KHandle(Handle):
    """Base class of the k-api's handles. `obj` is the owned object (GONE once freed), `kind` its class name in q,
    `usage` a hint on how to use an object that is not a function. `lent` is set while the object is part of another
    handle's. `why` is set when it is freed: the reason, and the q code that ran."""

    __slots__ = ("lent", "obj", "why")
    kind = ""
    lent: Lending | None
    usage = ""
    plural = ""  # in messages
    values = "state"  # the function that returns its content as a q value
    obj: Any

    def __init__(self, obj: Any) -> None:
        self.obj = obj
        self.number = next(_NUMBERS)
        table().add(self)

    @property
    def unsaved(self) -> str:  # type: ignore[override]
        return f"type: expected a value, given a {self.kind} ({self.values} x is one; a snapshot keeps it as it is)"

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
        return ask("monad", self, name)

    def dyad(self, name: str, x: Value, y: Value) -> Value:
        return ask("dyad", self, name, x, y)

    def index(self, args: Sequence[Value]) -> Value:
        return ask("at", self, args)

    def reached(self, name: str) -> str:
        fn = behaves("reached", self)
        return "" if fn is None or self.obj is GONE else str(fn(self, name))

    @edit("amend")
    def amend(self, args: Sequence[Value], f: Value, y: Value) -> Value:
        return ask("amend", self, args, f, y)

    def undo(self, args: Sequence[Value]) -> Callable[[], None]:
        return ask("undo", self, args)

    def same(self, other: Value) -> bool:
        return self is other or (
            other.__class__ is self.__class__
            and bool(behaves("same", self))
            and ask("same", self, other)
        )

    def length(self) -> int:
        return ask("length", self) if self.folded else super().length()

    def choose(self, x: Value, y: Value, z: Value) -> Value:
        return ask("choose", self, x, y, z)

    def rows(self) -> list[Value]:
        return ask("rows", self) if self.folded else [self]

    def __repr__(self) -> str:
        return f"{self.kind}#{self.number}"


class TensorHandle(KHandle):
    """A tensor; obj is a torch.Tensor, or None for the undefined tensor."""

    __slots__ = ()
    folded = True
    kind, plural, values = "tensor", "tensors", "tensor"


class VectorHandle(KHandle):
    """A vector of tensors; obj is a Python list of tensors."""

    __slots__ = ()
    kind, plural, values = "vector", "vectors", "vector"

    def parts(self) -> list[Value]:
        return [TensorHandle(t) for t in self.get()]


class DictHandle(KHandle):
    """A dictionary of tensors; obj is a Python dict of names and tensors."""

    __slots__ = ()
    kind, plural, values = "dictionary", "dictionaries", "dict"


class ModuleHandle(KHandle):
    """A module; obj is a torch.nn.Module."""

    __slots__ = ()
    kind, plural, usage = "module", "modules", "forward(m;x) is its output"


class LossHandle(KHandle):
    """A loss; obj is the loss module."""

    __slots__ = ()
    kind, plural, usage = "loss", "losses", "loss(l;x;y) is its value"


class OptimizerHandle(KHandle):
    """An optimizer; obj is an object from kapi/optim/optimizer.py."""

    __slots__ = ()
    kind, plural, usage = "optimizer", "optimizers", "step o makes a step"


class ModelHandle(KHandle):
    """A model: module, loss and optimizer together; obj is an object from kapi/train/model.py."""

    __slots__ = ()
    kind, plural, usage = "model", "models", "forward(k;x) is its output"


class SchedulerHandle(KHandle):
    """A learning-rate scheduler; obj is an object from kapi/optim/scheduler_types.py."""

    __slots__ = ()
    kind, plural = "scheduler", "schedulers"


class RuleHandle(KHandle):
    """A scaling rule for learning rates; obj is an object from families/adaptdl/api.py."""

    __slots__ = ()
    kind, plural = "rule", "rules"


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
def give_back(lending: Any) -> None:
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
        self.state: dict[
            str, Any
        ] = {}  # the session's default dtype, settings, ..., by the file that owns the key

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
            if h is not None and h.obj is not GONE:
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


def tensor_handle(t: Any) -> TensorHandle:
    """A new handle for a tensor (None: the undefined tensor)."""
    return TensorHandle(t)


def vector_handle(tensors: Iterable[Any]) -> VectorHandle:
    """A new handle for a list of tensors."""
    return VectorHandle(list(tensors))


def dict_handle(tensors: dict[str, Any]) -> DictHandle:
    """A new handle for a dictionary of tensors by name."""
    return DictHandle(dict(tensors))


def module_handle(m: Any) -> ModuleHandle:
    """A new handle for a module."""
    return ModuleHandle(m)


def loss_handle(m: Any) -> LossHandle:
    """A new handle for a loss."""
    return LossHandle(m)


def optimizer_handle(o: Any) -> OptimizerHandle:
    """A new handle for an optimizer."""
    return OptimizerHandle(o)


def model_handle(m: Any) -> ModelHandle:
    """A new handle for a model."""
    return ModelHandle(m)


def scheduler_handle(s: Any) -> SchedulerHandle:
    """A new handle for a scheduler."""
    return SchedulerHandle(s)


def rule_handle(r: Any) -> RuleHandle:
    """A new handle for a scaling rule."""
    return RuleHandle(r)


# ------------------------------------------------------------------ asking


def handle(x: Value) -> KHandle | None:
    """x if it is a live handle, None if it is not a handle; 'stale pointer if it was freed."""
    if isinstance(x, KHandle):
        if x.obj is GONE:
            raise stale(x)
        return x
    return None


def stale(h: KHandle) -> QError:
    """The error for using a freed handle; its hint says what freed it."""
    why, code = getattr(h, "why", ("was freed", None))
    line = LINE[0](code) if code is not None else ""
    return QError(STALE, hint=f"the {h.kind} {why}" + (f" by: {line}" if line else ""))


def kind_of(x: Value, cls: type[H]) -> H | None:
    """x if it is a live handle of the class, else None; 'stale pointer if x is any freed handle."""
    h = handle(x)
    return h if isinstance(h, cls) else None


_BEHAVIOURS: dict[str, dict[type, Callable[..., Any]]] = {}


def behaviour(name: str, *classes: type[KHandle]) -> Callable[[F], F]:
    """Register how handles of these classes do `name`: fn(handle, ...). The file that owns a class registers its
    behaviours.

    Behaviours in use: monad dyad at amend undo (q's operators); parameters(h) -> the tensors, named: [(name, tensor)];
    holds(h) -> objects it refers to; size elements bytes tensorcount objtype device dtype (an attribute as a q value);
    zerograd nograd backward step lr to sync gradflag str info detail options help.
    """

    def register(fn: F) -> F:
        rows = _BEHAVIOURS.setdefault(name, {})
        for cls in classes:
            if cls in rows:
                raise ValueError(f"{name} of {cls.__name__} is registered twice")
            rows[cls] = fn
        return fn

    return register


def behaves(name: str, h: KHandle) -> Callable[..., Any] | None:
    """The function for `name` in this handle's class, or None."""
    return _BEHAVIOURS.get(name, {}).get(h.__class__)


# text to the right of a call's list becomes part of it: the hint where an operator meets a call's arguments
JOINED = "the result of a call is f[(a;b)], not f(a;b)"


def article(kind: str) -> str:
    """A noun with its article: a module, an optimizer."""
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def _index_hint(h: KHandle, given: Sequence[Value]) -> str:
    """A hint for `h i` or h[i;..] on a handle without indexing: the call to write instead."""
    own = h.reached(given[0].s) if len(given) == 1 and given[0].__class__ is Sym else ""
    if own:
        return f"{article(h.kind)} has no index: {own}"
    return f"{article(h.kind)} is not a function: {h.usage}" if h.usage else ""


def ask(name: str, h: KHandle, *args: Any) -> Any:
    """Do `name` for a handle by its class; `name: not implemented for modules` if its class does not support it."""
    if h.obj is GONE:
        raise stale(h)
    fn = _BEHAVIOURS.get(name, {}).get(h.__class__)
    if fn is None:
        call = args[0] if name in ("monad", "dyad") else "index" if name == "at" else name
        call = "condition" if call == "item" else call
        raise QError(
            f"{call}: not implemented for {h.plural}" + (f"; {JOINED}" if name == "dyad" else ""),
            hint=_index_hint(h, args[0]) if name == "at" else "",
        )
    return fn(h, *args)
