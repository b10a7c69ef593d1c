"""What the program asks of a kind of handle. A new kind is one class that answers; no list has to be edited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import QError
from kshell.values.base.core import Sym, Value
from kshell.values.base.functions import Handle

if TYPE_CHECKING:
    from kshell.kapi.optim.optimizer import Opt

# Methods without a default: a call that needs one which the class lacks is "size: not implemented for rules". Where
# nothing else is said they take nothing and give a q value.
ANSWERS = {
    "size": "how many items it has",
    "elements": "how many elements its tensors have",
    "numel": "how many elements its tensors show",
    "bytes": "how much memory its tensors have",
    "tensorcount": "how many tensors it has",
    "objtype": "its own type, as that of a module: `linear",
    "device": "where it is",
    "dtype": "the data types of its tensors",
    "ktype": "the q types of its tensors",
    "gradient": "whether gradients are calculated",
    "gradflag": "the same, and how to set it; takes names and a flag",
    "options": "what it was made with",
    "help": "what `help` shows of it",
    "info": "what is known of it",
    "detail": "all that is known of it",
    "str": "its text",
    "state": "what it was made with and what it keeps; takes whether options with defaults are wanted",
    "parameters": "pairs of the names and tensors of its parameters",
    "zerograd": "makes gradients 0",
    "nograd": "puts gradients away",
    "backward": "calculates gradients; takes the arguments after the handle, as all down to `shuffle` do",
    "step": "makes a step",
    "lr": "its learning rates, and how to set them",
    "loss": "calculates a loss",
    "batch": "shows the next batch",
    "restore": "shows all data again",
    "shuffle": "changes the order of data",
    "to": "moves or converts its tensors in place; takes TensorOptions and whether to wait for the copy",
    "copyto": "a handle of a moved or converted copy; takes the same",
    "to_q": "the q value that `return` gives for it",
    "checkpoint": "what `ckpt` writes: a tensor, or dictionaries and lists of tensors and plain values",
}
TAKEN = ("storage", "generator", "handle")  # records of a snapshot that are no object's of a handle
KINDS: dict[str, type[Any]] = {}  # the kinds of handle by their word; each class enters itself


class HandleKind(Handle):
    """Base of all kinds. What differs by kind is asked here: by the attributes and methods of this class, and by those
    of ANSWERS. They stand in the class of the kind, or another file adds them by `behaviour`."""

    __slots__ = ()
    kind = ""  # what `class` gives
    plural = ""  # in messages; if a class has none, its kind with an s
    usage = ""  # how an object is used that is no function
    values = "state"  # the function that gives what is in it as a q value
    shares = True  # may several handles have one object, as `addref` makes them?
    # bytes of memory that reading an object from a snapshot needs beside its arrays, about; 0 if objects have no record
    # of their own, but stand in that of the handle (`form`)
    cost = 6000
    obj: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        word = cls.__dict__.get("kind")
        if not word:
            return
        if word in KINDS or word in TAKEN:
            raise ValueError(f"handle {word} is registered twice")
        if "plural" not in cls.__dict__:
            cls.plural = word + "s"
        KINDS[word] = cls

    @property
    def unsaved(self) -> str:  # type: ignore[override]
        return f"type: expected a value, given a {self.kind} ({self.values} x is one; a snapshot keeps it as it is)"

    def refusal(self, call: str, more: str = "", hint: str = "") -> QError:
        """The error that a call is not for handles of this kind."""
        return QError(f"{call}: not implemented for {self.plural}{more}", hint=hint)

    # ------------------------------------------------------------ what it is, in words and parts

    def described(self) -> str:
        """What a message about wrong arguments calls it: `vector of 2`."""
        return self.kind

    def note(self) -> str:
        """What the prompt shows beside it; kapi/console/notes.py makes it of the methods below."""
        raise NotImplementedError

    def counts(self) -> list[str]:
        """How many tensors, layers, parameters it has, for the note beside it at the prompt: `2 layers`."""
        return []

    def inside(self) -> list[tuple[str, str]]:
        """The names that complete a symbol after it, and what each is: `weight`, `parameter`."""
        named = getattr(self, "parameters", list)
        return [(name, "parameter") for name, _ in named()]

    def tensors(self) -> Iterable[Any]:
        """Its tensors."""
        return ()

    def placed(self) -> Iterable[Any]:
        """Tensors of which the first one says on which device it is."""
        return self.tensors()

    def holds(self) -> list[Any]:
        """The torch objects that it refers to, for `ref`."""
        return [self.obj]

    def torch_module(self, call: str) -> Any:
        """The torch module in it, for a call about modules."""
        raise QError(f"{call}: not implemented for {self.kind}")

    def stepped(self) -> Opt | None:
        """The optimizer whose steps it makes."""
        return None

    def to_python(self) -> Any:
        """What a Python program is given for it."""
        return self

    # ------------------------------------------------------------ in a snapshot

    @classmethod
    def record(cls, saver: Any, obj: Any) -> dict[str, Any]:
        """What a snapshot keeps of an object, a dictionary for JSON: saver.tensor(t) and saver.ref(kind, obj) make a
        number of a tensor and of an object of another kind, saver.python(x) keeps plain values and tensors in lists and
        dictionaries, saver.value(x) a q value."""
        raise QError(f"{article(cls.kind)} cannot be saved")

    @classmethod
    def from_record(cls, loader: Any, number: int, record: dict[str, Any]) -> Any:
        """The object of a record, which is the one of this number among those of its kind: loader.tensor,
        loader.get(kind, number), loader.python and loader.value read what the functions of the saver made."""
        raise ValueError(f"{cls.kind} {number} cannot be made")

    @classmethod
    def form(cls, saver: Any, obj: Any) -> Any:
        """What the record of a handle has for its object."""
        return saver.ref(cls.kind, obj)

    @classmethod
    def from_form(cls, loader: Any, form: Any) -> Any:
        """The object again."""
        return loader.get(cls.kind, form)

    # ------------------------------------------------------------ q's operators, of an object that is alive

    def do_monad(self, name: str) -> Value:
        """The q verb `name` of it, as in `neg h`; `item`, the condition of an `if`."""
        raise self.refusal("condition" if name == "item" else name)

    def do_dyad(self, name: str, x: Value, y: Value) -> Value:
        """The q operator or verb `name` of x and y, one or both of which is this handle."""
        raise self.refusal(name, f"; {JOINED}")

    def do_index(self, args: Sequence[Value]) -> Value:
        """`h[i;j]`, `h i`."""
        raise self.refusal("index", hint=_index_hint(self, args))

    def do_reached(self, name: str) -> str:
        """How what is called so in it is reached, for an error; empty if nothing is."""
        return ""

    def do_amend(self, args: Sequence[Value], f: Value | None, y: Value) -> Value:
        """`h[i]:y`, `h[i]+:y`, `@[h;i;f;y]`: changes it and gives it."""
        raise self.refusal("amend")

    def do_undo(self, args: Sequence[Value]) -> Callable[[], None]:
        """A function that undoes a change of its items at an index, which has not happened yet."""
        raise self.refusal("undo")

    def do_same(self, other: Value) -> bool:
        """Has another handle of the kind the same content?"""
        return False

    def do_length(self) -> int:
        """How many rows it has, of kinds that are `folded`."""
        raise self.refusal("length")

    def do_choose(self, x: Value, y: Value, z: Value) -> Value:
        """`?[x;y;z]` where one of them is this handle."""
        raise self.refusal("choose")

    def do_rows(self) -> list[Value]:
        """Its rows, of kinds that are `folded`."""
        raise self.refusal("rows")


def forget(kind: str) -> None:
    """Forget a kind of handle (tests that plant one take it away again)."""
    KINDS.pop(kind, None)


# what stands right of a call's list joins it: told where an operator meets what is meant as the call's argument
JOINED = "the result of a call is f[(a;b)], not f(a;b)"


def article(kind: str) -> str:
    """a module, an optimizer"""
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"


def many(n: int, word: str) -> str:
    """1 tensor, 2 tensors, 1,234 parameters"""
    return f"{n:,} {word}{'s' * (n != 1)}"


def _index_hint(h: HandleKind, given: Sequence[Value]) -> str:
    """A hint for `h i` or h[i;..] of a handle that has no index: the call to write instead."""
    own = h.reached(given[0].s) if len(given) == 1 and given[0].__class__ is Sym else ""
    if own:
        return f"{article(h.kind)} has no index: {own}"
    return f"{article(h.kind)} is not a function: {h.usage}" if h.usage else ""
