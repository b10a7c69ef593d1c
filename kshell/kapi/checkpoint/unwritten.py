"""The k-api's protection in restricted evaluation: the memory of existing tensors is not written, whatever function
would do it, and random numbers drawn inside do not affect those drawn outside.

Every torch operation passes through a dispatch mode, which knows from the operation's schema what it writes. Tensors
created inside may be written, and so may tensors that share their memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.errors import Agreed
from kshell.kapi.base.handles import table
from kshell.kapi.base.lazy_torch import loaded, torch
from kshell.values.session.context import worker
from kshell.values.session.restrict import restricted

if TYPE_CHECKING:
    from torch import Tensor

_MODE: list[type] = []
_OPEN: list[Any] = []  # active restrictions in the main thread


def _mode() -> Any:
    """A dispatch mode that rejects writes to tensors created outside it."""
    if not _MODE:
        _MODE.append(_make())
    return _MODE[0]()


def _make() -> type:
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Unwritten(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.made: set[int] = set()  # storages created inside

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # otherwise torch imports its compiler at the first operation, which takes five seconds

        def __torch_dispatch__(
            self,
            func: Any,
            types: Sequence[type],
            args: Sequence[Any] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:
            kwargs = kwargs or {}
            schema = func._schema
            if schema.is_mutable and restricted():
                for leaf in tree_leaves(written(schema, args, kwargs)):
                    if isinstance(leaf, torch.Tensor) and storage_of(leaf) not in self.made:
                        raise Agreed(
                            f"noupdate: {func.overloadpacket.__name__} would write a tensor that was "
                            "there before"
                        )
            result = func(*args, **kwargs)
            if func is torch.ops.aten.lift_fresh.default:  # from Python values
                self.made.add(storage_of(args[0]))
            elif not schema.is_mutable:
                inputs = {
                    storage_of(leaf)
                    for leaf in tree_leaves((args, kwargs))
                    if isinstance(leaf, torch.Tensor)
                }
                self.made |= (
                    {
                        storage_of(leaf)
                        for leaf in tree_leaves(result)
                        if isinstance(leaf, torch.Tensor)
                    }
                    - inputs
                    - {0}
                )
            return result

    return Unwritten


def written(schema: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that an operation writes."""
    return [
        args[position] if position < len(args) else kwargs.get(argument.name)
        for position, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]


def storage_of(t: Tensor) -> int:
    """The identity of a tensor's storage; 0 if it has none of its own, like a sparse tensor."""
    try:
        return int(t.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return 0


def _generators() -> list[Any]:
    """torch's random generators in use."""
    generators = [torch.default_generator]
    if torch.cuda.is_initialized():
        generators += torch.cuda.default_generators
    return generators


@contextmanager
def _apart() -> Iterator[None]:
    """Inside, torch draws the readers' random numbers, which continue from one restricted evaluation to the next."""
    if not loaded():
        try:
            yield
        finally:
            if loaded():  # imported inside: nothing was drawn before
                torch.default_generator.manual_seed(torch.default_generator.initial_seed())
        return
    states = table().state.setdefault("readers", {})
    originals = [(generator, generator.get_state()) for generator in _generators()]
    for index, (rng, _) in enumerate(originals):
        rng.set_state(states[index]) if index in states else rng.manual_seed(index + 1)
    try:
        yield
    finally:
        for index, (rng, state) in enumerate(originals):
            states[index] = rng.get_state()
            rng.set_state(state)


@contextmanager
def _wall() -> Iterator[None]:
    if worker() is not None:
        with _mode() if loaded() else nullcontext():
            yield
        return
    if _OPEN:
        yield
        return
    _OPEN.append(None)
    try:
        with _apart(), _mode() if loaded() else nullcontext():
            yield
    finally:
        _OPEN.pop()


registry.add(
    registry.Entry(
        "restrict",
        "handler",
        {0: _wall},
        topic="unwritten",
        doc="What a restricted evaluation does about tensors.",
    )
)
