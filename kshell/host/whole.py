"""Values of which each process of a job has a part, as one process sees them whole.

A query cannot wait for the other processes, which train. So it is run once to see which parts it needs, with zeros of
the size of the whole in their place. If it needs any, the query is put off, and all processes agree on a step; after
that they gather those values, in the same order, and the query is run with them. The other processes compute nothing
else for it, so nothing that it depends on can make a process wait for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kshell.errors import QError, first_line, message_of
from kshell.host import ranks
from kshell.host.objects import parts
from kshell.kapi.checkpoint.unwritten import storage_of
from kshell.values.base.core import NIL, Value

if TYPE_CHECKING:
    from torch import Tensor

    from kshell.host.host import Host

GATHER = "\0gather "  # how a plan begins that is no text of q: names follow
PAUSED = "whole: the program is paused, and makes no step after which the processes could meet"


class Stand:
    """What stands in the place of parts: the whole values that were gathered, and zeros for others, which are noted."""

    def __init__(self, values: dict[int, Tensor]) -> None:
        self.values = values
        self.given: set[int] = set()  # the storages of what was given out
        self.missing: list[Any] = []

    def __call__(self, t: Any) -> Any:
        """A whole value for a part; anything else is itself."""
        if parts.local(t) is t:
            return t
        whole = self.values.get(id(t))
        if whole is None:
            if not any(t is other for other in self.missing):
                self.missing.append(t)
            whole = parts.local(t).new_zeros(()).expand(t.shape)
        self.given.add(storage_of(whole))
        return whole


class Whole:
    """The queries of this process for whole values, and what it gathers for those of others."""

    def __init__(self, host: Host) -> None:
        self.host = host
        # while what was put off is run: what was gathered, its names, and why it could not be gathered
        self._values: dict[int, Tensor] = {}
        self._names: list[str] = []
        self._problem = ""

    def evaluate(self, text: str) -> Value:
        """The value of a text, with whole values in the place of parts."""
        session, edits = self.host.session, self.host.edits
        assert session is not None and edits is not None
        if ranks.job().size == 1:
            return session.evaluate(text)
        stand, problem = Stand(self._values), None
        out: Value = NIL
        with parts.replaced_by(stand):
            try:
                out = edits.attempt(text, session.evaluate, text)
            except QError as e:  # perhaps because of the zeros
                problem = e
        if stand.missing:
            self._put_off(stand.missing)
        if problem is not None:
            raise problem
        return out

    def _put_off(self, missing: list[Any]) -> None:
        """Let the request be run again after a step, when what it needs is there. This is an error that nobody sees."""
        host = self.host
        assert host.session is not None
        if self._problem or host.is_paused():
            raise QError(self._problem or PAUSED)
        known = {id(t): name for name, t in self._parts()}
        if any(id(t) not in known for t in missing):
            raise QError("nyi: whole", hint="only of parameters, buffers, gradients and states")
        names = [*self._names, *(known[id(t)] for t in missing)]
        host.session.ipc.put_off(json.dumps(names))
        try:
            ranks.plan(ranks.job(), host.plans, "", GATHER + json.dumps(names))
        except QError:
            host.session.ipc.put_off("")
            raise
        raise QError("whole")

    def gather(self, text: str) -> None:
        """What all processes do after the step: gather values, and run the requests that wait for them."""
        names, known = json.loads(text), dict(self._parts())
        assert self.host.session is not None
        try:
            self._values, self._names = _gathered(names, known), names
        except Exception as e:
            self._problem = f"whole: {type(e).__name__}: {first_line(message_of(e))}"
        try:
            self.host.session.ipc.resume(text)
        finally:
            self._values, self._names, self._problem = {}, [], ""

    def _parts(self) -> Iterator[tuple[str, Any]]:
        """The values of which this process has a part, by names that are the same in all processes."""
        for name, t in self._tensors():
            if parts.local(t) is not t:
                yield name, t

    def _tensors(self) -> Iterator[tuple[str, Any]]:
        objects = self.host.variables.objects()
        for name, x in sorted(objects.items()):
            if hasattr(x, "named_modules"):
                for path, p in x.named_parameters():
                    yield f"{name} {path}", p
                    yield f"{name} {path} grad", p.grad
                for path, t in x.named_buffers():
                    yield f"{name} {path}", t
            elif hasattr(x, "param_groups"):
                params = [p for group in x.param_groups for p in group["params"]]
                for i, p in enumerate(params):
                    for key, t in x.state.get(p, {}).items():
                        yield f"{name} {i} {key}", t


def _gathered(names: list[str], known: dict[str, Any]) -> dict[int, Tensor]:
    """The whole values of those that all processes know, by the ids of their parts."""
    import torch
    import torch.distributed as dist

    device = next((parts.local(known[name]).device for name in names if name in known), "cpu")
    there = torch.tensor([int(name in known) for name in names], device=device)
    dist.all_reduce(there, dist.ReduceOp.MIN)
    present = [name for name, n in zip(names, there.tolist(), strict=True) if n]
    with torch.no_grad():
        return {id(known[name]): known[name].detach().full_tensor() for name in present}
