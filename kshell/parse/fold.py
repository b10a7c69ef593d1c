"""From rows of terms to tree nodes: the builders of the grammar's rules, and q's right-to-left evaluation.

A builder `rule_(p, start, end, items)` gets the tokens p, the token indexes where its rule begins and ends, and the
rule's items: the index of a token, or the result of a rule's builder.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kshell.errors import QError, Source
from kshell.parse import tree as N
from kshell.parse.literals import number, string, symbol

if TYPE_CHECKING:
    from kshell.parse.lex import Tokens

NOUN, VERB, COLON, GLOBAL, AMEND, SIGNAL, BLOCK = range(7)
_COLONS = (COLON, GLOBAL)


class Group:
    """A function in parentheses, which makes it a noun."""

    __slots__ = ("node",)

    def __init__(self, node: N.Node) -> None:
        self.node = node


class Head(tuple[N.Node, ...]):
    """The items in brackets at the start of a list, lambda or template."""


class By(tuple[N.Node, ...]):
    """The columns of a by phrase."""


class Where(tuple[N.Node, ...]):
    """The conditions of a where phrase."""


def fail(p: Tokens, i: int, want: str) -> None:
    """The error at token i, which no rule allows there."""
    message = (
        p.text[p.starts[i] : p.ends[i]]
        if p.kinds[i] in "bf"
        else "from"
        if want == "f"
        else "parse"
    )
    raise error(message, p, i)


def error(text: str, p: Tokens, i: int) -> QError:
    return QError(text, p.starts[i], p.source or Source(p.text))


# ---------------------------------------------------------------------------------------------------- leaves
def leaf(p: Tokens, i: int) -> N.Node:
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


def literal(p: Tokens, i: int, kind: str, text: str) -> N.Lit:
    """The node for a literal token. Text that looks like a number but is not one is an error with that text."""
    problem: QError | None = None
    try:
        qtype, value = (
            number(text) if kind == "0" else symbol(text) if kind == "`" else string(text)
        )
    except QError as e:
        problem = e
    if problem is not None:
        raise error(problem.text[:99], p, i)
    return N.Lit(qtype, value, p.starts[i], p.ends[i])


_SORT = dict.fromkeys("+,", VERB) | {":": COLON, "g": GLOBAL, "=": AMEND}


def sort_of(p: Tokens, item: object, node: N.Node) -> int:
    """The part of speech of an item in a row."""
    kind = item.__class__
    if item.__class__ is int:
        if node.__class__ is N.Iterator:
            return SIGNAL if node.glyph == "'" else NOUN
        return _SORT.get(p.kinds[item], NOUN)
    return VERB if kind is N.Iterator else BLOCK if kind is N.Block else NOUN


# ---------------------------------------------------------------------------------------------------- expressions
def expr_(p: Tokens, start: int, end: int, items: list[Any]) -> N.Node:
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
        offset = p.starts[end]
        return N.Elided(offset, offset)
    nodes: list[N.Node] = []
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


def fold(nodes: list[N.Node], sorts: list[int]) -> N.Node:
    """The node for a row. `acc` is what has been read so far, on the right. If that still lacks an argument, because
    the row ends in a verb, it is a list of functions, `train`, innermost first; what precedes it makes a composition.
    """
    acc, train, i = tail(nodes, sorts)
    while i >= 0:
        node, sort, i = nodes[i], sorts[i], i - 1
        if (
            node.__class__ is N.Block
            and i >= 0
            and sorts[i] in _COLONS
            and (i == 0 or sorts[i - 1] != NOUN)
        ):
            node = N.Apply(nodes[i], node.items, nodes[i].start, node.end)  # `:[v;p;r;d]`, `::[x]`
            i -= 1
        # `cor:1` is 'assign
        infix = (
            i >= 0
            and sort not in (NOUN, BLOCK, SIGNAL)
            and (sorts[i] in (NOUN, BLOCK) or (sort != VERB and nodes[i].__class__ is N.Name))
        )
        if infix and sort == VERB:
            left, i = nodes[i], i - 1
            if train:
                right = N.Elided(node.end, node.end)
                train.append(N.Apply(node, [left, right], left.start, node.end, node.start))
            elif acc is not None:
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


def tail(nodes: list[N.Node], sorts: list[int]) -> tuple[N.Node | None, list[N.Node], int]:
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
    # `f g::` composes f and g: the last term only says that g takes the arguments
    if sort == GLOBAL:
        return None, [left], i - 2
    return (
        None,
        [N.Apply(node, [left, N.Elided(node.end, node.end)], left.start, node.end, node.start)],
        i - 2,
    )


def closed(acc: N.Node | None, train: list[N.Node]) -> N.Node:
    """The node for a train, if there is one."""
    if acc is not None:
        return acc
    return train[0] if len(train) == 1 else N.Compose(train[::-1], train[-1].start, train[0].end)


def assign(left: N.Node, verb: N.Node, sort: int, value: N.Node) -> N.Assign:
    """`x:v`, `x::v`, `x+:v`."""
    operator: N.Verb | str | None = None
    if sort == GLOBAL:
        operator = "::"
    elif sort == AMEND and verb.__class__ is N.Verb:
        operator = N.Verb(verb.glyph.rstrip(":"), verb.start, verb.end)
    return N.Assign(left, operator, value, left.start, value.end, verb.start)


def term_(p: Tokens, start: int, end: int, items: list[Any]) -> Any:
    """A noun or verb with the brackets and iterators after it; a single one is returned unchanged."""
    item = items[0]
    if len(items) == 1:
        return item
    node = leaf(p, item) if item.__class__ is int else item
    for suffix in items[1:]:
        if node.__class__ is Group:
            node = node.node
        if suffix.__class__ is int:
            suffix_start, suffix_end = p.starts[suffix], p.ends[suffix]
            node = N.Iterator(
                p.text[suffix_start:suffix_end], node, node.start, suffix_end, node.start
            )
        else:
            node = bracketed(node, suffix)
    return node


def bracketed(node: N.Node, index: tuple[tuple[N.Node, ...], int]) -> N.Node:
    """`f[a;b]`. One argument in brackets is the left one of an operator: `-[5]` is 5-."""
    arguments, end = index
    if len(arguments) == 1 and arguments[0].__class__ is N.Elided:
        arguments = ()
    if node.__class__ is N.Verb:
        if len(arguments) > 2 and node.glyph == "$":
            return N.Cond(list(arguments), node.start, end)
        if len(arguments) == 1 and (len(node.glyph) == 1 or node.glyph[-1] != ":"):
            arguments = (arguments[0], N.Elided(end - 1, end - 1))
    return N.Apply(node, list(arguments), node.start, end)


# ---------------------------------------------------------------------------------------------------- brackets
def row_(p: Tokens, start: int, end: int, items: list[N.Node]) -> tuple[N.Node, ...]:
    """The expressions between semicolons."""
    return tuple(items)


def index_(p: Tokens, start: int, end: int, items: list[Any]) -> tuple[tuple[N.Node, ...], int]:
    """The arguments in brackets, and the offset where they end."""
    return items[0], p.ends[end - 1]


def block_(p: Tokens, start: int, end: int, items: list[Any]) -> N.Block:
    return N.Block(list(items[0]), p.starts[start], p.ends[end - 1])


def head_(p: Tokens, start: int, end: int, items: list[Any]) -> Head:
    """Brackets without any expression make an empty head."""
    (row,) = items
    return Head(() if _empty(row) else row)


def _empty(row: tuple[N.Node, ...]) -> bool:
    return len(row) == 1 and row[0].__class__ is N.Elided


def list_(p: Tokens, start: int, end: int, items: list[Any]) -> N.Node | Group:
    """A list, a table or dictionary literal, or just the expression in parentheses."""
    row = items[-1]
    opening, closing = p.starts[start], p.ends[end - 1]
    if len(items) == 2:
        named = columns(items[0])
        if len(row) > 1 and row[0].__class__ is N.Elided:  # a semicolon may follow the brackets
            row = row[1:]
        if _empty(row) and items[0]:
            return N.DictOf(named, opening, closing)
        return N.TableOf(named, [] if _empty(row) else columns(row), opening, closing)
    if len(row) > 1:
        return N.ListOf(list(row), opening, closing)
    (node,) = row
    kind = node.__class__
    if kind is N.Elided:
        return N.ListOf([], opening, closing)
    return Group(node) if kind is N.Verb or kind is N.Name or kind is N.Iterator else node


def columns(nodes: Iterable[N.Node]) -> list[N.Column]:
    """(name or None, node) for each item of a table, dictionary or phrase: `a:1` names it."""
    return [column(node) for node in nodes]


def column(node: N.Node) -> N.Column:
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


def lambda_(p: Tokens, start: int, end: int, items: list[Any]) -> N.Lambda:
    """A function. A parameter that is a pattern receives its argument under a hidden name and is matched first."""
    opening, closing = p.starts[start], p.ends[end - 1]
    params: list[str] | None = None
    assignments: list[N.Node] = []
    if len(items) == 2:
        params = []
        for index, node in enumerate(items[0]):
            if node.__class__ is N.Name and "." not in node.name:
                params.append(node.name)
                continue
            params.append(f"_arg{index}")
            if node.__class__ is not N.Elided:
                hidden = N.Name(f"_arg{index}", node.start, node.end)
                assignments.append(N.Assign(node, None, hidden, node.start, node.end, node.start))
    body = [statement for statement in items[-1][:-1] if statement.__class__ is not N.Elided] + [
        items[-1][-1]
    ]
    if len(body) == 1 and body[0].__class__ is N.Elided:
        body = []
    return N.Lambda(params, assignments + body, p.text[opening:closing], opening, closing)


def branch_(p: Tokens, start: int, end: int, items: list[Any]) -> N.Control:
    """`if[c;...]` and the like."""
    arguments, stop = items[1]
    word = p.text[p.starts[start] : p.ends[start]]
    if arguments[0].__class__ is N.Elided:
        raise error("parse", p, start)
    statements = [
        arguments[0],
        *(argument for argument in arguments[1:] if argument.__class__ is not N.Elided),
    ]
    return N.Control(word, statements, p.starts[start], stop)


# ---------------------------------------------------------------------------------------------------- templates
def phrases_(p: Tokens, start: int, end: int, items: list[Any]) -> tuple[N.Node, ...]:
    """The nodes between commas."""
    nodes = tuple(item for item in items if item.__class__ is not int)
    if _empty(nodes):
        return ()
    for node in nodes:
        if node.__class__ is N.Elided:
            raise QError("parse", node.start, p.source or Source(p.text))
    return nodes


def group_(p: Tokens, start: int, end: int, items: list[Any]) -> By:
    return By(items[1])


def filter_(p: Tokens, start: int, end: int, items: list[Any]) -> Where:
    return Where(items[1])


def query_(p: Tokens, start: int, end: int, items: list[Any]) -> N.Select:
    """A qSQL template."""
    verb = p.text[p.starts[start] : p.ends[start]]
    options: N.Options = None
    grouping: list[N.Column] | None = None
    conditions: list[N.Node] = []
    column_nodes: tuple[N.Node, ...] = ()
    source: Any = None
    for item in items:
        kind = item.__class__
        if kind is Head:
            options = limit(p, start, item)
        elif kind is tuple:
            column_nodes = item
        elif kind is By:
            grouping = columns(item)
        elif kind is Where:
            conditions = list(item)
        elif kind is not int:
            source = item
    if source.__class__ is N.Elided:
        raise error("from", p, end)
    if verb == "select" and options is None:
        column_nodes, distinct = without_distinct(column_nodes)
        options = "distinct" if distinct else None
    stop = p.ends[end - 1]
    return N.Select(
        verb, options, columns(column_nodes), grouping, source, conditions, p.starts[start], stop
    )


def without_distinct(cols: tuple[N.Node, ...]) -> tuple[tuple[N.Node, ...], bool]:
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


def limit(p: Tokens, start: int, head: Head) -> tuple[N.Node | None, str | None, N.Node | None]:
    """The options of `select[n;>c]`: (count, order, column)."""
    count: N.Node | None = None
    order: str | None = None
    column: N.Node | None = None
    for node in head:
        if (
            node.__class__ is N.Apply
            and node.f.__class__ is N.Verb
            and node.f.glyph[0] in "<>"
            and len(node.args) == 1
        ):
            order, column = node.f.glyph, node.args[0]
        elif count is None and node.__class__ is not N.Elided:
            count = node
        else:
            raise error("parse", p, start)
    return count, order, column
