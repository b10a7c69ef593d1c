"""The kinds of registry entries: one class per kind, queried by help, completion, notebooks and the reference pages.

User files can define kinds too: a class registers itself, and its entries then appear wherever those of other kinds do.
This module imports nothing from kshell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from kshell.registry import Entry, Option

F = TypeVar("F", bound=Callable[..., Any])


class Page(NamedTuple):
    """A reference page: file, title and introduction."""

    file: str
    title: str
    intro: str = ""


KINDS: dict[str, Kind] = {}  # by name, in the order in which they are searched and listed
ENTRIES: dict[str, dict[str, Entry]] = {}  # by kind and name; maintained by registry.py
# tables for `help`: name -> (text in help(), function for the table); topics without text are not listed
TOPICS: dict[str, tuple[str, Callable[[], Any]]] = {}


class Kind:
    """A kind of entry. Files with more imports can add methods with `answers`."""

    name = ""  # `kind` of its entries
    word = ""  # heading of an entry if a name has several; default: the name
    is_word = False  # are entry names words of q code, like function names?
    # usage of an entry, up to its options: "opt(`{};parameters". Entries of kinds with a form are types, which q code
    # refers to by symbol
    form = ""
    calls: tuple[str, ...] = ()  # functions that take entry names as symbols
    helped = 3  # rank of the names among the completions after help`; 0: none
    leads = False  # is it shown first if a name has several entries?
    hidden = False  # are its entries internal?
    record: Any = None  # class of additional fields of its entries
    about = ""  # text in help() for `table`
    page: Page | None = None
    # function for the table shown by help for the kind's name
    table: Callable[[], Any] | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        name = cls.__dict__.get("name")
        if not name:
            return
        if name in KINDS and not same_class(type(KINDS[name]), cls):
            raise ValueError(f"a kind of entry {name} is registered twice")
        kind = KINDS[name] = cls()
        ENTRIES[name] = {}
        if kind.table is not None:
            TOPICS[name] = cls.about, kind.table

    def entries(self) -> list[Entry]:
        """The entries, in order of registration."""
        return list(ENTRIES[self.name].values())

    def find(self, name: str) -> Entry | None:
        """The entry with a name."""
        return ENTRIES[self.name].get(name)

    def options(self, entry: Entry) -> tuple[Option, ...]:
        """The options of an entry, in order."""
        return entry.options

    def values(self, name: str) -> Any | None:
        """An entry's options and defaults as a q dictionary, for help`name and options`name; None if the name is
        not of this kind."""
        return None


def same_class(a: type, b: type) -> bool:
    """Are these a class and what it became when its file was loaded again?"""
    return (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)


def answers(method: str, *kinds: str) -> Callable[[F], F]:
    """Add a method to kinds from another file."""
    if not hasattr(Kind, method):
        raise ValueError(f"kinds have no method {method}")

    def register(fn: F) -> F:
        for kind in kinds:
            setattr(KINDS[kind], method, fn)
            if method == "table":
                TOPICS[kind] = KINDS[kind].about, fn
        return fn

    return register


def types() -> Iterator[Kind]:
    """The kinds whose entries are types, such as modules and optimizers."""
    return (kind for kind in KINDS.values() if kind.form)


def words() -> Iterator[Kind]:
    """The kinds whose entries are words of q code."""
    return (kind for kind in KINDS.values() if kind.is_word)


def by_lead() -> list[Kind]:
    """The kinds in display order for the entries of one name."""
    return sorted(
        (kind for kind in KINDS.values() if not kind.hidden), key=lambda kind: not kind.leads
    )


def taken_by(call: str) -> list[Kind]:
    """The kinds whose entry names a function takes as symbols."""
    return [kind for kind in KINDS.values() if call in kind.calls]


# ------------------------------------------------------------------ kshell's own kinds

_BY_POSITION = "Give options in the order of the table or, from any position on, as name-value pairs or a dictionary"


class Verb(Kind):
    name, word, is_word, helped = "verb", "function", True, 2
    page = Page(
        "verbs.md",
        "Operators and keywords",
        'In a session, ``help`name`` prints an entry, for example ``help`xbar``; put operators in quotes: `help"+"`.',
    )


class Api(Kind):
    name, word, is_word, helped = "api", "k-api function", True, 1
    page = Page(
        "kapi.md",
        "The k-api",
        "Functions built on PyTorch. Pass arguments as one list: `f(a;b)`, `f a` for one argument, `f()` for none. "
        "Most functions that take a tensor also take a q array, and then return an array. A form that ends in `output` "
        "writes its result to that tensor; with `[]` in its place it writes to the first argument.",
    )


class Module(Kind):
    name, word, calls = "module", "module type", ("module", "")
    form = "module enlist(`{}"
    page = Page(
        "modules.md",
        "Module types",
        f"Write a module as `` (`type;option;..) `` or `` (`type;`name;option;..) ``. {_BY_POSITION}. In a session, "
        "``help`type`` shows them.",
    )


class Loss(Kind):
    name, calls, form = "loss", ("loss",), "loss(`{}"
    page = Page(
        "losses.md",
        "Losses",
        f"`` loss(`type;option;..) `` makes a loss; `loss(l;x;y)` computes it. {_BY_POSITION}.",
    )


class Optimizer(Kind):
    name, calls, form = "optimizer", ("opt",), "opt(`{};parameters"
    page = Page(
        "optimizers.md",
        "Optimizers",
        f"`` opt(`type;parms;option;..) ``. {_BY_POSITION}. All forms are listed under `opt` in the k-api. The "
        "distributed optimizers, and STREAMER's, have [their own pages](../distributed.md#which-one).",
    )


class Scheduler(Kind):
    name, calls, form = "scheduler", ("sched",), "sched(optimizer;`{}"
    page = Page(
        "schedulers.md",
        "Schedulers",
        f"`` sched(optimizer;`type;option;..) ``. {_BY_POSITION}. All forms are listed under `sched` in the k-api. "
        "Papers and formulas: [Megatron's](../families/parameter-scheduler.md), "
        "[torch's](../families/torch-schedulers.md).",
    )


class Rule(Kind):
    name, word, calls = "rule", "scaling rule", ("scale",)
    form = "scale(optimizer;`{}"
    page = Page(
        "rules.md",
        "Scaling rules",
        "`` scale(optimizer;`type;option;..) ``. All forms are listed under `scale` in the k-api. Papers and formulas: "
        "[scaling rules](../families/scaling-rules.md).",
    )


class Command(Kind):
    name, word, helped = "command", "system command", 0
    page = Page(
        "commands.md",
        "System commands",
        'Type a command at the start of a line; in an expression, use `system"name .."`.',
    )


class Setting(Kind):
    name, helped, calls = "setting", 6, ("setting",)
    page = Page(
        "settings.md",
        "Settings",
        "`` setting(`name;value) `` changes a setting, `` setting`name `` reads it.",
    )


class TrainingOption(Kind):
    name, word, helped, calls = "option", "training option", 5, ("train", "test")
    page = Page(
        "options.md",
        "Training and testing options",
        "`` train(m;`name;value) `` sets an option of a model, `` train(m;`name) `` reads it, `train m` shows all; "
        "`test` does the same for testing.",
    )


class Topic(Kind):
    name, word, is_word, helped, leads = "topic", "syntax", True, 4, True
    page = Page("syntax.md", "Queries, control and iterators", "These are part of q's syntax.")


class Name(Kind):
    name, is_word, helped = "name", True, 0
    page = Page("names.md", "Names of .z .Q .h .j")


class Internal(Kind):
    name, word, helped = "internal", "internal function", 0
    page = Page(
        "internal.md", "Internal functions", "Call one with a negative number on the left of `!`."
    )


class Handler(Kind):
    name, helped, hidden = "handler", 0, True
