"""What the programs of the tests log, and that it shows what was edited."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """What a program logs after a step."""

    rate: float
    norm: float  # of the gradients
    first: str  # a digest of the first layer
    numbers: int  # in the last layer
    last: str  # a digest of it
    rates: tuple[str, ...]  # of further groups


def logged(file: Path) -> dict[int, Line]:
    """What a program has logged so far, by step."""
    words = [line.split() for line in file.read_text().splitlines()]
    lines = [w for w in words if w[0] != "end" and len(w) >= 7]
    return {int(w[0]): Line(float(w[1]), float(w[2]), w[3], int(w[5]), w[6], tuple(w[7:])) for w in lines}


def shows_the_edits(log: dict[int, Line], rate: int, freeze: int, replace: int, numbers: int) -> None:
    """A line is written after the step at whose end an edit was made, so it shows the edit already; but the first layer
    and the last one were moved by that step."""
    end = replace + 4

    def between(first: int, last: int) -> list[Line]:
        return [log[step] for step in range(first, last + 1)]

    assert log[rate - 1].rate != 0.003 and {line.rate for line in between(rate, end)} == {0.003}
    assert {line.rates for line in between(1, end)} == {log[1].rates}
    assert len({line.first for line in between(freeze - 3, freeze)}) == 4
    assert len({line.first for line in between(freeze, end)}) == 1
    assert {line.numbers for line in between(1, replace - 1)} == {log[1].numbers} != {numbers}
    assert {line.numbers for line in between(replace, end)} == {numbers}
    assert len({line.last for line in between(replace, end)}) == 5  # it is trained


def shows_that_they_are_undone(log: dict[int, Line], undone: int) -> None:
    lines = [log[step] for step in range(undone, undone + 5)]
    assert {(line.rate, line.rates, line.numbers) for line in lines} == {(log[1].rate, log[1].rates, log[1].numbers)}
    assert len({line.first for line in lines}) == len({line.last for line in lines}) == 5
