"""Edits of a replayed log that were made before the first step, such as between the cells of a notebook.

Where that was in the program the log does not say, only that no step had begun. So they are made where the first step
begins: in the first forward call, with gradients, of a module with parameters, before it computes anything; or as a
step with a closure is called, which makes that call itself. What cannot be made there, since the program has not made
all of its objects yet, is tried again in the next such call. Random numbers are those of the edit's text (`Edits`), so
it does not matter what the program has drawn before.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from kshell.host.plans import Planned
from kshell.host.variables import Variables

if TYPE_CHECKING:
    from kshell.host.guard import Guard

FORWARD = "the program is in a forward call, and edits wait for the end of a step"
MISSED = "not replayed: no forward call came before the first step"
USED = "the first forward call is of a module that was replaced, and uses it once more"


class Replaying(Protocol):
    """The program's side."""

    serving: bool  # is q running?
    guard: Guard
    variables: Variables

    def safe_point(self, frozen: str) -> None:
        """Carry out what is due; `frozen` says why nothing else can be edited here."""

    def carried_out(self, planned: Planned, agreed: bool = True) -> str:
        """Carry out what was planned; why that failed, empty if it did not."""

    def tell(self, text: str) -> None:
        """Say something on standard error."""


class Early:
    """Such edits, until they are made, or the first step begins."""

    def __init__(self, host: Replaying) -> None:
        self.host = host
        self.waiting: list[Planned] = []
        self.here = False  # is it now that they are made?
        self._problem = MISSED  # why the first of those that wait has not been made
        self._called: Any = None  # the module of the forward call
        self._hook: Any = None

    def add(self, planned: Planned) -> None:
        """Make an edit before the first step, after those that were added before."""
        from torch.nn.modules.module import register_module_forward_pre_hook

        self.waiting.append(planned)
        self._hook = self._hook or register_module_forward_pre_hook(self._forward)
        self.host.guard.expect(self._stepping)

    def end(self) -> None:
        """Make no more."""
        self.waiting = []
        self.host.guard.expect(None)
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def carry_out(self) -> None:
        """Make them, up to one that fails."""
        was_known = self._is_known()
        while self.waiting:
            problem = self.host.carried_out(self.waiting[0])
            if problem:
                self._problem = problem
                break
            self.waiting.pop(0)
            self._problem = MISSED
        else:
            self.end()
        if was_known and not self._is_known():
            self.host.tell(f"step 0: {USED}")

    def _stepping(self, args: Any, kwargs: Any) -> None:
        """The first step begins, with what the optimizer's `step` is called with."""
        if (len(args) > 1 and args[1] is not None) or kwargs.get("closure") is not None:
            self._make(None)
        for planned in self.waiting:
            self.host.tell(f"step 0: {planned.text}: '{self._problem}")
        self.end()

    def _forward(self, module: Any, args: Any) -> None:
        """A module is called."""
        torch: Any = sys.modules["torch"]
        # compiled code has no such calls; what is evaluated without gradients is no part of a step
        if torch.compiler.is_compiling() or self.host.serving or not torch.is_grad_enabled():
            return
        # something has been computed before, which may have used what is to be edited
        is_later = any(getattr(x, "grad_fn", None) is not None for x in args)
        is_loss = next(module.parameters(), None) is None
        if not is_later and not is_loss and _calls(torch.nn.Module) == 1:
            self._make(module)

    def _make(self, module: Any) -> None:
        """Make the edits, if this is the forward call of a module before that."""
        self.here, self._called = True, module
        try:
            self.host.safe_point(FORWARD)
        finally:
            self.here, self._called = False, None

    def _is_known(self) -> bool:
        """Is the module that is called in the program's objects?"""
        return self._called is not None and any(
            self._called is inner
            for x in self.host.variables.objects().values()
            if hasattr(x, "modules")
            for inner in x.modules()
        )


def _calls(cls: Any) -> int:
    """How many calls of modules this is inside of."""
    count, frame, code = 0, sys._getframe(2), cls._call_impl.__code__
    while frame is not None:
        count += frame.f_code is code
        frame = frame.f_back  # type: ignore[assignment]
    return count
