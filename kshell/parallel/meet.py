"""Barriers before collective operations.

Every collective call begins here, with the same few numbers from each process: the call, a digest of what must be the
same everywhere, one more number, and whether the process refuses. Processes that are in different calls, were given
different arguments, or of which one refuses, thus all get the same error before anything else is sent; and if one does
not come, the others can name it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed as dist

from kshell import torch_versions
from kshell.parallel import group

R = TypeVar("R")
_GRACE = 2.0  # seconds in which processes that waited for the same one report it to each other
_NEWS = 1.0  # seconds in which a process whose connections were closed checks whether another had waited in vain
# messages of a communication that timed out, or whose connection was closed
_LOST = ("timed out", "by peer", "pair closure", "did not come", "processes came", "lost touch")
_LONGEST = 1 << 18  # bytes that a process sends when something is wrong


class Refused(ValueError):
    """An error that all processes raise alike: the text is the same on each, and begins with the name of a call."""

    alike = True


class Told(NamedTuple):
    """The facts that must be the same on every process: (name, value here), and a number computed from them."""

    parts: tuple[tuple[str, str], ...] = ()
    number: int = 0


def told(*parts: tuple[str, str]) -> Told:
    """The facts that must be the same: pairs of a name, as used in errors, and the value here."""
    text = "\n".join(f"{what}\t{here}" for what, here in parts)
    return Told(
        parts, int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big")
    )


NOTHING = told()
_CALLS: dict[str, int] = {}
MEETINGS = [0]  # the number of barriers this process has reached
REFUSALS = [0]  # the number of barriers that ended in Refused: the same on all


def _code(call: str) -> int:
    found = _CALLS.get(call)
    if found is None:
        found = _CALLS[call] = told(("call", call)).number
    return found


def meet(call: str, same: Told = NOTHING, more: int = 0) -> list[int]:
    """A barrier: every process is in the same call with the same facts; returns what each passed as `more`. If not,
    Refused on all."""
    return _meet(call, same, more, None)


def refuse(call: str, text: str) -> None:
    """Meet the others to report that this process refuses: always raises Refused, on all."""
    _meet(call, NOTHING, 0, text)


def _meet(call: str, same: Told, more: int, error: str | None) -> list[int]:
    MEETINGS[0] += 1
    n, device = dist.get_world_size(), _device()
    mine = torch.tensor([_code(call), same.number, more, int(error is not None)], device=device)
    out = torch.empty(4 * n, dtype=torch.int64, device=device)
    carried(lambda: _gather_flat(out, mine))
    found = out.tolist()
    if found[0::4].count(found[0]) == found[1::4].count(found[1]) == n and not any(found[3::4]):
        return found[2::4]
    REFUSALS[0] += 1
    parts = same.parts if error is None else ()
    raise Refused(_why(_texts(json.dumps({"call": call, "error": error, "parts": parts}))))


def _device() -> str:
    return "cuda" if dist.get_backend() == "nccl" else "cpu"


_gather_flat: Callable[[Any, Any], Any] = torch_versions.gathering(dist)


def _gather(mine: torch.Tensor) -> list[Any]:
    out = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    carried(lambda: dist.all_gather(out, mine))
    return out


def _texts(text: str) -> list[dict[str, Any]]:
    """Gather the facts of every process, each sent as JSON."""
    data = text.encode()
    if len(data) > _LONGEST:  # of many parameters, as many as fit
        told_ = json.loads(text)
        told_["parts"] = told_["parts"][: _LONGEST // 256]
        data = json.dumps(told_).encode()[:_LONGEST]
    sizes = [int(t) for t in _gather(torch.tensor([len(data)], device=_device()))]
    mine = torch.zeros(max(sizes), dtype=torch.uint8)
    mine[: len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    found = _gather(mine.to(_device()))
    return [
        json.loads(t[:size].cpu().numpy().tobytes()) for t, size in zip(found, sizes, strict=True)
    ]


def _why(found: list[dict[str, Any]]) -> str:
    """The common error from what the processes report."""
    errors = [f["error"] for f in found]
    who = next((r for r, error in enumerate(errors) if error is not None), None)
    if who is not None:
        alike = all(error == errors[who] for error in errors)
        return str(errors[who]) if alike else f"{errors[who]} (on process {who})"
    call = found[0]["call"]
    for r, f in enumerate(found):
        if f["call"] != call:
            a, b = (c.replace(":", "") for c in (call, f["call"]))
            return f"{call}: processes are in different calls ({a} on 0, {b} on {r})"
    for r, f in enumerate(found):
        for i in range(max(len(f["parts"]), len(found[0]["parts"]))):
            a, b = (
                (p["parts"][i] if i < len(p["parts"]) else (None, "none")) for p in (found[0], f)
            )
            if list(a) != list(b):
                return (
                    f"{call}: {a[0] or b[0]} differ between processes ({a[1]} on 0, {b[1]} on {r})"
                )
    return f"{call}: what is given differs between processes"


@contextmanager
def together(call: str, text_of: Callable[[BaseException], str] = str) -> Iterator[None]:
    """A collective call: what one process refuses before it has met the others is refused by all. An error without text
    stays with its process."""
    if not group.joined():
        yield
        return
    before = MEETINGS[0]
    try:
        yield
        return
    except Exception as exc:
        if MEETINGS[0] != before:  # the others already know
            raise
        raise tell(call, exc, text_of(exc)) from None


def tell(call: str, error: Exception, text: str) -> Exception:
    """Meet the others to report an error that ends a call here; returns the error that all now raise. It is the given
    one if they already have it, if it has no text, or if there are no others."""
    if not text or getattr(error, "alike", False) or lost(str(error)):
        return error
    try:
        refuse(call, text)
    except Refused as known:
        return known
    except RuntimeError:
        pass
    return error


def lost(text: str) -> bool:
    """Is this the text of an error about lost contact between processes?"""
    return any(part in text.lower() for part in _LOST)


# ------------------------------------------------------------------ those that do not come


def carried(fn: Callable[[], R]) -> R:
    """fn(), a collective communication. On timeout, the error says which process is missing."""
    try:
        return fn()
    except RuntimeError as exc:
        text = awaited(str(exc))
        if not text:
            exc.__dict__["looked"] = True
            raise
    raise RuntimeError(text)


def awaited(text: str) -> str:
    """The error text for a communication: which processes did not come, or that all came but one too late; empty if
    unknown."""
    missing = _missing(text) if group.joined() else None
    if missing is None:
        return ""
    s, seconds = "es" * (len(missing) > 1), group.timeout()
    within = f" within {seconds:g} s" if seconds else ""
    if not missing:
        return f"all processes came, but not{within or ' in time'}"
    return f"process{s} {' '.join(map(str, missing))} did not come{within}"


def _missing(text: str) -> list[int] | None:
    """The processes that did not come to where this one waits; None if unknown. Each process that timed out records
    that: it closes its connections, so that others waiting there fail and record it too."""
    store = group.store()
    timed_out = "timed out waiting" in text.lower()
    if store is None or not (timed_out or "by peer" in text):
        return None
    n, me = dist.get_world_size(), dist.get_rank()

    def key(r: int) -> str:
        return f"waited/{group.generation()}/{r}"

    late = [r for r in range(n) if r != me]
    until = time.monotonic() + (_GRACE if timed_out else _NEWS)
    with suppress(RuntimeError):  # process 0 has left, and with it the store
        store.set(key(me), "in vain" if timed_out else "closed")
        while late and time.monotonic() < until:
            here = [r for r in late if store.check([key(r)])]
            if not timed_out and any(store.get(key(r)) == b"in vain" for r in here):
                timed_out, until = True, time.monotonic() + _GRACE
            late = [r for r in late if r not in here]
            time.sleep(0.02)
        if not late and me == 0:
            time.sleep(0.5)  # process 0 holds the store, which others still have to read
    return late if timed_out else None  # otherwise a process is gone, which others report


def leave(well: bool, error: str = "") -> None:
    """Leave the group: after success, once the others have also finished, or after the timeout. After an error, the
    group is kept until this process ends, and a process whose group was lost because another ended waits a little, so
    that the launcher first sees which one it was."""
    if not well:
        if "by peer" in error:
            time.sleep(0.5)
        return
    # another has already ended, or is in another call: nothing left to do
    with suppress(RuntimeError, ValueError):
        if group.joined():
            meet("exit")
        dist.destroy_process_group()
