"""What a file of Parquet says of the values in a row group: its statistics, and the values in its folders' names. A
condition whose value is outside them leaves the row group out, and its columns are not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kshell.store.splay import Condition

_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}  # of timestamps
_DAYS, _EPOCH = 10_957, 946_684_800_000_000_000  # from 1970 to 2000, in days and nanoseconds
_WHOLE = frozenset("hij")
# types of Arrow, and the characters of those of q's values that can be compared with them
_TYPES = {
    "int16": _WHOLE,
    "int32": _WHOLE,
    "int64": _WHOLE,
    "date32[day]": frozenset("d"),
    "string": frozenset("s"),
    "timestamp": frozenset("p"),
}


class Bounds(NamedTuple):
    """The least and the greatest value of a row group's column, as q has them; symbols as bytes."""

    low: Any
    high: Any


def of_groups(
    name: str, dataset: Any, groups: Sequence[Any]
) -> tuple[frozenset[str], list[Bounds | None]]:
    """The q types with which a column can be compared, and its bounds in each row group; None where they are not known,
    or there are nulls."""
    kind = dataset.schema.field(name).type
    kind = getattr(kind, "value_type", kind)  # of words
    word = "timestamp" if str(kind).startswith("timestamp") else str(kind)
    types = _TYPES.get(word, frozenset())
    return types, [_bounds(name, kind, group) if types else None for group in groups]


def _bounds(name: str, kind: Any, group: Any) -> Bounds | None:
    keys = _keys(group)
    if name in keys:
        return None if keys[name] is None else Bounds(*(_of_key(kind, keys[name]),) * 2)
    found = [
        _stored(name, kind, group, part.id) for part in getattr(group, "row_groups", None) or ()
    ]
    if not found or None in found:
        return None
    return Bounds(min(b.low for b in found), max(b.high for b in found))  # type: ignore[union-attr]


def _keys(group: Any) -> dict[str, Any]:
    """The values in the names of its folders."""
    import pyarrow.dataset as datasets

    keys: dict[str, Any] = datasets.get_partition_keys(group.partition_expression)
    return keys


def _of_key(kind: Any, value: Any) -> Any:
    if hasattr(value, "toordinal"):
        return value.toordinal() - 719_163 - _DAYS
    return value.encode() if isinstance(value, str) else value


def _stored(name: str, kind: Any, group: Any, number: int) -> Bounds | None:
    """By the statistics in the file."""
    stored = group.metadata.row_group(number)
    for i in range(stored.num_columns):
        column = stored.column(i)
        if column.path_in_schema == name:
            found = column.statistics
            if found is None or not found.has_min_max or found.null_count != 0:
                return None
            return Bounds(_raw(kind, found.min_raw), _raw(kind, found.max_raw))
    return None


def _raw(kind: Any, value: Any) -> Any:
    """A value of a file as q has it."""
    if isinstance(value, str):
        return value.encode()
    if str(kind) == "date32[day]":
        return value - _DAYS
    return value * _NS[kind.unit] - _EPOCH if hasattr(kind, "unit") else value


def may_meet(condition: Condition, bounds: Bounds) -> bool:
    """Can one of the values between two bounds meet a condition?"""
    low, high = bounds
    first, *_ = values = condition.values
    if condition.verb == "in":
        return any(low <= value <= high for value in values)
    if condition.verb == "within":
        return bool(low <= values[-1] and high >= first)
    return bool(
        {
            "=": low <= first <= high,
            "<": low < first,
            "<=": low <= first,
            ">": high > first,
            ">=": high >= first,
        }[condition.verb]
    )
