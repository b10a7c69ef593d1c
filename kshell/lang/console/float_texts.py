"""Many floats as text at once: what `%.7g` gives, by arrays."""

from __future__ import annotations

import numpy as np

_MOST_DIGITS = (
    9  # up to which the product of a float and a power of ten shows all digits that are asked for
)
_FEW = 64  # floats that are not worth it
_NEAR = 1e-6  # so close to a half, the product does not tell how to round
_BLOCK = 1 << 14  # floats at a time, whose arrays stay in the cache
_POWERS = (10 ** np.arange(_MOST_DIGITS + 1)).astype(np.int32)  # which divide faster than longs
_SCALES = 10.0 ** np.arange(_MOST_DIGITS + 6)

Texts = tuple[
    np.ndarray, np.ndarray
]  # the characters of all texts, one after the other, and their sizes


def float_flat(a: np.ndarray, digits: int) -> Texts | None:
    """The texts of finite floats with so many significant digits, as `%g` writes them; None for few floats, and for
    more digits than can be had this way. Those that `%g` writes with an exponent, and those close to the middle of two
    texts, are written one by one."""
    if not 1 <= digits <= _MOST_DIGITS or len(a) < _FEW:
        return None
    parts = [_block(a[start : start + _BLOCK], digits) for start in range(0, len(a), _BLOCK)]
    characters, sizes = zip(*parts, strict=True)
    return np.concatenate(characters), np.concatenate(sizes)


def _block(a: np.ndarray, digits: int) -> Texts:
    """The texts of some floats."""
    size = np.abs(a.astype(np.float64))
    # the exponent of ten: a plain number has one from -4 to digits - 1
    plain = (size >= 1e-4) & (size < 10.0**digits)
    size = np.where(plain, size, 1.0)
    exponent = np.floor(np.log10(size)).astype(np.int64)
    scaled = size * _SCALES[np.clip(digits - 1 - exponent, 0, len(_SCALES) - 1)]
    # the logarithm may be off by one beside a power of ten
    exponent += (scaled >= _POWERS[digits]).astype(np.int64) - (scaled < _POWERS[digits - 1])
    places = digits - 1 - exponent  # behind the point
    plain &= (places >= 0) & (places <= digits + 3)
    places = np.where(plain, places, 0)
    scaled = size * _SCALES[places]
    number = np.rint(scaled).astype(np.int32)
    plain &= np.abs(scaled - np.floor(scaled) - 0.5) > _NEAR
    # rounded up to a power of ten: one more before the point, which `%g` may write with an exponent
    plain &= (number < _POWERS[digits]) | (places > 0)
    whole = (a == 0) & ~np.signbit(a)
    number, places = np.where(whole, 0, number), np.where(whole, 0, places)
    number, places = _without_zeros(number, places, digits)
    return _written(a, number, places, np.flatnonzero(~(plain | whole)), digits)


def _without_zeros(number: np.ndarray, places: np.ndarray, digits: int) -> Texts:
    """Decimal numbers, as integers with places behind the point, without zeros at their ends."""
    for count in (8, 4, 2, 1):
        if count <= digits:
            shorter = number // _POWERS[count]
            ends = (shorter * _POWERS[count] == number) & (places >= count)
            number, places = np.where(ends, shorter, number), places - count * ends
    return number, places


def _written(
    a: np.ndarray, number: np.ndarray, places: np.ndarray, others: np.ndarray, digits: int
) -> Texts:
    """The texts of decimal numbers, with the signs of the floats; those at some places are written one by one."""
    texts = [f"%.{digits}g" % x for x in a[others].tolist()]
    front = np.maximum(np.searchsorted(_POWERS, number, "right") - places, 1)  # digits before
    sizes = front + places + (places > 0) + (a < 0)
    sizes[others] = list(map(len, texts))
    ends = np.cumsum(sizes)
    characters = np.full(int(ends[-1]), 45, np.uint8)  # what is not written is a sign
    at, left, place = ends - 1, places.copy(), np.arange(len(a))
    left[others], front[others] = 0, 0
    for remaining, point in ((left, 46), (front, 0)):
        live = np.flatnonzero(remaining)
        count = remaining[live]
        rest = number[live]
        while len(live):
            shorter = rest // 10
            characters[at[live]] = rest - shorter * 10 + 48
            number[live] = shorter
            at[live] -= 1
            more = count > 1
            live, rest, count = live[more], shorter[more], count[more] - 1
        if point:
            has_point = place[left > 0]
            characters[at[has_point]] = point
            at[has_point] -= 1
    for index, text in zip(others.tolist(), texts, strict=True):
        characters[ends[index] - sizes[index] : ends[index]] = np.frombuffer(
            text.encode(), np.uint8
        )
    return characters, sizes
