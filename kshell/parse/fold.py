"""From rows of terms to tree nodes: the builders of the grammar's rules, and q's right-to-left evaluation.

A builder `rule_(p, start, end, items)` gets the tokens p, the token indexes where its rule begins and ends, and the
rule's items: the index of a token, or the result of a rule's builder.
"""

from __future__ import annotations

from typing import Any

from kshell.errors import QError, Source
from kshell.parse import tree as N
from kshell.parse.literals import number, string, symbol

NOUN, VERB, COLON, GLOBAL, AMEND, SIGNAL, BLOCK = range(7)
_COLONS = (COLON, GLOBAL)


class Group:
    """A function in parentheses, which makes it a noun."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node


class Head(tuple[Any, ...]):
    """The items in brackets at the start of a list, lambda or template."""


class By(tuple[Any, ...]):
    """The columns of a by phrase."""


class Where(tuple[Any, ...]):
    """The conditions of a where phrase."""


def fail(p: Any, i: int, want: str) -> None:
    """The error at token i, which no rule allows there."""
    word = (
        p.text[p.starts[i] : p.ends[i]]
        if p.kinds[i] in "bf"
        else "from"
        if want == "f"
        else "parse"
    )
    raise error(word, p, i)


def error(text: str, p: Any, i: int) -> QError:
    return QError(text, p.starts[i], p.source or Source(p.text))


# ---------------------------------------------------------------------------------------------------- leaves
def leaf(p: Any, i: int) -> Any:
    """The node for a single token."""
    start, end = p.starts[i], p.ends[i]
    kind, text = p.kinds[i], p.text[start:end]
    if kind in "awbf":
        return N.Name(text, start, end)
    if kind in "+,=:g":
        return N.Verb(text, start, end)
    if kind in "'~":
        if text[0] == "\\" and kind == "~":
            raise error("\\", p, i)
        return N.Iterator(text, None, start, end)
    return literal(p, i, kind, text)


def literal(p: Any, i: int, kind: str, text: str) -> Any:
    """The node for a literal token. Text that looks like a number but is not one is an error with that text."""
    problem: QError | None = None
    try:
        t, data = number(text) if kind == "0" else symbol(text) if kind == "`" else string(text)
    except QError as e:
        problem = e
    if problem is not None:
        raise error(problem.text[:99], p, i)
    return N.Lit(t, data, p.starts[i], p.ends[i])


_SORT = dict.fromkeys("+,", VERB) | {":": COLON, "g": GLOBAL, "=": AMEND}


def sort_of(p: Any, item: Any, node: Any) -> int:
    """The part of speech of an item in a row."""
    kind = item.__class__
    if kind is int:
        if p.kinds[item] in "'~":
            return SIGNAL if node.glyph == "'" else NOUN
        return _SORT.get(p.kinds[item], NOUN)
    return VERB if kind is N.Iterator else BLOCK if kind is N.Block else NOUN


# ---------------------------------------------------------------------------------------------------- expressions
def expr_(p: Any, start: int, end: int, items: list[Any]) -> Any:
    """The node for a row of terms, read from right to left."""
    if len(items) == 1:
        item = items[0]
        return (
            leaf(p, item)
            if item.__class__ is int
            else item.node
            if item.__class__ is Group
            else item
        )
    if not items:
        at = p.starts[end]
        return N.Elided(at, at)
    nodes: list[Any] = []
    sorts: list[int] = []
    kinds, starts, ends = p.kinds, p.starts, p.ends
    for item in items:
        if item.__class__ is not int:
            node = item.node if item.__class__ is Group else item
            sorts.append(sort_of(p, item, node))
        elif kinds[item] == "a":
            name = p.text[starts[item] : ends[item]]
            node = N.Name(name, starts[item], ends[item])
            sorts.append(VERB if p.is_infix(name) else NOUN)
        else:
            node = leaf(p, item)
            sorts.append(sort_of(p, item, node))
        nodes.append(node)
    return fold(nodes, sorts)


phrase_ = source_ = expr_


def fold(nodes: list[Any], sorts: list[int]) -> Any:
    """The node for a row. `acc` is what has been read so far, on the right. If that still lacks an argument, because
    the row ends in a verb, it is a list of functions, `train`, innermost first; what precedes it makes a composition.
    """
    acc, train, i = tail(nodes, sorts)
    while i >= 0:
        node, sort, i = nodes[i], sorts[i], i - 1
        if sort == BLOCK and i >= 0 and sorts[i] in _COLONS and (i == 0 or sorts[i - 1] != NOUN):
            node = N.Apply(nodes[i], node.items, nodes[i].start, node.end)  # `:[v;p;r;d]`, `::[x]`
            i -= 1
        infix = (
            i >= 0
            and sort not in (NOUN, BLOCK, SIGNAL)
            and (sorts[i] in (NOUN, BLOCK) or (sort != VERB and nodes[i].__class__ is N.Name))
        )  # `cor:1` is 'assign
        if infix and sort == VERB:
            left, i = nodes[i], i - 1
            if train:
                right = N.Elided(node.end, node.end)
                train.append(N.Apply(node, [left, right], left.start, node.end, node.start))
            else:
                acc = N.Apply(node, [left, acc], left.start, acc.end, node.start)
        elif infix or sort == SIGNAL or (sort == COLON and i < 0):
            acc, train = closed(acc, train), []
            if infix:
                acc = assign(nodes[i], node, sort, acc)
                i -= 1
            else:
                acc = (N.Return if sort == COLON else N.Signal)(acc, node.start, acc.end)
        elif train:
            train.append(node)
        else:
            acc = node if acc is None else N.Apply(node, [acc], node.start, acc.end)
    return closed(acc, train)


def tail(nodes: list[Any], sorts: list[int]) -> tuple[Any, list[Any], int]:
    """The end of a row: its node (None if left to `fold`), or a train, and where to continue."""
    i = len(nodes) - 1
    node, sort = nodes[i], sorts[i]
    if sort == BLOCK:
        return None, [], i
    if sort in (NOUN, SIGNAL):
        return node, [], i - 1
    if sorts[i - 1] != NOUN:
        return None, [node], i - 1
    left = nodes[i - 1]
    if (
        sort == GLOBAL
    ):  # `f g::` composes f and g: the last term only says that g takes the arguments
        return None, [left], i - 2
    return (
        None,
        [N.Apply(node, [left, N.Elided(node.end, node.end)], left.start, node.end, node.start)],
        i - 2,
    )


def closed(acc: Any, train: list[Any]) -> Any:
    """The node for a train, if there is one."""
    if not train:
        return acc
    return train[0] if len(train) == 1 else N.Compose(train[::-1], train[-1].start, train[0].end)


def assign(left: Any, verb: Any, sort: int, value: Any) -> Any:
    """`x:v`, `x::v`, `x+:v`."""
    op: Any = None
    if sort == GLOBAL:
        op = "::"
    elif sort == AMEND:
        op = N.Verb(verb.glyph.rstrip(":"), verb.start, verb.end)
    return N.Assign(left, op, value, left.start, value.end, verb.start)


def term_(p: Any, start: int, end: int, items: list[Any]) -> Any:
    """A noun or verb with the brackets and iterators after it; a single one is returned unchanged."""
    item = items[0]
    if len(items) == 1:
        return item
    node = leaf(p, item) if item.__class__ is int else item
    for post in items[1:]:
        if node.__class__ is Group:
            node = node.node
        if post.__class__ is int:
            a, b = p.starts[post], p.ends[post]
            node = N.Iterator(p.text[a:b], node, node.start, b, node.start)
        else:
            node = bracketed(node, post)
    return node


def bracketed(node: Any, index: Any) -> Any:
    """`f[a;b]`. One argument in brackets is the left one of an operator: `-[5]` is 5-."""
    args, end = index
    if len(args) == 1 and args[0].__class__ is N.Elided:
        args = ()
    if node.__class__ is N.Verb:
        if len(args) > 2 and node.glyph == "$":
            return N.Cond(list(args), node.start, end)
        if len(args) == 1 and (len(node.glyph) == 1 or node.glyph[-1] != ":"):
            args = (args[0], N.Elided(end - 1, end - 1))
    return N.Apply(node, list(args), node.start, end)


# ---------------------------------------------------------------------------------------------------- brackets
def row_(p: Any, start: int, end: int, items: list[Any]) -> tuple[Any, ...]:
    """The expressions between semicolons."""
    return tuple(items)


def index_(p: Any, start: int, end: int, items: list[Any]) -> Any:
    """The arguments in brackets, and the offset where they end."""
    return items[0], p.ends[end - 1]


def block_(p: Any, start: int, end: int, items: list[Any]) -> Any:
    return N.Block(list(items[0]), p.starts[start], p.ends[end - 1])


def head_(p: Any, start: int, end: int, items: list[Any]) -> Head:
    """Brackets without any expression make an empty head."""
    (row,) = items
    return Head(() if _empty(row) else row)


def _empty(row: Any) -> bool:
    return len(row) == 1 and row[0].__class__ is N.Elided


def list_(p: Any, start: int, end: int, items: list[Any]) -> Any:
    """A list, a table or dictionary literal, or just the expression in parentheses."""
    row = items[-1]
    a, b = p.starts[start], p.ends[end - 1]
    if len(items) == 2:
        head = columns(items[0])
        if len(row) > 1 and row[0].__class__ is N.Elided:  # a semicolon may follow the brackets
            row = row[1:]
        if _empty(row) and items[0]:
            return N.DictOf(head, a, b)
        return N.TableOf(head, [] if _empty(row) else columns(row), a, b)
    if len(row) > 1:
        return N.ListOf(list(row), a, b)
    (node,) = row
    kind = node.__class__
    if kind is N.Elided:
        return N.ListOf([], a, b)
    return Group(node) if kind is N.Verb or kind is N.Name or kind is N.Iterator else node


def columns(nodes: Any) -> list[tuple[str | None, Any]]:
    """(name or None, node) for each item of a table, dictionary or phrase: `a:1` names it."""
    return [column(node) for node in nodes]


def column(node: Any) -> tuple[str | None, Any]:
    if node.__class__ is N.Assign and node.op is None and node.target.__class__ is N.Name:
        return node.target.name, node.value
    if (
        node.__class__ is N.Apply
        and len(node.args) == 2
        and node.f.__class__ is N.Verb
        and node.f.glyph == ":"
    ):
        name, value = node.args
        if name.__class__ is N.Name and value.__class__ is N.Elided:
            return name.name, value
    return None, node


def lambda_(p: Any, start: int, end: int, items: list[Any]) -> Any:
    """A function. A parameter that is a pattern receives its argument under a hidden name and is matched first."""
    a, b = p.starts[start], p.ends[end - 1]
    params: list[str] | None = None
    first: list[Any] = []
    if len(items) == 2:
        params = []
        for i, node in enumerate(items[0]):
            if node.__class__ is N.Name and "." not in node.name:
                params.append(node.name)
                continue
            params.append(f"_arg{i}")
            if node.__class__ is not N.Elided:
                hidden = N.Name(f"_arg{i}", node.start, node.end)
                first.append(N.Assign(node, None, hidden, node.start, node.end, node.start))
    body = [n for n in items[-1][:-1] if n.__class__ is not N.Elided] + [items[-1][-1]]
    if len(body) == 1 and body[0].__class__ is N.Elided:
        body = []
    return N.Lambda(params, first + body, p.text[a:b], a, b)


def branch_(p: Any, start: int, end: int, items: list[Any]) -> Any:
    """`if[c;...]` and the like."""
    args, stop = items[1]
    word = p.text[p.starts[start] : p.ends[start]]
    if args[0].__class__ is N.Elided:
        raise error("parse", p, start)
    kept = [args[0], *(arg for arg in args[1:] if arg.__class__ is not N.Elided)]
    return N.Control(word, kept, p.starts[start], stop)


# ---------------------------------------------------------------------------------------------------- templates
def phrases_(p: Any, start: int, end: int, items: list[Any]) -> tuple[Any, ...]:
    """The nodes between commas."""
    nodes = tuple(item for item in items if item.__class__ is not int)
    if _empty(nodes):
        return ()
    for node in nodes:
        if node.__class__ is N.Elided:
            raise QError("parse", node.start, p.source or Source(p.text))
    return nodes


def group_(p: Any, start: int, end: int, items: list[Any]) -> By:
    return By(items[1])


def filter_(p: Any, start: int, end: int, items: list[Any]) -> Where:
    return Where(items[1])


def query_(p: Any, start: int, end: int, items: list[Any]) -> Any:
    """A qSQL template."""
    verb = p.text[p.starts[start] : p.ends[start]]
    options: Any = None
    by: list[Any] | None = None
    where: list[Any] = []
    cols: Any = ()
    source: Any = None
    for item in items:
        kind = item.__class__
        if kind is Head:
            options = limit(p, start, item)
        elif kind is tuple:
            cols = item
        elif kind is By:
            by = columns(item)
        elif kind is Where:
            where = list(item)
        elif kind is not int:
            source = item
    if source.__class__ is N.Elided:
        raise error("from", p, end)
    if verb == "select" and options is None:
        cols, distinct = without_distinct(cols)
        options = "distinct" if distinct else None
    stop = p.ends[end - 1]
    return N.Select(verb, options, columns(cols), by, source, where, p.starts[start], stop)


def without_distinct(cols: Any) -> tuple[Any, bool]:
    """`select distinct a,b`: the columns without that word, and whether it was present."""
    if cols:
        node = cols[0]
        if node.__class__ is N.Name and node.name == "distinct":
            return cols[1:], True
        if (
            node.__class__ is N.Apply
            and node.f.__class__ is N.Name
            and node.f.name == "distinct"
            and len(node.args) == 1
            and node.end > node.start
        ):
            return (node.args[0], *cols[1:]), True
    return cols, False


def limit(p: Any, start: int, head: Head) -> tuple[Any, str | None, Any]:
    """The options of `select[n;>c]`: (count, order, column)."""
    count: Any = None
    order: str | None = None
    col: Any = None
    for node in head:
        if (
            node.__class__ is N.Apply
            and node.f.__class__ is N.Verb
            and node.f.glyph[0] in "<>"
            and len(node.args) == 1
        ):
            order, col = node.f.glyph, node.args[0]
        elif count is None and node.__class__ is not N.Elided:
            count = node
        else:
            raise error("parse", p, start)
    return count, order, col
