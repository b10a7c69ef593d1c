"""The names of `.run`: what a client finds in a training program besides its variables."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell import registry
from kshell.attach.place import State
from kshell.errors import CallError, QError
from kshell.host import ranks
from kshell.host.watcher import stack
from kshell.kapi.base.convert import kname
from kshell.lang.names.define import name
from kshell.lang.verbs.lists import int_of
from kshell.shell import complete
from kshell.shell.toolbar import status as toolbar_status
from kshell.values.base import types as T
from kshell.values.base.build import longs, string
from kshell.values.base.core import NIL, List, Table, Value, Vec, sym_vec, text_of
from kshell.values.base.functions import Prim
from kshell.values.session.context import running

if TYPE_CHECKING:
    from kshell.host.edits import Edits
    from kshell.host.host import Host

# the short names, and what they stand for
SHORT = {"step": ".run.next"} | {
    word: f".run.{word}"
    for word in ("pause", "go", "undo", "at", "watch", "unwatch", "skip", "keep", "rollback")
}
SHORT["whole"] = ".run.whole"
_HOST: list[Host] = []


def connect(host: Host, session: Any) -> None:
    """From now on the names are about this program, and the session knows the short ones."""
    _HOST[:] = [host]
    known = session.names.load_builtins()
    for short, long in SHORT.items():
        entry = registry.known("name", long)
        known[short] = Prim(long, entry.fns, entry, entry.qtype)


def _host() -> Host:
    if not _HOST:
        raise QError("nyi", hint="only in a program that listens: kshell run, kshell.listen()")
    return _HOST[0]


def _edits() -> Edits:
    edits = _host().edits
    assert edits is not None
    return edits


def _nothing(call: str, x: Value) -> None:
    """An error if a call that takes nothing is given something."""
    if x is not NIL:
        raise CallError(call, expected="nothing, as in " + call + "[]", given=kname(x))


def _number(call: str, x: Value, what: str) -> int:
    """A whole number; an error that says what it is the number of."""
    with contextlib.suppress(QError):
        return int_of(x)
    raise CallError(call, expected=what, given=kname(x))


@name(".run.step")
def step() -> Value:
    """The number of the last step."""
    return _host().steps.number


@name(".run.steps")
def steps() -> Value:
    """The last steps, a row each: the optimizer, seconds since its step before, the first group's rate, the loss, the
    norm of the gradients, bytes of memory (both from time to time)."""
    host = _host()
    return host.steps.table(host.variables.names_of(host.steps.counted.values()))


@name(".run.edits")
def edits() -> Value:
    """What was edited: a row for each change, with the step after which it was made, and by whom."""
    return _edits().table()


@name(".run.where")
def where() -> Value:
    """Where the program is: file, line and text, the outermost first."""
    return List([string(line) for line in stack(_host().thread)])


@name(".run.ranks")
def run_ranks() -> Value:
    """The processes of the job: where each is, and whether its last edits did the same as those of this one. A process
    that is dead, or on another machine, has no pid."""
    host, mine = _host(), ranks.job()
    states = [host.state(), *ranks.others(mine)] if mine.size > 1 else [host.state()]
    states[0].stack = stack(host.thread)
    rows = sorted(
        [*states, *(State(rank=rank, what="not here") for rank in ranks.missing(mine, states[1:]))]
        if mine.size > 1
        else states,
        key=lambda state: state.rank,
    )
    alike = [list(map(tuple, s.digests)) == list(map(tuple, states[0].digests)) for s in rows]
    nothing = T.NULL[T.J]
    return Table(
        ["rank", "pid", "step", "since", "what", "where", "alike"],
        [
            longs([state.rank for state in rows]),
            longs([state.pid or nothing for state in rows]),
            longs([state.step if state.pid else nothing for state in rows]),
            Vec(T.F, np.array([np.nan if s.since is None else s.since for s in rows], np.float64)),
            sym_vec([state.what for state in rows]),
            List([string(state.stack[-1] if state.stack else "") for state in rows]),
            Vec(T.B, np.array(alike, np.bool_)),
        ],
    )


@name(".run.pause", "pause[]", effect="changes")
def pause(x: Value) -> Value:
    """Pause the program: it waits here until `go[]`, or until you leave."""
    _nothing("pause", x)
    _host().pause()
    return NIL


@name(".run.next", "step n", effect="changes")
def next_(x: Value) -> Value:
    """Let a paused program go on for n steps, and pause again. Of anything but a number it is the k-api's `step`."""
    if x.__class__ is not int:
        return registry.known("api", "step").fns[1](x)
    if x < 1:
        raise QError(f"step: expected a number of steps, given {x}")
    _host().pause(x)
    return NIL


@name(".run.go", "go[]", effect="changes")
def go(x: Value) -> Value:
    """Let a paused program go on."""
    _nothing("go", x)
    _host().go()
    return NIL


@name(".run.undo", "undo n", effect="changes")
def undo(x: Value) -> Value:
    """Put back what the last n edits changed, which is an edit itself."""
    return _edits().undo(1 if x is NIL else _number("undo", x, "a number of edits"))


@name(".run.at", 'at[step;"text"]', effect="changes")
def at(step: Value, text: Value) -> Value:
    """Carry out a text at the end of a step to come. Its errors are printed by the program."""
    host = _host()
    host.plan(_number("at", step, "the number of a step"), text_of(text))
    return NIL


@name(
    ".run.watch", 'watch[`name;"condition"]', 'watch[`name;"condition";"action"]', effect="changes"
)
def watch(name: Value, condition: Value) -> Value:
    """Look at a condition after each step: when it begins to hold, log it, "pause", or run the q text of the action.

    The condition "finite" is of its own kind: the loss and the gradients are looked at before each step; the first
    layer and the rows of the batch whose values are not finite are named in `.run.found`. An action of "pause" then
    pauses before the step, and `skip[]` leaves it out."""
    return watch_and(name, condition, string("log"))


@name(".run.watch", effect="changes")
def watch_and(name: Value, condition: Value, action: Value) -> Value:
    """The same, with an action."""
    host = _host()
    host.watches.add(text_of(name), text_of(condition), text_of(action))
    if host.watches.finite is not None:
        host.guard.watch()
    return NIL


@name(".run.unwatch", "unwatch`name", effect="changes")
def unwatch(x: Value) -> Value:
    """Look at a condition no more."""
    host = _host()
    host.watches.remove(text_of(x))
    if host.watches.finite is None:
        host.guard.unwatch()
    return NIL


@name(".run.watches")
def watches() -> Value:
    """The conditions that are looked at, how often they fired, and the last step at which they did."""
    return _host().watches.table()


@name(".run.found")
def found() -> Value:
    """What was found that is not finite: the step, the layer, and the rows of the batch."""
    rows = _host().guard.found
    return Table(
        ["step", "what", "layer", "rows"],
        [
            longs([row.step for row in rows]),
            List([string(row.what) for row in rows]),
            sym_vec([row.layer for row in rows]),
            List([longs(row.rows) for row in rows]),
        ],
    )


@name(".run.skip", "skip[]", effect="changes")
def skip(x: Value) -> Value:
    """Leave out the step to come, by taking away the gradients that it would use. At a pause before a step that is this
    one."""
    _nothing("skip", x)
    _host().guard.skip()
    return NIL


@name(".run.keep", "keep[]", effect="changes")
def keep(x: Value) -> Value:
    """Copy the state of the run, for `rollback`: parameters, buffers, and the states of optimizers."""
    _nothing("keep", x)
    _host().guard.keep()
    return NIL


@name(".run.rollback", "rollback[]", "rollback step", effect="changes")
def rollback(x: Value) -> Value:
    """Go back to the state that was copied after a step, or to the last copy; the step. The program goes on with the
    steps and batches to come, and with the rates that it has now."""
    return _host().guard.rollback(
        None if x is NIL else _number("rollback", x, "the number of a step")
    )


@name(".run.whole", 'whole "text"')
def whole(x: Value) -> Value:
    """The value of a text in a job under `fully_shard`, with whole parameters, gradients and states: all processes
    gather those that it needs after the same step, and it is evaluated here."""
    return _host().whole.evaluate(text_of(x))


@name(".run.offers", effect="none")
def offers(before: Value, after: Value) -> Value:
    """The completions of a text: texts, characters that they replace, notes."""
    found = complete.offers(running(), text_of(before), text_of(after))  # type: ignore[arg-type]
    return List(
        [
            List([string(offer.text) for offer in found]),
            longs([offer.size for offer in found]),
            List([string(offer.note) for offer in found]),
        ]
    )


@name(".run.status", effect="none")
def status(x: Value) -> Value:
    """The text of a client's toolbar: the step, and what the prompt's own shows."""
    host = _host()
    paused = "  paused" if host.is_paused() else ""
    return string(f"step {host.steps.number}{paused}  {toolbar_status(running())}")  # type: ignore[arg-type]
