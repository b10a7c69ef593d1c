"""qSQL and joins against plain Python: aggregates by group, where, update by, joins; quick ways against slow ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kshell import registry
from kshell.errors import QError
from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.tables.columns import Groups, part
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import collapse, floats, longs
from kshell.values.base.core import NULL_J, Dict, Table, Value, Vec, sym_vec
from kshell.values.base.match import match
from kshell.values.change.join import join
from kshell.values.items.pick import take_at

SESSION = Session()
NAN = float("nan")
KEYS = st.sampled_from(["a", "b", "", "zz", "B"])
WHOLE = st.one_of(st.none(), st.integers(-1000, 1000))
BIG = st.one_of(st.none(), st.integers(-(2**62), 2**62))
REAL = st.one_of(st.just(NAN), st.floats(-1e6, 1e6))
ROWS = st.lists(st.tuples(KEYS, WHOLE, REAL, st.integers(0, 2)), max_size=40)
Row = tuple[str, Any, float, int]


def raws(items: list[Any]) -> Vec:
    return longs([T.NULL[T.J] if i is None else i for i in items])


def table_of(rows: list[Row]) -> Table:
    return Table(["k", "a", "f", "m"], [sym_vec([r[0] for r in rows]), raws([r[1] for r in rows]),
                                        floats([r[2] for r in rows]), longs([r[3] for r in rows])])


def ask(text: str, **names: Value) -> Value:
    """The value of q text, with some names set."""
    for name, x in names.items():
        SESSION[name] = x
    return SESSION.run(text)


def groups(rows: list[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    out: dict[Any, list[Row]] = {}
    for r in rows:
        out.setdefault(key(r), []).append(r)
    return dict(sorted(out.items()))


def known(items: list[Any]) -> list[Any]:
    return [i for i in items if i is not None and i == i]


ORACLE: dict[str, Callable[[list[Any]], Any]] = {
    "sum": lambda x: sum(known(x)),
    "count": len,
    "avg": lambda x: statistics.fmean(known(x)) if known(x) else NAN,
    "max": lambda x: max(known(x), default=None),
    "min": lambda x: min(known(x), default=None),
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "var": lambda x: statistics.pvariance(known(x)) if known(x) else NAN,
    "dev": lambda x: statistics.pstdev(known(x)) if known(x) else NAN,
    "sdev": lambda x: statistics.stdev(known(x)) if len(known(x)) > 1 else NAN,
}  # fmt: skip


def same(got: Any, want: Any) -> bool:
    if want is None:  # nothing but nulls: an infinity for max and min, null for first and last
        return got in (NULL_J, None) or getattr(got, "v", got) in (-T.LONG_MAX, T.LONG_MAX, -math.inf, math.inf)
    got = getattr(got, "v", got) if got is not NULL_J else NAN
    return bool(got == want or (got != got and want != want) or math.isclose(got, want, rel_tol=1e-6, abs_tol=1e-3))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ORACLE)
@given(rows=ROWS)
def test_aggregates_by_group(name: str, rows: list[Row]) -> None:
    got = ask(f"select w:{name} a,r:{name} f by k from t", t=table_of(rows))
    wanted = groups(rows, lambda r: r[0])
    assert [s.s for s in got.k.cols[0].items] == list(wanted)
    for col, at in zip(got.v.cols, (1, 2), strict=True):
        for x, group in zip(col.items, wanted.values(), strict=True):
            assert same(x, ORACLE[name]([r[at] for r in group]))


@given(rows=ROWS)
def test_two_keys_and_computed_keys(rows: list[Row]) -> None:
    got = ask("select n:count i,s:sum a by k,odd:m mod 2 from t where m<2", t=table_of(rows))
    wanted = groups([r for r in rows if r[3] < 2], lambda r: (r[0], r[3] % 2))
    assert list(zip([s.s for s in got.k.cols[0].items], got.k.cols[1].items, strict=True)) == list(wanted)
    assert got.v.cols[0].items == [len(g) for g in wanted.values()]
    assert got.v.cols[1].items == [sum(known([r[1] for r in g])) for g in wanted.values()]


@given(rows=ROWS)
def test_groups_without_aggregate(rows: list[Row]) -> None:
    got = ask("exec a by k from t", t=table_of(rows))
    wanted = groups(rows, lambda r: r[0])
    assert [s.s for s in got.k.items] == list(wanted)
    for x, group in zip(got.v.items, wanted.values(), strict=True):
        assert match(x, raws([r[1] for r in group]))


@given(rows=ROWS)
def test_update_by_group_keeps_the_rows(rows: list[Row]) -> None:
    got = ask("update s:sum m,c:sums m by k from t", t=table_of(rows))
    running: dict[str, int] = {}
    total = {k: sum(r[3] for r in g) for k, g in groups(rows, lambda r: r[0]).items()}
    cums = []
    for r in rows:
        running[r[0]] = running.get(r[0], 0) + r[3]
        cums.append(running[r[0]])
    assert got.names == ["k", "a", "f", "m", "s", "c"]
    assert got.cols[4].items == [total[r[0]] for r in rows]
    assert got.cols[5].items == cums


@given(rows=ROWS)
def test_where_cascades_and_delete_is_its_complement(rows: list[Row]) -> None:
    t = table_of(rows)
    kept = ask("select from t where m>0,i<10,not k=`b", t=t)
    wanted = [n for n, r in enumerate(rows) if r[3] > 0 and n < 10 and r[0] != "b"]
    assert match(kept, take_at(t, np.array(wanted, np.int64)))
    left = ask("delete from t where m>0,i<10,not k=`b", t=t)
    assert match(left, take_at(t, np.array([n for n in range(len(rows)) if n not in wanted], np.int64)))


@given(rows=ROWS, n=st.integers(-12, 12))
def test_limits(rows: list[Row], n: int) -> None:
    t = table_of(rows)
    wanted = list(range(len(rows)))[:n] if n >= 0 else list(range(len(rows)))[n:]
    assert match(ask(f"select[{n}] from t", t=t), take_at(t, np.array(wanted, np.int64)))
    order = sorted(range(len(rows)), key=lambda i: -rows[i][3])
    assert match(ask("select[3;>m] from t", t=t), take_at(t, np.array(order[:3], np.int64)))


# ------------------------------------------------------------------ the quick ways and the verbs agree

NUMBERS = st.lists(st.tuples(st.integers(0, 4), BIG, REAL), min_size=1, max_size=40)


def columns(rows: list[tuple[int, Any, float]]) -> dict[int, Vec]:
    wide = raws([r[1] for r in rows])
    reals = floats([r[2] for r in rows])
    out = {T.J: wide, T.F: reals, T.E: Vec(T.E, reals.a.astype(np.float32)), T.B: Vec(T.B, wide.a % 3 == 0),
           T.X: Vec(T.X, (wide.a % 256).astype(np.uint8)), T.C: Vec(T.C, (97 + wide.a % 9).astype(np.uint8))}
    for t in (T.H, T.I, T.D, T.T, T.M):
        narrow = np.where(wide.a == T.NULL[T.J], T.NULL[t], wide.a % 100 - 50)
        out[t] = Vec(t, narrow.astype(T.DTYPE[t]))
    out[T.P] = Vec(T.P, wide.a)
    return out


def close(x: Value, y: Value) -> bool:
    if x.__class__ is not Vec or y.__class__ is not Vec or x.t != y.t:
        return match(x, y)
    if x.t in T.FLOATS:
        return bool(np.allclose(x.a, y.a, rtol=1e-4, atol=1e-3, equal_nan=True))
    return bool((x.a == y.a).all())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [n for n, f in AGGREGATES.items() if f.__code__.co_argcount == 2])
@given(rows=NUMBERS)
def test_at_once_is_group_by_group(name: str, rows: list[tuple[int, Any, float]]) -> None:
    g = Groups([longs([r[0] for r in rows])], len(rows))
    entry = registry.find("verb", name)
    assert entry is not None
    for t, col in columns(rows).items():
        quick = AGGREGATES[name](g, col)
        if quick is None or (t in (T.J, T.P) and name in ("var", "dev", "svar", "sdev", "avg", "med")):
            continue  # of longs beyond 2^53 neither way is exact
        sorted_col = take_at(col, g.order)
        slow = collapse([entry.fns[1](part(sorted_col, a, b)) for a, b in g.spans()])
        assert close(quick, slow), (name, T.TYPE[t].name)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [n for n, f in AGGREGATES.items() if f.__code__.co_argcount == 3])
@given(rows=NUMBERS)
def test_two_columns_at_once(name: str, rows: list[tuple[int, Any, float]]) -> None:
    g = Groups([longs([r[0] for r in rows])], len(rows))
    entry = registry.find("verb", name)
    assert entry is not None
    x, y = columns(rows)[T.I], Vec(T.F, np.round(columns(rows)[T.F].a / 1e4))
    quick = AGGREGATES[name](g, x, y)
    a, b = take_at(x, g.order), take_at(y, g.order)
    slow = collapse([entry.fns[2](part(a, s, e), part(b, s, e)) for s, e in g.spans()])
    assert quick is not None and close(quick, slow)


@given(rows=ROWS)
def test_functional_forms_are_the_templates(rows: list[Row]) -> None:
    for text in ("select s:sum a*m,f by k from t where m>0", "exec a from t", "exec last f by k from t",
                 "update z:neg a from t where m=1", "delete f from t", "delete from t where m=1",
                 "exec x:a,m from t where f>0", "select[2;<m] from t", "select distinct k,m from t"):
        assert match(ask(text, t=table_of(rows)), ask(f"eval parse {chr(34)}{text}{chr(34)}", t=table_of(rows)))


# ------------------------------------------------------------------ fby, ungroup, joins


@given(rows=ROWS)
def test_fby_is_update_by(rows: list[Row]) -> None:
    t = table_of(rows)
    want = ask("exec s from update s:max m by k from t", t=t) if rows else longs([])
    assert match(ask("exec (max;m) fby k from t", t=t), want)
    assert match(ask("exec ({max x};m) fby k from t", t=t), want)


@given(rows=st.lists(st.tuples(KEYS, WHOLE, REAL, st.integers(0, 2)), min_size=1, max_size=40))
def test_ungroup_undoes_xgroup(rows: list[Row]) -> None:
    t = table_of(rows)
    assert match(ask("ungroup `k`m xgroup t", t=t), ask("`k`m xcols `k`m xasc t", t=t))


def keyed_of(rows: list[Row]) -> Dict:
    """A keyed table of the last row of each key."""
    last = {r[0]: r for r in rows}
    t = table_of(list(last.values()))
    return Dict(Table(["k"], [t.cols[0]]), Table(["a", "z"], [t.cols[1], t.cols[2]]))


@given(rows=ROWS, other=ROWS)
def test_left_and_inner_join(rows: list[Row], other: list[Row]) -> None:
    t, y = table_of(rows), keyed_of(other)
    found = {r[0]: r for r in other}
    left = ask("t lj y", t=t, y=y)
    assert left.names == ["k", "a", "f", "m", "z"]
    assert match(left.cols[1], raws([found[r[0]][1] if r[0] in found else r[1] for r in rows]))
    assert match(left.cols[4], floats([found[r[0]][2] if r[0] in found else NAN for r in rows]))
    inner = ask("t ij y", t=t, y=y)
    hit = np.array([n for n, r in enumerate(rows) if r[0] in found], np.int64)
    assert match(inner, take_at(left, hit))


@given(rows=ROWS, other=ROWS)
def test_union_join_of_keyed_tables_is_upsert(rows: list[Row], other: list[Row]) -> None:
    x, y = keyed_of(rows), keyed_of(other)
    assert match(ask("x uj y", x=x, y=y), ask("x upsert y", x=x, y=y))
    t, u = table_of(rows), table_of(other)
    assert match(ask("t uj u", t=t, u=u), join(t, u))


TIMES = st.lists(st.tuples(KEYS, st.integers(0, 30)), max_size=25)


@given(left=TIMES, right=TIMES)
def test_as_of_join(left: list[tuple[str, int]], right: list[tuple[str, int]]) -> None:
    right = sorted(right, key=lambda r: r[1])
    t = Table(["k", "n"], [sym_vec([k for k, _ in left]), longs([n for _, n in left])])
    q = Table(["k", "n", "v"], [sym_vec([k for k, _ in right]), longs([n for _, n in right]),
                                longs(np.arange(len(right)))])
    best = [max((i for i, (rk, rn) in enumerate(right) if rk == k and rn <= n), default=None) for k, n in left]
    assert match(ask("aj[`k`n;t;q]", t=t, q=q).cols[2], raws(best))
    sums = ask("wj1[(t[`n]-3;t[`n]+3);`k`n;t;(q;(sum;`v))]")
    assert sums.cols[2].items == [sum(i for i, (rk, rn) in enumerate(right) if rk == k and n - 3 <= rn <= n + 3)
                                  for k, n in left] or not left


@given(left=st.lists(st.integers(0, 5), max_size=20), right=st.lists(st.integers(0, 5), max_size=20))
def test_equi_join_has_every_pair(left: list[int], right: list[int]) -> None:
    x = Table(["k", "a"], [longs(left), longs(np.arange(len(left)))])
    y = Table(["k", "b"], [longs(right), longs(np.arange(len(right)))])
    got = ask("ej[`k;x;y]", x=x, y=y)
    pairs = sorted(zip(got.col("a").items, got.col("b").items, strict=True))
    assert pairs == sorted((i, j) for i, p in enumerate(left) for j, q in enumerate(right) if p == q)


# ------------------------------------------------------------------ rows


@given(rows=ROWS, other=ROWS)
def test_insert_then_select_gives_all_rows(rows: list[Row], other: list[Row]) -> None:
    t, u = table_of(rows), table_of(other)
    at = ask("`t insert u", t=t, u=u)
    assert at.items == list(range(len(rows), len(rows) + len(other)))
    assert match(SESSION["t"], join(t, u))
    assert match(t, table_of(rows))  # the value that t had is unchanged


def test_a_failed_change_leaves_the_table() -> None:
    t = table_of([("a", 1, 2.0, 0)])
    for text in ("update a:1.5 from `t where m=0", "`t insert (`a;1)", "`t upsert (`a;1;2;3)",
                 "delete from `t where k"):
        with pytest.raises(QError):
            ask(text, t=t)
        assert SESSION["t"] is t
