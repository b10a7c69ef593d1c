"""Curves as text: points on a grid of braille dots, or of characters on terminals limited to plain ASCII."""

from __future__ import annotations

import locale
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import TextIO

# bits of a braille character's dots, by row and column
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_PER = 8  # samples per column of dots, if there are fewer points
# terminals whose fonts have no braille
_PLAIN = ("dumb", "linux", "vt100", "vt102", "vt220", "ansi", "")


def has_unicode(stream: TextIO) -> bool:
    """Can output to this stream show braille? Files can; terminals depending on type and locale."""
    ask = getattr(stream, "isatty", None)
    if ask is None or not ask():
        return True
    words = (os.environ.get(k) for k in ("LC_ALL", "LC_CTYPE", "LANG"))
    coding = next((word for word in words if word), "")
    return (
        os.environ.get("TERM", "") not in _PLAIN
        and "utf" in coding.lower().replace("-", "")
        and "utf" in locale.getpreferredencoding(False).lower()
    )


class Line(NamedTuple):
    """A curve: its name, and the coordinates of its points."""

    name: str
    x: np.ndarray
    y: np.ndarray


def line(name: str, y: np.ndarray, x: np.ndarray | None = None) -> Line:
    """The curve of values over their positions, or over other values in ascending order."""
    if x is None:
        return Line(name, np.arange(len(y), dtype=float), y)
    order = np.argsort(x, kind="stable")
    order = order[np.isfinite(x[order])]
    return Line(name, x[order], y[order])


def curve(y: np.ndarray, width: int, height: int, unicode: bool = True) -> list[str]:
    """The lines of a plot, `width` characters wide, of the values y over their positions: `height` lines with a scale
    on the left, and one with the first and last position. Non-finite values leave gaps."""
    return panel([line("", y)], width, height, unicode)


def panel(
    lines: Sequence[Line],
    width: int,
    height: int,
    unicode: bool = True,
    logx: bool = False,
    logy: bool = False,
    told: Callable[[float], str] | None = None,
) -> list[str]:
    """The lines of a plot of curves on one scale; several curves have their names on the right, where they end. On a
    logarithmic scale, values not above zero are gaps. `told` formats a position on the x axis."""
    lines = [Line(line.name, _scaled(line.x, logx), _scaled(line.y, logy)) for line in lines]
    (left, right), (low, high) = (
        _range([line.x for line in lines]),
        _range([line.y for line in lines]),
    )
    labels = _labels(low, high, height, logy)
    margin = max(map(len, labels)) + 1
    names = max(len(line.name) for line in lines) + 1 if len(lines) > 1 else 0
    columns = max(width - margin - 1 - names, 8)
    across, down = columns * (2 if unicode else 1), height * (4 if unicode else 1)
    parts = [_dots(line, across, down, (left, right), (low, high)) for line in lines]
    rows = _rows(np.logical_or.reduce(parts), unicode)
    if names:
        named = {i: lines[at].name for i, at in _ends(parts, height).items()}
        rows = [f"{r:<{columns}} {named[i]}" if i in named else r for i, r in enumerate(rows)]
    bar = "│┤" if unicode else "||"
    drawn = [
        f"{label:>{margin}}{bar[bool(label)]}{row}".rstrip()
        for label, row in zip(labels, rows, strict=True)
    ]
    first, last = (_number(v, logx) if told is None else told(v) for v in (left, right))
    room = max(columns - len(first), len(last) + 1)
    return [*drawn, " " * (margin + 1) + first + (last.rjust(room) if right > left else "")]


def _scaled(v: np.ndarray, log: bool) -> np.ndarray:
    return np.log10(np.where(v > 0, v, np.nan)) if log else v


def _range(parts: Sequence[np.ndarray]) -> tuple[float, float]:
    """The least and greatest finite number in some arrays; 0 and 0 if there are none."""
    good = [g for part in parts if len(g := part[np.isfinite(part)])]
    return (
        (min(float(g.min()) for g in good), max(float(g.max()) for g in good))
        if good
        else (0.0, 0.0)
    )


def _number(v: float, log: bool) -> str:
    v = 10.0**v if log else v
    near = round(v)
    return str(near) if abs(v) < 1e15 and abs(v - near) <= 1e-9 * abs(v) else f"{v:.4g}"


def _labels(low: float, high: float, height: int, log: bool = False) -> list[str]:
    """The scale: labels for the top, middle and bottom line."""
    labels = [""] * height
    if low == high:
        labels[height // 2] = f"{10.0**low if log else low:.4g}"
        return labels
    for i in {0, height // 2, height - 1}:
        v = high - (high - low) * i / max(height - 1, 1)
        labels[i] = f"{10.0**v if log else v:.4g}"
    return labels


def _ends(parts: Sequence[np.ndarray], height: int) -> dict[int, int]:
    """For each text line where a curve ends, the number of that curve; if the line is taken, the nearest free line is
    used, and none if all are taken."""
    ends: dict[int, int] = {}
    for k, dots in enumerate(parts):
        columns = np.flatnonzero(dots.any(0))
        row = (
            int(np.flatnonzero(dots[:, columns[-1]])[0]) * height // len(dots)
            if len(columns)
            else 0
        )
        free = sorted((i for i in range(height) if i not in ends), key=lambda i: abs(i - row))
        if free:
            ends[free[0]] = k
    return ends


def _dots(
    c: Line, across: int, down: int, wide: tuple[float, float], tall: tuple[float, float]
) -> np.ndarray:
    """The dots of a grid that the line through the points meets."""
    (left, right), (low, high) = wide, tall
    known = np.isfinite(c.x)
    x, y = c.x[known], c.y[known]
    # sample between the points, too
    if len(x) > 1 and (len(x) < across * _PER or right - left != len(x) - 1):
        between = np.union1d(np.linspace(x[0], x[-1], across * _PER), x)
        x, y = between, np.interp(between, x, y)
    good = np.isfinite(y)
    x, y = x[good], y[good]
    column = np.rint((x - left) / ((right - left) or 1) * (across - 1)).astype(int)
    row = (
        np.rint((high - y) / (high - low) * (down - 1)).astype(int)
        if high > low
        else np.full(len(y), down // 2)
    )
    top, bottom = np.full(across, down), np.full(across, -1)
    np.minimum.at(top, column, row)
    np.maximum.at(bottom, column, row)
    used = np.flatnonzero(bottom >= 0)
    a, b = used[:-1], used[1:]
    next_to = b == a + 1  # a steep line continues from the end of the previous column
    a, b = a[next_to], b[next_to]
    reach_down, reach_up = bottom[a] + 1, top[a] - 1
    top[b] = np.where(top[b] > reach_down, reach_down, top[b])
    bottom[b] = np.where(bottom[b] < reach_up, reach_up, bottom[b])
    at = np.arange(down)[:, None]
    return (at >= top) & (at <= bottom)


def _rows(dots: np.ndarray, unicode: bool) -> list[str]:
    if not unicode:
        return ["".join(row) for row in np.where(dots, "*", " ")]
    h, w = dots.shape
    cells = dots.reshape(h // 4, 4, w // 2, 2)
    codes = np.tensordot(cells, _BITS, axes=([1, 3], [0, 1]))
    return ["".join(map(chr, row)).replace("\u2800", " ") for row in (0x2800 + codes).tolist()]
