"""A second device for tests: `sim`, whose tensors are torch's tensors of the CPU behind another device's name.

It stands where a GPU would: memory of its own, a generator of its own, and operations that refuse to mix it with the
CPU, by the rules that CUDA has (one element and no dimension passes, so do indexes on the CPU). What it cannot show is
speed, asynchrony and the kernels of a real device. As a plugin of pytest (`-p tests.kapi.second_device`) it is there
before the first test; a process has it from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "sim"
aten = torch.ops.aten
generator = torch.Generator()
default_generators = [generator]


_reads = [0]


def reads() -> int:
    """How often a value was read from the device by the CPU, which waits for it then."""
    return _reads[0]



class _Backend:
    """What torch asks the module of a device for."""

    default_generators = default_generators

    def is_initialized(self) -> bool:
        return True

    is_available = is_initialized

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        generator.manual_seed(seed)

    def synchronize(self, device: Any = None) -> None:
        pass

    def get_rng_state(self, device: Any = 0) -> torch.Tensor:
        return generator.get_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = 0) -> None:
        generator.set_state(state)


class SimTensor(torch.Tensor):
    """A tensor of the device; `raw` is the tensor of the CPU behind it."""

    raw: torch.Tensor

    @staticmethod
    def __new__(cls, raw: torch.Tensor) -> SimTensor:
        t = torch.Tensor._make_wrapper_subclass(cls, raw.size(), raw.stride(), raw.storage_offset(), dtype=raw.dtype,
                                                device=f"{NAME}:0", layout=raw.layout)  # type: ignore[attr-defined]
        t.raw = raw
        return t  # type: ignore[no-any-return]

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _call(func, args, kwargs or {})

    @property
    def data(self) -> Any:
        return self.detach()

    @data.setter
    def data(self, new: torch.Tensor) -> None:
        torch.Tensor.data.__set__(self, new)  # type: ignore[attr-defined]
        self.raw = new.raw  # type: ignore[attr-defined]

    def __format__(self, spec: str) -> str:
        return self.raw.__format__(spec)

    def tolist(self) -> Any:  # torch refuses it for subclasses, not for devices
        _reads[0] += 1
        return self.raw.tolist()


def _on(device: Any) -> bool:
    return device is not None and torch.device(device).type == NAME


_BOTH = {aten.copy_.default, aten._copy_from.default, aten._to_copy.default}  # from one device to another
_INDEXED = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default,
            aten._unsafe_index.Tensor}  # an index may be on the CPU


def _refuse_mixed(func: Any, tensors: list[torch.Tensor]) -> None:
    here = [t for t in tensors if isinstance(t, SimTensor)]
    there = [t for t in tensors if not isinstance(t, SimTensor) and t.dim()]
    if here and there and func not in _BOTH | _INDEXED:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {NAME}:0 "
                           f"and {there[0].device}! (when checking argument in method {func})")
    if here and func in _INDEXED and not isinstance(tensors[0], SimTensor):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")


def _drawn(func: Any, args: Any, kwargs: Any) -> Any:
    """What a random operation gives with the generator of the device."""
    kept = torch.get_rng_state()
    torch.set_rng_state(generator.get_state())
    try:
        return func(*args, **kwargs)
    finally:
        generator.set_state(torch.get_rng_state())
        torch.set_rng_state(kept)


def _call(func: Any, args: Any, kwargs: Any) -> Any:
    tensors = [a for a in tree_flatten((args, kwargs))[0] if isinstance(a, torch.Tensor)]
    _refuse_mixed(func, tensors)
    behind: dict[int, SimTensor] = {}

    def raw(a: Any) -> Any:
        if isinstance(a, SimTensor):
            plain = a.raw.resolve_conj().resolve_neg()
            behind[id(plain)] = a
            return plain
        if isinstance(a, torch.device) and a.type == NAME:
            return torch.device("cpu")
        return a

    device = kwargs.get("device")
    here = _on(device) if device is not None else any(isinstance(t, SimTensor) for t in tensors)
    if func is aten._local_scalar_dense.default or (func is aten._to_copy.default and not here):
        _reads[0] += 1
    plain, options = tree_map(raw, (args, kwargs))
    if func in (aten.copy_.default, aten._copy_from.default):
        func(*plain, **options)
        return args[0] if func is aten.copy_.default else args[1]
    drawn = here and torch.Tag.nondeterministic_seeded in func.tags
    made = _drawn(func, plain, options) if drawn else func(*plain, **options)

    for t in behind.values():
        if t.raw.shape != t.shape or t.raw.stride() != t.stride():  # an output took the result's size
            t.data = SimTensor(t.raw)

    def back(t: Any) -> Any:
        if not isinstance(t, torch.Tensor) or isinstance(t, SimTensor) or not here:
            return t
        return behind.get(id(t)) if id(t) in behind else SimTensor(t)

    return tree_map(back, made)


def _fallback(op: Any, *args: Any, **kwargs: Any) -> Any:
    return _call(op, args, kwargs)


_setup_privateuseone_for_python_backend(NAME, backend_module=_Backend())
library = torch.library.Library("_", "IMPL")
fallback: Callable[..., None] = library.fallback
fallback(_fallback, "PrivateUse1")


def _filled(made: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """torch.tensor or as_tensor, which fill the memory of other devices below the dispatcher."""

    def tensor(data: Any, dtype: Any = None, device: Any = None, **options: Any) -> torch.Tensor:
        if _on(device) and not isinstance(data, torch.Tensor):
            return made(data, dtype=dtype, **options).to(NAME)
        return made(data, dtype=dtype, device=device, **options)

    return tensor


torch.tensor = _filled(torch.tensor)  # type: ignore[assignment]
torch.as_tensor = _filled(torch.as_tensor)  # type: ignore[assignment]
