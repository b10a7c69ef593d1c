"""Short descriptions of functions, for errors and hints."""

from __future__ import annotations

from collections.abc import Sequence

from kshell.values.base.core import HOLE, Value
from kshell.values.base.functions import Function, Lambda, Prim, Proj

LONGEST = 32  # characters shown of a function's text


def short(f: Value) -> str:
    """The text of a function on one line, cut if it is long."""
    while f.__class__ is Proj:
        f = f.f
    text = (
        f.name
        if isinstance(f, Prim)
        else " ".join(f.text.split())
        if isinstance(f, Lambda)
        else "a function"
    )
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..}"


def implicit(text: str) -> bool:
    """Is a text a lambda without a parameter list, so that x, y and z in it are its parameters?"""
    return text[:1] == "{" and text[1:].lstrip()[:1] != "["


def listed(names: Sequence[str]) -> str:
    """Names joined in a phrase: `x`, `x and y`, `x, y and z`."""
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


def function_words(f: Function) -> str:
    """A short description of a function: `function {x+y} of x and y`, `projection of {x+y} that lacks 1 of 2
    arguments`."""
    if f.__class__ is Proj:
        return f"projection of {short(f)} that lacks {f.rank} of {f.rank + _given(f)} arguments"
    if isinstance(f, Lambda):
        return f"function {short(f)}" + (f" of {listed(f.params)}" if f.params else "")
    return f"function {f.name}" if isinstance(f, Prim) else "function"


def _given(f: Proj) -> int:
    return sum(argument is not HOLE for argument in f.args)


def word_hint(name: str) -> str:
    """A hint for assigning to the name of a keyword."""
    return f"{name} is a q function and cannot be assigned: choose another name"


def rank_hint(f: Value, n: int) -> str:
    """A hint for a function called with n arguments, which is too many."""
    if isinstance(f, Prim) and f.entry is not None and f.entry.kind == "api":
        forms = [form for form in f.entry.forms if "(" in form and "[" not in form]
        form = min(forms, key=lambda form: abs(form.count(";") + 1 - n), default=f"{f.name}(a;b)")
        return f"{f.name} is a k-api function, which takes one list in parentheses: {form}"
    if isinstance(f, Lambda):
        count = len(f.params) or 1
        names = f" ({listed(f.params)})" if f.params else ""
        return f"{short(f)} takes {count} argument{'s' * (count > 1)}{names}, given {n}"
    return ""
