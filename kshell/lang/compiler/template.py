"""qSQL templates: each phrase becomes a Python function of the columns, run by lang/qsql/functional.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lang.compiler import tree_queries
from kshell.lang.compiler.aggregate_calls import aggregate_of
from kshell.lang.compiler.code_objects import Block, Consts
from kshell.lang.compiler.expr import E
from kshell.parse import tree as N
from kshell.values.base.core import Value


class TemplateMixin:
    """The part of the compiler that emits qSQL."""

    if TYPE_CHECKING:
        block: Block
        locals: set[str]
        kinds: dict[str, str | None]
        columns: int
        consts: Consts

        def emit(self, line: str) -> None: ...
        def expr(self, node: N.Node) -> E: ...
        def temp(self) -> str: ...
        def local(self, name: str) -> str: ...
        def error(self, text: str, node: N.Node) -> Exception: ...
        def mark(self, node: N.Node) -> str: ...
        def const(self, x: Value) -> E: ...
        def is_word(self, name: str) -> bool: ...
        def tail(self, node: N.Node) -> None: ...

    def phrase(self, node: N.Node, name: str | None) -> str:
        """The Python text for a Phrase; emits its function first."""
        function = "_p" + self.temp()[1:]
        block, kinds = self.block, self.kinds
        self.block, self.kinds, self.columns = [], {}, self.columns + 1
        try:
            self.tail(node)
            body = self.block
        finally:
            self.block, self.kinds, self.columns = block, kinds, self.columns - 1
        used = sorted(
            {
                descendant.name.split(".")[0]
                for descendant in tree_queries.walk([node])
                if isinstance(descendant, N.Name)
            }
            & self.locals
        )
        defaults = "".join(f",{self.local(variable)}={self.local(variable)}" for variable in used)
        self.block += [f"def {function}(_c{defaults}):", body]
        return f"_Phrase({function},{self.consts.add(node)},{name!r},{self.aggregate(node)})"

    def aggregate(self, node: N.Node) -> str:
        """The Python text for (verb, column or Phrase, ...) for a phrase that a group-by can compute for all groups at
        once, else None."""
        parsed = aggregate_of(node)
        if parsed is None:
            return "None"
        arguments = [
            repr(argument.name) if isinstance(argument, N.Name) else self.phrase(argument, None)
            for argument in parsed[1]
        ]
        return f"({parsed[0]!r},{','.join(arguments)})"

    def named(self, pairs: list[N.Column]) -> str:
        names = tree_queries.column_names(pairs)
        return (
            "["
            + ",".join(
                f"({name!r},{self.phrase(node, name)})"
                for name, (_, node) in zip(names, pairs, strict=True)
            )
            + "]"
        )

    def _Select(self, node: N.Select) -> E:
        clash = tree_queries.group_clash(node)
        if clash:
            raise self.error(clash, node)
        source = self.expr(node.source)
        table = E(self.temp(), None, atomic=True, stable=True)
        self.emit(f"{table.s}={source.s}")
        conditions = "[" + ",".join(self.phrase(condition, None) for condition in node.where) + "]"
        named = self.exec_named if node.verb == "exec" else self.named
        grouping = "None" if node.by is None else named(node.by)
        columns = named(node.cols)
        limit = "None"
        if isinstance(node.options, tuple):
            count, order, column = node.options
            count_text = "None" if count is None else self.expr(count).s
            limit = f"({count_text},{order!r},{'None' if column is None else self.phrase(column, None)})"
        distinct = node.options == "distinct"
        return E(
            f"_select({self.mark(node)}{node.verb!r},{table.s},{conditions},{grouping},{columns},{distinct},{limit})",
            None,
            impure=True,
        )

    def exec_named(self, pairs: list[N.Column]) -> str:
        """Like named, but `exec` with one unnamed column returns the list itself, and with one unnamed key the list of
        keys: their name stays None."""
        if len(pairs) == 1 and pairs[0][0] is None:
            return f"[(None,{self.phrase(pairs[0][1], None)})]"
        return self.named(pairs)
