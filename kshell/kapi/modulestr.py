"""A module as text in libtorch's form: `torch::nn::Linear(in_features=784, out_features=10, bias=true)`."""

from __future__ import annotations

import re
from typing import Any

from kshell.kapi.moduledef import label, type_of

# options that libtorch writes as a list, one number a dimension
_LISTED = re.compile(r"\b(kernel_size|stride|padding|dilation|output_size)=(\d+)")


def cpp_text(m: Any, indent: str = "") -> str:
    """The text of a module and, indented below it, of its children."""
    entry = type_of(m)
    name = label(m)
    if entry is not None and entry.target.startswith("torch."):
        name = "torch::nn::" + name
    children = list(m.named_children())
    own = "" if children and not _has_both(entry) else _options(m, entry)
    if not children:
        return f"{name}({own})"
    name += f"({own})" if own else ""
    inner = indent + "  "
    lines = [f"{inner}({key}): {cpp_text(child, inner)}" for key, child in children]
    return name + "(\n" + "\n".join(lines) + f"\n{indent})"


def _has_both(entry: Any) -> bool:
    """Do options stand before the children? In libtorch's own modules they do not."""
    return entry is not None and not entry.target.startswith("torch.")


def _lower(text: str) -> str:
    return re.sub(r"=True\b", "=true", re.sub(r"=False\b", "=false", text))


def _options(m: Any, entry: Any) -> str:
    if entry is not None and "text" in entry.extra:
        return _lower(entry.extra["text"](m))
    text = m.extra_repr()
    text = text.replace("(", "[").replace(",)", "]").replace(")", "]")
    text = _lower(text)
    if entry is not None and not any(o.name == "bias" for o in entry.options):
        text = re.sub(r", bias=(true|false)", "", text)  # norms: libtorch has no such option
    dims = entry.extra.get("dims") if entry is not None else None
    if dims:
        text = _LISTED.sub(lambda found: f"{found[1]}=[{', '.join([found[2]] * dims)}]", text)
    return text
