"""Variables of a running Python program for a session: which are taken, under what names, and a note about them.

Nothing here raises: a value that cannot be converted is stored as it is, and the note says why.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import textwrap
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from kshell import registry
from kshell.errors import QError, first_line, message_of
from kshell.python.session import Session, check
from kshell.values.base import types as T
from kshell.values.base.core import NIL, Dict, List, Table, Value, Vec, atom_t
from kshell.values.base.functions import Foreign, Handle, Prim

MOST_ITEMS = 1_000_000  # maximum items of a list, dictionary or data frame copied without request
MOST_BYTES = 256 << 20  # and of an array
_WIDTH = 100  # width of the note
# modules of classes
_AT_HAND = (
    "builtins",
    "datetime",
    "decimal",
    "fractions",
    "uuid",
    "collections",
)
_NAMES = 60  # maximum number of names per line of the note
_LIBRARY = tuple(
    os.path.abspath(p) + os.sep
    for p in {sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib", "purelib", "platlib")}
)

Reasons = dict[str, list[str]]  # reasons why variables were changed or left out, with the names


# ------------------------------------------------------------------ what a frame has


def own_frame(frame: types.FrameType) -> types.FrameType:
    """The innermost frame of the program itself, starting from one that may be inside a library (signals arrive
    anywhere)."""
    candidate: types.FrameType | None = frame
    while candidate is not None and not is_own(candidate):
        candidate = candidate.f_back
    return frame if candidate is None else candidate


def is_own(frame: types.FrameType) -> bool:
    """Is this a frame of a file that is no library's?"""
    name = frame.f_code.co_filename
    return not (name.startswith(_LIBRARY) or name[:1] == "<")


def of_frame(session: Session, frame: types.FrameType) -> tuple[dict[str, Any], Reasons]:
    """The variables of a function and its module that a user would want: no modules, classes, private names or imported
    functions; and why others are left out."""
    session.names.load_builtins()
    taken: dict[str, Any] = {}
    refused: Reasons = {}
    module = frame.f_globals.get("__name__")
    for name, value in {**frame.f_globals, **frame.f_locals}.items():
        if name[:1] == "_" or _of_code(value, module):
            continue
        reason = _refused(name, value)
        if reason:
            refused.setdefault(reason, []).append(name)
        else:
            taken[name] = value
    return taken, refused


def _of_code(x: Any, module: str | None) -> bool:
    """Is it part of the program's code rather than its data?"""
    cls = type(x)
    if issubclass(cls, (types.ModuleType, type)) or cls.__module__ in (
        "typing",
        "types",
        "__future__",
    ):
        return True
    if cls is types.FunctionType:
        return x.__module__ != module
    return issubclass(cls, (types.BuiltinFunctionType, types.MethodType))


def _refused(name: str, x: object) -> str:
    """Why a variable is not taken; empty if it is."""
    try:
        check(name)
    except QError:
        return "no name in q"
    if registry.find("api", name) is not None and not _is_torch(x):
        return "would hide the function of that name"
    return "" if small(x) else f"large; embed({name}={name}) copies it"


def _is_torch(x: object) -> bool:
    """Is it an object for which there are handles?"""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "optim"):
        return False
    return issubclass(
        type(x),
        (
            torch.Tensor,
            torch.nn.Module,
            torch.optim.Optimizer,
            torch.optim.lr_scheduler.LRScheduler,
        ),
    )


def small(x: object) -> bool:
    """Is it small enough to copy?"""
    return _room(x, MOST_ITEMS, 0) >= 0


def _room(x: Any, room: int, depth: int) -> int:
    """The number of items that may still be copied after x, negative if x is too large."""
    cls = type(x)
    if issubclass(cls, np.ndarray):
        return room if x.nbytes <= MOST_BYTES and (x.dtype.kind != "O" or x.size <= room) else -1
    if cls in (str, bytes, bytearray):
        return room if len(x) <= MOST_BYTES else -1
    if cls in (list, tuple, set, frozenset, dict):
        room -= len(x)
        for item in (x.values() if cls is dict else x) if room >= 0 and depth < 50 else ():
            if type(item) not in (int, float, bool):
                room = _room(item, room, depth + 1)
            if room < 0:
                break
        return room
    try:
        shape = x.shape if hasattr(cls, "columns") else ()  # a data frame
        return room - int(np.prod([int(dimension) for dimension in shape])) if shape else room
    except Exception:
        return room


# ------------------------------------------------------------------ into a session


def put(session: Session, values: Mapping[str, Any], given: bool) -> Reasons:
    """Create variables in the session: modules before optimizers, whose parameters take their names, and these before
    schedulers; returns what went wrong. Variables not `given` by name are only read if their class is known."""
    problems: Reasons = {}
    for name, value in sorted(values.items(), key=lambda item: _rank(item[1])):
        problem = _put(session, name, value if given or _known(value) else Foreign(value))
        if problem:
            problems.setdefault(problem, []).append(name)
    return problems


def _put(session: Session, name: str, x: object) -> str:
    try:
        check(name)
    except QError:
        return "no name in q"
    problem = ""
    for value in (x, Foreign(x)):
        try:
            session[name] = value
            return f"held as it is: {problem}" if problem else ""
        except Exception as e:
            problem = first_line(message_of(e)) or type(e).__name__
    return problem


def _rank(x: object) -> int:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "optim") or issubclass(type(x), torch.nn.Module):
        return 0
    return 1 if issubclass(type(x), torch.optim.Optimizer) else 2


def _known(x: object) -> bool:
    """Is it of a class whose values are in memory? Another mapping or sequence may read them from disk."""
    cls = type(x)
    return (
        cls.__module__ in _AT_HAND
        or cls.__module__.partition(".")[0] in ("torch", "accelerate", "kshell")
        or _is_torch(x)
        or issubclass(cls, (types.FunctionType, np.ndarray, np.generic))
        or hasattr(cls, "columns")
        or hasattr(cls, "to_datetime64")
    )


# ------------------------------------------------------------------ the note


def note(session: Session, names: Mapping[str, Any], frame: types.FrameType, left: Reasons) -> str:
    """A few lines about the variables that a session took from a program, and those it did not take."""
    kinds: dict[str, list[str]] = {}
    space = session.names.spaces["."]
    for name in names:
        if name in space:
            kinds.setdefault(_kind(space[name]), []).append(name)
    order = sorted(kinds, key=lambda k: (k.startswith("foreign"), k))
    summary = "; ".join(f"{kind} {_listed(kinds[kind])}" for kind in order) or "nothing"
    lines = [f"from {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}: {summary}"]
    return "".join(
        textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_long_words=False) + "\n"
        for line in [*lines, *told(left, "not taken")]
    )


def told(reasons: Reasons, what: str) -> list[str]:
    """Why variables are missing, or were changed, one line per reason."""
    return [f"{what}: {_listed(names)} ({reason})" for reason, names in reasons.items()]


def _listed(names: list[str]) -> str:
    omitted = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {omitted} more" if omitted > 0 else "")


def _kind(x: Value) -> str:
    if isinstance(x, Handle):
        return str(getattr(x, "kind", "handle"))
    if x.__class__ is Prim:
        return "function"
    if x.__class__ is Dict:
        return "keyed table" if x.keyed else "dictionary"
    if x.__class__ is Table:
        return "table"
    if x.__class__ is Foreign:
        return f"foreign {type(x.obj).__name__}"
    if x is NIL:
        return "null"
    qtype = atom_t(x)
    if qtype:
        return str(T.TYPE[qtype].name)
    if x.__class__ is Vec:
        return "string" if x.t == T.C else f"{T.TYPE[x.t].name} list"
    return "list" if isinstance(x, List) else "function"
