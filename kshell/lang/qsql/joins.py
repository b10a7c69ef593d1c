"""Table joins: left, inner, union, equi, plus, as-of and window joins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kshell.errors import QError
from kshell.lang.tables.columns import Array, is_column, part
from kshell.lang.tables.tables import (
    by_name,
    column,
    fetch,
    flat,
    is_table,
    key_names,
    names_of,
    rekey,
)
from kshell.lang.verbs.arith import add
from kshell.lang.verbs.compare import fill
from kshell.registry import verb
from kshell.values.base.build import collapse
from kshell.values.base.core import Dict, List, Table, Value, Vec, is_list, seq_items, sym_vec
from kshell.values.base.match import match
from kshell.values.change.join import join_columns, place_keys, scatter
from kshell.values.engine.apply import pyfn
from kshell.values.engine.cast import is_null
from kshell.values.items.order import grade_columns
from kshell.values.items.pick import nulls_like, take_at
from kshell.values.items.search import find, joint_columns, search_rows

# ------------------------------------------------------------------ columns put together


def pick(hit: Array, new: Value, old: Value) -> Value:
    """The items of `new` where `hit` is true, those of `old` elsewhere."""
    if new.__class__ is Vec and old.__class__ is Vec and new.t == old.t and new.dom == old.dom:
        return Vec(new.t, np.where(hit, new.a, old.a), "", new.dom)
    both = zip(hit.tolist(), seq_items(new), seq_items(old), strict=True)
    return collapse([n if h else o for h, n, o in both])


def nulls_at(x: Value) -> Array:
    """Where the items of a list are null."""
    if x.__class__ is Vec:
        return is_null(x.a, x.t)
    return np.array([match(i, nulls_like(i)) for i in seq_items(x)], np.bool_)


def _merged(t: Table, found: Table, hit: Array, filled: bool) -> Table:
    """The columns of t, replaced by those of `found` where `hit`; new columns are added. With `filled`, t's items are
    kept where those of `found` are null."""
    out = dict(zip(t.names, t.cols, strict=True))
    for name, new in zip(found.names, found.cols, strict=True):
        if name in out:
            good = hit & ~nulls_at(new) if filled else hit
            out[name] = pick(good, new, out[name])
        else:
            out[name] = new
    return Table(list(out), list(out.values()))


def _key_rows(t: Table, y: Dict) -> Array:
    """For each row of t, the row of keyed table y with its key; len(y) if there is none."""
    keys = Table(y.k.names, [column(t, name) for name in y.k.names])
    if not len(t) or not len(y):
        return np.full(len(t), len(y))
    if y.attr == "s":  # a step function
        at = search_rows(y.k.cols, keys.cols, True)
        return np.where(at < 0, len(y), at)
    return np.asarray(find(y.k, keys), np.int64)


def _keyed(y: Value) -> Dict:
    y = fetch(y)
    if y.__class__ is not Dict or not y.keyed:
        raise QError("type")
    return y


# ------------------------------------------------------------------ left, inner, plus


def _left(x: Value, y: Value, filled: bool) -> Value:
    if is_list(y) and not len(y):
        return x
    y = _keyed(y)
    t = flat(x)
    at = _key_rows(t, y)
    return rekey(_merged(t, take_at(y.v, at), at < len(y), filled), key_names(x))


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
    t = flat(x)
    at = _key_rows(t, y)
    rows = np.flatnonzero(at < len(y))
    found = take_at(y.v, at[rows])
    return rekey(
        _merged(take_at(t, rows), found, np.ones(len(rows), np.bool_), filled), key_names(x)
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
    t = flat(x)
    found = take_at(y.v, _key_rows(t, y))
    out = dict(zip(t.names, t.cols, strict=True))
    for name, new in zip(found.names, found.cols, strict=True):
        new = fill(0, new)
        out[name] = add(out[name], new) if name in out else new
    return rekey(Table(list(out), list(out.values())), key_names(x))


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
    for empty_one, other in ((x, y), (y, x)):
        if is_list(empty_one) and not len(empty_one):
            return other
    if not is_table(x) or x.__class__ is not y.__class__ or not is_table(y):
        raise QError("type")
    return _union_rows(x, y) if x.__class__ is Table else _union_keyed(x, y, filled)


def _nulls(col: Value, n: int) -> Value:
    """n nulls for a column of this type."""
    if col.__class__ is not Vec and not len(col):
        return collapse([List([]) for _ in range(n)])
    return take_at(col, np.full(n, -1, np.int64))


def _union_rows(x: Table, y: Table) -> Table:
    names = x.names + [name for name in y.names if not x.has(name)]
    cols = []
    for name in names:
        a = x.col(name) if x.has(name) else _nulls(y.col(name), len(x))
        b = y.col(name) if y.has(name) else _nulls(x.col(name), len(y))
        cols.append(join_columns(a, b))
    return Table(names, cols)


def _union_keyed(x: Dict, y: Dict, filled: bool) -> Dict:
    if x.k.names != y.k.names:
        raise QError("mismatch")
    at, fresh = place_keys(x.k, y.k)
    base = _union_rows(x.v, take_at(y.v, fresh))
    out = []
    for name, col in zip(base.names, base.cols, strict=True):
        if y.v.has(name):
            new = y.v.col(name)
            rows = (
                np.flatnonzero(~nulls_at(new)) if filled and x.v.has(name) else np.arange(len(new))
            )
            col = scatter(col, at[rows], take_at(new, rows))
        out.append(col)
    keys = _union_rows(x.k, take_at(y.k, fresh)) if len(fresh) else x.k
    return Dict(keys, Table(base.names, out))


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
    wanted, keys = joint_columns(
        [column(x, name) for name in names], [column(y, name) for name in names]
    )
    right, left = _matches(keys, wanted)
    by = set(names)
    cols = [
        take_at(y.col(name), right)
        if y.has(name) and name not in by
        else take_at(x.col(name), left)
        for name in x.names
    ]
    rest = [name for name in y.names if not x.has(name)]
    return Table([*x.names, *rest], cols + [take_at(y.col(n), right) for n in rest])


def _matches(keys: Array, wanted: Array) -> tuple[Array, Array]:
    """All pairs of positions with equal codes, in the order of `wanted`."""
    order = np.argsort(keys, kind="stable")
    tops = keys[order]
    start = np.searchsorted(tops, wanted, "left")
    count = np.searchsorted(tops, wanted, "right") - start
    right = np.repeat(np.arange(len(wanted)), count)
    inner = np.arange(len(right)) - np.repeat(np.cumsum(count) - count, count)
    return order[np.repeat(start, count) + inner], right


# ------------------------------------------------------------------ as-of joins


def _as_of(c: Value, x: Value, y: Value, actual: bool, filled: bool) -> Value:
    names = names_of(c)
    if not names:
        raise QError("type")
    right = flat(y)

    def run(left: Value) -> Value:
        t = flat(left)
        at = search_rows(
            [column(right, name) for name in names], [column(t, name) for name in names], True
        )
        drop = names[:-1] if actual else names
        found = take_at(
            Table(
                [name for name in right.names if name not in drop],
                [
                    col
                    for name, col in zip(right.names, right.cols, strict=True)
                    if name not in drop
                ],
            ),
            at,
        )
        return rekey(_merged(t, found, at >= 0, filled), key_names(left))

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
    t = flat(x)
    y = fetch(y)
    one = y.__class__ is Dict and not y.keyed
    wanted = collapse([y]) if one else flat(y)
    if wanted.__class__ is not Table:
        raise QError("type")
    at = search_rows([column(t, name) for name in wanted.names], wanted.cols, True)
    rest = [name for name in t.names if not wanted.has(name)]
    cols = [take_at(t.col(n), at) for n in rest]
    if one:
        return Dict(sym_vec(rest), collapse([col.item(0) for col in cols]))
    return Table(rest, cols)


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
        t = flat(left)
        spans = _spans(t, quotes, names, seq_items(w), entry)
        own = dict(zip(t.names, t.cols, strict=True))
        new: list[
            tuple[str, Value]
        ] = []  # two aggregates of one column make two columns with its name
        for call in items[1:]:
            f, *args = seq_items(call)
            columns = names_of(collapse(args))
            found = _over_spans(f, [column(quotes, n) for n in columns], spans)
            if columns[-1] in own:
                own[columns[-1]] = found
            else:
                new.append((columns[-1], found))
        out = Table([*own, *(n for n, _ in new)], [*own.values(), *(v for _, v in new)])
        return rekey(out, key_names(left))

    return by_name(x, run)


def _spans(
    t: Table, quotes: Table, names: list[str], w: list[Value], entry: bool
) -> list[tuple[int, int]]:
    """For each row of t, the range of sorted quotes within its window."""
    keys = [column(t, name) for name in names[:-1]]
    rows = [column(quotes, name) for name in names]
    if any(not is_column(side) or len(side) != len(t) for side in w):
        raise QError("length")
    start = search_rows(rows, [*keys, w[0]], False)
    end = search_rows(rows, [*keys, w[1]], True)
    if entry:
        before = search_rows(rows, [*keys, w[0]], True)
        start = np.where(before >= 0, before, start)
    closed = (start < 0) | (end < start)
    return list(
        zip(np.where(closed, 0, start).tolist(), np.where(closed, 0, end + 1).tolist(), strict=True)
    )


def _over_spans(f: Value, cols: list[Value], spans: list[tuple[int, int]]) -> Value:
    """f on parts of some columns."""
    function: Callable[..., Value] = pyfn(f, len(cols))
    if len(cols) == 1:
        col = cols[0]
        return collapse([function(part(col, a, b)) for a, b in spans])
    return collapse([function(*[part(col, a, b) for col in cols]) for a, b in spans])


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
