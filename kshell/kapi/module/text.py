"""A module as text in libtorch's form: `torch::nn::Linear(in_features=784, out_features=10, bias=true)`."""

from __future__ import annotations

import re
from typing import Any

from kshell.kapi.module.describe import label, type_of
from kshell.kapi.module.options import ModuleRecord, module_record
from kshell.registry import Entry

# options that libtorch writes as a list, one number a dimension
_LISTED = re.compile(r"\b(kernel_size|stride|padding|dilation|output_size)=(\d+)")
_FLOAT = re.compile(r"-?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)")  # C++ writes six digits, and 1 for 1.0
_ENUM = re.compile(r"\b(mode|padding_mode)='?([a-z])([a-z-]*)'?")  # an enumerated value: kReflect
_ALONE = re.compile(r"=\[(\d+)\]")
_UNKNOWN = ModuleRecord()  # of a class that is no module type


def cpp_text(m: Any, indent: str = "") -> str:
    """The text of a module and, indented below it, of its children."""
    entry = type_of(m)
    record = _UNKNOWN if entry is None else module_record(entry)
    own_class = entry is None or not entry.target.startswith("torch.")
    name = label(m) if own_class else "torch::nn::" + label(m) + record.suffix
    children = list(m.named_children())
    bare = record.container and record.text is None  # written by its name alone
    # libtorch's own modules do not show options before children
    own = "" if bare or (children and not own_class) else _options(m, entry, record)
    if not bare and (own or not children):
        name += f"({own})"
    if not children:
        return name
    inner = indent + "  "
    lines = [f"{inner}({key}): {cpp_text(child, inner)}" for key, child in children]
    return name + record.open + "(\n" + "\n".join(lines) + f"\n{indent})"


def _lower(text: str) -> str:
    return re.sub(r"=True\b", "=true", re.sub(r"=False\b", "=false", text))


def number(x: float) -> str:
    """A number as C++ writes it: six digits, no point where none is needed."""
    return f"{x:g}"


def _options(m: Any, entry: Entry | None, record: ModuleRecord) -> str:
    if record.text is not None:
        return _lower(record.text(m))
    text = m.extra_repr()
    text = text.replace("(", "[").replace(",)", "]").replace(")", "]")
    text = _FLOAT.sub(lambda found: number(float(found[0])), _lower(text))
    text = _ENUM.sub(lambda found: f"{found[1]}=k{found[2].upper()}{found[3]}", text)
    text = re.sub(r"\bpadding=(same|valid)\b", r"padding='\1'", text)
    if entry is not None and not any(option.name == "bias" for option in entry.options):
        text = re.sub(r", bias=(true|false)", "", text)  # norms: libtorch has no such option
    dims = record.dims
    if dims == 1:
        text = _ALONE.sub(r"=\1", text)
    elif dims:
        text = _LISTED.sub(lambda found: f"{found[1]}=[{', '.join([found[2]] * dims)}]", text)
    return text
