"""Objects of unknown classes in checkpoints, as handles: browsed, queried and edited, but never imported or called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kshell.checkpoints.pickles.editing import put_attribute
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Branch
from kshell.checkpoints.trees.leaves import attributes_of, class_of, is_module, module_tensors
from kshell.errors import CallError, QError
from kshell.kapi.base.args import names_of
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handle_kind import many
from kshell.kapi.base.handles import KHandle, behaviour
from kshell.kapi.checkpoint.state_dicts import from_q
from kshell.kapi.checkpoint.tree_values import OBJECT_HANDLE, to_q_value
from kshell.kapi.checkpoint.trees import tree_of
from kshell.values.base.build import symdict
from kshell.values.base.core import NIL, List, Table, Value, is_list, sym_vec
from kshell.values.base.symbols import sym
from kshell.values.change.amend import amend
from kshell.values.items.index import index


class ObjectHandle(KHandle):
    """An object in a checkpoint whose class is known by name only; obj is a Branch. A module among them shows its
    parameters, buffers and children by name, any other object its attributes."""

    __slots__ = ()
    kind, usage, values, cost = "object", "h`name is an attribute, key h their names", "value", 0

    def described(self) -> str:
        return f"object of {self.class_name}"

    @property
    def class_name(self) -> str:
        """The name of its class, or of the function that made it."""
        graph = self.get().graph
        return graph.known if graph.__class__ is Global else class_of(graph) or "no class"

    def attributes(self) -> dict[str, Any]:
        """Its attributes by name, as objects of the pickle."""
        meanings, graph = self.get()
        if graph.__class__ is not Node:
            return {}
        return {str(key): part for key, part in attributes_of(meanings, graph).items()}

    def part(self, name: str) -> Value:
        """The value of an attribute, of a module also of a tensor by its dotted name. QError if there is none."""
        meanings, graph = self.get()
        found = self.attributes()
        if name in found:
            return to_q_value(Branch(meanings, found[name]))
        if graph.__class__ is Node and is_module(meanings, graph):
            tensors = dict(module_tensors(meanings, graph))
            if name in tensors:
                return to_q_value(tensors[name])
        raise QError(
            f"index: an object of {self.class_name} has no {name}", hint="key shows its names"
        )

    def tree(self) -> Any:
        """What it holds, for those who take a dictionary: a module's tensors by name, the attributes of another."""
        meanings, graph = self.get()
        if graph.__class__ is Node and is_module(meanings, graph):
            return dict(module_tensors(meanings, graph))
        return {name: Branch(meanings, part) for name, part in self.attributes().items()}

    @classmethod
    def form(cls, saver: Any, obj: Any) -> Any:
        """QError: its class is not known, and its file may be gone."""
        raise QError("an object of a checkpoint cannot be saved in a snapshot; ckpt writes it")

    # ------------------------------------------------------------ q's operators

    def note(self) -> str:
        return f"object {self.class_name} {many(len(self.attributes()), 'attribute')}"

    def objtype(self) -> Value:
        return sym(self.class_name)

    def inside(self) -> list[tuple[str, str]]:
        return [(name, "attribute") for name in self.attributes()]

    def holds(self) -> list[Any]:
        return [self.get().graph]

    def do_same(self, other: Value) -> bool:
        return isinstance(other, ObjectHandle) and self.get().graph is other.get().graph

    def do_reached(self, name: str) -> str:
        return f"h`{name}" if name in self.attributes() else ""

    def do_monad(self, name: str) -> Value:
        if name == "key":
            return sym_vec(list(self.attributes()))
        if name == "value":
            found = self.attributes()
            return symdict(list(found), [self.part(key) for key in found])
        return super().do_monad(name)

    def do_index(self, args: Sequence[Value]) -> Value:
        names = list(self.attributes()) if args[0] is NIL else names_of(args[0])
        if names is None:
            raise CallError("index", expected="symbol(s) for object", given=kname(args[0]))
        parts = [self.part(name) for name in names]
        if len(args) > 1:
            parts = [index(part, args[1:]) for part in parts]
        return List(parts) if args[0] is NIL or is_list(args[0]) else parts[0]

    def do_amend(self, args: Sequence[Value], f: Value | None, y: Value) -> Value:
        names = names_of(args[0]) if args else None
        if names is None or len(names) != 1 or is_list(args[0]):
            raise CallError(
                "amend",
                expected="one attribute of an object, a symbol",
                given=kname(args[0]) if args else "nothing",
            )
        name = names[0]
        if len(args) > 1 or (f is not None and f is not NIL):
            y = amend(self.part(name), list(args[1:]), f, y)
        meanings, graph = self.get()
        if graph.__class__ is not Node:
            raise QError(f"amend: {self.class_name} is a name, which has no attributes")
        put_attribute(meanings, graph, name, tree_of(y))
        return self

    def do_undo(self, args: Sequence[Value]) -> Callable[[], None]:
        graph = self.get().graph
        before = list(graph.steps) if graph.__class__ is Node else []

        def put_back() -> None:
            if graph.__class__ is Node:
                graph.steps = before
                self.get().meanings.forget(graph)

        return put_back


OBJECT_HANDLE.set(ObjectHandle)


@behaviour("checkpoint", ObjectHandle)
def _checkpoint(h: ObjectHandle) -> Any:
    return from_q(to_q_value(h.tree()))


@behaviour("help", ObjectHandle)
def _help(h: ObjectHandle) -> Value:
    """Its attributes, each with what it is."""
    found = list(h.attributes())
    kinds = [kname(h.part(name)) for name in found]
    return Table(["attribute", "value"], [sym_vec(found), sym_vec(kinds)])


@behaviour("str", ObjectHandle)
def _str(h: ObjectHandle) -> Value:
    return sym(h.note())
