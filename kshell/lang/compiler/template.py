"""qSQL templates: each phrase becomes a Python function of the columns, run by lang/qsql/functional.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell.lang.compiler import tree_queries
from kshell.lang.compiler.aggregate_calls import aggregate_of
from kshell.lang.compiler.code_objects import Block
from kshell.lang.compiler.expr import E
from kshell.parse import tree as N


class TemplateMixin:
    """The part of the compiler that emits qSQL."""

    if TYPE_CHECKING:
        block: Block
        locals: set[str]
        kinds: dict[str, str | None]
        columns: int
        consts: Any

        def emit(self, line: str) -> None: ...
        def expr(self, node: Any) -> E: ...
        def temp(self) -> str: ...
        def local(self, name: str) -> str: ...
        def error(self, text: str, node: Any) -> Exception: ...
        def mark(self, node: Any) -> str: ...
        def const(self, x: Any) -> E: ...
        def is_word(self, name: str) -> bool: ...
        def tail(self, node: Any) -> None: ...

    def phrase(self, node: Any, name: str | None) -> str:
        """The Python text for a Phrase; emits its function first."""
        t = "_p" + self.temp()[1:]
        outer, kinds = self.block, self.kinds
        self.block, self.kinds, self.columns = [], {}, self.columns + 1
        try:
            self.tail(node)
            body = self.block
        finally:
            self.block, self.kinds, self.columns = outer, kinds, self.columns - 1
        used = sorted(
            {n.name.split(".")[0] for n in tree_queries.walk([node]) if isinstance(n, N.Name)}
            & self.locals
        )
        args = "".join(f",{self.local(v)}={self.local(v)}" for v in used)
        self.block += [f"def {t}(_c{args}):", body]
        return f"_Phrase({t},{self.consts.add(node)},{name!r},{self.aggregate(node)})"

    def aggregate(self, node: Any) -> str:
        """The Python text for (verb, column or Phrase, ...) for a phrase that a group-by can compute for all groups at
        once, else None."""
        found = aggregate_of(node)
        if found is None:
            return "None"
        args = [repr(a.name) if isinstance(a, N.Name) else self.phrase(a, None) for a in found[1]]
        return f"({found[0]!r},{','.join(args)})"

    def named(self, pairs: list[tuple[str | None, Any]]) -> str:
        names = tree_queries.column_names(pairs)
        return (
            "["
            + ",".join(
                f"({name!r},{self.phrase(p, name)})"
                for name, (_, p) in zip(names, pairs, strict=True)
            )
            + "]"
        )

    def _Select(self, node: Any) -> E:
        clash = tree_queries.group_clash(node)
        if clash:
            raise self.error(clash, node)
        source = self.expr(node.source)
        table = E(self.temp(), None, atomic=True, stable=True)
        self.emit(f"{table.s}={source.s}")
        where = "[" + ",".join(self.phrase(w, None) for w in node.where) + "]"
        named = self.exec_named if node.verb == "exec" else self.named
        by = "None" if node.by is None else named(node.by)
        cols = named(node.cols)
        limit = "None"
        if node.options and "distinct" not in node.options:
            count, order, column = node.options
            n = "None" if count is None else self.expr(count).s
            limit = f"({n},{order!r},{'None' if column is None else self.phrase(column, None)})"
        distinct = node.options is not None and "distinct" in node.options
        return E(
            f"_select({self.mark(node)}{node.verb!r},{table.s},{where},{by},{cols},{distinct},{limit})",
            None,
            impure=True,
        )

    def exec_named(self, pairs: list[tuple[str | None, Any]]) -> str:
        """Like named, but `exec` with one unnamed column returns the list itself, and with one unnamed key the list of
        keys: their name stays None."""
        if len(pairs) == 1 and pairs[0][0] is None:
            return f"[(None,{self.phrase(pairs[0][1], None)})]"
        return self.named(pairs)
