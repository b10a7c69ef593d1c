"""The processes of a job, each of which listens: where each is, and edits that all of them carry out after the same
step. They are asked through the threads beside their programs, so one that waits for the others answers too."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NamedTuple

from kshell.attach import place, startup
from kshell.errors import QError
from kshell.host.plans import Planned

AHEAD = 3  # steps from the furthest process to the step of an edit
TRIES = 5  # to find a step that is over nowhere
LATE = "edit: in a job, processes that began to listen while they trained count different steps"
PLANNED, OVER = "planned", "over"  # what a process answers


class Job(NamedTuple):
    """The job of this process, with its rank; without one the name is empty."""

    name: str
    rank: int
    size: int


ALONE = Job("", -1, 1)


def job() -> Job:
    """The job that torch's process group tells of, or the variables that torchrun sets."""
    distributed: Any = sys.modules.get("torch.distributed")
    given = os.environ
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        rank, size = distributed.get_rank(), distributed.get_world_size()
    elif given.get("RANK", "").isdigit() and given.get("WORLD_SIZE", "").isdigit():
        rank, size = int(given["RANK"]), int(given["WORLD_SIZE"])
    else:
        return ALONE
    if size == 1:
        return ALONE
    words = [given.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")]
    return Job(" ".join(words), rank, size)


def others(mine: Job) -> list[place.State]:
    """The other processes of a job on this machine, by rank."""
    found = [s for s in place.listening() if s.job == mine.name and s.pid != os.getpid()]
    return sorted(found, key=lambda state: state.rank)


def missing(mine: Job, states: list[place.State]) -> list[int]:
    """The ranks of a job that do not listen on this machine."""
    here = {mine.rank, *(state.rank for state in states)}
    return [rank for rank in range(mine.size) if rank not in here]


def plan(mine: Job, own: Any, user: str, text: str, least: int = 0) -> int:
    """Plan a text in all processes of a job, after the same step, which is returned: `least`, or one that is soon. An
    error if some process cannot take part; then none does."""
    if startup.late:
        raise QError(LATE, hint="start it with KSHELL_LISTEN=1")
    states = others(mine)
    absent = missing(mine, states)
    if absent:
        raise QError(f"edit: rank {' '.join(map(str, absent))} does not listen on this machine")
    step = least or max([own.number(), *(state.step for state in states)]) + AHEAD
    turn = next(own.turns)
    for _ in range(1 if least else TRIES):
        planned = Planned(step, user, text, mine.rank, turn)
        told = [state for state in states if _said(state.pid, "plan", planned) == PLANNED]
        if len(told) == len(states) and own.add(planned):
            return step
        for state in told:
            _said(state.pid, "unplan", planned)
        step += 2 * AHEAD
    raise QError(
        f"edit: step {step} is over in some process"
        if least
        else "edit: no step found that is over nowhere"
    )


def _said(pid: int, word: str, planned: Planned) -> str:
    state = place.asked(pid, f"{word} {json.dumps(planned)}")
    return "" if state is None else state.answer


def taken(plans: Any, word: str, text: str) -> str:
    """What another process of the job asks for, and the answer."""
    if startup.late:
        return LATE
    planned = Planned(*json.loads(text))
    if word == "unplan":
        plans.remove(planned)
        return PLANNED
    return PLANNED if plans.add(planned) else OVER
