"""Curves as text: points on a grid of braille dots, or of characters where a terminal shows plain ASCII alone."""

from __future__ import annotations

import locale
import os
from typing import Any

import numpy as np

# the bits of a braille character's dots, by row and column
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_PER = 8  # places looked at in a column of dots, if there are fewer points
# terminals whose fonts have no braille
_PLAIN = ("dumb", "linux", "vt100", "vt102", "vt220", "ansi", "")


def has_unicode(stream: Any) -> bool:
    """Can what is written to this stream be seen with braille? A file can; a terminal by its type and the locale."""
    ask = getattr(stream, "isatty", None)
    if ask is None or not ask():
        return True
    words = (os.environ.get(k) for k in ("LC_ALL", "LC_CTYPE", "LANG"))
    coding = next((w for w in words if w), "")
    return os.environ.get("TERM", "") not in _PLAIN and "utf" in coding.lower().replace("-", "") \
        and "utf" in locale.getpreferredencoding(False).lower()


def curve(y: np.ndarray, width: int, height: int, unicode: bool = True) -> list[str]:
    """The lines of a picture, `width` characters wide, of the values y over their numbers: `height` lines with a scale
    on the left, and one with the first and last number. What is no finite number leaves a gap."""
    good = np.isfinite(y)
    low, high = (float(y[good].min()), float(y[good].max())) if good.any() else (0.0, 0.0)
    labels = _labels(low, high, height)
    margin = max(map(len, labels)) + 1
    columns = max(width - margin - 1, 8)
    per = (2, 4) if unicode else (1, 1)
    dots = _dots(y, columns * per[0], height * per[1], low, high)
    bar = "│┤" if unicode else "||"
    lines = [f"{label:>{margin}}{bar[bool(label)]}{row}".rstrip()
             for label, row in zip(labels, _rows(dots, unicode), strict=True)]
    last = str(len(y) - 1)
    return [*lines, " " * (margin + 1) + "0" + last.rjust(columns - 1) if len(y) > 1 else " " * (margin + 1) + "0"]


def _labels(low: float, high: float, height: int) -> list[str]:
    """The scale: what the first, the middle and the last line stand for."""
    out = [""] * height
    if low == high:
        out[height // 2] = f"{low:.4g}"
        return out
    for i in {0, height // 2, height - 1}:
        out[i] = f"{high - (high - low) * i / max(height - 1, 1):.4g}"
    return out


def _dots(y: np.ndarray, across: int, down: int, low: float, high: float) -> np.ndarray:
    """Which dots of a grid the line through the points meets."""
    n = len(y)
    x = np.arange(n, dtype=float)
    if 1 < n < across * _PER:  # places between the points, too
        x = np.union1d(np.linspace(0, n - 1, across * _PER), x)
        y = np.interp(x, np.arange(n), y)
    good = np.isfinite(y)
    x, y = x[good], y[good]
    column = np.rint(x / max(n - 1, 1) * (across - 1)).astype(int)
    row = np.rint((high - y) / (high - low) * (down - 1)).astype(int) if high > low else np.full(len(y), down // 2)
    top, bottom = np.full(across, down), np.full(across, -1)
    np.minimum.at(top, column, row)
    np.maximum.at(bottom, column, row)
    used = np.flatnonzero(bottom >= 0)
    a, b = used[:-1], used[1:]
    next_to = b == a + 1  # a steep line goes on from where the column before ends
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
