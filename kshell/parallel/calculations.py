"""How processes synchronize the computations of a module that they share, and its gradients.

torch's own engines (`around`) communicate without checks: a process that computes something else, nothing, or fails
midway leaves the others waiting. Therefore all processes synchronize before a forward pass communicates, and again
before gradients reach the module; and a process whose computation fails comes to the next barrier to report it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from kshell.parallel import meet

_MADE = [0]  # shared modules
_MARK = "kshell"  # key in the metadata of the graph node that outputs a computation
# forward passes not yet reached by a backward
_ALIVE: weakref.WeakSet[Calculation] = weakref.WeakSet()
# the computations on the path of the running backward, if determined
_THROUGH: list[list[Calculation]] = []


class Shared:
    """A module with which processes compute together. `text_of` formats an error."""

    def __init__(self, m: nn.Module, text_of: Callable[[BaseException], str] = str) -> None:
        _MADE[0] += 1
        self.name = f"{type(m).__name__.lower()} {_MADE[0]}"
        self.text_of = text_of
        self.count = 0  # computations with gradients since the last error
        self.open = False  # did gradients reach the module without backward finishing?
        self.refusals = meet.REFUSALS[0]

    def told(
        self, part: str, inputs: Iterable[Any], training: bool, grad: bool = True
    ) -> list[tuple[str, str]]:
        """The properties of a computation that must be the same everywhere. (Sizes may differ.)"""
        kinds = [
            f"{str(tensor.dtype).removeprefix('torch.')} of {tensor.dim()} dimensions"
            for tensor in _tensors(inputs)
        ]
        mode = ("training" if training else "evaluation") + ("" if grad else " without gradients")
        return [
            ("modules", f"{self.name}{part}"),
            ("modes", mode),
            ("inputs", ", ".join(kinds) or "none"),
        ]

    def met(self, told: list[tuple[str, str]], stale: bool) -> list[int]:
        """All processes have reached the start of a computation: which must reset? Processes with an error restart
        their count here."""
        found = meet.meet("forward", meet.told(*told), int(stale))
        if self.refusals != meet.REFUSALS[0]:
            self.refusals, self.count = meet.REFUSALS[0], 0
        return found

    def failed(self, exc: Exception) -> Exception:
        """The error to raise when a computation fails; the others are notified."""
        return meet.tell("forward", exc, "" if in_backward() else self.text_of(exc))

    def missing(self) -> str:
        """The error for a parameter that backward must reach but does not; empty if there is none."""
        return ""

    def begin(self, again: bool) -> None:
        """Gradients are about to reach the module, `again` if a backward came through this computation before."""
        self.open = True


class Calculation:
    """One forward pass of a shared module, as a hook on its outputs: before gradients reach the module, all processes
    synchronize."""

    __slots__ = ("__weakref__", "of", "task", "told")

    def __init__(self, of: Shared, told: list[tuple[str, str]]) -> None:
        of.count += 1
        self.of = of
        self.told = [("calculations", f"{of.count} of {of.name}"), *told[1:]]
        self.task = -1  # the last backward that came here

    def watch(self, out: Any) -> None:
        """Synchronize when a backward reaches this output."""
        for tensor in _tensors([out]):
            if tensor.grad_fn is not None:
                tensor.grad_fn.metadata[_MARK] = weakref.ref(self)  # type: ignore[index]
                tensor.register_hook(self)
        _ALIVE.add(self)

    def __call__(self, grad: Tensor) -> None:
        task = torch._C._current_graph_task_id()
        if self.task == task:
            return
        known = _THROUGH[-1] if _THROUGH else []
        found = known if self in known else [self]
        again = [c.task >= 0 for c in found]
        wrong = next((text for c in found if (text := c.of.missing())), "")
        if wrong:
            meet.refuse("backward", wrong)
        meet.meet("backward", meet.told(*(part for c in found for part in c.told)))
        shared = {id(c.of): c.of for c in found}
        for c, was in zip(found, again, strict=True):
            c.task = task
            c.of.begin(was)
            _ALIVE.discard(c)

        def end() -> None:
            for one in shared.values():
                one.open = False

        torch.autograd.Variable._execution_engine.queue_callback(end)


def in_backward() -> bool:
    """Is this inside a backward? (Checkpointed layers recompute there.)"""
    return torch._C._current_graph_task_id() >= 0


def _tensors(x: Iterable[Any]) -> Iterator[Tensor]:
    for v in x:
        if isinstance(v, Tensor):
            yield v
        elif isinstance(v, tuple | list):
            yield from _tensors(v)
        elif isinstance(v, dict):
            yield from _tensors(v.values())


def _through(roots: Iterable[Tensor]) -> list[Calculation]:
    """The computations on the path of a backward from tensors, last one first."""
    found: dict[int, Calculation] = {}
    seen = set()
    todo = [root.grad_fn for root in roots if root.grad_fn is not None]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        mark = node.metadata.get(_MARK)  # type: ignore[attr-defined]
        made = None if mark is None else mark()
        if made is not None:
            found[id(made)] = made
        todo += [k for k, _ in node.next_functions if k is not None]
    return sorted(found.values(), key=lambda c: c.told, reverse=True)


def backward(
    roots: Sequence[Tensor], run: Callable[[], Any], text_of: Callable[[BaseException], str] = str
) -> None:
    """run(), a backward from these tensors. If its path includes a shared module and it fails before they have
    synchronized, the others are notified. If several computations have not been reached by a backward, all processes
    synchronize for this backward's computations at once: gradients are exchanged when the last of them is there."""
    before = meet.MEETINGS[0]
    _THROUGH.append(_through(roots) if len(_ALIVE) > 1 else [])
    try:
        run()
        return
    except Exception as exc:
        known = getattr(exc, "alike", False) or meet.MEETINGS[0] != before or not _through(roots)
        raise (exc if known else meet.tell("backward", exc, text_of(exc))) from None
    finally:
        _THROUGH.pop()
