"""Global variables: one Python dict per namespace, so that compiled q code finds them through Python's own global
look-up.

Each namespace dict is the globals of the functions compiled in it; its `__builtins__` is the table of names visible in
every namespace (the k-api). No variable has a leading underscore, so the compiler's helpers cannot clash with any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakSet

from kshell import registry
from kshell.errors import QError
from kshell.values.base import synonyms
from kshell.values.base import types as T
from kshell.values.base.core import NIL, Dict, List, Table, Value, Vec, is_atom, sym_vec
from kshell.values.base.functions import Handle, Prim, View
from kshell.values.base.narrow import names_in
from kshell.values.base.symbols import sym
from kshell.values.change.amend import assign_at
from kshell.values.change.join import join_dicts
from kshell.values.items.index import index1
from kshell.values.session.context import blocked, worker
from kshell.values.session.interrupts import brief
from kshell.values.session.restrict import forbid

_HIDDEN = "__builtins__"
NEW_VIEW = registry.Hook()  # defines a view from its name and text: lang/session/views.py
UNDERSCORE = "the name of a variable has no leading underscore"
# part(name, x): the year, minute.. of a temporal value, else an error: lang/session/helpers.py
PART = registry.Hook()
# keyword(name): the function of a keyword that `.q` has, or None: lang/names/q_data.py
KEYWORD = registry.Hook(lambda name: None)


def is_helper(name: str) -> bool:
    """Is this a name that only the compiler's helpers have?"""
    return name[:1] == "_"


def _is_variable(name: str) -> bool:
    """Not what Python keeps there, as `__builtins__`, nor what has a dot before its name."""
    return name[0] not in "._"


def dotted(x: Value, name: str) -> Value:
    """`x.name`: an item of a dictionary or table, or part of a temporal value."""
    if x.__class__ in (Dict, Table):
        return index1(x, sym(name))
    if (x.__class__ is Vec or is_atom(x)) and PART.fn:
        return PART.fn(name, x)
    if not isinstance(x, Handle):
        raise QError("type", hint=getattr(x, "hint", ""))
    entries = ((name,) if registry.find("api", name) else ()) or synonyms.of_torch(name)[0]
    access = x.reached(name)
    usage = access or getattr(x, "usage", "")
    if entries and not access and not usage.startswith(name):
        usage = f'use {" or ".join(entries)}, help"{entries[0]}" tells how'
    raise QError("type", hint=f"an object has no methods or attributes: {usage}" if usage else "")


_ALWAYS = ("q", "Q", "h", "j", "o")
# the namespaces that always exist; their values are registered: lang/names/namespaces.py
PERMANENT = frozenset((".z", *("." + letter for letter in _ALWAYS)))


class Names:
    """The namespaces of a session. The root is '.', others '.a' or '.a.b'."""

    def __init__(self, resolve: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.builtins: dict[str, Any] = {}
        self.spaces: dict[str, dict[str, Any]] = {}
        self.current = "."
        self._resolve = resolve  # fills builtins with the k-api, on the first unknown name
        self._version = -1
        # counts what compiled code depends on: names in the permanent namespaces that come or go, and views
        self.generation = 0
        self.checked = False  # do assignments in compiled code check `allow` and call `hook`?
        # called when a variable in the root is set, and where
        self.hook: Callable[[str, Sequence[Value]], None] | None = None
        # called with the new value of a name; None: deleted
        self.listeners: dict[str, Callable[[Value | None], None]] = {}
        self.bare: set[str] = set()  # namespaces assigned as dictionaries without the empty symbol
        # views of the root; one hidden by a variable assigned later is dead
        self.views: dict[str, View] = {}
        self.lambdas: WeakSet[Any] = WeakSet()  # all lambdas compiled for these namespaces
        self.space(".")

    def space(self, name: str) -> dict[str, Any]:
        """The dict of a namespace, created if new."""
        namespace = self.spaces.get(name)
        if namespace is None:
            outer = name.rpartition(".")[0]
            if outer:
                self.space(outer)  # .a exists as soon as .a.b does
            namespace = self.spaces[name] = {_HIDDEN: self.builtins}
        return namespace

    def view(self, name: str) -> View | None:
        """The view with that name, if it still is one."""
        view = self.views.get(name)
        if view is not None and name in self.spaces["."]:
            self._drop_view(name)
            return None
        return view

    def _drop_view(self, name: str) -> None:
        if self.views.pop(name, None) is not None:
            self.generation += 1

    def put(self, space: str, last: str, x: Value) -> None:
        """Store a variable in an existing namespace."""
        variables = self.spaces[space]
        self.generation += space in PERMANENT and last not in variables
        variables[last] = x

    def read(self, name: str) -> Value:
        """The value of a global in the root that is, or was, a view."""
        value = self.spaces["."].get(name)
        if value is not None:
            return value
        view = self.views.get(name)
        if view is not None and worker() is not None and self.pending(name):
            raise QError("threadview")
        return view.get(self.find) if view is not None else self.get(name, ".")

    def pending(self, name: str) -> bool:
        """Is a view to be evaluated when next read?"""
        view = self.view(name)
        if view is None:
            return False
        if view.value is None:
            return True
        names = [need for need in view.needs if need != name]
        return any(
            self.pending(need) or (self.view(need) is None and self.find(need) is not saved)
            for need, saved in zip(names, view.saved, strict=True)
        )

    def allow(self, space: str, last: str) -> None:
        """'noupdate if globals must not change now; 'access if a confined evaluation changes a callback, which may be
        called when nothing is confined."""
        if blocked():
            raise QError(f"noupdate: `{space} `{last.lstrip('.')}")
        if (space == ".z" and last != "zd") or (space == "." and last == ".z"):
            forbid(last if space == "." else f".z.{last}")

    @brief
    def define_view(self, v: View) -> None:
        """Make a name of the root a view."""
        self.allow(".", v.name)
        self.spaces["."].pop(v.name, None)
        self.views[v.name] = v
        self.generation += 1

    def load_builtins(self) -> dict[str, Any]:
        """The names visible in every namespace, including the k-api's; new registrations are added."""
        if self._resolve is not None and self._version != registry.version():
            self._resolve(self.builtins)
            self._version = registry.version()
        return self.builtins

    def split(self, name: str, ctx: str | None = None) -> tuple[str, str]:
        """Namespace and last part of a name: `.a.b` is ('.a', 'b'); an unqualified name belongs to `ctx` or the current
        namespace."""
        if name.startswith("."):
            parent, _, last = name.rpartition(".")
            return (parent, last) if parent else (".", name)  # `.a` is not the root's `a`
        return ctx or self.current, name

    def find(self, name: str, ctx: str | None = None) -> Value | None:
        """The value of a global, or None. `a.b` of an unqualified a indexes the dictionary or table a by `b."""
        if name == ".":
            return self.as_dict(".")
        space, last = self.split(name, ctx)
        variables = self.spaces.get(space)
        if variables is not None:
            value = variables.get(last)
            if value is not None and not is_helper(last):
                return value
        if space == "." and last in self.views:
            return self.read(last)
        if name in self.spaces:
            contents = self.as_dict(name)
            entry = registry.find("name", name)  # `.q` has the keywords besides what was put there
            return (
                contents
                if entry is None or 0 not in entry.fns
                else join_dicts(entry.fns[0](), contents)
            )
        if not name.startswith("."):
            if "." in name:
                return (
                    self.read(name)
                    if space == "." and name in self.views
                    else self._dotted(name, space)
                )
            return None if is_helper(name) else self.load_builtins().get(name)
        entry = registry.find("name", name)
        if entry is None:
            return self._inside(name)
        return entry.fns[0]() if 0 in entry.fns else Prim(name, entry.fns, entry, entry.qtype)

    def defined(self, name: str, ctx: str | None = None) -> bool:
        """Does a name refer to something? No view is evaluated to find out."""
        space, last = self.split(name, ctx)
        if space == "." and not {last, name, name.partition(".")[0]}.isdisjoint(self.views):
            return True
        return self.find(name, ctx) is not None

    def _inside(self, name: str) -> Value | None:
        """`.a.b.c` where .a.b is a dictionary held in namespace .a; a keyword for `.q.name`."""
        parent, _, last = name.rpartition(".")
        if not last and (parent in self.spaces or parent in PERMANENT):
            return None if parent in self.bare else NIL  # the item under the null symbol
        if parent in PERMANENT:
            return KEYWORD.fn(last) if parent == ".q" else None
        if not parent or (parent in self.spaces and registry.find("name", parent) is None):
            return None
        value = self.find(parent)
        if value.__class__ is not Dict or value.k.__class__ is not Vec or value.k.t != T.S:
            return None
        return dotted(value, last) if last in names_in(value.k) else None

    def _held(self, name: str) -> Value | None:
        """The dictionary or table with this name in a variable of a namespace, or in an item of one."""
        space, last = self.split(name)
        value = self.spaces.get(space, {}).get(last)
        if value is None and space != ".":
            value = self._inside(name)
        return value if value.__class__ is Dict or value.__class__ is Table else None

    def _dotted(self, name: str, ctx: str) -> Value | None:
        first, *members = name.split(".")
        if ctx == "." and self.view(first) is not None:
            raise QError("nyi")
        value = self.find(first, ctx)
        for member in members:
            if value is None:
                return None
            value = dotted(value, member)
        return value

    def get(self, name: str, ctx: str | None = None) -> Value:
        """The value of a global; for an unknown one, the error is its name."""
        value = self.find(name, ctx)
        if value is None:
            raise QError(name)
        return value

    @brief
    def set(self, name: str, x: Value, ctx: str | None = None, at: Sequence[Value] = ()) -> None:
        """Assign a global. For an unqualified a, `a.b` assigns into the dictionary a. `at` is where x differs from the
        previous value, if known."""
        if not name.startswith(".") and "." in name:
            self._set_dotted(name, x, ctx)
            return
        space, last = self.split(name, ctx)
        if not last or last[0] == "_":  # is_helper, which would cost a tenth of this call
            raise QError("assign", hint=UNDERSCORE if last else "")
        self.allow(space, last)
        if space not in self.spaces:
            parent = self._held(space)
            if parent is not None:
                self.set(space, assign_at(parent, [sym(last)], x))
                return
        if x.__class__ is Dict and name.startswith("."):
            is_root = space == "." and x.k.__class__ is Vec and x.k.t == T.S
            if is_root or name in self.spaces:
                self.replace(name, x)
                return
        self.space(space)
        self.put(space, last, x)
        if self.hook is not None and space == "." and last[0] != ".":
            self.hook(name, at)
        listener = self.listeners.get(name)
        if listener is not None:
            listener(x)

    @brief
    def _set_dotted(self, name: str, x: Value, ctx: str | None) -> None:
        def put(old: Value | None, rest: Sequence[str]) -> Value:
            # as in any namespace, :: comes first, so that other items can have any type
            if old is None:
                old = Dict(sym_vec([""]), List([NIL]))
            symbol = sym(rest[0])
            if len(rest) == 1:
                return assign_at(old, [symbol], x)
            is_present = old.__class__ is not Dict or symbol in old.k.items
            return assign_at(
                old, [symbol], put(dotted(old, rest[0]) if is_present else None, rest[1:])
            )

        first, *members = name.split(".")
        self.set(first, put(self.find(first, ctx), members), ctx)
        self._drop_view(name)

    @brief
    def replace(self, name: str, d: Dict) -> None:
        """Replace the contents of a namespace by the items of a dictionary."""
        self.allow(".", name)
        keys = names_in(d.k)
        if any(map(is_helper, keys)):
            raise QError("assign", hint=UNDERSCORE)
        space = self.space(name)
        for member in self.members(name):
            del space[member]
        (self.bare.add if all(keys) else self.bare.discard)(name)
        for key, item in zip(keys, d.v.items, strict=True):
            if key and item.__class__ is not View:  # a view stays a view
                space[key] = item
        self.generation += 1
        for full_name, listener in self.listeners.items():
            parent, last = self.split(full_name)
            if parent == name:
                listener(space.get(last))

    @brief
    def delete(self, name: str, ctx: str | None = None) -> None:
        """Delete a global; an unknown one is an error that names it."""
        space, last = self.split(name, ctx)
        self.allow(space, last)
        if space == "." and self.view(last) is not None:
            self._drop_view(last)
            return
        if is_helper(last) or self.spaces.get(space, {}).pop(last, None) is None:
            raise QError(name)
        self.generation += space in PERMANENT
        listener = self.listeners.get(name)
        if listener is not None:
            listener(None)

    def members(self, space: str) -> list[str]:
        """The sorted names of the variables of a namespace."""
        return sorted(filter(_is_variable, self.spaces.get(space, {})))

    def children(self) -> list[str]:
        """The namespaces under the root, without the dot: the permanent ones, then others that are not empty. (.z is
        not listed by q.)"""
        return list(
            dict.fromkeys(
                [
                    *_ALWAYS,
                    *(
                        space[1:].split(".")[0]
                        for space in list(self.spaces)
                        if space not in (".", ".z") and self.members(space)
                    ),
                ]
            )
        )

    def as_dict(self, space: str) -> Dict:
        """A namespace as the dictionary that q shows: :: under the empty symbol first, except for the root; names in
        order of creation, then nested views or namespaces."""
        names = self.spaces[space]
        entries = [(name, names[name]) for name in list(names) if _is_variable(name)]
        if space == ".":
            views = (
                (name, value)
                for name in list(self.views)
                if (value := self.view(name)) and "." not in name
            )
            entries += views
        prefix = space + "."
        if space != ".":
            children = dict.fromkeys(
                space[len(prefix) :].split(".")[0]
                for space in self.spaces
                if space.startswith(prefix)
            )
            first_entry = [] if space in self.bare else [("", NIL)]
            entries = [
                *first_entry,
                *entries,
                *((child, self.as_dict(prefix + child)) for child in children),
            ]
        return Dict(sym_vec([name for name, _ in entries]), List([value for _, value in entries]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.spaces)
