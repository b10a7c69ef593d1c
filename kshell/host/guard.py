"""Looking after a run: values that are not finite, copies of its state to go back to, and steps that are left out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any

from kshell.errors import QError
from kshell.host import finding, ranks
from kshell.host.finite import Finding, Finite
from kshell.host.objects.changes import Change
from kshell.host.objects.kept import Kept, States

if TYPE_CHECKING:
    from kshell.host.host import Host

IN_A_JOB = "the other processes would make the step"


class Guard:
    """What looks after the run of a program that listens."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.finite: Finite | None = None  # while a watch looks whether values are finite
        self.found: list[Finding] = []  # the values that were not
        self.states = States()
        # is told of the first step as it begins
        self._first: Callable[[Any, Any], None] | None = None
        self.stepper: Any = None  # the optimizer that is about to step
        self._skips = False  # is the step to come left out?
        self._looks_after = True  # has `finite` something to do after the step?

    # ------------------------------------------------------------ around each step

    def expect(self, first: Callable[[Any, Any], None] | None) -> None:
        """Tell of the first step as it begins, by what it is called with; or no more."""
        self._first = first
        self._set()

    def _set(self) -> None:
        """Look at each step, before and after it, only while something is to be done there."""
        steps = self.host.steps
        wanted = self._first is not None or self.finite is not None or self._skips
        steps.stepping = self.stepping if wanted else None
        steps.each = self.finite is not None or not self.host.thread

    def stepping(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """An optimizer is about to step. What it is called with instead, if it has a closure that computes the
        gradients: they are looked at before it uses them."""
        if self._first is not None:
            self._first(args, kwargs)
        if self.finite is None and not self._skips:
            return None
        if len(args) > 1 and args[1] is not None:
            return (args[0], self._looked_at(args[1], optimizer), *args[2:]), kwargs
        if kwargs.get("closure") is not None:
            return args, {**kwargs, "closure": self._looked_at(kwargs["closure"], optimizer)}
        self._about_to_use(optimizer)
        return None

    def _looked_at(self, closure: Callable[[], Any], optimizer: Any) -> Callable[[], Any]:
        """A closure whose first call is followed by a look at the gradients."""
        calls = []

        def called() -> Any:
            loss = closure()
            calls.append(loss)
            if len(calls) == 1:
                self._about_to_use(optimizer)
            return loss

        return called

    def _about_to_use(self, optimizer: Any) -> None:
        """An optimizer is about to use its gradients."""
        if self._skips:
            self._skips = False
            self._set()
            _take_gradients(optimizer)
        finite = self.finite
        if finite is None or self.host.serving or get_ident() != finite.thread:
            return
        finite.look_at_gradients(optimizer)
        self._looks_after = self.states.is_due() or not finite.is_plain(optimizer)
        if self._looks_after:
            self.host.steps.each = True
        found = finite.pending
        if found is not None and found.optimizer in (None, optimizer):
            self.stepper = optimizer
            try:
                self._act(finite)
            finally:
                self.stepper = None

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        finite = self.finite
        if finite is None:
            return
        if finite.pending is not None:
            self._act(finite)
        if self._looks_after:
            finite.step_ended(optimizer)
        if self.states.is_due() and not finite.holds and ranks.job().size == 1:
            self.states.renew(self._kept)

    def _act(self, finite: Finite) -> None:
        """A value that is not finite was found: do what the watch says."""
        finite.pending = None
        watch = self.host.watches.finite
        if watch is not None and watch.action != "log":
            self.host.fired.append(watch)
            self.host.safe_point("")

    # ------------------------------------------------------------ values that are not finite

    def watch(self) -> None:
        """Look whether values are finite from now on."""
        if self.finite is None:
            thread = self.host.thread or get_ident()
            self.finite = Finite(self.host.steps, thread, self._module_of, self._report)
            self.finite.begin()
            self._set()

    def unwatch(self) -> None:
        """Look no more."""
        if self.finite is not None:
            self.finite.end()
            self.finite = None
            self._set()
            self.states.latest = None

    def _report(self, found: Finding) -> None:
        """Tell of a value that is not finite."""
        self.found.append(found)
        watch = self.host.watches.finite
        if watch is not None:
            watch.fired, watch.step = watch.fired + 1, found.step
        self.host.watches.tell(found.text)

    def _module_of(self, optimizer: Any) -> Any:
        return self.host.variables.module_of(optimizer, finding.frames(sys._getframe(1)))

    # ------------------------------------------------------------ copies of the state

    def keep(self) -> None:
        """Copy the state, in a job in all processes after the same step."""
        edits = self.host.edits
        assert edits is not None
        if edits.everywhere is not None and not edits.carries_out:
            step = edits.everywhere("keep[]")
            edits.session.warn(f"keep: after step {step}, in all processes\n")
            return
        self.states.keep(self._kept())

    def _kept(self) -> Kept:
        """A copy of the state."""
        optimizers = self.host.steps.active()
        if not optimizers:
            raise QError("keep: no optimizer has made a step")
        modules = [m for o in optimizers if (m := self._module_of(o)) is not None]
        return Kept(self.host.steps.number, optimizers, modules)

    def rollback(self, step: int | None) -> int:
        """Go back to the copy that was made after a step, or to the last one; which step it is."""
        kept = self.states.find(step)
        if kept is None:
            known = [k.step for k in (self.states.find(None), *self.states.asked) if k is not None]
            there = f"there is one after step {', '.join(map(str, dict.fromkeys(known)))}"
            raise QError(
                f"rollback: no copy of the state {'' if step is None else f'after step {step} '}is there",
                hint=there
                if known
                else "keep[] makes one, and a watch on finite from time to time",
            )
        edits = self.host.edits
        assert edits is not None
        edits.needs = [(kept.step, "keep[]")]
        kept.put_back()
        return kept.step

    # ------------------------------------------------------------ steps that are left out

    def skip(self) -> None:
        """Leave out the step to come: it has no gradients to use. Logged as an edit."""
        edits = self.host.edits
        assert edits is not None
        if edits.everywhere is not None and not edits.carries_out:
            raise QError(f"nyi: skip in a job: {IN_A_JOB}", hint='at[step;"skip[]"] is for all')
        undo = self._skip_next() if self.stepper is None else _take_gradients(self.stepper)
        try:
            edits.note("skip[]", [Change("gradients", "", "none", undo)])
        except QError:
            undo()
            raise

    def _skip_next(self) -> Callable[[], None]:
        self._skips = True
        self._set()

        def undo() -> None:
            self._skips = False
            self._set()

        return undo


def _take_gradients(optimizer: Any) -> Callable[[], None]:
    """Take away the gradients of an optimizer; calling the result gives them back."""
    gradients = [(p, p.grad) for group in optimizer.param_groups for p in group["params"]]
    for p, _ in gradients:
        p.grad = None

    def undo() -> None:
        for p, gradient in gradients:
            p.grad = gradient

    return undo
