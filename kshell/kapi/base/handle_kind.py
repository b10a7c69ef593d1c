"""The interface of handle classes. A new kind of handle is one class; no list has to be edited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.entry_kinds import same_class
from kshell.errors import QError
from kshell.values.base.core import Value
from kshell.values.base.functions import Handle
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from kshell.kapi.optim.optimizer import Opt

# Methods without a default: if a class lacks one, calls that need it fail with "size: not implemented for rules".
# Unless stated otherwise they take no arguments and return a q value.
ANSWERS = {
    "size": "number of items",
    "elements": "number of elements stored by its tensors",
    "numel": "number of elements in its tensors",
    "bytes": "memory of its tensors",
    "tensorcount": "number of tensors",
    "objtype": "its type, for example `linear for a module",
    "device": "its device",
    "dtype": "the data types of its tensors",
    "ktype": "the q types of its tensors",
    "gradient": "whether gradients are computed",
    "gradflag": "get or set whether gradients are computed; takes names and a flag",
    "options": "options it was created with",
    "help": "text for `help`",
    "info": "properties",
    "detail": "all properties",
    "str": "its text",
    "state": "options and state; takes a flag that includes options at their defaults",
    "parameters": "pairs of parameter names and tensors",
    "zerograd": "set gradients to 0",
    "nograd": "remove gradients",
    "backward": "compute gradients; like the methods down to `shuffle`, takes the arguments after the handle",
    "step": "take a step",
    "lr": "get or set learning rates",
    "loss": "compute a loss",
    "batch": "show the next batch, or that with a number",
    "restore": "show all data again",
    "shuffle": "shuffle the data",
    "to": "move or convert its tensors in place; takes TensorOptions and whether to wait for the copy",
    "copyto": "a handle of a moved or converted copy; same arguments",
    "to_q": "the q value for `return`",
    "checkpoint": "contents for `ckpt`: a tensor, or dictionaries and lists of tensors and plain values",
}
TAKEN = ("storage", "generator", "handle")  # snapshot records that are not objects of handles
KINDS: dict[str, type[Any]] = {}  # handle classes by `kind`; each registers itself


class HandleKind(Handle):
    """Base class of all kinds. The attributes and methods here, and those in ANSWERS, define how kinds differ. A kind's
    class defines them, or another file adds them with `behaviour`."""

    __slots__ = ()
    kind = ""  # result of `class`
    plural = ""  # in messages; default: the kind plus s
    usage = ""  # how to use an object that is not a function
    values = "state"  # function that returns its content as a q value
    shares = True  # may several handles share an object, as with `addref`?
    # approximate bytes of memory needed to read an object from a snapshot, besides its arrays; 0 if objects have no
    # record of their own and are stored in that of the handle (`form`)
    cost = 6000
    obj: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        word = cls.__dict__.get("kind")
        if not word:
            return
        if word in TAKEN or (word in KINDS and not same_class(KINDS[word], cls)):
            raise ValueError(f"handle {word} is registered twice")
        if "plural" not in cls.__dict__:
            cls.plural = word + "s"
        KINDS[word] = cls

    @property
    def unsaved(self) -> str:  # type: ignore[override]
        return f"type: expected a value, given a {self.kind} ({self.values} x is one; a snapshot keeps it as it is)"

    def refusal(self, call: str, more: str = "", hint: str = "") -> QError:
        """The error for a call that handles of this kind do not support."""
        return QError(f"{call}: not implemented for {self.plural}{more}", hint=hint)

    # ------------------------------------------------------------ description and parts

    def described(self) -> str:
        """Its description in messages about wrong arguments: `vector of 2`."""
        return self.kind

    def note(self) -> str:
        """The note next to it at the prompt, built by kapi/console/notes.py from the methods below."""
        raise NotImplementedError

    def counts(self) -> list[str]:
        """Numbers of tensors, layers or parameters, for the note at the prompt: `2 layers`."""
        return []

    def inside(self) -> list[tuple[str, str]]:
        """Completions for a symbol after it, with descriptions: `weight`, `parameter`."""
        named = getattr(self, "parameters", list)
        return [(name, "parameter") for name, _ in named()]

    def tensors(self) -> Iterable[Any]:
        """Its tensors."""
        return ()

    def placed(self) -> Iterable[Any]:
        """Tensors, the first of which determines its device."""
        return self.tensors()

    def holds(self) -> list[Any]:
        """The torch objects that it refers to, for `ref`."""
        return [self.obj]

    def torch_module(self, call: str) -> Any:
        """The torch module in it, for a call about modules."""
        raise QError(f"{call}: not implemented for {self.kind}")

    def stepped(self) -> Opt | None:
        """The optimizer that it steps."""
        return None

    def to_python(self) -> Any:
        """Its value in a Python program."""
        return self

    # ------------------------------------------------------------ snapshots

    @classmethod
    def record(cls, saver: Any, obj: Any) -> dict[str, Any]:
        """An object's snapshot record, a JSON dictionary: saver.tensor(t) and saver.ref(kind, obj) return numbers for a
        tensor and for an object of another kind, saver.python(x) saves plain values and tensors in lists and
        dictionaries, saver.value(x) a q value."""
        raise QError(f"{article(cls.kind)} cannot be saved")

    @classmethod
    def from_record(cls, loader: Any, number: int, record: dict[str, Any]) -> Any:
        """Restore the object with this number among those of its kind from its record; loader.tensor,
        loader.get(kind, number), loader.python and loader.value are the inverses of the saver's functions."""
        raise ValueError(f"{cls.kind} {number} cannot be restored")

    @classmethod
    def form(cls, saver: Any, obj: Any) -> Any:
        """The object's entry in the handle's record."""
        return saver.ref(cls.kind, obj)

    @classmethod
    def from_form(cls, loader: Any, form: Any) -> Any:
        """Restore the object from that entry."""
        return loader.get(cls.kind, form)

    # ------------------------------------------------------------ q's operators, on a live object

    def do_monad(self, name: str) -> Value:
        """The unary q verb `name`, as in `neg h`; `item` is the condition of an `if`."""
        raise self.refusal("condition" if name == "item" else name)

    def do_dyad(self, name: str, x: Value, y: Value) -> Value:
        """The q operator or verb `name` of x and y, one or both of which is this handle."""
        raise self.refusal(name, f"; {JOINED}")

    def do_index(self, args: Sequence[Value]) -> Value:
        """`h[i;j]`, `h i`."""
        raise self.refusal("index", hint=_index_hint(self, args))

    def do_reached(self, name: str) -> str:
        """How to reach the part with this name, for error messages; empty if there is none."""
        return ""

    def do_amend(self, args: Sequence[Value], f: Value | None, y: Value) -> Value:
        """`h[i]:y`, `h[i]+:y`, `@[h;i;f;y]`: change it and return it."""
        raise self.refusal("amend")

    def do_undo(self, args: Sequence[Value]) -> Callable[[], None]:
        """A function that undoes a change to its items at an index, called before the change."""
        raise self.refusal("undo")

    def do_same(self, other: Value) -> bool:
        """Does another handle of this kind have the same content?"""
        return False

    def do_length(self) -> int:
        """The number of rows, for `folded` kinds."""
        raise self.refusal("length")

    def do_choose(self, x: Value, y: Value, z: Value) -> Value:
        """`?[x;y;z]` if one of them is this handle."""
        raise self.refusal("choose")

    def do_rows(self) -> list[Value]:
        """The rows, for `folded` kinds."""
        raise self.refusal("rows")


def forget(kind: str) -> None:
    """Unregister a kind of handle (for tests)."""
    KINDS.pop(kind, None)


# text to the right of a call's list becomes part of it: the hint where an operator meets a call's arguments
JOINED = "the result of a call is f[(a;b)], not f(a;b)"


def article(kind: str) -> str:
    """a module, an optimizer"""
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def many(n: int, word: str) -> str:
    """1 tensor, 2 tensors, 1,234 parameters"""
    return f"{n:,} {word}{'s' * (n != 1)}"


def _index_hint(h: HandleKind, given: Sequence[Value]) -> str:
    """A hint for `h i` or h[i;..] on a handle without indexing: the call to write instead."""
    own = h.reached(given[0].s) if len(given) == 1 and given[0].__class__ is Sym else ""
    if own:
        return f"{article(h.kind)} has no index: {own}"
    return f"{article(h.kind)} is not a function: {h.usage}" if h.usage else ""
