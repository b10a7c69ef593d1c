"""The cost of an expression: `profile`, and GPU memory for `\\ts`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any

from kshell import registry
from kshell.errors import Q_FILE, CallError
from kshell.kapi.base.args import items, name_of
from kshell.kapi.base.call import invoke
from kshell.kapi.base.convert import kname
from kshell.kapi.base.lazy_torch import load, loaded, torch
from kshell.registry import Entry
from kshell.values.base.build import floats, longs, table
from kshell.values.base.core import Value, sym_vec, text_of
from kshell.values.base.narrow import is_text
from kshell.values.session.context import running

_LONGEST = 60  # characters of a function's text used as its name
# topics of verbs that apply their arguments
_APPLY = (
    "lang.each.keywords",
    "lang.verbs.apply_",
)
_KINDS = ("verb", "api", "internal", "name")
clock = time.perf_counter


class _Row:
    """The measurements for one function; `depth` counts its active calls. Calls made by a `closed` function count as
    part of it, except calls of q functions."""

    __slots__ = ("calls", "closed", "depth", "name", "own", "total")

    def __init__(self, name: str, closed: bool) -> None:
        self.name, self.closed = name, closed
        self.calls = self.depth = 0
        self.total = self.own = 0.0


Owner = list[tuple[dict[str, Any], Entry]]


def _known() -> dict[CodeType, Owner]:
    """Verbs and functions by code object; if several share one, with the variables that distinguish them."""
    owners: dict[CodeType, Owner] = {}
    for kind in _KINDS:
        for entry in registry.entries(kind):
            for value in entry.fns.values():
                code = getattr(value, "__code__", None)
                if code is not None:
                    owners.setdefault(code, []).append((_bound(value, code), entry))
    return owners


def _bound(fn: Any, code: CodeType) -> dict[str, Any]:
    """The bindings of a function: closure variables and defaults, by name."""
    cells = fn.__closure__ or ()
    bindings = {
        freevar: cell.cell_contents
        for freevar, cell in zip(code.co_freevars, cells, strict=True)
        if cell.cell_contents is not fn
    }
    given = fn.__defaults__ or ()
    return bindings | dict(
        zip(code.co_varnames[code.co_argcount - len(given) : code.co_argcount], given, strict=True)
    )


class Profiler:
    """Counts and times calls of q functions, verbs and k-api functions. Verbs called by a verb are part of it, except
    those it was given to apply."""

    def __init__(self) -> None:
        self.rows: dict[str, _Row] = {}
        self._codes: dict[CodeType, _Row | Owner | None] = dict(_known())
        self._stack: list[tuple[FrameType | None, _Row, float, list[float]]] = []

    def run(self, work: Callable[[], Any]) -> None:
        before = sys.getprofile()
        sys.setprofile(self._tell)
        try:
            work()
        finally:
            sys.setprofile(before)

    def _row(self, name: str, closed: bool = False) -> _Row:
        return self.rows.setdefault(name, _Row(name, closed))

    def _entry(self, e: Entry) -> _Row:
        return self._row(e.name, e.topic not in _APPLY)

    def _of(self, frame: FrameType) -> _Row | None:
        """The row for the function that begins in this frame, None if it is not one of q's."""
        code = frame.f_code
        if code not in self._codes:
            self._codes[code] = self._named(code) if code.co_filename == Q_FILE else None
        known = self._codes[code]
        if not isinstance(known, list):
            return known
        owners: Owner = known
        if len(owners) == 1:
            row = self._codes[code] = self._entry(owners[0][1])
            return row
        here = frame.f_locals
        entry = next(
            (
                e
                for bound, e in owners
                if all(here.get(key) is value for key, value in bound.items())
            ),
            None,
        )
        return None if entry is None else self._entry(entry)

    def _named(self, code: CodeType) -> _Row | None:
        """The row for a compiled q function; parts of one have none."""
        source = getattr(code.co_consts[-1], "source", None) if code.co_consts else None
        if source is None or not source.text or code.co_name.startswith("_p"):
            return None
        text = " ".join(source.text.split())
        return self._row(
            source.name or (text if len(text) <= _LONGEST else text[: _LONGEST - 2] + "..")
        )

    def _tell(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            row = self._of(frame)
            if row is None or (
                self._stack and self._stack[-1][1].closed and frame.f_code.co_filename != Q_FILE
            ):
                return
            row.calls += 1
            row.depth += 1
            self._stack.append((frame, row, clock(), [0.0]))
        elif event == "return" and self._stack and self._stack[-1][0] is frame:
            _, row, start, inner = self._stack.pop()
            took = clock() - start
            row.depth -= 1
            row.own += took - inner[0]
            row.total += took if not row.depth else 0.0
            if self._stack:
                self._stack[-1][3][0] += took


def _ops(work: Callable[[], Any]) -> list[tuple[str, int, float, float]]:
    """Name, calls, total and own milliseconds of torch's operations; for GPU operations, also GPU time."""
    kinds = torch.profiler.ProfilerActivity
    on = [kinds.CPU, *([kinds.CUDA] if torch.cuda.is_available() else [])]
    with torch.profiler.profile(activities=on, acc_events=True) as profiler:
        work()
    return [
        (
            average.key,
            average.count,
            max(average.cpu_time_total, average.device_time_total) / 1000,
            (average.self_cpu_time_total + average.self_device_time_total) / 1000,
        )
        for average in profiler.key_averages()
    ]


@registry.api(
    "profile",
    "profile text",
    "profile(text;`torch)",
    since="kshell",
    target="torch.profiler.profile",
    effect="changes",
)
def profile(x: Value) -> Value:
    """Profile q text: a table of the functions called, with number of calls and milliseconds.

    Functions are q functions, verbs and k-api functions; time is total and own, longest first. With `torch, rows for
    torch's operations follow. A verb's time includes verbs that it calls itself. Profiling has overhead, especially for
    small functions: compare rows, and use \\t for the total. Arithmetic on atoms counts as part of the function that
    contains it.

    q)f:{sum x*x}
    q)`fn xasc select fn,calls from profile"f each 3#enlist til 10"where fn in`f`sum
    fn  calls
    ---------
    f   3
    sum 3
    """
    text, with_torch = _asked(x)
    session = running()
    session.names.load_builtins()
    q = Profiler()

    def work() -> None:
        q.run(lambda: session.evaluate(text_of(text)))

    if with_torch:
        # the underlying library announces itself on standard error
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")
        load()
        return _shown(q, _ops(work))
    work()
    return _shown(q, [])


def _asked(x: Value) -> tuple[Value, bool]:
    """The text of a call, and whether torch's operations are requested."""
    args = [x] if is_text(x) else items(x)
    text = args[0] if args else x
    asked = name_of(args[1]) if len(args) == 2 else None
    if len(args) > 2 or not is_text(text) or (len(args) == 2 and asked != "torch"):
        raise CallError("profile", expected="text, or (text;`torch)", given=kname(x))
    return text, bool(asked)


def _shown(q: Profiler, ops: Sequence[tuple[str, int, float, float]]) -> Value:
    """A table of q functions, followed by torch operations, each sorted by descending time."""
    rows = [
        (value.name, value.calls, value.total * 1000, value.own * 1000)
        for value in q.rows.values()
        if value.calls
    ]
    rows = sorted(rows, key=lambda r: -r[3]) + sorted(ops, key=lambda r: -r[3])
    names, calls, total, own = zip(*rows, strict=True) if rows else ((), (), (), ())
    return table(
        ["fn", "calls", "total", "own"],
        [sym_vec(names), longs(list(calls)), floats(list(total)), floats(list(own))],
    )


# ------------------------------------------------------------------ memory of a GPU


def _gpu(what: str) -> int:
    """For the commands: bytes in use on the GPU, now (`used`), after synchronizing (`reset`, which restarts the peak),
    or at most since then (`peak`). 0 without a GPU."""
    if not loaded() or not torch.cuda.is_initialized():
        return 0
    return invoke("gpu", _GPU[what])


def _reset() -> int:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    return int(torch.cuda.memory_allocated())


def _peak() -> int:
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated())


def _used() -> int:
    return int(torch.cuda.memory_allocated())


_GPU: dict[str, Callable[[], int]] = {"reset": _reset, "peak": _peak, "used": _used}
registry.add(
    Entry(
        "gpu",
        "handler",
        {1: _gpu},
        doc="What `\\ts` asks about the memory of a GPU.",
        topic="measure",
    )
)
