"""What the versions of torch differ in: which of them have what, and mends of what the older ones do otherwise.

kshell works with torch from OLDEST on. An entry says in its field `first_torch` which version has it first; calls that
name it are refused in an older one, help and the reference say so, and tests of it are skipped. Nothing here imports
torch before it is needed.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kshell.errors import QError

if TYPE_CHECKING:
    from torch import Tensor
    from torch import dtype as DType

OLDEST = "2.8"  # as pyproject.toml requires


def here() -> str:
    """The version of the torch that is there, without what a build adds to it, and without importing torch; empty if
    there is none."""
    version = getattr(sys.modules.get("torch"), "__version__", None)
    if version is None:
        from importlib import metadata

        try:
            version = metadata.version("torch")
        except metadata.PackageNotFoundError:
            return ""
    return str(version).partition("+")[0]


def numbers(version: str) -> list[int]:
    """The numbers of a version, without what a build adds to it."""
    return [int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3]]


def before(version: str) -> bool:
    """Is the torch that is there older than a version?"""
    return bool(here()) and numbers(here()) < numbers(version)


def needs(first: str) -> str:
    """What an entry needs of torch whose `first_torch` is given, in words; and if this one is too old, which it is."""
    return f"needs torch {first} or later" + (f", this is {here()}" if before(first) else "")


def refuse(name: str, first: str) -> None:
    """Refuse a call of what this torch does not have yet."""
    if before(first):
        raise QError(f"nyi: {name}: {needs(first)}")


# ------------------------------------------------------------------ what older versions do otherwise


def _overflowing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A division of integers. Of the smallest one by -1, which ends the process, it gives what division by 1 gives, as
    newer versions do."""

    def run(x: Any, y: Any, *more: Any, **options: Any) -> Any:
        torch = _torch()
        number = y.__class__ is int
        if not isinstance(x, torch.Tensor) or not x.is_cpu or (number and y != -1):
            return fn(x, y, *more, **options)
        common = torch.result_type(x, y)
        if common in (torch.int64, torch.int32) and (number or isinstance(y, torch.Tensor)):
            smallest = x.to(common) == torch.iinfo(common).min
            y = torch.where(smallest & (y == -1), 1, y).to(common)
        return fn(x, y, *more, **options)

    return run


_WORDS = {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte"}


def _of_floats(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`mvlgamma_`, which of integers divides by zero."""

    def run(t: Tensor, p: int) -> Any:
        word = _WORDS.get(str(t.dtype).removeprefix("torch."))
        if word is not None:
            raise RuntimeError(
                f"mvlgamma: result type {word} can't be cast to the desired output type Float"
            )
        return fn(t, p)

    return run


_DIVISIONS = ("floor_divide", "fmod", "remainder")
# by torch's name: the first version that needs no mend, and the mend
_MENDS: dict[str, tuple[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    **dict.fromkeys(_DIVISIONS, ("2.10", _overflowing)),
    **dict.fromkeys([f"Tensor.{name}_" for name in _DIVISIONS], ("2.10", _overflowing)),
    "Tensor.mvlgamma_": ("2.10", _of_floats),
}


def mended(name: str, found: Any) -> Any:
    """What torch has under a name, or what has to stand for it in an older version."""
    first, around = _MENDS.get(name, ("", None))
    return around(found) if around is not None and before(first) else found


def mend(torch: Any) -> None:
    """Mend torch's own classes, once."""
    if before("2.12"):
        torch.optim.Adagrad._init_group = _with_sums(torch.optim.Adagrad._init_group)


def _with_sums(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Adagrad's method that collects the states of parameters: it fails for those that were added after it was made."""

    def _init_group(self: Any, group: dict[str, Any], *lists: Any) -> Any:
        adagrad, start = _torch().optim.Adagrad, self.defaults["initial_accumulator_value"]
        for param in group["params"]:
            if param.grad is not None and not self.state[param]:
                made = adagrad([param], initial_accumulator_value=start, fused=group["fused"])
                self.state[param].update(made.state[param])
        return plain(self, group, *lists)

    return _init_group


@contextmanager
def joining() -> Iterator[None]:
    """A block in which processes form a group: before 2.13 gloo tells so on the standard output."""
    if not before("2.13"):
        yield
        return
    sys.stdout.flush()
    nowhere, kept = os.open(os.devnull, os.O_WRONLY), os.dup(1)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def gathering(dist: Any) -> Any:
    """The call of torch.distributed that gathers into one tensor, which has a new name from 2.13 on."""
    return getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


def mean_of(m: Any, device: str) -> None:
    """Let the gradients of a module of `fully_shard` be means: before 2.10, gloo sums where it should take the mean."""
    if device == "cpu" and before("2.10"):
        m.set_force_sum_reduction_for_comms(True)


def begin_anew(m: Any) -> None:
    """Forget the iteration of a module of `fully_shard` that an error ended: whole parameters are released, and what is
    on its way is waited for and lost. Before 2.13 torch has no such call."""
    if hasattr(m, "reset_iter_state"):
        m.reset_iter_state()
        return
    root = m._get_fsdp_state()
    shared, now = root._comm_ctx, root._device_handle.current_stream()
    for name in ("all_gather_state", "reduce_scatter_state"):
        pending = getattr(shared, name, None)
        if pending is not None:
            if pending.event is not None:
                now.wait_event(pending.event)
            setattr(shared, name, None)
    getattr(shared, "post_forward_order", []).clear()
    for state in root._state_ctx.all_states:
        state._modules_to_run_forward.clear()
        state._training_state = type(state._training_state).IDLE
        group = state._fsdp_param_group
        if group is not None:
            group.finalize_backward()
            group._partial_reduce_output = group._reshard_after_forward_event = None
            group._training_state = type(group._training_state).IDLE
            group._to_sharded()
    root._state_ctx.iter_forward_root = None
    root._state_ctx.post_backward_final_callback_queued = False


def asks(function: Any) -> bool:
    """Does a function of torch's ask classes of tensors and modes how it is called? `backward` does so from 2.11 on."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return "has_torch_function" in getattr(getattr(function, "__code__", None), "co_names", ())


def annealing(scheduler: Any) -> str:
    """How a SWALR anneals: before 2.10 it keeps only the function."""
    return "linear" if scheduler.anneal_func.__name__ == "_linear_anneal" else "cos"


def bits(t: Tensor, dtype: DType) -> Any:
    """The elements' bits as integers of the same size; an older vmap knows no such view."""
    return _viewed().apply(t, dtype) if before("2.13") else t.view(dtype)


@functools.cache
def _viewed() -> Any:
    function = _torch().autograd.Function

    class Viewed(function):  # type: ignore[misc, valid-type]
        @staticmethod
        def forward(t: Tensor, dtype: DType) -> Any:
            return t.view(dtype)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, dims: Any, t: Tensor, dtype: DType) -> Any:
            return Viewed.apply(t, dtype), dims[0]

    return Viewed


def _torch() -> Any:
    return sys.modules["torch"]
