"""Programs in q beside the same work in plain PyTorch: both begin with the same weights, data and seed, and a ratio of
their times counts only where what they found agrees."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from kshell.session import Session
from kshell.values.base.core import Value, is_list, seq_items
from tests.bench.timing import least, row

Work = Callable[[], Any]
SEED = 7


class Program(NamedTuple):
    """A program in q whose `go` gives what it found, numbers, and the same in PyTorch.

    The peer gets the session, the names of whose models' handles are `models`, and whether optimizers use their fused
    kernels, as the shell's do; it gives its own modules, in the same order, and its work. `limit` is the largest
    difference after one run of each with the fused kernels, in proportion to what is found; 0: all bits are the same.
    """

    name: str
    text: str
    peer: Callable[[Session, bool], tuple[Sequence[nn.Module], Work]]
    parts: int  # steps, epochs or tokens of one `go`; times are for one of them
    gate: float
    limit: float = 0.0
    models: Sequence[str] = ("m",)
    rounds: int = 5


def session_of(text: str) -> Session:
    """A session that has run the lines of a program; a line that begins with a blank goes on the line before."""
    s = Session(out=io.StringIO(), err=io.StringIO())
    for line in text.strip().replace("\n ", " ").split("\n"):
        s.run(line)
    return s


def module_of(s: Session, name: str) -> nn.Module:
    """The module behind the handle of a module or model."""
    found = s[name].obj
    return found if isinstance(found, nn.Module) else found.module  # type: ignore[no-any-return]


def same(m: nn.Module, s: Session, name: str = "m") -> Any:
    """A module with the parameters and buffers that one of a session has at the moment."""
    given = module_of(s, name)
    with torch.no_grad():
        for p, q in zip(m.parameters(), given.parameters(), strict=True):
            p.copy_(q.view_as(p))
    return m


def data_of(s: Session, name: str = "m") -> list[Tensor]:
    """The training data of a model."""
    return [t.clone() for t in s[name].obj.data.tensors()]


def optimizer(cls: type[Optimizer], given: Iterable[Any], fused: bool, **options: Any) -> Any:
    """An optimizer as it is by default, or with its fused kernels."""
    return cls(given, **options, **({"fused": True} if fused else {}))  # type: ignore[arg-type]


def numbers(found: Value | Any) -> Iterator[float]:
    """All numbers of a result, of q or of Python, in order."""
    if isinstance(found, (list, tuple)):
        for x in found:
            yield from numbers(x)
    elif is_list(found):
        for x in seq_items(found):
            yield from numbers(x)
    else:
        yield float(getattr(found, "v", found))


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """The norm of the difference of two arrays in proportion to theirs, infinite for NaN or another shape."""
    if a.shape != b.shape or not np.isfinite(a).all() or not np.isfinite(b).all():
        return float("inf")
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))


def weights(modules: Iterable[nn.Module]) -> np.ndarray:
    return np.concatenate([p.detach().numpy().ravel() for m in modules for p in m.parameters()])


def difference(p: Program) -> float:
    """How far what a program finds, and the weights after it, are from those of its peer."""
    s = session_of(p.text)
    modules, work = p.peer(s, True)
    torch.manual_seed(SEED)
    ours = np.array(list(numbers(s.run("go[]"))))
    torch.manual_seed(SEED)
    theirs = np.array(list(numbers(work())))
    return max(apart(ours, theirs), apart(weights(module_of(s, name) for name in p.models), weights(modules)))


def line(p: Program) -> str:
    """A line of the report: the ratio of times and how the results differ."""
    apart_by = difference(p)
    s = session_of(p.text)
    ours, theirs = least(lambda: s.run("go[];"), p.peer(s, False)[1], p.rounds)
    text = row(p.name, ours / p.parts, theirs / p.parts, p.gate, "PyTorch loop")
    agrees = apart_by <= p.limit
    how = "the same bits" if not apart_by else f"apart by {apart_by:.0e} (<= {p.limit:g})"
    return f"{text if agrees else 'MISS' + text[4:]}  {how}"
