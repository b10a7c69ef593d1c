"""`logto`: metrics of runs, and others, written to files for other programs."""

from __future__ import annotations

import os
import time
from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, items, long_of, named_values, names_of, number_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import TensorHandle
from kshell.kapi.base.paths import path_of
from kshell.store.events import Events, JsonLines, Values
from kshell.values.base.core import NIL, Dict, Value, Vec, sym_vec
from kshell.values.base.symbols import Sym, sym
from kshell.values.session.context import running

_NAME = "metrics.jsonl"
_SUFFIX = (".jsonl", ".json", ".ndjson")


class Log:
    """The files of a session's metrics, and the last step of each call."""

    def __init__(self, place: str) -> None:
        self.place = place
        if place.endswith(_SUFFIX):
            self.lines = JsonLines(place)
            self.outs: list[JsonLines | Events] = [self.lines]
        else:
            self.lines = JsonLines(os.path.join(place, _NAME))
            self.outs = [self.lines, Events(place)]

    def add(self, call: str, values: Values, step: int | None = None) -> None:
        """Add a record, by default for the next step."""
        step = self.lines.steps.get(call, 0) + 1 if step is None else step
        now = time.time()
        for sink in self.outs:
            sink.add(call, step, now, values)
        self.lines.steps[call] = step

    def close(self) -> None:
        for sink in self.outs:
            sink.close()


def note(call: str, values: Values) -> None:
    """Log the metrics of a run. If that fails, logging ends with a line on standard error, because the run itself is
    complete."""
    session: Any = running()
    if session.log is None or not values:
        return
    problem = ""
    try:
        session.log.add(call, values)
    except QError as e:
        problem = e.text
    if problem:
        session.log.close()
        session.log = None
        session.warn(f"logto: ended: {problem}\n")


def _number(x: Value) -> float | None:
    if isinstance(x, TensorHandle):
        t = x.get()
        return t.item() if t is not None and t.numel() == 1 and not t.is_complex() else None
    flag = flag_of(x)
    return number_of(x) if flag is None else flag


def _by_hand(log: Log | None, given: list[Value]) -> None:
    step = long_of(given[0]) if len(given) == 2 else None
    if len(given) == 2 and (step is None or step < 0):
        raise CallError("logto", expected="the number of a step", given=kname(given[0]))
    d = given[-1]
    if d.__class__ is not Dict:
        raise QError("type")
    values = (
        {}
        if names_of(d.k) is None
        else {name: _number(item) for name, item in named_values(d).items()}
    )
    wrong = [key for key, value in values.items() if value is None]
    if not values or wrong:
        raise CallError(
            "logto",
            "expected a dictionary of names and numbers"
            + (f", {wrong[0]} is not a number" if wrong else ""),
        )
    if log is None:
        raise CallError("logto", "there is no log: logto`:folder begins one")
    log.add("", {key: value for key, value in values.items() if value is not None}, step)


@api(
    "logto",
    "logto`:folder",
    "logto`:file.jsonl",
    "logto dict",
    "logto(step;dict)",
    "logto[]",
    "logto 0b",
    held=True,
    since="kshell",
    target="torch.utils.tensorboard.SummaryWriter",
    effect="changes",
)
def logto(x: Value) -> Value:
    """Log metrics to files: each `run` and `testrun` then adds a record of its metrics.

    These are loss, accuracy, matches and batchloss, as far as the model's options request them; a dictionary adds a
    record by hand, for the next step or a given one. A folder gets JSON lines, metrics.jsonl, and an event file that
    TensorBoard can show (`pip install kshell[tensorboard]`; not needed for writing); a file gets only JSON lines.
    Records are appended to existing ones, and step counts continue. `0b` stops logging; without an argument, returns
    the files being written.

    q)logto`:docs.jsonl
    `:docs.jsonl
    q)logto`lr`loss!.1 2.5
    q)logto(7;`lr`loss!.1 2.4)
    q)logto 0b
    q)exec step from .j.k each read0`:docs.jsonl
    1 7f
    q)hdel`:docs.jsonl
    `:docs.jsonl
    """
    session: Any = running()
    log: Log | None = session.log
    args = items(x)
    if not args or x is NIL:
        return sym_vec([":" + sink.path for sink in log.outs] if log is not None else [])
    if args[-1].__class__ is Dict and len(args) <= 2:
        _by_hand(log, args)
        return NIL
    if len(args) == 1 and flag_of(x) is False:
        _end(session)
        return NIL
    path = _path_asked(x)
    _begin(session, path)
    return sym(":" + path)


def _path_asked(x: Value) -> str:
    if len(items(x)) != 1 or x.__class__ not in (Sym, Vec):
        raise CallError(
            "logto", expected="a file symbol or a dictionary of numbers", given=kname(x)
        )
    return path_of(x, "logto")


def _end(session: Any) -> None:
    if session.log is not None:
        session.log.close()
        session.log = None


def _begin(session: Any, path: str) -> None:
    """Write records to a path from now on, instead of the previous one."""
    before, log = session.log, Log(path)
    if before is not None:
        before.close()
    session.log = log
