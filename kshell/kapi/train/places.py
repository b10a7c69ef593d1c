"""Putting back the place in a pass over a table, from a state or a checkpoint of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kshell.errors import SAID, CallError
from kshell.kapi.base import random_state
from kshell.kapi.base.args import long_of, named_values
from kshell.kapi.base.convert import kname
from kshell.kapi.train.model import Model
from kshell.kapi.train.table_data import TableData
from kshell.values.base.core import NULL_J, Dict, Value

_NUMBERS = ("epoch", "batch", "seed", "batchsize")


def checked_place(m: Model, place: Mapping[str, Any], call: str) -> Callable[[], None]:
    """Check a place, and return what goes there. Data that is no table has none."""
    data = m.data
    if not isinstance(data, TableData):
        return lambda: None
    found: list[Any] = [place.get(name) for name in _NUMBERS]
    epoch, batch, seed, width = found
    for name, number in (("epoch", epoch), ("batch", batch), ("batchsize", width)):
        if number.__class__ is not int or number < 0:
            raise CallError(call, at="place", expected=f"a number under {name}", given=str(number))
    if seed is not None and seed.__class__ is not int:
        raise CallError(call, at="place", expected="a number under seed", given=str(seed))
    now = m.train["batchsize"]
    if batch and width != now:
        raise CallError(
            call,
            f"the place is batch {batch} of {width} rows each, the model's batchsize is {now}",
            given=SAID,
        )

    def go() -> None:
        data.hide()
        data.epoch, data.at, data.seed = epoch, batch, seed

    return go


def place_of_state(m: Model, x: Value, call: str) -> Callable[[], None]:
    """Check the place in the state of a model, and return what goes there, also with the random generators."""
    fields = named_values(x) if x.__class__ is Dict else {}
    numbers = {
        name: None if fields[name] is NULL_J else long_of(fields[name])
        for name in fields
        if name in _NUMBERS
    }
    if len(numbers) < len(_NUMBERS):
        raise CallError(call, at="place", expected="a place, as in `state m`", given=kname(x))
    jobs = [checked_place(m, numbers, call)]
    if isinstance(m.data, TableData) and "generator" in fields:
        jobs.append(random_state.checked(fields["generator"]))

    def go() -> None:
        for job in jobs:
            job()

    return go
