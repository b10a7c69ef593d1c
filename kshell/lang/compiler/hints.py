"""Hints for uncaught errors: common mistakes of newcomers, recognized from where the error was raised.

Only an error that ends a line is examined, so trapped errors cost nothing. An error that already has a hint keeps it.
"""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any

from kshell import registry
from kshell.errors import ERRORS, QError
from kshell.lang.compiler import code_objects
from kshell.values.base import synonyms
from kshell.values.base.core import NIL, List, Value
from kshell.values.base.describe import function_words, implicit, listed
from kshell.values.base.functions import Foreign, Function, Prim
from kshell.values.change.names import Names

# verbs and functions of the k-api that take functions as arguments and apply them
_APPLIES = (
    "train/data.py",
    "train/model.py",
    "train/run.py",
    "verbs/apply_.py",
    "each/keywords.py",
    "verbs/when.py",
    "session/evaluate.py",
    "verbs/internal.py",
    "verbs/syntax.py",
    "verbs/library.py",
)
_WORKS = re.compile(
    r"/lang/verbs/|/lang/qsql/(?:keywords|joins)\.py|/kapi/"
    r"|/values/(?:engine/(?:cast|dispatch)|items/(?:order|search)|change/join)\.py"
)


# words in errors about the type or number of arguments
_WRONG_KIND = re.compile(
    r"\b(?:given|expect\w*|takes|no torch type|unrecognized|requires?|must|not a|type)\b",
    re.IGNORECASE,
)


def hint_of(error: QError, tb: TracebackType | None, names: Names, objects: bool) -> str:
    """A sentence about the probable mistake, or empty. `objects` says whether the session has created torch objects."""
    return (
        error.hint
        or _of_function(error, tb)
        or _of_parameter(tb, names)
        or _of_python(error, names)
        or _of_tensor_type(error)
        or _of_open(error)
        or _of_joined(error)
        or _of_name(error, objects)
        or _of_variable(error, names)
    )


def _of_function(error: QError, tb: TracebackType | None) -> str:
    """A function or projection was passed where a value is expected."""
    if error.text not in ERRORS and ":" not in error.text:
        return ""
    if "function " in error.text or "projection " in error.text:
        return ""  # the error already says so
    for argument in _given(tb):
        if argument.__class__ is Foreign:
            return argument.hint
        if isinstance(argument, Function) and not isinstance(argument, Prim):
            return f"given a {function_words(argument)}, where a value is expected"
    return ""


def _given(tb: TracebackType | None) -> list[Value]:
    """The arguments of the failed verb or k-api function; empty if it applies functions."""
    innermost: Any = None
    while tb is not None:
        filename = tb.tb_frame.f_code.co_filename
        if not filename.endswith("/values/engine/apply.py"):
            innermost = None if filename == code_objects.FILE else innermost or tb.tb_frame
        tb = tb.tb_next
    filename = "" if innermost is None else innermost.f_code.co_filename
    if not _WORKS.search(filename) or filename.endswith(_APPLIES):
        return []
    count = innermost.f_code.co_argcount
    arguments = [innermost.f_locals.get(name) for name in innermost.f_code.co_varnames[:count]]
    return [
        item
        for argument in arguments
        for item in (argument.items if argument.__class__ is List else (argument,))
    ]


def _of_parameter(tb: TracebackType | None, names: Names) -> str:
    """A lambda without a parameter list was called without an argument for x, and there is a global with that name."""
    for frame, python_frame in code_objects.levels(tb):
        text, context = frame.source.text, names.current
        if not implicit(text):
            continue
        variables = python_frame.f_locals
        hidden = [
            param
            for param in ("x", "y", "z")
            if variables.get(param) is NIL
            and _named_in(param, text)
            and names.defined(param, context)
        ]
        if hidden:
            several = len(hidden) > 1
            return (
                f"{listed(hidden)} in {{..}} {'are its parameters' if several else 'is its parameter'}, "
                f"here given nothing, not the global{'s' * several} of {'these names' if several else 'this name'}"
            )
        return ""
    return ""


def _of_python(error: QError, names: Names) -> str:
    """A line of Python: an undefined name that Python or torch has, or a Python operator."""
    if not error.frames:
        return ""
    line = error.frames[0].source.text.lstrip()
    if line.startswith("#"):
        return "a comment begins with /"
    if error.text == "=":
        return "equality is one =, and : assigns" if "==" in line else ""
    return synonyms.of_python(error.text) if _is_undefined(error.text, line, names) else ""


def _is_undefined(name: str, line: str, names: Names) -> bool:
    """Is the text of an error a name in the line that refers to nothing?"""
    if re.fullmatch(r"[A-Za-z][\w.]*", name) is None or names.defined(name, names.current):
        return False
    return _named_in(name, line)


def _named_in(name: str, text: str) -> bool:
    """Does a name stand in the text as a word, not as a symbol or at the begin of a string?"""
    return re.search(rf"(?<![\w.`'\"]){re.escape(name)}(?!\w)", text) is not None


def _of_tensor_type(error: QError) -> str:
    """A cast of q values to a type that only tensors have."""
    name = error.text
    if (
        name not in synonyms.TENSOR_TYPES
        or not error.frames
        or f"`{name}$" not in error.frames[0].source.text
    ):
        return ""
    alternative = synonyms.TENSOR_TYPES[name]
    return f"`{name} is a type of tensors: `{name}$tensor x" + (
        f", or `{alternative}$x of q values" if alternative else ""
    )


def _of_open(error: QError) -> str:
    """A bracket that the line leaves open, such as a function over several lines in a pipe."""
    if error.text not in ("{", "(", "[") or not error.frames:
        return ""
    return (
        f"{error.text} is not closed on this line; in a file, following lines that begin with a blank continue "
        "it, but a line from a pipe stands alone"
    )


# a call followed by an index that was meant for its result
_CALL = re.compile(r"(?<![\w.`])([a-zA-Z]\w*)\((?:[^()\"]|\([^()\"]*\))*\)\s*`")


def _of_joined(error: QError) -> str:
    """`f(a;b)`name` indexes the list, not the result of the call."""
    if error.text not in ("type", "length", "index") or not error.frames:
        return ""
    call = _CALL.search(error.frames[0].source.text)
    if call is None or registry.find("api", call[1]) is None:
        return ""
    return f"the result of a call is f[(a;b)], not f(a;b): an item of it is ({call[1]}(..))`name"


def _of_name(error: QError, objects: bool) -> str:
    """A program that does not use torch calls an undefined function whose name the k-api has."""
    name = re.match(r"[a-z]\w*", error.text)
    entry = registry.find("api", name[0]) if name else None
    if (
        objects
        or entry is None
        or not error.frames
        or error.text[len(entry.name) :][:1] not in (":", " ")
    ):
        return ""
    if not _WRONG_KIND.search(error.text):  # the k-api function accepted the arguments
        return ""
    # arguments that name types and options mean the k-api
    if "symbol" in error.text or "`" in error.text:
        return ""
    # and so does a file argument
    called = re.compile(rf"(?<![\w.`\"]){entry.name}(?![\w.]|\s*\(?\s*`)")
    if not any(called.search(frame.source.text) for frame in error.frames):
        return ""
    return f'{entry.name} is a k-api function (help"{entry.name}"); there is no variable with this name'


def _of_variable(error: QError, names: Names) -> str:
    """A name that refers to nothing, and is nearly that of a variable."""
    if not error.frames or not _is_undefined(error.text, error.frames[0].source.text, names):
        return ""
    from difflib import get_close_matches  # takes 4 ms, and only errors need it

    known = {**names.spaces["."], **names.spaces.get(names.current, {})}
    near = get_close_matches(error.text, [name for name in known if name], 3, 0.7)
    return f"did you mean {' or '.join(near)}?" if near else ""
