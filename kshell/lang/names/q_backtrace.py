"""The .Q namespace: traps with a backtrace, and backtraces as values and as text."""

from __future__ import annotations

from kshell.errors import Frame, QError, Source, as_qerror
from kshell.lang.compiler import code_objects
from kshell.lang.console import error_report
from kshell.lang.names.define import name
from kshell.lang.verbs.lists import int_of
from kshell.registry import internal
from kshell.values.base.build import string
from kshell.values.base.core import NIL, List, Value, seq_items, text_of
from kshell.values.engine.apply import apply
from kshell.values.session.context import running
from kshell.values.session.memory import recover

_ROOT = ".."  # before the name of a function in the root, as in `value` of one


def as_list(frames: list[Frame]) -> Value:
    """A backtrace as a q list, innermost level first. Each level is a list of the function, `::` for a text; its (name;
    file; line; source), as at the end of `value` of a function; the offset of the caret in the source; the number that
    is shown."""
    count = len(frames)
    return List([_level(frame, count - 1 - index) for index, frame in enumerate(frames)])


def _level(frame: Frame, number: int) -> Value:
    source = frame.source
    function: Value | None = source.function()
    if function is None and not source.text:  # a function without q text
        function = running().names.find(source.name)
    shown = source.name if source.name[:1] in ("", ".") else _ROOT + source.name
    place = List(
        [
            string(shown),
            string(source.file),
            source.line if source.file else -1,
            string(source.text),
        ]
    )
    before = source.text[: max(frame.pos, 0)]
    offset = len(before.encode("utf-8", "surrogateescape"))
    return List([NIL if function is None else function, place, offset, number])


def _frame(level: Value) -> tuple[Frame, int]:
    """The frame and the number of one level of a backtrace."""
    items = seq_items(level)
    if len(items) != 4:
        raise QError("length")
    place = seq_items(items[1])
    if len(place) != 4:
        raise QError("length")
    name_, file, source = (text_of(place[index]) for index in (0, 1, 3))
    encoded = source.encode("utf-8", "surrogateescape")
    before = encoded[: max(int_of(items[2]), 0)].decode("utf-8", "surrogateescape")
    origin = Source(source, file, max(int_of(place[2]), 0), name_.removeprefix(_ROOT))
    return Frame(origin, len(before)), int_of(items[3])


def trapped(trap: str, f: Value, args: list[Value], handler: Value) -> Value:
    """Apply f; on error, pass text and backtrace to the handler. The backtrace has a level for the trap, if it has a
    name."""
    error: QError | None = None
    frames: list[Frame] = []
    try:
        return apply(f, args)
    except (Exception, KeyboardInterrupt) as e:
        error = as_qerror(e)
        frames = error.frames + code_objects.frames(e.__traceback__)
    error.__traceback__ = error.__context__ = None
    recover()
    if trap:
        frames = [*frames, Frame(Source("", name=trap), 0)]
    return apply(handler, [string(error.text), as_list([*frames, *error_report.live_frames()])])


@name(".Q.trp", ".Q.trp[f;x;g]")
def trp(f: Value, x: Value, g: Value) -> Value:
    """Apply f to x; on error, apply g to the error's text and the backtrace.

    q).Q.trp[{x+1};`a;{[e;b]e}]
    "type"
    """
    return trapped(".Q.trp", f, [x], g)


@name(".Q.trpd", ".Q.trpd[f;args;g]")
def trpd(f: Value, x: Value, g: Value) -> Value:
    """Apply f to a list of arguments; on error, apply g to the error's text and the backtrace.

    q).Q.trpd[+;(1;`a);{[e;b]e}]
    "type"
    """
    return trapped(".Q.trpd", f, seq_items(x), g)


@internal(-105, "-105!(f;args;g)", ".Q")
def trap_parts(x: Value) -> Value:
    """`-105!(f;args;g)`: apply f to a list of arguments; on error, apply g to the error's text and the backtrace.

    q)-105!(+;(1;`a);{[e;b]e})
    "type"
    """
    items = seq_items(x)
    if len(items) != 3:
        raise QError("length")
    return trapped("", items[0], seq_items(items[1]), items[2])


@name(".Q.sbt")
def sbt(x: Value) -> Value:
    """A backtrace, or some of its levels, as text.

    q).Q.trp[{x+`a};1;{first"\\n"vs .Q.sbt y}]
    "  [2]  {x+`a}"
    """
    shown = (error_report.frame_lines(*_frame(level)) for level in seq_items(x))
    return string("".join(line + "\n" for lines in shown for line in lines))


@name(".Q.bt")
def bt(x: Value) -> Value:
    """Print the backtrace of the running code; in the debugger, of the error, with >> at the current level.

    q)f:{.Q.bt[];x}
    q)f 1
      [1]  f:{.Q.bt[];x}
              ^
      [0]  f 1
           ^
    1
    """
    suspended = getattr(running(), "suspended", [])
    running().write(
        suspended[-1].backtrace()
        if suspended
        else error_report.backtrace_text(error_report.live_frames())
    )
    return NIL
