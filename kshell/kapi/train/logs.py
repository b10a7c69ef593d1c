"""`logto`: the metrics of runs, and others, in files that other programs show."""

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
from kshell.values.base.core import NIL, Dict, Sym, Value, Vec, sym, sym_vec
from kshell.values.session.context import running

_NAME = "metrics.jsonl"
_SUFFIX = (".jsonl", ".json", ".ndjson")


class Log:
    """Where a session's metrics go, and the last step of each call."""

    def __init__(self, place: str) -> None:
        self.place = place
        if place.endswith(_SUFFIX):
            self.lines = JsonLines(place)
            self.outs: list[JsonLines | Events] = [self.lines]
        else:
            self.lines = JsonLines(os.path.join(place, _NAME))
            self.outs = [self.lines, Events(place)]

    def add(self, call: str, values: Values, step: int | None = None) -> None:
        """A record: of the next step, if none is given."""
        step = self.lines.steps.get(call, 0) + 1 if step is None else step
        now = time.time()
        for sink in self.outs:
            sink.add(call, step, now, values)
        self.lines.steps[call] = step

    def close(self) -> None:
        for sink in self.outs:
            sink.close()


def note(call: str, values: Values) -> None:
    """Keep what a run found. If that fails the log ends, with a line on standard error: the run itself is done."""
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
    """Keep metrics in files: from now on each `run` and `testrun` adds a record of its loss, accuracy, matches and
    batchloss, so far as the model's options ask for them; a dictionary adds one by hand, of the next step or of that
    given.

    A folder gets lines of JSON, metrics.jsonl, and a file of events that TensorBoard shows (`pip install
    kshell[tensorboard]`; to write it nothing is needed); a file lines of JSON alone. Records are added to those that
    are there, and steps go on. `0b` ends it; without an argument the files that are written to are the result.

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
    """Keep records at a path from now on, and no longer where they were kept."""
    before, log = session.log, Log(path)
    if before is not None:
        before.close()
    session.log = log
