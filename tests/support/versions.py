"""What the torch that is there is too old for: the entries whose `first_torch` is a later version."""

from __future__ import annotations

import functools
import re

import pytest

from kshell import k_api, registry, torch_versions
from kshell.registry import Entry


@functools.cache
def lacking() -> dict[str, str]:
    """Their names, and what each needs."""
    k_api.load_kapi()
    return {e.name: f"{e.name} {torch_versions.needs(e.first_torch)}"
            for e in registry.every() if e.first_torch and torch_versions.before(e.first_torch)}


def has(name: str) -> bool:
    """Is the torch that is there new enough for an entry?"""
    return name not in lacking()


def named_in(text: str) -> list[str]:
    """What those need that q text names."""
    return [reason for name, reason in lacking().items() if re.search(rf"`{name}\b", text)]


def of_item(item: pytest.Item) -> str:
    """Why a test cannot run here: a parameter of it is such an entry, its name, or q text that names it."""
    for x in getattr(getattr(item, "callspec", None), "params", {}).values():
        name = x.name if isinstance(x, Entry) else x
        if isinstance(name, str) and (found := [lacking()[name]] if name in lacking() else named_in(name)):
            return found[0]
    return ""


def needs_gradient(name: str) -> None:
    """Skip a test of the gradient of a function that has none yet."""
    entry = registry.find("api", name)
    first = getattr(entry.record, "first_gradient", "") if entry is not None else ""
    if first and torch_versions.before(first):
        pytest.skip(f"the gradient of {name} {torch_versions.needs(first)}")
