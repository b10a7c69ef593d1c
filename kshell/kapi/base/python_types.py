"""Classes and functions of Python that are types of this process: which there are, by name, and what made an object.

A class of a file that `\\l` loaded, or of `__main__`, is a type under its own name, and under that of its file and its
own (`net.Linear`). `.p.type` gives a name to any other class, or to a function. A name counts only if it is here: none
is ever imported, nor looked for inside of modules, because it may come from a file.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from kshell import registry
from kshell.errors import CallError, QError, first_line
from kshell.kapi.base.lazy_torch import torch
from kshell.registry import Entry, Option
from kshell.values.base.core import Value
from kshell.values.session.context import perhaps

F = TypeVar("F", bound=Callable[..., Any])
MAIN = "__main__"
_MADE = "kshell_made"  # the attribute of an object with how it was made
# for each kind of entry: the options and the record of a type of Python
FACTORIES: dict[str, Callable[[PyType], tuple[tuple[Option, ...], Any]]] = {}
_TYPES: dict[str, PyType] = {}  # by full name
_HOLDERS: dict[str, PyType] = {}  # by short name: which of several types has it
# all classes that types have or had: a file may be loaded again while modules of its old class are in use
_OF_CLASS: WeakKeyDictionary[type, PyType] = WeakKeyDictionary()


def factory(kind: str) -> Callable[[F], F]:
    """Register the function that gives the options and record of a type of Python, as an entry of a kind."""

    def register(fn: F) -> F:
        FACTORIES[kind] = fn
        return fn

    return register


class PyType:
    """A class or function that makes modules, losses, optimizers or datasets. `full` is its name with that of its file;
    `word` the name without, which it has unless kshell, or a newer type, has that one. `file` is where it comes from,
    as `\\l` was told, with a digest of the contents; both may be empty. `kinds` are the kinds of entries that it can
    have: the first is in the registry."""

    __slots__ = ("digest", "entries", "file", "full", "kinds", "obj", "word")

    def __init__(self, full: str, word: str) -> None:
        self.full, self.word = full, word
        self.entries: dict[str, Entry] = {}
        self.obj: Any = None
        self.kinds: tuple[str, ...] = ()
        self.file = self.digest = ""

    @property
    def is_class(self) -> bool:
        return isinstance(self.obj, type)

    def entry(self, kind: str) -> Entry | None:
        """Its entry of a kind; None if it cannot be one of that kind."""
        if kind not in self.kinds:
            return None
        if kind not in self.entries:
            self.entries[kind] = Entry(self.name, kind, topic="python", since="python")
            self._fill(kind)
        return self.entries[kind]

    @property
    def name(self) -> str:
        """The name that q code uses."""
        return self.word if _HOLDERS.get(self.word) is self else self.full

    def _fill(self, kind: str) -> None:
        """Describe it in its entry of a kind."""
        entry, obj = self.entries[kind], self.obj
        entry.options, entry.record = FACTORIES[kind](self)
        entry.doc = _doc(obj) or f"{kind.capitalize()} of Python's {_word(obj)} {self.full}."
        entry.target = f"{getattr(obj, '__module__', '')}.{getattr(obj, '__qualname__', self.full)}"
        code = getattr(getattr(obj, "__init__", obj), "__code__", getattr(obj, "__code__", None))
        entry.file = code.co_filename if code else ""
        entry.line = code.co_firstlineno if code else 0

    def put(self, obj: Any, kinds: tuple[str, ...], file: str, digest: str) -> None:
        """The class or function that it is from now on."""
        self.obj, self.file, self.digest = obj, file, digest
        if kinds[0] != (self.kinds or kinds)[0]:
            self.take_out()
            self.entries.clear()
        self.kinds = kinds
        if isinstance(obj, type):
            _OF_CLASS[obj] = self
        for kind in self.entries:
            self._fill(kind)
        registry.changed()

    def take_out(self) -> None:
        """Remove its entry from the registry."""
        for kind, entry in self.entries.items():
            if registry.has(kind, entry.name) is entry:
                registry.remove(kind, entry.name)


def _doc(obj: Any) -> str:
    """Its own documentation; classes inherit none here."""
    text = vars(obj).get("__doc__") if isinstance(obj, type) else getattr(obj, "__doc__", None)
    return inspect.cleandoc(text).partition("\n\n")[0] if isinstance(text, str) else ""


def _word(obj: Any) -> str:
    return "class" if isinstance(obj, type) else "function"


def _tell(text: str) -> None:
    session: Any = perhaps()
    if session is not None:
        session.warn(text + "\n")


# ------------------------------------------------------------------ naming


def kinds_of(obj: Any) -> tuple[str, ...]:
    """The kinds of types that a class or function can be; none for anything else. A module may serve as a loss."""
    if isinstance(obj, type):
        if issubclass(obj, torch.optim.Optimizer):
            return ("optimizer",)
        if issubclass(obj, torch.nn.modules.loss._Loss):
            return ("loss", "module")
        if issubclass(obj, torch.nn.Module):
            return ("module", "loss")
        data = sys.modules.get("torch.utils.data")
        return ("dataset",) if data is not None and issubclass(obj, data.Dataset) else ()
    if not callable(obj) or isinstance(obj, torch.nn.Module):
        return ()
    return ("module", "loss", "optimizer")  # what it makes, a call shows


def put(full: str, word: str, obj: Any, file: str = "", digest: str = "") -> PyType:
    """Make a class or function a type, under its full name, and under the short one unless kshell has that. An older
    type of the short name keeps its full name only."""
    known = _TYPES.get(full)
    found = known or PyType(full, word)
    _TYPES[full] = found
    kinds = kinds_of(obj)
    found.put(obj, kinds, file, digest)
    holder = _HOLDERS.get(word)
    own = registry.has(kinds[0], word)
    if holder is None and own is not None:
        if known is None:
            _tell(f"{word} stays the {kinds[0]} that it is: the {_word(obj)} is `{full}")
    elif holder is not found:
        _HOLDERS[word] = found
        if holder is not None:
            _yield(holder, found)
    _register(found)
    return found


def _yield(old: PyType, new: PyType) -> None:
    """Another type has the short name now."""
    if old.full == old.word:  # it has no other
        _forget(old)
        left = ""
    else:
        left = f"; that of {_place(old)} is `{old.full}"
        for kind, entry in old.entries.items():
            if registry.has(kind, entry.name) is entry:
                registry.rename(entry, old.full)
            entry.name = old.full
    _tell(f"{new.word} is now that of {_place(new)}{left}")


def _place(t: PyType) -> str:
    return t.file or (MAIN if t.full.startswith(MAIN + ".") else ".p.type")


def _register(t: PyType) -> None:
    """Register the entry of its first kind under its name; the others have the same name."""
    entry = t.entry(t.kinds[0])
    if entry is not None and registry.has(entry.kind, t.name) is None:
        registry.rename(entry, t.name)
    for other in t.entries.values():
        other.name = t.name


def _forget(t: PyType) -> None:
    t.take_out()
    _TYPES.pop(t.full, None)
    if _HOLDERS.get(t.word) is t:
        del _HOLDERS[t.word]


def forget_all() -> None:
    """Forget all types of Python (for tests)."""
    for t in list(_TYPES.values()):
        _forget(t)
    _OF_CLASS.clear()


def classes_in(variables: dict[str, Any], module: str) -> dict[str, type]:
    """The classes that a module defines and that can be types, by name. Those with a decorator of kshell's are types
    already."""
    if "torch" not in sys.modules:
        return {}
    return {
        name: value
        for name, value in list(variables.items())
        if isinstance(value, type)
        and value.__module__ == module
        and value.__qualname__ == name
        and kinds_of(value)
        and not _is_decorated(value)
    }


def _is_decorated(cls: type) -> bool:
    return any(
        getattr(entry.record, "cls", None) is cls and getattr(entry.record, "python", None) is None
        for kind in FACTORIES
        for entry in registry.entries(kind)
    )


def put_classes(
    variables: dict[str, Any],
    module: str,
    stem: str,
    file: str,
    data: bytes,
    before: dict[str, Any] | None = None,
) -> None:
    """Make the classes of a file types; those that it had when it was loaded before, and has no more, are none. The
    classes of a module that Python made of it `before` are of these types too."""
    digest = hashlib.sha256(data).hexdigest() if file else ""
    found = classes_in(variables, module)
    if stem != MAIN:
        gone = [t for t in _TYPES.values() if t.full.startswith(stem + ".") and t.word not in found]
        for t in gone:
            _forget(t)
    for name, cls in found.items():
        full = f"{stem}.{name}"
        known = _TYPES.get(full)
        if known is None or known.obj is not cls:
            put(full, name, cls, file, digest)
        old = (before or {}).get(name)
        if isinstance(old, type):
            _OF_CLASS[old] = _TYPES[full]


def named(call: str, name: str, obj: Any) -> None:
    """For a call: make a class or function a type under a name."""
    if not name or name.strip(".") != name or ".." in name:
        raise CallError(call, expecting="a name", given=f"`{name}")
    kinds = kinds_of(obj)
    if not kinds:
        raise CallError(
            call,
            expecting="a class of modules, losses, optimizers or datasets, or a function that makes one",
            given=f"a Python {type(obj).__name__}" if not isinstance(obj, type) else obj.__name__,
        )
    taken = registry.has(kinds[0], name)
    if taken is not None and getattr(taken.record, "python", None) is None:
        raise QError(f"{call}: `{name} is a {kinds[0]} type of kshell or of a file of entries")
    file, digest = _source_of(obj)
    put(name, name, obj, file, digest)


def _source_of(obj: Any) -> tuple[str, str]:
    """The name of the file of a class or function outside of installed packages, and its digest."""
    path = getattr(sys.modules.get(getattr(obj, "__module__", "")), "__file__", None) or ""
    if not path.endswith(".py") or "site-packages" in path:
        return "", ""
    try:
        with open(path, "rb") as f:
            return os.path.basename(path), hashlib.sha256(f.read()).hexdigest()
    except OSError:
        return "", ""


# ------------------------------------------------------------------ finding


def _later(kind: str, name: str) -> Entry | None:
    """The entry for a name that is not in the registry: a full name, or that of a class of `__main__`."""
    if kind not in FACTORIES or "torch" not in sys.modules:
        return None
    found = _TYPES.get(name) or _in_main(name)
    return None if found is None or found.kinds[0] != kind else found.entry(kind)


registry.LATER.set(_later)


def _in_main(name: str) -> PyType | None:
    word = name.removeprefix(MAIN + ".")
    variables = vars(sys.modules[MAIN])
    if word not in variables or not classes_in({word: variables[word]}, MAIN):
        return None
    return put(f"{MAIN}.{word}", word, variables[word])


def type_of_name(kind: str, name: str) -> Entry | None:
    """The entry of a type of Python by its full or short name, also of another kind than the one that it has in the
    registry: a module that serves as a loss, say."""
    found = _TYPES.get(name) or _HOLDERS.get(name)
    if found is None and "torch" in sys.modules:
        found = _in_main(name)
    return None if found is None else found.entry(kind)


def type_of_class(cls: type) -> PyType | None:
    """The type of Python that a class is, or was before its file was loaded again."""
    found = _OF_CLASS.get(cls)
    if found is None and cls.__module__ == MAIN:
        if vars(sys.modules[MAIN]).get(cls.__name__) is cls:
            found = _in_main(cls.__name__)
    return found if found is not None and _TYPES.get(found.full) is found else None


def entry_of_object(x: Any, kind: str, own: Mapping[type, Entry]) -> Entry | None:
    """The entry of an object: of the type of Python that made it, else of its class, or the nearest base class that has
    one; `own` are the entries by class that are not of Python."""
    made = made_of(x)
    if made is not None:
        return made.type.entry(kind)
    for cls in type(x).__mro__:
        entry = own.get(cls)
        if entry is None and (found := type_of_class(cls)) is not None:
            entry = found.entry(kind)
        if entry is not None:
            return entry
    return None


# ------------------------------------------------------------------ how an object was made


class Made:
    """How an object was made: by which type, as what kind, and with which options, as q values by name. Copies share
    it; nothing of it is written into a pickle."""

    __slots__ = ("given", "kind", "type")

    def __init__(self, by: PyType, kind: str, given: dict[str, Value]) -> None:
        self.type, self.kind, self.given = by, kind, given

    def __deepcopy__(self, memo: object) -> Made:
        return self

    def __reduce__(self) -> Any:
        return str, ()


def mark(x: Any, by: PyType, kind: str, given: dict[str, Value]) -> None:
    """Record how an object was made."""
    x.__dict__[_MADE] = Made(by, kind, given)


def made_of(x: Any) -> Made | None:
    """How an object was made; None if Python code made it."""
    made = getattr(x, "__dict__", {}).get(_MADE)
    return made if isinstance(made, Made) else None


def is_known(x: Any) -> bool:
    """Can an object be made again by a type of Python: is it known how it was made, or does its class take nothing?"""
    made = made_of(x)
    if made is not None:
        return True
    found = type_of_class(type(x))
    return found is not None and not _parameters(found.obj)


def _parameters(obj: Any) -> Sequence[inspect.Parameter]:
    try:
        return list(inspect.signature(obj).parameters.values())
    except (TypeError, ValueError):
        return ()


def record_of(t: PyType) -> dict[str, str]:
    """What a snapshot keeps of a type beside its name."""
    return {"class": t.full, "file": t.file, "digest": t.digest}


def missing(name: str, record: dict[str, str]) -> QError:
    """The error for a snapshot with objects of a type that is none here."""
    file, name = first_line(record.get("file", "")), first_line(name)
    way = f"load its file first (\\l {file} when it was saved)" if file else "define it first"
    kind = "class" if "." in record.get("class", "") else "type"
    return QError(f"resume: no {kind} {name} here: {way}")
