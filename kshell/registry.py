"""An entry for everything with a name: verb, api function, module, loss, optimizer, scheduler, command, setting, topic.

Argument checks and their texts, `help`, completion, the toolbar's signature, the reference pages and the list of
implemented names are generated from entries. Differences between kinds of entries are in kshell/entry_kinds.py.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from kshell import torch_versions
from kshell.entry_kinds import ENTRIES, KINDS, TOPICS

F = TypeVar("F", bound=Callable[..., Any])
FOLDER = os.path.dirname(__file__) + os.sep  # entries from files elsewhere belong to users


class Option(NamedTuple):
    """A named option, in positional order. `type` is a type word for error texts (`long`, `double`, `boolean`,
    `symbol`, `size`, `any`); `default` the default value, REQUIRED if there is none; `torch` the argument's name in the
    torch class, if different; `doc` a short description."""

    name: str
    type: str
    default: Any = None
    torch: str = ""
    doc: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


class Entry:
    """The registry's record for one name. `fns` maps argument counts to functions (-1: any count); `forms` are the ways
    to call it; `doc` is the help text, whose first line is the summary and whose `q)` lines are examples; `target` the
    dotted name of the torch function or class behind it, resolved on first use; `topic` its family, from its file;
    `since` the program it is known from; `first_torch` the first version of torch that has what it needs, if not all
    that kshell works with have it; `effect` the side effect of a call: "none"; "changes" something persistent;
    "opens" or runs something; "reads1": reads with up to one argument (or another number), and changes with more;
    "own": depends on the arguments, and the function checks itself. None means undeclared, and counts as "changes".
    `reval` relies on it. `record` holds further fields for this kind of entry, an object of a class from the room that
    owns the kind, which reads it with its own function (`module_record` and the like); None if there are none."""

    __slots__ = (
        "doc",
        "effect",
        "file",
        "first_torch",
        "fns",
        "forms",
        "infix",
        "kind",
        "line",
        "name",
        "options",
        "qtype",
        "record",
        "since",
        "target",
        "topic",
    )

    def __init__(
        self,
        name: str,
        kind: str,
        fns: dict[int, Callable[..., Any]] | None = None,
        forms: tuple[str, ...] = (),
        doc: str = "",
        options: tuple[Option, ...] = (),
        infix: bool = False,
        qtype: int = 100,
        target: str = "",
        topic: str = "",
        since: str = "q",
        file: str = "",
        line: int = 0,
        record: Any = None,
        effect: str | None = None,
        first_torch: str = "",
    ) -> None:
        self.effect, self.first_torch = effect, first_torch
        self.name, self.kind, self.fns, self.forms, self.doc = name, kind, fns or {}, forms, doc
        self.options, self.infix, self.qtype, self.target = options, infix, qtype, target
        self.topic, self.since, self.file, self.line, self.record = topic, since, file, line, record

    @property
    def summary(self) -> str:
        return self.doc.strip().split("\n", 1)[0]

    @property
    def text(self) -> str:
        """The doc without source indentation."""
        first, *following = self.doc.strip("\n").split("\n")
        indent = min(
            (len(line) - len(line.lstrip()) for line in following if line.strip()), default=0
        )
        return "\n".join([first.strip(), *(line[indent:].rstrip() for line in following)]).strip()

    @property
    def examples(self) -> list[tuple[list[str], list[str]]]:
        """The examples in the doc, in groups: (input lines, the output lines below the last of them)."""
        groups: list[tuple[list[str], list[str]]] = []
        fresh = True
        for line in self.text.split("\n"):
            if line.startswith("q)"):
                if fresh or groups[-1][1]:
                    groups.append(([], []))
                groups[-1][0].append(line[2:])
                fresh = False
            elif not line.strip():
                fresh = True
            elif not fresh:
                groups[-1][1].append(line)
        return groups

    def available(self) -> None:
        """Refuse to use the entry if the torch that is there is too old for it."""
        if self.first_torch:
            torch_versions.refuse(self.name, self.first_torch)

    def resolve(self) -> Any:
        """The torch object named by `target`."""
        self.available()
        package, _, attributes = self.target.partition(".")
        target: Any = importlib.import_module(package)
        for attribute in attributes.split("."):
            if not hasattr(target, attribute):
                importlib.import_module(f"{target.__name__}.{attribute}")
            target = getattr(target, attribute)
        return target


_ENTRIES: dict[str, dict[str, Entry]] = ENTRIES
_VERSION = [0]


def add(entry: Entry) -> Entry:
    """Register an entry; a duplicate name within a kind is a programming error."""
    registered = _ENTRIES[entry.kind]
    if entry.name in registered:
        raise ValueError(
            f"{entry.kind} {entry.name} is registered twice: {registered[entry.name].file}, {entry.file}"
        )
    registered[entry.name] = entry
    _VERSION[0] += 1
    return entry


def remove(kind: str, name: str) -> None:
    """Remove an entry (for tests that plant one)."""
    _ENTRIES[kind].pop(name, None)
    _VERSION[0] += 1


def forget(kind: str) -> None:
    """Unregister a kind and its entries (for tests)."""
    _ENTRIES.pop(kind, None)
    KINDS.pop(kind, None)
    TOPICS.pop(kind, None)
    _VERSION[0] += 1


def version() -> int:
    """A number that changes with every registration, for tables derived from the entries."""
    return _VERSION[0]


def has(kind: str, name: str) -> Entry | None:
    """The registered entry of a kind and name; no other is looked for."""
    return _ENTRIES[kind].get(name)


def rename(entry: Entry, name: str) -> None:
    """Register an entry under another name."""
    _ENTRIES[entry.kind].pop(entry.name, None)
    entry.name = name
    add(entry)


def changed() -> None:
    """Something in a registered entry has changed."""
    _VERSION[0] += 1


def find(kind: str, name: str) -> Entry | None:
    found = _ENTRIES[kind].get(name)
    return LATER.fn(kind, name) if found is None else found


def known(kind: str, name: str) -> Entry:
    """The entry of a name that kshell itself defines; KeyError if there is none."""
    entry = find(kind, name)
    if entry is None:
        raise KeyError(f"{kind} {name}")
    return entry


def entries(kind: str) -> Iterable[Entry]:
    """The entries of a kind, in order of registration."""
    return list(_ENTRIES[kind].values())


def every() -> Iterator[Entry]:
    for kind in KINDS:
        yield from entries(kind)


def _place(fn: Callable[..., Any]) -> tuple[str, int, str]:
    code = fn.__code__
    topic = fn.__module__.partition(".")[2]
    return code.co_filename, code.co_firstlineno, topic


_VARARGS = 4  # the code flag for *args: inspect.CO_VARARGS, without the cost of importing inspect


def arity_of(fn: Callable[..., Any]) -> int:
    """The number of positional parameters of a function, or of the one it wraps; -1 if it takes any number."""
    code = getattr(fn, "__wrapped__", fn).__code__
    return -1 if code.co_flags & _VARARGS else code.co_argcount - len(fn.__defaults__ or ())


def _arities(fn: Callable[..., Any], given: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The argument counts that a function is registered for: those given, or else its own."""
    if given is None:
        return (arity_of(fn),)
    return (given,) if isinstance(given, int) else given


def _register(
    kind: str, name: str, fn: Callable[..., Any], arities: Iterable[int], **fields: Any
) -> Entry:
    entry = _ENTRIES[kind].get(name)
    file, line, topic = _place(fn)
    if entry is not None and entry.file == file and not set(arities) & set(entry.fns):
        # another arity of the same name, in the same file
        entry.fns.update(dict.fromkeys(arities, fn))
        if fn.__doc__ and not entry.doc:
            entry.doc = fn.__doc__
        entry.forms += fields.get("forms", ())
        entry.infix = entry.infix or bool(fields.get("infix"))
        _VERSION[0] += 1
        return entry
    return add(
        Entry(
            name,
            kind,
            dict.fromkeys(arities, fn),
            doc=fn.__doc__ or "",
            file=file,
            line=line,
            topic=fields.pop("topic", topic),
            **fields,
        )
    )


def verb(
    name: str,
    *forms: str,
    arity: int | tuple[int, ...] | None = None,
    infix: bool | None = None,
    handle: bool = False,
    effect: str | None = None,
    **fields: Any,
) -> Callable[[F], F]:
    """Register a function as a verb of the language: an operator or a keyword.

    Its parameters are q values, and their number is the arity (pass `arity` if it takes any number); functions with the
    same name in one file add arities to one entry. With `handle`, k-api handles among the arguments are dispatched to
    (Handle.monad, Handle.dyad). A binary verb can be used infix (`infix`). The docstring is the help text; lines in it
    that start with `q)` are examples with their output, run by a test. `effect` is the entry's; kshell's own verbs have
    none unless declared.
    """

    def register(fn: F) -> F:
        arities = _arities(fn, arity)
        does = "none" if effect is None and fn.__module__.startswith(_OWN) else effect
        wrapper: Any = _asking(name, fn, arities) if handle else refusing(name, does, fn)
        between = 2 in arities if infix is None else infix
        _register("verb", name, wrapper, arities, forms=forms, effect=does, infix=between, **fields)
        return wrapper

    return register


_OWN = __name__.partition(".")[0] + "."


class Hook:
    """A function in a higher room that a lower one calls: the higher room sets it when it is imported. docs/design.md
    lists them. Until then, `fn` is the default."""

    __slots__ = ("default", "fn")

    def __init__(self, default: Any = None) -> None:
        self.default: Any = default
        self.fn: Any = default

    def set(self, fn: F) -> F:
        """Set the function to call; returns fn, so this also works as a decorator."""
        self.fn = fn
        return fn

    def reset(self) -> None:
        """Restore the default."""
        self.fn = self.default


# the base class of objects that implement verbs themselves: values/base/functions.py
HANDLE = Hook(())
# `load(handle;file)`: kapi/checkpoint/loading.py
LOAD_INTO = Hook()
# the entry for a kind and name that nobody registered, if there can be one: kapi/base/python_types.py
LATER = Hook(lambda kind, name: None)
# wraps fn to check first whether it may run: values/session/restrict.py
GUARD = Hook(lambda name, effect, fn: fn)


def refusing(name: str, effect: str | None, fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn, which first checks whether it may run, given its entry's effect; otherwise it looks like fn."""
    wrapper = GUARD.fn(name, effect, fn)
    return wrapper if wrapper is fn else like(wrapper, fn)


def like(run: Callable[..., Any], fn: Callable[..., Any]) -> Callable[..., Any]:
    """run, with the help, module and location of fn, which it calls."""
    run.__doc__, run.__module__, run.__wrapped__ = fn.__doc__, fn.__module__, fn  # type: ignore[attr-defined]
    run.__code__ = run.__code__.replace(
        co_filename=fn.__code__.co_filename, co_firstlineno=fn.__code__.co_firstlineno
    )
    return run


def _asking(name: str, fn: Callable[..., Any], arities: Iterable[int]) -> Callable[..., Any]:
    """fn, but handles among the arguments are dispatched to."""
    if 1 in arities and 2 not in arities:

        def run1(x: Any) -> Any:
            return x.monad(name) if isinstance(x, HANDLE.fn) else fn(x)

        wrapped: Any = run1
    elif 2 in arities and 1 not in arities:

        def run2(x: Any, y: Any) -> Any:
            if isinstance(x, HANDLE.fn):
                return x.dyad(name, x, y)
            return y.dyad(name, x, y) if isinstance(y, HANDLE.fn) else fn(x, y)

        wrapped = run2
    else:
        raise ValueError(f"verb {name}: handle works for one or two arguments")
    return like(wrapped, fn)


def api(
    name: str, *forms: str, arity: int | tuple[int, ...] = 1, asks: bool = False, **fields: Any
) -> Callable[[F], F]:
    """Register a k-api function: it takes one q value, the argument list from q (`use` takes two). With `asks`, the
    function itself checks whether it may run."""

    def register(fn: F) -> F:
        arities = (arity,) if isinstance(arity, int) else arity
        wrapper = fn if asks else refusing(name, fields.get("effect"), fn)
        _register(
            "api",
            name,
            wrapper,
            arities,
            forms=forms,
            qtype=112,
            since=fields.pop("since", "ktorch"),
            **fields,
        )
        return fn

    return register


def command(name: str, *forms: str, **fields: Any) -> Callable[[F], F]:
    """Register a system command: fn(argument text) returns a q value, or None for no output."""

    def register(fn: F) -> F:
        _register("command", name, fn, (1,), forms=forms, **fields)
        return fn

    return register


def internal(
    number: int, form: str = "", topic: str = "internal", effect: str = "none"
) -> Callable[[F], F]:
    """Register an internal function, `-n!x`, under its number; `form` is how it is written if not so."""

    def register(fn: F) -> F:
        wrapper = refusing(f"{number}!", effect, fn)
        forms = (form or f"{number}!x",)
        _register("internal", str(number), wrapper, (1,), forms=forms, topic=topic, effect=effect)
        return fn

    return register


def load_package(name: str) -> None:
    """Import every module of a package and its subpackages, so that their entries are registered. Folders are searched,
    so there is no list to maintain."""
    package = importlib.import_module(name)
    for folder in package.__path__:
        for file in sorted(os.listdir(folder)):
            if file.endswith(".py") and file != "__init__.py":
                importlib.import_module(f"{name}.{file[:-3]}")
            elif os.path.exists(os.path.join(folder, file, "__init__.py")):
                load_package(f"{name}.{file}")


class LoadedFile(NamedTuple):
    """A Python file that was run as a module, by its path as it was given; the module of the same file before it, and
    what it registered."""

    path: str
    module: ModuleType
    before: ModuleType | None
    content: bytes
    entries: list[Entry]


_LOADED: dict[str, LoadedFile] = {}  # by real path


def loaded_files() -> dict[str, LoadedFile]:
    """The files that `\\l` loaded as modules, by real path, the last one first."""
    return dict(reversed(_LOADED.items()))


def load_file(path: str) -> LoadedFile:
    """Run a Python file outside kshell as a module of its own, which registers entries. They replace those that the
    same file registered before; if it fails, these stay."""
    from importlib import util

    real = os.path.realpath(path)
    name = _module_name(real)
    spec = util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    with open(path, "rb") as f:
        content = f.read()
    earlier, module_before = _LOADED.get(real), sys.modules.get(name)
    for entry in earlier.entries if earlier else ():
        _take_out(entry)
    known = {id(entry) for entry in every()}
    module = sys.modules[name] = util.module_from_spec(spec)
    loader: Any = spec.loader
    try:
        exec(loader.source_to_code(content, spec.origin), module.__dict__)
    except BaseException:
        for entry in [entry for entry in every() if id(entry) not in known]:
            _take_out(entry)
        for entry in earlier.entries if earlier else ():
            add(entry)
        if module_before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = module_before
        raise
    added = [entry for entry in every() if id(entry) not in known]
    loaded = _LOADED[real] = LoadedFile(path, module, module_before, content, added)
    return loaded


def _take_out(entry: Entry) -> None:
    if _ENTRIES.get(entry.kind, {}).get(entry.name) is entry:
        remove(entry.kind, entry.name)


def _module_name(path: str) -> str:
    """The name of the module of a file: that of the file if no other module has it, so that Python finds its classes
    again, also in worker processes."""
    from importlib import util

    word = os.path.basename(path).removesuffix(".py")
    if word.isidentifier():
        there = sys.modules.get(word)
        if there is not None:
            file = getattr(there, "__file__", None)
        else:
            spec = util.find_spec(word)
            file = None if spec is None else spec.origin or path
        if (there is None and file is None) or (file and os.path.realpath(file) == path):
            return word
    return "kshell_plugin_" + "".join(char if char.isalnum() else "_" for char in path)
