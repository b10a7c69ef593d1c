"""The tree of a parsed q text: a few kinds of node, each with the offsets of its text.

Parse knows no values and no verbs: a literal leaves as its type and raw data, a keyword is a Name like any other.
"""

from __future__ import annotations

from typing import Any


class Node:
    """Base of the nodes. `start` and `end` are offsets in the source text; `at` is where a caret points: the verb of
    an infix application, the function name of a bracketed one."""

    __slots__ = ("at", "end", "start")
    fields: tuple[str, ...] = ()

    def __init__(self, start: int, end: int, at: int | None = None) -> None:
        self.start, self.end, self.at = start, end, start if at is None else at

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(getattr(self, field)) for field in self.fields)})"


def _node(name: str, fields: str, doc: str) -> Any:
    names = tuple(fields.split())
    source = f"def __init__(self, {', '.join((*names, 'start', 'end', 'at=None'))}):\n"
    source += "".join(f"    self.{n} = {n}\n" for n in names)
    source += "    self.start, self.end, self.at = start, end, start if at is None else at\n"
    space: dict[str, Any] = {}
    exec(source, space)  # one short constructor a node kind, as namedtuple makes its own
    return type(
        name,
        (Node,),
        {"__slots__": names, "fields": names, "__init__": space["__init__"], "__doc__": doc},
    )


Lit = _node(
    "Lit",
    "t data",
    """A literal: type character `t` (b g x h i j e f c s p m d z n u v t); `data` is one raw
scalar for an atom, a list of raw scalars for a vector; str (atom) or list of str for symbols; a str of one character
for a char atom, bytes for a string. A null or infinity is its raw pattern; 16 bytes for a guid.""",
)
Name = _node("Name", "name", "A variable or keyword, perhaps dotted: `x`, `til`, `.a.b`, `d.col`.")
Verb = _node(
    "Verb",
    "glyph",
    "An operator by itself: `+`, `<=`, `0:`; with a colon (`#:`) the unary form of k.",
)
Iterator = _node(
    "Iterator",
    "glyph f",
    "f with an iterator: `f'`, `f/`, `f\\:`; f None is the iterator by itself.",
)
Elided = _node("Elided", "", "An argument left out: `f[;1]`, `(;1)`.")
ListOf = _node(
    "ListOf", "items", "`(a;b;c)`, `()`, with Elided for items left out. A single `(a)` is just a."
)
TableOf = _node(
    "TableOf",
    "keys cols",
    """`([k:..]a:..;b:..)`: lists of (name or None, Node). `keys` is None without
brackets and [] for `([]...)`'s empty ones.""",
)
DictOf = _node(
    "DictOf", "items", "`([a:1;b:2])`: a dictionary literal, a list of (name or None, Node)."
)
Apply = _node(
    "Apply",
    "f args",
    """Application: `f[a;b]`, `f x`, `x+y` (f is then the Verb or Name between them). args
is a list, empty for `f[]`; Elided marks a hole. A trailing verb `x+` is Apply(+, [x, Elided]), and so is `+[x]`.
`:[v;p;r;d]` is an Apply of the Verb `:`.""",
)
Compose = _node(
    "Compose", "fs", "A composition, `(f g@)`: the functions from the outermost to the innermost."
)
Assign = _node(
    "Assign",
    "target op value",
    """`x:v`, `x[i]:v`, `x+:v`, `x::v`, `(a;b):v`. target is a Name, an Apply
of a Name on indexes, or a pattern: ListOf, Lit, DictOf, TableOf, Apply of `!` or `flip`, and inside these Elided,
Assign (`a:`j`, a check or filter) and Return (the same without a name). op is None for plain assignment, '::' for
global, else the Verb.""",
)
View = _node(
    "View",
    "name body text",
    """`name::...` at the start of a top-level line, all of which is the view's: body
the expressions between its semicolons, the last Elided if the line ends in one; text as written.""",
)
Lambda = _node(
    "Lambda",
    "params body text",
    """`{[a;b]...}`: params a list of names, None if implicit; body a list of
Nodes, the last Elided (or nothing) if it ends in a semicolon; text the whole definition as written.""",
)
Cond = _node(
    "Cond", "args", "`$[c;a;b]` with three or more arguments: control flow, not application."
)
Control = _node(
    "Control",
    "word args",
    "`if[c;...]`, `while[c;...]`, `do[n;...]`: no value (:: when used as one).",
)
Block = _node(
    "Block",
    "items",
    "`[a;b;c]` at the start of a term, and lines of several statements: value of the last.",
)
Return = _node("Return", "value", "`:x` at the start of an expression of a lambda.")
Signal = _node("Signal", "value", "`'x` at the start of an expression.")
Select = _node(
    "Select",
    "verb options cols by source where",
    """A qSQL template. verb: select exec update delete;
options: the Node list in `select[n;>c]` as (count Node or None, order glyph or None, column Node or None), and
'distinct' in `distinct`; cols and by: lists of (name or None, Node), by None if there is no by; where: a list of
Node.""",
)
Statement = _node(
    "Statement", "expr show", "A top-level statement; `show` is false if it ends in a semicolon."
)
Command = _node("Command", "text", "A system command line, without the backslash.")
Prefixed = _node("Prefixed", "letter text", "A line for another language: `k)...`, `p)...`.")
