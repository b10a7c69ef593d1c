"""Devices and tensor options: the symbols that name them, `device`, `cudadevice`, `sync`, `seed`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import is_empty, items, long_of, name_of, names_of, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import DTYPE_NAMES, dtype_name, dtype_named, dtype_symbol, kname
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    TensorHandle,
    VectorHandle,
    ask,
    behaves,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base.build import collapse
from kshell.values.base.core import NIL, NULL_J, Dict, Value, long, sym_vec
from kshell.values.base.symbols import sym

if TYPE_CHECKING:
    from torch import Tensor
    from torch import device as Device

_MEMORY = {
    "contiguous": "contiguous_format",
    "preserve": "preserve_format",
    "channel2d": "channels_last",
    "channel3d": "channels_last_3d",
}
# symbols for tensor options other than devices, by attribute
SYMBOLS: dict[str, tuple[str, ...]] = {
    "dtype": DTYPE_NAMES,
    "layout": ("strided", "sparse"),
    "gradient": ("grad", "nograd"),
    "pin": ("pinned", "unpinned"),
    "memory": tuple(_MEMORY),
}
DEVICES = ("cpu", "cuda", "mps", "xpu", "meta")


def accelerators() -> list[str]:
    """The accelerators of this machine, with indices: cuda:0, cuda:1, or mps:0, or those added by torch extensions."""
    if not torch.accelerator.is_available():
        return []
    kind = torch.accelerator.current_accelerator().type
    return [f"{kind}:{i}" for i in range(torch.accelerator.device_count())]


def device_names() -> list[str]:
    """The device names valid here: cpu, and the accelerators, with and without index."""
    found = accelerators()
    return ["cpu", *({d.partition(":")[0]: None for d in found}), *found]


def is_present(d: Device) -> bool:
    """Is the torch device present on this machine? (meta is always present.)"""
    return d.type in ("cpu", "meta") or f"{d.type}:{d.index or 0}" in accelerators()


def is_device(name: str) -> bool:
    """Is it a device name, present or not: cpu, cuda, cuda:1, mps?"""
    head, _, number = name.partition(":")
    return (head in DEVICES or head in device_names()) and (not number or number.isdigit())


def device_named(name: str, call: str) -> Any:
    """The torch device for a symbol; an error if this machine does not have it."""
    # meta exists everywhere: tensors without data
    if name != "meta" and name not in device_names():
        raise CallError(
            call,
            f"device {name} is not available, this machine has " + " ".join(device_names()),
            says=(name,),
        )
    return torch.device(name)


@dataclass(slots=True)
class TensorOptions:
    """The tensor options in a list of symbols; None for each option not given."""

    device: Any = None
    dtype: Any = None
    layout: str | None = None
    grad: bool | None = None
    pinned: bool | None = None
    memory: str | None = None


def tensor_options(x: Value, call: str) -> TensorOptions:
    """The tensor options for one or more symbols, in any order."""
    names = names_of(x)
    if names is None:
        raise CallError(call, expected="symbol(s) for tensor options", given=kname(x))
    out = TensorOptions()
    for name in names:
        if dtype_symbol(name):
            out.dtype = dtype_named(name)
        elif is_device(name):
            out.device = device_named(name, call)
        elif name in SYMBOLS["layout"]:
            out.layout = name
        elif name in SYMBOLS["gradient"]:
            out.grad = name == "grad"
        elif name in SYMBOLS["pin"]:
            out.pinned = name == "pinned"
        elif name in _MEMORY:
            out.memory = name
        elif name:
            raise unknown(
                "unrecognized tensor option: `",
                name,
                (word for words in (*SYMBOLS.values(), DEVICES) for word in words),
            )
    return out


def memory_format(name: str) -> Any:
    """torch's memory format for a symbol."""
    return getattr(torch, _MEMORY[name])


def memory_name(t: Tensor) -> str:
    """The symbol for a tensor's memory format."""
    if t.layout is not torch.strided or t.is_contiguous():
        return "contiguous"
    if t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last):
        return "channel2d"
    if t.dim() == 5 and t.is_contiguous(memory_format=torch.channels_last_3d):
        return "channel3d"
    return "contiguous"


def layout_name(t: Tensor) -> str:
    """`strided` or `sparse`."""
    return "strided" if t.layout is torch.strided else "sparse"


def convert_to(t: Tensor, o: TensorOptions, copy: bool = False, wait: bool = True) -> Any:
    """A tensor with the given options: the same tensor if nothing changes and `copy` is not set.

    A leaf stays a leaf: its conversion starts a new graph and keeps the gradient flag.
    """
    leaf = t.is_leaf
    flag = t.requires_grad if o.grad is None else o.grad
    source = t.detach() if leaf and t.requires_grad else t
    out = source.to(
        device=o.device or t.device, dtype=o.dtype or t.dtype, copy=copy, non_blocking=not wait
    )
    if o.layout == "sparse" and out.layout is torch.strided:
        out = out.to_sparse()
    elif o.layout == "strided" and out.layout is not torch.strided:
        out = out.to_dense()
    if o.memory is not None:
        out = out.contiguous(memory_format=memory_format(o.memory))
    if o.pinned and not is_pinned(out):
        if torch.accelerator.is_available():
            out = out.pin_memory()
        else:  # as in torch's data loaders: a program written for a GPU runs without one
            warnings.warn("pinned: there is no accelerator, the memory is not pinned", stacklevel=1)
    if out is source and flag == t.requires_grad:
        return t
    return _with_grad(out, flag, leaf)


def _with_grad(t: Tensor, flag: bool, leaf: bool) -> Any:
    if leaf or not flag:
        t = t.detach() if t.requires_grad and not flag else t
        return t.requires_grad_(flag) if t.requires_grad != flag else t
    return t if t.requires_grad else t.requires_grad_(True)


def like_options(t: Tensor) -> TensorOptions:
    """The options that `to` copies from an example tensor: device and type."""
    return TensorOptions(device=t.device, dtype=t.dtype)


def _default_device() -> str:
    names = device_names()
    return names[1] if len(names) > 1 else "cpu"


def device_of(t: Tensor | None) -> str:
    """The symbol for a tensor's device; empty for the undefined tensor."""
    return "" if t is None else str(t.device)


@api("device", "device()", "device ptr", effect="none")
def device(x: Value) -> Value:
    """The device of a tensor, vector, dictionary, module or model; for an optimizer, of its parameters.

    Without an argument, the default device: an accelerator such as cuda or mps if there is one, else cpu.

    q)device tensor 1 2 3
    `cpu
    """
    if is_empty(x):
        return sym(_default_device())
    h = handle(x)
    if h is None:
        raise QError(f"device: need allocated torch object, e.g. tensor, module, given {kname(x)}")
    if h.__class__ is TensorHandle:
        return sym(device_of(h.obj))
    if h.__class__ is VectorHandle:
        return sym_vec([device_of(t) for t in h.obj])
    if h.__class__ is DictHandle:
        return Dict(sym_vec(h.obj), sym_vec([device_of(value) for value in h.obj.values()]))
    return ask("device", h)


@api("cudadevice", "cudadevice()", "cudadevice`cuda:0", effect="reads0")
def cudadevice(x: Value) -> Value:
    """The current CUDA device; with a device, make it current.

    The null symbol if there is no CUDA device.

    q)null[cudadevice()]=0=cudadevices[]
    1b
    """
    if is_empty(x):
        return sym(f"cuda:{torch.cuda.current_device()}") if torch.cuda.is_available() else sym("")
    name = name_of(x)
    if name is None or not name.startswith("cuda:") or not is_device(name):
        raise QError(
            "unrecognized CUDA device, expecting cuda with valid device number, e.g. `cuda:0"
        )
    torch.cuda.set_device(device_named(name, "cudadevice"))
    return NIL


@api("cudadevices", "cudadevices[]", "cudadevices()", effect="none")
def cudadevices(x: Value) -> Value:
    """The CUDA devices: cudadevices[] counts them, cudadevices() names them.

    q)cudadevices[]=count 1_cudadevices()
    1b
    """
    if not is_empty(x):
        raise QError(
            "cudadevices: unexpected arg(s), cudadevices[] counts the devices, cudadevices() names them, "
            f"given {kname(x)}"
        )
    names = [name for name in device_names() if name.startswith("cuda")]
    return max(len(names) - 1, 0) if x is NIL else sym_vec(names)


@api("sync", "sync()", "sync device", "sync n", "sync ptr", effect="none")
def sync(x: Value) -> Value:
    """Wait until all work queued on a device has finished.

    q)sync tensor 1 2 3
    """
    for device in _sync_devices(x):
        if device not in ("", "cpu", "meta"):
            torch.accelerator.synchronize(device_named(device, "sync"))
    return NIL


def _sync_devices(x: Value) -> set[str]:
    if is_empty(x):
        return {_default_device()}
    if isinstance(x, KHandle):
        if (
            x.__class__ not in (TensorHandle, VectorHandle, DictHandle)
            and behaves("device", x) is None
        ):
            raise QError(f"sync: not implemented for {x.plural}")
        found = device(x)
        return set(names_of(found.v if found.__class__ is Dict else found) or ())
    name = name_of(x)
    if name is not None:
        return {str(device_named(name, "sync"))}
    number = long_of(x)
    if number is None:
        raise CallError("sync", expected="device or torch object", given=kname(x))
    return {f"cuda:{number}"} if torch.cuda.is_available() else set()


# ------------------------------------------------------------------ random seeds


def generator_of(name: str) -> Any:
    """torch's default random generator for a device of this machine."""
    if name == "cpu":
        return torch.default_generator
    if name == "meta":
        raise CallError("seed", "meta has no random numbers", says=(name,))
    kind, _, number = name.partition(":")
    if kind == "mps":
        return torch.mps._get_default_mps_generator()
    if kind == "cuda":
        torch.cuda.init()  # not defined before
    module = torch.get_device_module(kind)
    return module.default_generators[int(number) if number else module.current_device()]


def seeds() -> Dict:
    """The seed of each device's random generator."""
    names = device_names()
    return Dict(
        sym_vec(names), collapse([long(generator_of(name).initial_seed()) for name in names])
    )


@api(
    "seed",
    "seed()",
    "seed n",
    "seed device",
    "seed(device;n)",
    held=True,
    target="torch.manual_seed",
    effect="changes",
)
def seed(x: Value) -> Value:
    """Get or set the seeds of torch's random generators; 0N takes a seed from the system.

    q)seed 123
    q)seed`cpu
    123
    """
    if is_empty(x):
        return seeds()
    given = items(x)
    name = name_of(given[0])
    if len(given) == 1 and name is not None:
        device_named(name, "seed")
        return long(generator_of(name).initial_seed())
    number = long_of(given[-1])
    if number is None or len(given) > 2:
        raise CallError("seed", expected="a long, a device or both", given=kname(x))
    if len(given) == 1:
        _seed_all(given[0], number)
        return NIL
    if name is None:
        raise CallError("seed", expected="symbol for device", given=kname(given[0]))
    device_named(name, "seed")
    generator = generator_of(name)
    generator.seed() if given[1] is NULL_J else generator.manual_seed(number)
    return NIL


def _seed_all(x: Value, n: int) -> None:
    if x is NULL_J:
        torch.seed()
    elif accelerators():
        torch.manual_seed(n)
    else:  # torch's own function spends a millisecond recording the call site, for devices initialized later
        torch.default_generator.manual_seed(n)


def options_dict(t: Tensor | None) -> Dict:
    """A tensor's options as a dictionary of symbols; null symbols for the undefined tensor."""
    names = ("device", "dtype", "layout", "gradient", "pin", "memory")
    if t is None:
        return Dict(sym_vec(names), sym_vec([""] * 6))
    values = (
        str(t.device),
        dtype_name(t.dtype),
        layout_name(t),
        "grad" if t.requires_grad else "nograd",
        "pinned"
        if t.device.type == "cpu" and layout_name(t) == "strided" and is_pinned(t)
        else "unpinned",
        memory_name(t),
    )
    return Dict(sym_vec(names), sym_vec(values))


def is_pinned(t: Tensor) -> bool:
    """Is a tensor's memory page-locked? (Without an accelerator it never is, and torch need not be asked.)"""
    return bool(torch.accelerator.is_available() and t.is_pinned())
