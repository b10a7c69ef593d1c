"""The kinds of entries of the registry: what help, completion, notebooks and the reference pages ask about each.

A kind is a class. A file of a user may have another: the class enters itself, and its entries are found wherever those
of other kinds are. This module imports nothing of kshell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from kshell.registry import Entry, Option

F = TypeVar("F", bound=Callable[..., Any])


class Page(NamedTuple):
    """A page of the reference: its file, its title, and what stands under that."""

    file: str
    title: str
    intro: str = ""


KINDS: dict[str, Kind] = {}  # by name, in the order in which they are searched and listed
ENTRIES: dict[str, dict[str, Entry]] = {}  # of each kind, by name; registry.py adds and finds them
# tables that `help` gives by name: (what help() says of it, the table); those without a text are known, but not listed
TOPICS: dict[str, tuple[str, Callable[[], Any]]] = {}


class Kind:
    """A kind of entry. Methods may be given by another file, with `answers`: one that imports more."""

    name = ""  # the kind of its entries
    word = ""  # what it is called above an entry, where a name has several; if not its name
    is_word = False  # are names of its entries words of q code, as those of functions?
    # how an entry is used, up to its options: "opt(`{};parameters". Entries of a kind that has one are types, of which
    # q code speaks by symbols
    form = ""
    calls: tuple[str, ...] = ()  # the functions that take the symbols of names
    helped = 3  # the place of the names among those that completion offers after help`; 0: none
    leads = False  # does it come first where a name has several entries?
    hidden = False  # are its entries nobody's to ask for?
    record: Any = None  # the class of what else its entries have
    about = ""  # what help() says of `table`
    page: Page | None = None
    # the table that help gives for the name of the kind
    table: Callable[[], Any] | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        name = cls.__dict__.get("name")
        if not name:
            return
        if name in KINDS:
            raise ValueError(f"a kind of entry {name} is registered twice")
        kind = KINDS[name] = cls()
        ENTRIES[name] = {}
        if kind.table is not None:
            TOPICS[name] = cls.about, kind.table

    def entries(self) -> list[Entry]:
        """Its entries, in the order of registration."""
        return list(ENTRIES[self.name].values())

    def find(self, name: str) -> Entry | None:
        """Its entry of a name."""
        return ENTRIES[self.name].get(name)

    def options(self, entry: Entry) -> tuple[Option, ...]:
        """The options of an entry, in order."""
        return entry.options

    def values(self, name: str) -> Any | None:
        """The options of an entry with their defaults, a q dictionary, for help`name and options`name; None of a name
        that is another kind's."""
        return None


def answers(method: str, *kinds: str) -> Callable[[F], F]:
    """Give kinds a method from another file."""
    if not hasattr(Kind, method):
        raise ValueError(f"kinds are not asked for {method}")

    def register(fn: F) -> F:
        for kind in kinds:
            setattr(KINDS[kind], method, fn)
            if method == "table":
                TOPICS[kind] = KINDS[kind].about, fn
        return fn

    return register


def types() -> Iterator[Kind]:
    """The kinds whose entries are types: of modules, optimizers and so on."""
    return (kind for kind in KINDS.values() if kind.form)


def words() -> Iterator[Kind]:
    """The kinds whose entries are words of q code."""
    return (kind for kind in KINDS.values() if kind.is_word)


def by_lead() -> list[Kind]:
    """The kinds in the order in which the entries of one name are shown."""
    return sorted(
        (kind for kind in KINDS.values() if not kind.hidden), key=lambda kind: not kind.leads
    )


def taken_by(call: str) -> list[Kind]:
    """The kinds whose entries a function takes by symbol."""
    return [kind for kind in KINDS.values() if call in kind.calls]


# ------------------------------------------------------------------ the kinds of kshell

_BY_POSITION = "Options are given in the order of the table, from any place on as name-value pairs or a dictionary"


class Verb(Kind):
    name, word, is_word, helped = "verb", "function", True, 2
    page = Page(
        "verbs.md",
        "Operators and keywords",
        '``help`name`` prints an entry in a session, as in ``help`xbar``; operators go in quotes: `help"+"`.',
    )


class Api(Kind):
    name, word, is_word, helped = "api", "function of the k-api", True, 1
    page = Page(
        "kapi.md",
        "The k-api",
        "Functions over PyTorch. Arguments stand in one list: `f(a;b)`, or `f a` if there is one; `f()` passes none. "
        "Where a tensor is taken, an array of q's mostly is too; the result is then an array. A form that ends in "
        "`output` writes its result into that tensor; `[]` in its place writes it into the first argument.",
    )


class Module(Kind):
    name, word, calls = "module", "module type", ("module", "")
    form = "module enlist(`{}"
    page = Page(
        "modules.md",
        "Module types",
        "A type is used as `` (`type;option;..) `` or `` (`type;`name;option;..) ``. Options are given in the order of "
        "the table; from any place on as name-value pairs or a dictionary. ``help`type`` shows them in a session.",
    )


class Loss(Kind):
    name, calls, form = "loss", ("loss",), "loss(`{}"
    page = Page(
        "losses.md",
        "Losses",
        f"`` loss(`type;option;..) `` makes a loss; `loss(l;x;y)` calculates it. {_BY_POSITION}.",
    )


class Optimizer(Kind):
    name, calls, form = "optimizer", ("opt",), "opt(`{};parameters"
    page = Page(
        "optimizers.md",
        "Optimizers",
        f"`` opt(`type;parms;option;..) ``. {_BY_POSITION}; the entry `opt` of the k-api has all forms. Those of "
        "several processes, and STREAMER's, have [pages of their own](../distributed.md#which-one).",
    )


class Scheduler(Kind):
    name, calls, form = "scheduler", ("sched",), "sched(optimizer;`{}"
    page = Page(
        "schedulers.md",
        "Schedulers",
        f"`` sched(optimizer;`type;option;..) ``. {_BY_POSITION}; the entry `sched` of the k-api has all forms. Papers "
        "and formulas: [Megatron's](../families/parameter-scheduler.md), "
        "[torch's](../families/torch-schedulers.md).",
    )


class Rule(Kind):
    name, word, calls = "rule", "scaling rule", ("scale",)
    form = "scale(optimizer;`{}"
    page = Page(
        "rules.md",
        "Scaling rules",
        "`` scale(optimizer;`type;option;..) ``; the entry `scale` of the k-api has all forms. Papers and formulas: "
        "[scaling rules](../families/scaling-rules.md).",
    )


class Command(Kind):
    name, word, helped = "command", "system command", 0
    page = Page(
        "commands.md",
        "System commands",
        'At the start of a line; in an expression as `system"name .."`.',
    )


class Setting(Kind):
    name, helped, calls = "setting", 6, ("setting",)
    page = Page(
        "settings.md",
        "Settings",
        "`` setting(`name;value) `` sets one, `` setting`name `` reads it.",
    )


class TrainingOption(Kind):
    name, word, helped, calls = "option", "option of training", 5, ("train", "test")
    page = Page(
        "options.md",
        "Options of training and testing",
        "`` train(m;`name;value) `` sets one for a model, `` train(m;`name) `` reads it, `train m` shows them; `test` "
        "does the same for testing.",
    )


class Topic(Kind):
    name, word, is_word, helped, leads = "topic", "syntax", True, 4, True
    page = Page("syntax.md", "Queries, control and iterators", "What is part of q's syntax.")


class Name(Kind):
    name, is_word, helped = "name", True, 0
    page = Page("names.md", "Names of .z .Q .h .j")


class Internal(Kind):
    name, word, helped = "internal", "internal function", 0
    page = Page("internal.md", "Internal functions", "A negative number on the left of `!`.")


class Handler(Kind):
    name, helped, hidden = "handler", 0, True
