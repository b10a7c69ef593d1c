"""The tree of a parsed q text: a few node types, each with the offsets of its text.

The parser knows no values and no verbs: a literal is its type and raw data, a keyword is a Name like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, final


class Node:
    """Base of the nodes. `start` and `end` are offsets in the source text; `at` is where a caret points: the verb of
    an infix application, the function name of a bracketed one. `fields` names what each kind has besides."""

    __slots__ = ("at", "end", "start")
    fields: tuple[str, ...] = ()

    def __init__(self, start: int, end: int, at: int | None = None) -> None:
        self.start, self.end, self.at = start, end, start if at is None else at

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(getattr(self, field)) for field in self.fields)})"


Column: TypeAlias = "tuple[str | None, Node]"  # of a table, dictionary or phrase; None if unnamed


@final
class Lit(Node):
    """A literal: type character `t` (b g x h i j e f c s p m d z n u v t); `data` is one raw scalar for an atom, a list
    of raw scalars for a vector; str (atom) or list of str for symbols; a str of one character for a char atom, bytes
    for a string. A null or infinity is its raw pattern; 16 bytes for a guid."""

    fields = ("t", "data")
    __slots__ = fields

    def __init__(self, t: str, data: Any, start: int, end: int, at: int | None = None) -> None:
        self.t = t
        self.data = data
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Name(Node):
    """A variable or keyword, possibly dotted: `x`, `til`, `.a.b`, `d.col`."""

    fields = ("name",)
    __slots__ = fields

    def __init__(self, name: str, start: int, end: int, at: int | None = None) -> None:
        self.name = name
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Verb(Node):
    """An operator by itself: `+`, `<=`, `0:`; with a colon (`#:`) the unary form of k."""

    fields = ("glyph",)
    __slots__ = fields

    def __init__(self, glyph: str, start: int, end: int, at: int | None = None) -> None:
        self.glyph = glyph
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Iterator(Node):
    r"""f with an iterator: `f'`, `f/`, `f\:`; with f None, the iterator by itself."""

    fields = ("glyph", "f")
    __slots__ = fields

    def __init__(
        self, glyph: str, f: Node | None, start: int, end: int, at: int | None = None
    ) -> None:
        self.glyph = glyph
        self.f = f
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Elided(Node):
    """An omitted argument: `f[;1]`, `(;1)`."""

    __slots__ = ()

    def __init__(self, start: int, end: int, at: int | None = None) -> None:
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class ListOf(Node):
    """`(a;b;c)`, `()`, with Elided for omitted items. A single `(a)` is just a."""

    fields = ("items",)
    __slots__ = fields

    def __init__(self, items: list[Node], start: int, end: int, at: int | None = None) -> None:
        self.items = items
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class TableOf(Node):
    """`([k:..]a:..;b:..)`. `keys` is None without brackets and [] for `([]...)`'s empty ones."""

    fields = ("keys", "cols")
    __slots__ = fields

    def __init__(
        self,
        keys: list[Column] | None,
        cols: list[Column],
        start: int,
        end: int,
        at: int | None = None,
    ) -> None:
        self.keys = keys
        self.cols = cols
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class DictOf(Node):
    """`([a:1;b:2])`: a dictionary literal."""

    fields = ("items",)
    __slots__ = fields

    def __init__(self, items: list[Column], start: int, end: int, at: int | None = None) -> None:
        self.items = items
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Apply(Node):
    """Application: `f[a;b]`, `f x`, `x+y` (f is then the Verb or Name between them). args is a list, empty for `f[]`;
    Elided marks a hole. A trailing verb `x+` is Apply(+, [x, Elided]), and so is `+[x]`. `:[v;p;r;d]` is an Apply of
    the Verb `:`."""

    fields = ("f", "args")
    __slots__ = fields

    def __init__(
        self, f: Node, args: list[Node], start: int, end: int, at: int | None = None
    ) -> None:
        self.f = f
        self.args = args
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Compose(Node):
    """A composition, `(f g@)`: the functions from the outermost to the innermost."""

    fields = ("fs",)
    __slots__ = fields

    def __init__(self, fs: list[Node], start: int, end: int, at: int | None = None) -> None:
        self.fs = fs
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Assign(Node):
    """`x:v`, `x[i]:v`, `x+:v`, `x::v`, `(a;b):v`. target is a Name, an Apply of a Name on indexes, or a pattern: ListOf
    Lit DictOf TableOf, Apply of `!` or `flip`, and inside these Elided, Assign (`a:`j`, a check or filter) and Return
    (the same without a name). op is None for plain assignment, '::' for global, else the Verb."""

    fields = ("target", "op", "value")
    __slots__ = fields

    def __init__(
        self,
        target: Node,
        op: Verb | str | None,
        value: Node,
        start: int,
        end: int,
        at: int | None = None,
    ) -> None:
        self.target = target
        self.op = op
        self.value = value
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class View(Node):
    """`name::...` at the start of a top-level line, all of which is the view's: body the expressions between its
    semicolons, the last Elided if the line ends in one; text as written."""

    fields = ("name", "body", "text")
    __slots__ = fields

    def __init__(
        self, name: str, body: list[Node], text: str, start: int, end: int, at: int | None = None
    ) -> None:
        self.name = name
        self.body = body
        self.text = text
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Lambda(Node):
    """`{[a;b]...}`: params a list of names, None if implicit; the last of body is Elided (or nothing) if it ends in a
    semicolon; text the whole definition as written."""

    fields = ("params", "body", "text")
    __slots__ = fields

    def __init__(
        self,
        params: list[str] | None,
        body: list[Node],
        text: str,
        start: int,
        end: int,
        at: int | None = None,
    ) -> None:
        self.params = params
        self.body = body
        self.text = text
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Cond(Node):
    """`$[c;a;b]` with three or more arguments: control flow, not application."""

    fields = ("args",)
    __slots__ = fields

    def __init__(self, args: list[Node], start: int, end: int, at: int | None = None) -> None:
        self.args = args
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Control(Node):
    """`if[c;...]`, `while[c;...]`, `do[n;...]`: no value (:: when used as one)."""

    fields = ("word", "args")
    __slots__ = fields

    def __init__(
        self, word: str, args: list[Node], start: int, end: int, at: int | None = None
    ) -> None:
        self.word = word
        self.args = args
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Block(Node):
    """`[a;b;c]` at the start of a term, and lines of several statements: value of the last."""

    fields = ("items",)
    __slots__ = fields

    def __init__(self, items: list[Node], start: int, end: int, at: int | None = None) -> None:
        self.items = items
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Return(Node):
    """`:x` at the start of an expression of a lambda."""

    fields = ("value",)
    __slots__ = fields

    def __init__(self, value: Node, start: int, end: int, at: int | None = None) -> None:
        self.value = value
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Signal(Node):
    """`'x` at the start of an expression."""

    fields = ("value",)
    __slots__ = fields

    def __init__(self, value: Node, start: int, end: int, at: int | None = None) -> None:
        self.value = value
        self.start, self.end, self.at = start, end, start if at is None else at


# the options of a template, of `select[n;>c]`: the count, the order, the column; 'distinct' of `select distinct`
Options: TypeAlias = "tuple[Node | None, str | None, Node | None] | str | None"


@final
class Select(Node):
    """A qSQL template. verb: select exec update delete; by is None if there is no by."""

    fields = ("verb", "options", "cols", "by", "source", "where")
    __slots__ = fields

    def __init__(
        self,
        verb: str,
        options: Options,
        cols: list[Column],
        by: list[Column] | None,
        source: Node,
        where: list[Node],
        start: int,
        end: int,
        at: int | None = None,
    ) -> None:
        self.verb = verb
        self.options = options
        self.cols = cols
        self.by = by
        self.source = source
        self.where = where
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Statement(Node):
    """A top-level statement; `show` is false if it ends in a semicolon. If it is run again and again
    (`keeps`), `code` runs it once it is compiled."""

    fields = ("expr", "show")
    __slots__ = (*fields, "code", "keeps")

    def __init__(self, expr: Node, show: bool, start: int, end: int, at: int | None = None) -> None:
        self.expr = expr
        self.show = show
        self.code: Callable[[], Any] | None = None
        self.keeps = False
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Command(Node):
    """A system command line, without the backslash."""

    fields = ("text",)
    __slots__ = fields

    def __init__(self, text: str, start: int, end: int, at: int | None = None) -> None:
        self.text = text
        self.start, self.end, self.at = start, end, start if at is None else at


@final
class Prefixed(Node):
    """A line for another language: `k)...`, `p)...`."""

    fields = ("letter", "text")
    __slots__ = fields

    def __init__(self, letter: str, text: str, start: int, end: int, at: int | None = None) -> None:
        self.letter = letter
        self.text = text
        self.start, self.end, self.at = start, end, start if at is None else at


Line: TypeAlias = Statement | Command | Prefixed  # what a line or a script is made of
