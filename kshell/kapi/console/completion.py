"""Completion for the k-api: the symbols that calls accept, and the parts of live objects.

Nothing here imports torch: if an object with parts exists, torch has been imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kshell import registry
from kshell.entry_kinds import KINDS, TOPICS, Kind, taken_by, types
from kshell.kapi.base.device_options import SYMBOLS, device_names
from kshell.kapi.base.handles import (
    GONE,
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    behaviour,
    module_of,
)
from kshell.kapi.base.lazy_torch import loaded, torch
from kshell.kapi.console.help import options_of
from kshell.kapi.optim.optimizer import known_options
from kshell.kapi.tensor.create import MODES
from kshell.values.base.functions import Handle

Words = list[tuple[str, str]]


def parts(h: Handle) -> Words:
    """The names inside an object: a module's children, an optimizer's parameters, a dictionary's tensors."""
    return h.inside() if isinstance(h, KHandle) and h.obj is not GONE else []


@behaviour("inside", DictHandle)
def _in_dict(h: DictHandle) -> Words:
    return [(name, "tensor") for name in h.obj]


@behaviour("inside", ModuleHandle, ModelHandle)
def _in_module(h: KHandle) -> Words:
    module = module_of(h)
    children = [(name, type(child).__name__) for name, child in module.named_modules() if name]
    tensors = [(name, "parameter") for name, _ in module.named_parameters()]
    return [*children, *tensors, *((name, "buffer") for name, _ in module.named_buffers())]


def _devices() -> Words:
    names = device_names() if loaded() else ["cpu", "cuda", "mps"]
    return [(name, "device") for name in names]


def _tensor_options() -> Words:
    return [*_devices(), *((name, kind) for kind, names in SYMBOLS.items() for name in names)]


def _entries(kinds: Iterable[Kind]) -> Words:
    return [(entry.name, entry.summary) for kind in kinds for entry in kind.entries()]


def _helped() -> Iterable[Kind]:
    return sorted((kind for kind in KINDS.values() if kind.helped), key=lambda kind: kind.helped)


# symbols taken by calls that are not entry names of a kind
CALLS: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
    "tensor": lambda: [*((name, "makes a tensor") for name in MODES), *_tensor_options()],
    "to": _tensor_options,
    "vector": _tensor_options,
    "device": _devices,
    "seed": _devices,
    "sync": _devices,
    "autosave": lambda: [
        ("seconds", "seconds between saves"),
        ("steps", "optimizer steps between saves"),
    ],
    "profile": lambda: [("torch", "include torch's operations")],
    "parmtable": lambda: [(name, "optimizer option") for name in sorted(known_options())],
    "help": lambda: [
        *((name, text or "a table") for name, (text, _) in TOPICS.items()),
        *_entries(_helped()),
    ],
    "options": lambda: _entries(types()),
}


def options(entry: registry.Entry) -> tuple[registry.Option, ...]:
    """The options of an entry; before torch is imported, only those that are not read from its signatures."""
    return options_of(entry) if entry.options or loaded() else ()


def of_call(name: str) -> Words:
    """The symbols that a call accepts, each with a short description; none if it has none of its own."""
    symbols = CALLS.get(name)
    return list(symbols()) if symbols is not None else _entries(taken_by(name))


def device() -> tuple[str, int]:
    """The device in use, and the bytes of its memory in use (0 on the CPU)."""
    if loaded() and torch.cuda.is_initialized():
        return f"cuda:{torch.cuda.current_device()}", int(torch.cuda.memory_allocated())
    return "cpu", 0
