"""Table joins: left, inner, union, equi, plus, as-of and window joins."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.tables.columns import Array, Groups, part
from kshell.lang.tables.flat_items import places
from kshell.lang.tables.tables import (
    by_name,
    column,
    fetch,
    flat,
    key_names,
    names_of,
    rekey,
)
from kshell.lang.verbs.arith import add
from kshell.lang.verbs.compare import fill
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import (
    Dict,
    List,
    ListValue,
    Table,
    Value,
    Vec,
    atom_t,
    is_list,
    raw,
    seq_items,
    sym_vec,
)
from kshell.values.base.functions import Prim
from kshell.values.base.match import match
from kshell.values.base.narrow import has_items, list_value
from kshell.values.change.join import join_columns, place_keys, scatter
from kshell.values.engine.apply import pyfn
from kshell.values.engine.cast import is_null
from kshell.values.items.order import grade_columns
from kshell.values.items.pick import nulls_like, take_at
from kshell.values.items.search import find, joint_columns, search_rows

# ------------------------------------------------------------------ columns put together


def pick(hit: Array, new: ListValue, old: ListValue) -> ListValue:
    """The items of `new` where `hit` is true, those of `old` elsewhere."""
    if new.__class__ is Vec and old.__class__ is Vec and new.t == old.t and new.dom == old.dom:
        return Vec(new.t, np.where(hit, new.a, old.a), "", new.dom)
    choices = zip(hit.tolist(), seq_items(new), seq_items(old), strict=True)
    return collapse([new_item if is_hit else old_item for is_hit, new_item, old_item in choices])


def nulls_at(x: ListValue) -> Array:
    """Where the items of a list are null."""
    if x.__class__ is Vec:
        return is_null(x.a, x.t)
    return np.array([match(item, nulls_like(item)) for item in seq_items(x)], np.bool_)


def _merged(t: Table, found: Table, hit: Array, filled: bool) -> Table:
    """The columns of t, replaced by those of `found` where `hit`; new columns are added. With `filled`, t's items are
    kept where those of `found` are null."""
    columns = dict(zip(t.names, t.cols, strict=True))
    for name, values in zip(found.names, found.cols, strict=True):
        if name in columns:
            mask = hit & ~nulls_at(values) if filled else hit
            columns[name] = pick(mask, values, columns[name])
        else:
            columns[name] = values
    return Table(list(columns), list(columns.values()))


def _key_rows(t: Table, y: Dict) -> Array:
    """For each row of t, the row of keyed table y with its key; len(y) if there is none."""
    known = y.tables[0]
    keys = Table(known.names, [column(t, name) for name in known.names])
    if not len(t) or not len(y):
        return np.full(len(t), len(y))
    if y.attr == "s":  # a step function
        positions = search_rows(known.cols, keys.cols, True)
        return np.where(positions < 0, len(y), positions)
    return np.asarray(find(known, keys), np.int64)


def _keyed(y: Value) -> Dict:
    y = fetch(y)
    if y.__class__ is Dict and y.keyed:
        return y
    raise QError("type")


# ------------------------------------------------------------------ left, inner, plus


def _left(x: Value, y: Value, filled: bool) -> Value:
    if is_list(y) and not len(y):
        return x
    y = _keyed(y)
    table = flat(x)
    positions = _key_rows(table, y)
    found = take_at(y.tables[1], positions)
    return rekey(_merged(table, found, positions < len(y), filled), key_names(x))


@verb("lj")
def lj(x: Value, y: Value) -> Value:
    """Left join: the rows of x, each with the matching columns of keyed table y.

    q)([]a:1 2 3)lj([a:1 3]b:10 30)
    a b
    ----
    1 10
    2
    3 30
    """
    return _left(fetch(x), y, False)


@verb("ljf")
def ljf(x: Value, y: Value) -> Value:
    """Left join that keeps x's items where y's are null.

    q)([]a:1 2;b:5 6)ljf([a:1 2]b:10 0N)
    a b
    ----
    1 10
    2 6
    """
    return _left(fetch(x), y, True)


def _inner(x: Value, y: Value, filled: bool) -> Value:
    x, y = fetch(x), _keyed(y)
    table = flat(x)
    positions = _key_rows(table, y)
    rows = np.flatnonzero(positions < len(y))
    joined = take_at(y.tables[1], positions[rows])
    return rekey(
        _merged(take_at(table, rows), joined, np.ones(len(rows), np.bool_), filled), key_names(x)
    )


@verb("ij")
def ij(x: Value, y: Value) -> Value:
    """Inner join: the rows of x with a match in keyed table y, with y's columns.

    q)([]a:1 2 3)ij([a:1 3]b:10 30)
    a b
    ----
    1 10
    3 30
    """
    return _inner(x, y, False)


@verb("ijf")
def ijf(x: Value, y: Value) -> Value:
    """Inner join that keeps x's items where y's are null.

    q)([]a:1 2;b:5 6)ijf([a:1 4]b:0N 40)
    a b
    ---
    1 5
    """
    return _inner(x, y, True)


@verb("pj")
def pj(x: Value, y: Value) -> Value:
    """Plus join: left join that adds common columns; new columns are 0 where y has no match.

    q)([]a:1 2 3;b:1 1 1)pj([a:1 3]b:10 30)
    a b
    ----
    1 11
    2 1
    3 31
    """
    x, y = fetch(x), _keyed(y)
    table = flat(x)
    joined = take_at(y.tables[1], _key_rows(table, y))
    columns = dict(zip(table.names, table.cols, strict=True))
    for name, values in zip(joined.names, joined.cols, strict=True):
        values = list_value(fill(0, values))
        columns[name] = list_value(add(columns[name], values)) if name in columns else values
    return rekey(Table(list(columns), list(columns.values())), key_names(x))


# ------------------------------------------------------------------ union, equi


@verb("uj")
def uj(x: Value, y: Value) -> Value:
    """Union join: the rows of both tables, with all columns; for keyed tables, y's rows replace x's.

    q)([]a:1 2)uj([]a:3 4;b:`x`y)
    a b
    ---
    1
    2
    3 x
    4 y
    """
    return _union(x, y, False)


@verb("ujf")
def ujf(x: Value, y: Value) -> Value:
    """Union join that keeps x's items where y's are null.

    q)([a:1 2]b:5 6)ujf([a:2 3]b:0N 7)
    a| b
    -| -
    1| 5
    2| 6
    3| 7
    """
    return _union(x, y, True)


def _union(x: Value, y: Value, filled: bool) -> Value:
    x, y = fetch(x), fetch(y)
    for empty_one, counterpart in ((x, y), (y, x)):
        if is_list(empty_one) and not len(empty_one):
            return counterpart
    if x.__class__ is Table and y.__class__ is Table:
        return _union_rows(x, y)
    if x.__class__ is Dict and x.keyed and y.__class__ is Dict and y.keyed:
        return _union_keyed(x, y, filled)
    raise QError("type")


def _nulls(col: ListValue, n: int) -> ListValue:
    """n nulls for a column of this type."""
    if col.__class__ is not Vec and not len(col):
        return collapse([List([]) for _ in range(n)])
    return take_at(col, np.full(n, -1, np.int64))


def _union_rows(x: Table, y: Table) -> Table:
    names = x.names + [name for name in y.names if not x.has(name)]
    columns = []
    for name in names:
        upper = x.col(name) if x.has(name) else _nulls(y.col(name), len(x))
        lower = y.col(name) if y.has(name) else _nulls(x.col(name), len(y))
        columns.append(join_columns(upper, lower))
    return Table(names, columns)


def _union_keyed(x: Dict, y: Dict, filled: bool) -> Dict:
    (left_keys, left), (right_keys, right) = x.tables, y.tables
    if left_keys.names != right_keys.names:
        raise QError("mismatch")
    positions, fresh = place_keys(left_keys, right_keys)
    table = _union_rows(left, take_at(right, fresh))
    columns = []
    for name, values in zip(table.names, table.cols, strict=True):
        if right.has(name):
            updates = right.col(name)
            rows = (
                np.flatnonzero(~nulls_at(updates))
                if filled and left.has(name)
                else np.arange(len(updates))
            )
            values = scatter(values, positions[rows], take_at(updates, rows))
        columns.append(values)
    keys = _union_rows(left_keys, take_at(right_keys, fresh)) if len(fresh) else left_keys
    return Dict(keys, Table(table.names, columns))


@verb("ej")
def ej(c: Value, x: Value, y: Value) -> Value:
    """Equi join: a row for each pair of rows of x and y that agree in columns c.

    Rows are in the order of x; other common columns come from y.

    q)ej[`k;([]k:1 2;a:`x`y);([]k:2 2 3;b:10 20 30)]
    k a b
    ------
    2 y 10
    2 y 20
    """
    names = names_of(c)
    x, y = flat(x), flat(y)
    if not names:
        raise QError("length")
    x_codes, y_codes = joint_columns(
        [column(x, name) for name in names], [column(y, name) for name in names]
    )
    right_rows, left_rows = _matches(y_codes, x_codes)
    joint_names = set(names)
    columns = [
        take_at(y.col(name), right_rows)
        if y.has(name) and name not in joint_names
        else take_at(x.col(name), left_rows)
        for name in x.names
    ]
    new_names = [name for name in y.names if not x.has(name)]
    return Table(
        [*x.names, *new_names], columns + [take_at(y.col(name), right_rows) for name in new_names]
    )


def _matches(keys: Array, wanted: Array) -> tuple[Array, Array]:
    """All pairs of positions with equal codes, in the order of `wanted`."""
    order = np.argsort(keys, kind="stable")
    sorted_keys = keys[order]
    starts = np.searchsorted(sorted_keys, wanted, "left")
    counts = np.searchsorted(sorted_keys, wanted, "right") - starts
    right = np.repeat(np.arange(len(wanted)), counts)
    offsets = np.arange(len(right)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[np.repeat(starts, counts) + offsets], right


# ------------------------------------------------------------------ as-of joins


def _as_of(c: Value, x: Value, y: Value, actual: bool, filled: bool) -> Value:
    names = names_of(c)
    if not names:
        raise QError("type")
    right = flat(y)

    def run(left: Value) -> Value:
        table = flat(left)
        positions = search_rows(
            [column(right, name) for name in names], [column(table, name) for name in names], True
        )
        dropped = names[:-1] if actual else names
        matched = take_at(
            Table(
                [name for name in right.names if name not in dropped],
                [
                    column
                    for name, column in zip(right.names, right.cols, strict=True)
                    if name not in dropped
                ],
            ),
            positions,
        )
        return rekey(_merged(table, matched, positions >= 0, filled), key_names(left))

    return by_name(x, run)


@verb("aj")
def aj(c: Value, x: Value, y: Value) -> Value:
    """As-of join: each row of x with the last row of y that agrees in columns c.

    The last of the columns c need not be equal: it must not be greater than in x.

    q)aj[`t;([]t:1 5);([]t:0 4;p:10 40)]
    t p
    ----
    1 10
    5 40
    """
    return _as_of(c, x, y, False, False)


@verb("aj0")
def aj0(c: Value, x: Value, y: Value) -> Value:
    """As-of join that takes the last of columns c from y.

    q)aj0[`t;([]t:1 5);([]t:0 4;p:10 40)]
    t p
    ----
    0 10
    4 40
    """
    return _as_of(c, x, y, True, False)


@verb("ajf")
def ajf(c: Value, x: Value, y: Value) -> Value:
    """As-of join that keeps x's items where y's are null.

    q)ajf[`t;([]t:1 5;p:7 8);([]t:0 4;p:10 0N)]
    t p
    ----
    1 10
    5 8
    """
    return _as_of(c, x, y, False, True)


@verb("ajf0")
def ajf0(c: Value, x: Value, y: Value) -> Value:
    """As-of join like aj0 that keeps x's items where y's are null.

    q)ajf0[`t;([]t:1 5;p:7 8);([]t:0 4;p:10 0N)]
    t p
    ----
    0 10
    4 8
    """
    return _as_of(c, x, y, True, True)


@verb("asof")
def asof(x: Value, y: Value) -> Value:
    """The last row of table x that agrees with dictionary or table y, without the columns of y.

    The last key need not be equal: it must not be greater than in y.

    q)([]t:0 4;p:10 40)asof([t:5])
    p| 40
    """
    table = flat(x)
    y = fetch(y)
    is_dict = y.__class__ is Dict and not y.keyed
    keys = collapse([y]) if is_dict else flat(y)
    if keys.__class__ is not Table:
        raise QError("type")
    positions = search_rows([column(table, name) for name in keys.names], keys.cols, True)
    names = [name for name in table.names if not keys.has(name)]
    columns = [take_at(table.col(name), positions) for name in names]
    if is_dict:
        return Dict(sym_vec(names), collapse([values.item(0) for values in columns]))
    return Table(names, columns)


# ------------------------------------------------------------------ window joins


def _window(w: Value, c: Value, x: Value, spec: Value, entry: bool) -> Value:
    """wj and wj1: `entry` includes the row prevailing when the window opens."""
    names = names_of(c)
    items = seq_items(spec)
    if not is_list(w) or len(w) != 2 or not items:
        raise QError("type")
    quotes = flat(items[0])
    quotes = take_at(quotes, grade_columns([column(quotes, name) for name in names]))

    def run(left: Value) -> Value:
        table = flat(left)
        spans = _spans(table, quotes, names, seq_items(w), entry)
        table_columns = dict(zip(table.names, table.cols, strict=True))
        # two aggregates of one column make two columns with its name
        added: list[tuple[str, ListValue]] = []
        for call in items[1:]:
            aggregate, *arguments = seq_items(call)
            columns = names_of(collapse(arguments))
            aggregated = _over_spans(aggregate, [column(quotes, name) for name in columns], *spans)
            if columns[-1] in table_columns:
                table_columns[columns[-1]] = aggregated
            else:
                added.append((columns[-1], aggregated))
        joined = Table(
            [*table_columns, *(name for name, _ in added)],
            [*table_columns.values(), *(values for _, values in added)],
        )
        return rekey(joined, key_names(left))

    return by_name(x, run)


def _spans(
    t: Table, quotes: Table, names: list[str], w: list[Value], entry: bool
) -> tuple[Array, Array]:
    """For each row of t, where the sorted quotes within its window start and end."""
    keys = [column(t, name) for name in names[:-1]]
    rows = [column(quotes, name) for name in names]
    sides = [bound for bound in w if has_items(bound) and len(bound) == len(t)]
    if len(sides) != len(w):
        raise QError("length")
    starts = search_rows(rows, [*keys, sides[0]], False)
    ends = search_rows(rows, [*keys, sides[1]], True)
    if entry:
        before = search_rows(rows, [*keys, sides[0]], True)
        starts = np.where(before >= 0, before, starts)
    closed = (starts < 0) | (ends < starts)
    return np.where(closed, 0, starts), np.where(closed, 0, ends + 1)


def _over_spans(f: Value, cols: list[ListValue], starts: Array, ends: Array) -> ListValue:
    """f on parts of some columns."""
    aggregate = AGGREGATES.get(f.name) if f.__class__ is Prim else None
    if aggregate is not None and aggregate.__code__.co_argcount == 1 + len(cols):
        made = _at_once(f, aggregate, cols, starts, ends)
        if made is not None:
            return made
    function: Callable[..., Value] = pyfn(f, len(cols))
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    if len(cols) == 1:
        column = cols[0]
        return collapse([function(part(column, begin, end)) for begin, end in spans])
    return collapse(
        [function(*[part(column, begin, end) for column in cols]) for begin, end in spans]
    )


_ROWS = 1 << 20  # of all windows whose aggregates are computed at once


def _at_once(
    f: Value,
    aggregate: Callable[..., ListValue | None],
    cols: list[ListValue],
    starts: Array,
    ends: Array,
) -> Vec | None:
    """An aggregate of the rows of many windows, as of groups; None if that has no vector of results."""
    sizes = ends - starts
    filled = np.flatnonzero(sizes)
    if not len(filled) or any(c.__class__ is not Vec for c in cols):
        return None
    found = []
    starts, sizes = starts[filled], sizes[filled]
    totals = np.cumsum(sizes)
    cuts = np.searchsorted(totals, np.arange(_ROWS, int(totals[-1]), _ROWS))
    for first, last in pairwise(np.unique([0, *cuts, len(filled)]).tolist()):
        rows = places(starts[first:last], sizes[first:last])
        g = Groups.of_runs(sizes[first:last])
        made = aggregate(g, *[take_at(c, rows) for c in cols])
        if made.__class__ is not Vec:
            return None
        found.append(made)
    kinds = {made.t for made in found}
    if len(kinds) > 1 or kinds & {T.G, T.ENUM}:
        return None
    values = np.concatenate([made.a for made in found])
    if len(filled) == len(ends):
        return Vec(found[0].t, values)
    empty = pyfn(f, len(cols))(*[part(c, 0, 0) for c in cols])
    if atom_t(empty) != found[0].t:
        return None
    a = np.full(len(ends), raw(empty), values.dtype)
    a[filled] = values
    return Vec(found[0].t, a)


@verb("wj", arity=4)
def wj(w: Value, c: Value, x: Value, y: Value) -> Value:
    """Window join: aggregates of y over the windows w around the rows of x.

    The row prevailing when a window opens is included.

    q)wj[(1 4;3 6);`t;([]t:2 5);(([]t:0 2 4;p:1 2 4);(sum;`p))]
    t p
    ---
    2 3
    5 4
    """
    return _window(w, c, x, y, True)


@verb("wj1", arity=4)
def wj1(w: Value, c: Value, x: Value, y: Value) -> Value:
    """Window join: aggregates of y over the windows w around the rows of x, with rows inside the windows only.

    q)wj1[(1 4;3 6);`t;([]t:2 5);(([]t:0 2 4;p:1 2 4);(sum;`p))]
    t p
    ---
    2 2
    5 4
    """
    return _window(w, c, x, y, False)
