"""Registration of names in .Q, .h, .j and .z."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kshell import registry
from kshell.registry import Entry
from kshell.values.base.core import Value

F = TypeVar("F", bound=Callable[..., Any])


def name(
    text: str, *forms: str, arity: int | None = None, effect: str = "none"
) -> Callable[[F], F]:
    """Register a function under a dotted name. Without parameters, it is evaluated each time the name is read. `effect`
    is the entry's."""

    def register(fn: F) -> F:
        n = registry.arity_of(fn) if arity is None else arity
        found = registry.find("name", text)
        run: Any = registry.refusing(text, effect, fn)
        if found is not None and found.file == fn.__code__.co_filename and n not in found.fns:
            found.fns[n] = run
            return fn
        registry.add(
            Entry(
                text,
                "name",
                {n: run},
                forms,
                fn.__doc__ or "",
                topic=text.rpartition(".")[0],
                file=fn.__code__.co_filename,
                line=fn.__code__.co_firstlineno,
                effect=effect,
            )
        )
        return fn

    return register


def constant(text: str, value: Value, doc: str, example: str) -> None:
    """Register a name for a constant."""
    registry.add(
        Entry(
            text,
            "name",
            {0: lambda: value},
            doc=f"{doc}\n\n{example}",
            topic=text.rpartition(".")[0],
            file=__file__,
            effect="none",
        )
    )


def verb(name: str, arity: int) -> Callable[..., Value]:
    """The Python function of a verb, for names built on it."""
    entry = registry.find("verb", name)
    if entry is None:
        raise KeyError(name)
    return entry.fns.get(arity) or entry.fns[-1]
