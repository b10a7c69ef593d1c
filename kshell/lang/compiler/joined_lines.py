"""Lines of a lambda that q joins but that were probably meant as two statements: a missing `;`.

q ends a statement only at `;`, so a line break after a noun applies that noun to the next line: `a:x*2` above `a+1` is
`a:x*2 a+1`, where 2 is the handle of standard error. The program is not changed; a warning is printed once, when the
lambda is read. Only joints that are otherwise useless are reported:

- a number, string or symbol applied to the next line, except for `-1 "text"` and the like, which print;
- a control word applied to the next line: `if[a;b]` above `c`;
- a noun applied to an assignment at the start of the next line, or to an expression that reads the very local that the
  statement sets for the first time;
- a noun other than a keyword, applied to a line with the same indentation as the line where its statement begins;
- a number at the end of a line and one at the start of the next, which form a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from kshell import registry
from kshell.errors import Source
from kshell.parse import tree as N
from kshell.values.session.context import running

_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))/.*$")
_PRINTS = (0, 1, 2, -1, -2)
_SHOWN = 78  # characters of a line shown in a warning


def warn(node: N.Lambda, source: Source) -> None:
    """Warn about joined lines in a lambda, if it has more than one line."""
    if not _may_join(node.text):
        return
    session = running()
    for offset, reason in found(node, node.text):
        key = (source.file, source.line, node.text, offset)
        if key not in session.warned:
            session.warned.add(key)
            session.warn(_message(source, offset, reason))


def _may_join(text: str) -> bool:
    """Can lines of a lambda's text be joined? Not where a line ends in `;` `[` or `{`, where the next one begins with a
    closing bracket or `;`, or after the parameters. Comments are only skipped after `;`."""
    if "\n" not in text:
        return False
    start = text.find("]") + 1 if text.startswith("{[") else 0
    if "/" in text:
        text = _LAST_COMMENT.sub("", text)
        if _SOME_COMMENT.search(text):
            return True
    return _OPEN_END.search(text, start) is not None


_LAST_COMMENT = re.compile(r'(?m)(?<=;)[ \t]+/(?!.*[ \t]/)[^"\n]*$')
_SOME_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))/")
_OPEN_END = re.compile(r"[^;\[{\s][ \t\r]*\n\s*[^\]};\s]")


def _message(source: Source, at: int, what: str) -> str:
    """The warning: where, what, and the line with the missing `;`."""
    start, _ = _line(source.text, at)
    line = source.text[start:at].expandtabs()
    location = (
        f"{source.file}:{source.line + source.text.count(chr(10), 0, start)}: "
        if source.file
        else ""
    )
    shown = line if len(line) <= _SHOWN else ".." + line[2 - _SHOWN :]
    return f"warning: {location}no ; at the end of this line, so {what}\n  {shown}\n  {' ' * len(shown)}^\n"


def _line(text: str, at: int) -> tuple[int, int]:
    """Start and end of the line that contains an offset."""
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def found(node: N.Lambda, text: str) -> Iterator[tuple[int, str]]:
    """The joints between a lambda's own statements: the offset where a line ends, and what happens there."""
    base = node.start
    before: list[N.Node] = []
    for statement in _statements(node.body):
        if "\n" in text[statement.start - base : statement.end - base]:
            for descendant in _within(statement):
                joint = _joint(
                    descendant, statement, text, base, lambda: _set_in(node, before)
                ) or _numbers(descendant, statement, text, base)
                if joint:
                    yield joint
        before.append(statement)


def _set_in(node: N.Lambda, statements: list[N.Node]) -> set[str]:
    """The locals of a lambda that have a value after some of its statements."""
    return {
        *(node.params or "xyz"),
        *(
            _name(n.target)
            for statement in statements
            for n in _within(statement)
            if n.__class__ is N.Assign
        ),
    }


def _statements(body: list[N.Node]) -> Iterator[N.Node]:
    """Statements, and those inside control words and conditions."""
    for statement in body:
        if statement.__class__ is N.Control:
            yield from _statements(statement.args)
        else:
            yield statement


def _within(node: N.Node) -> Iterator[N.Node]:
    """A node and those inside it, except in nested lambdas, which have their own warnings."""
    pending: list[object] = [node]
    while pending:
        descendant = pending.pop()
        if isinstance(descendant, N.Node):
            yield descendant
            if descendant.__class__ is not N.Lambda or descendant is node:
                pending += [getattr(descendant, field) for field in descendant.fields]
        elif isinstance(descendant, (list, tuple)):
            pending += descendant


def _joint(
    n: N.Node, statement: N.Node, text: str, base: int, known: Callable[[], set[str]]
) -> tuple[int, str] | None:
    """The place where a line's noun is applied to the next line, if that is suspicious."""
    if n.__class__ is not N.Apply or len(n.args) != 1 or n.args[0].__class__ is N.Elided:
        return None
    f, x = n.f, n.args[0]
    gap = _COMMENT.sub("", text[f.end - base : x.start - base])
    if "\n" not in gap or "[" in gap or gap.strip("() \t\r\n"):
        return None
    end = f.end - base
    if isinstance(f, N.Lit):
        prints = n is statement and f.data.__class__ is int and f.data in _PRINTS and _is_text(x)
        return (
            None
            if prints
            else (end, f"{_shown(text[f.start - base : end])} is applied to the next line")
        )
    if isinstance(f, N.Control):
        return end, f"{f.word}[..] is applied to the next line, which is evaluated first"
    if isinstance(f, (N.Verb, N.Iterator, N.Compose)) or (
        isinstance(f, N.Name) and registry.find("verb", f.name) is not None
    ):
        return None
    if isinstance(f, N.Apply) and any(argument.__class__ is N.Elided for argument in f.args):
        return None
    if (
        _assigns(x, text, base, end)
        or _reads_itself(statement, x, known)
        or _same_indent(statement, x, text, base)
    ):
        return end, f"{_shown(text[f.start - base : end])} is applied to the next line"
    return None


def _shown(text: str) -> str:
    line = text.rpartition("\n")[2].strip()
    return line if len(line) <= 20 else f"..{line[-18:]}"


def _is_text(x: N.Node) -> bool:
    """Is a node text to print: a string, or something that begins with one?"""
    while x.__class__ is N.Apply and x.args:
        x = x.args[0] if len(x.args) == 2 and x.f.__class__ is N.Verb else x.args[-1]
    return x.__class__ is N.Lit and x.t == "c"


def _assigns(x: N.Node, text: str, base: int, end: int) -> bool:
    """Does the next line begin with an assignment?"""
    return x.__class__ is N.Assign and "(" not in text[end : x.start - base]


def _reads_itself(statement: N.Node, x: N.Node, known: Callable[[], set[str]]) -> bool:
    """Does x read the local that its statement assigns for the first time, without setting it itself?"""
    if (
        statement.__class__ is not N.Assign
        or statement.target.__class__ is not N.Name
        or statement.op is not None
    ):
        return False
    name, inside = statement.target.name, list(_within(x))
    if any(node.__class__ is N.Assign and _name(node.target) == name for node in inside):
        return False
    return (
        any(node.__class__ is N.Name and node.name == name for node in inside)
        and name not in known()
    )


def _name(target: N.Node) -> str:
    return target.name if target.__class__ is N.Name else ""


def _same_indent(statement: N.Node, x: N.Node, text: str, base: int) -> bool:
    """Is the line of x indented like the line where its statement begins?"""
    first_start, second_start = (_line(text, node.start - base)[0] for node in (statement, x))
    first_indent, second_indent = (
        text[first_start : statement.start - base],
        text[second_start : x.start - base],
    )
    return first_start > 0 and first_indent == second_indent and not first_indent.strip()


def _numbers(n: N.Node, statement: N.Node, text: str, base: int) -> tuple[int, str] | None:
    """The place where a number at the end of a line and one at the start of the next form a list."""
    if n.__class__ is not N.Lit or n.data.__class__ is not list or n.t in "sc":
        return None
    written = text[n.start - base : n.end - base]
    number, newline, following = written.partition("\n")
    following = _COMMENT.sub("", following)
    if (
        not newline
        or len(_COMMENT.sub("", number).split()) != 1
        or len(following.split()) != 1
        or n is statement
    ):
        return None
    if statement.__class__ is not N.Assign or n is statement.value:
        return None  # a list by itself: `a:1` above `2`
    number = _COMMENT.sub("", number).strip()
    return n.start - base + len(number), f"{number} and {following.strip()} are one list"
