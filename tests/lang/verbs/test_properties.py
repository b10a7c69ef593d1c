"""What verbs compute, for generated values, against numpy and plain Python: numbers with nulls and infinities among
them, words, rows; each verb through a session, as text and values meet there."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import floats, longs, string, vec
from kshell.values.base.core import Table, Value, raw, sym_vec, text_of

S = Session()
NULL, MAX = -(2**63), 2**63 - 1
FEW = settings(max_examples=50, deadline=None)
LONG = st.one_of(st.integers(-20, 20), st.integers(-(10**6), 10**6), st.just(NULL))
LONGS = st.lists(LONG, max_size=30)
WHOLE = st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30)
FLOAT = st.one_of(st.floats(-1e6, 1e6), st.just(math.nan))
FLOATS = st.lists(FLOAT, max_size=30)
FINITE = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 6)), min_size=2, max_size=30)


def q(text: str, **given_names: Value) -> Value:
    for name, x in given_names.items():
        S[name] = x
    return S.run(text)


def wrap(n: int) -> int:
    return (n + 2**63) % 2**64 - 2**63


def items(x: Value) -> list[Any]:
    """The raw items of a vector, or of the items of a list."""
    return x.a.tolist() if hasattr(x, "a") else [items(i) if hasattr(i, "items") else raw(i) for i in x.items]


def same(got: Value, want: Any, tolerance: float = 1e-9) -> None:
    a = got.a if hasattr(got, "a") else np.array([raw(got)])
    np.testing.assert_allclose(np.asarray(a, float), np.ravel(np.asarray(want, float)), rtol=tolerance,
                               atol=tolerance * 1e-3)


# ------------------------------------------------------------------ running, neighbours


@FEW
@given(LONGS)
def test_running_aggregates(xs: list[int]) -> None:
    x = longs(xs)
    assert items(q("sums x", x=x)) == [wrap(n) for n in accumulate(0 if v == NULL else v for v in xs)]
    assert items(q("prds x")) == [wrap(n) for n in accumulate((1 if v == NULL else v for v in xs),
                                                              lambda a, b: wrap(a * b))]
    assert items(q("maxs x")) == list(accumulate((-MAX if v == NULL else v for v in xs), max))
    assert items(q("mins x")) == list(accumulate((MAX if v == NULL else v for v in xs), min))
    here = [[v for v in xs[:i + 1] if v != NULL] for i in range(len(xs))]
    same(q("avgs x"), [sum(h) / len(h) if h else math.nan for h in here])
    assert items(q("fills x")) == list(accumulate(xs, lambda a, b: a if b == NULL else b))


@FEW
@given(LONGS, st.integers(-5, 5))
def test_neighbours(xs: list[int], n: int) -> None:
    x = longs(xs)
    steps = [NULL if NULL in (a, b) else b - a for a, b in pairwise(xs)]
    assert items(q("deltas x", x=x)) == xs[:1] + steps
    assert items(q("differ x")) == [True] * bool(xs) + [a != b for a, b in pairwise(xs)]
    assert items(q("prev x")) == [NULL, *xs][:len(xs)] and items(q("next x")) == [*xs[1:], NULL][:len(xs)]
    assert items(q("n xprev x", n=n)) == [xs[i - n] if 0 <= i - n < len(xs) else NULL for i in range(len(xs))]


@FEW
@given(FLOATS)
def test_ratios_are_quotients(xs: list[float]) -> None:
    with np.errstate(all="ignore"):
        want = np.array(xs[:1] + list(np.array(xs[1:]) / np.array(xs[:-1])))
    assert np.array_equal(q("ratios x", x=floats(xs)).a, want, equal_nan=True)


@FEW
@given(st.lists(st.one_of(st.integers(-1000, 1000), st.just(NULL)), max_size=30), st.integers(1, 8))
def test_moving_windows_with_nulls(xs: list[int], n: int) -> None:
    windows = [[v for v in xs[max(0, i - n + 1):i + 1] if v != NULL] for i in range(len(xs))]
    raws = [xs[max(0, i - n + 1):i + 1] for i in range(len(xs))]
    x = longs(xs)
    assert items(q("n msum x", n=n, x=x)) == [sum(w) for w in windows]
    assert items(q("n mcount x")) == [len(w) for w in windows]
    assert items(q("n mmax x")) == [max(w, default=-MAX) for w in windows]
    assert items(q("n mmin x")) == [min(w) for w in raws]
    same(q("n mavg x"), [sum(w) / len(w) if w else math.nan for w in windows])
    same(q("n mdev x"), [np.std(w) if w else math.nan for w in windows], 1e-5)


@FEW
@given(FINITE, st.floats(0, 1))
def test_ema_is_its_recurrence(xs: list[float], k: float) -> None:
    same(q("k ema x", k=k, x=floats(xs)), list(accumulate(xs, lambda a, b: (1 - k) * a + k * b)))
    same(q("(count[x]#k)ema x"), list(accumulate(xs, lambda a, b: (1 - k) * a + k * b)))


# ------------------------------------------------------------------ statistics


@FEW
@given(st.lists(st.one_of(st.floats(-1e3, 1e3), st.just(math.nan)), max_size=30))
def test_statistics_leave_out_nulls(xs: list[float]) -> None:
    here = np.array([v for v in xs if v == v])
    q("", x=floats(xs))
    assert raw(q("max x")) == (here.max() if len(here) else -math.inf)
    assert raw(q("min x")) == (here.min() if len(here) else math.inf)
    for verb, fn, least in (("avg", np.mean, 1), ("var", np.var, 1), ("dev", np.std, 1),
                            ("svar", lambda a: np.var(a, ddof=1), 2), ("sdev", lambda a: np.std(a, ddof=1), 2)):
        same(q(f"{verb} x"), fn(here) if len(here) >= least else math.nan, 1e-6)
    same(q("sum x"), math.fsum(here), 1e-6)


@FEW
@given(st.lists(st.tuples(FLOAT.map(lambda v: v / 1e3), FLOAT.map(lambda v: v / 1e3)), max_size=30))
def test_pairs_leave_out_nulls(rows: list[tuple[float, float]]) -> None:
    both = np.array([r for r in rows if r[0] == r[0] and r[1] == r[1]]).reshape(-1, 2)
    a, b = both.T
    q("", x=floats([r[0] for r in rows]), y=floats([r[1] for r in rows]))
    n = len(a)
    same(q("x cov y"), np.mean(a * b) - a.mean() * b.mean() if n else math.nan, 1e-5)
    same(q("x scov y"), (np.mean(a * b) - a.mean() * b.mean()) * n / (n - 1) if n > 1 else math.nan, 1e-5)
    if n and abs(a.sum()) > 1e-3:
        same(q("x wavg y"), np.sum(a * b) / np.sum(a), 1e-6)
    same(q("x wsum y"), math.fsum(a * b), 1e-5)
    if n > 2 and a.std() > 1e-3 and b.std() > 1e-3:
        same(q("x cor y"), np.corrcoef(a, b)[0, 1], 1e-5)


@FEW
@given(FINITE)
def test_median_and_correlation_with_itself(xs: list[float]) -> None:
    same(q("med x", x=floats(xs)), np.median(xs))
    if np.std(xs) > 1e-3:
        same(q("x cor x"), 1.0)
        same(q("x cor neg x"), -1.0)


# ------------------------------------------------------------------ order


@FEW
@given(LONGS)
def test_order(xs: list[int]) -> None:
    x = longs(xs)
    up = sorted(range(len(xs)), key=xs.__getitem__)
    down = sorted(range(len(xs)), key=lambda i: (-xs[i], i))
    assert items(q("iasc x", x=x)) == up and items(q("idesc x")) == down
    assert items(q("asc x")) == sorted(xs) and items(q("desc x")) == sorted(xs, reverse=True)
    ranks = [0] * len(xs)
    for place, i in enumerate(up):
        ranks[i] = place
    assert items(q("rank x")) == ranks
    for n in (1, 2, 3, 7):
        assert items(q(f"{n} xrank x")) == [r * n // len(xs) for r in ranks]


@FEW
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "B", ""]), st.integers(0, 3)), max_size=15),
       st.sampled_from([("n",), ("s",), ("s", "n"), ("n", "s", "k")]))
def test_tables_sort_by_columns(rows: list[Any], by: tuple[str, ...]) -> None:
    S["t"] = Table(["n", "s", "k"], [longs([r[0] for r in rows]), sym_vec([r[1] for r in rows]),
                                     longs([r[2] for r in rows])])
    at = ["nsk".index(c) for c in by]
    names = "".join(f"`{c}" for c in by)
    for verb, reverse in (("xasc", False), ("xdesc", True)):
        want = sorted(rows, key=lambda r: [r[i] for i in at], reverse=reverse)  # equal rows stay in order both ways
        got = q(f"({names}){verb} t")
        assert list(zip(got.cols[0].a.tolist(), [s.s for s in got.cols[1].items], got.cols[2].a.tolist(),
                        strict=True)) == want


# ------------------------------------------------------------------ search, sets, groups


@FEW
@given(st.lists(st.integers(0, 8), max_size=20), st.lists(st.integers(0, 8), max_size=20))
def test_search_and_sets(xs: list[int], ys: list[int]) -> None:
    q("", x=longs(xs), y=longs(ys))
    assert items(q("y?x")) == [ys.index(v) if v in ys else len(ys) for v in xs]
    assert items(q("x in y")) == [v in ys for v in xs]
    assert items(q("x except y")) == [v for v in xs if v not in ys]
    assert items(q("x inter y")) == [v for v in xs if v in ys]
    assert items(q("x union y")) == list(dict.fromkeys(xs + ys))
    assert items(q("distinct x")) == list(dict.fromkeys(xs))
    got = q("group x")
    assert dict(zip(got.k.a.tolist(), items(got.v), strict=True)) == \
        {v: [i for i, w in enumerate(xs) if w == v] for v in dict.fromkeys(xs)}
    counts = q("count each group x")
    assert dict(zip(items(counts.k), items(counts.v) if len(xs) else [], strict=True)) == \
        {v: xs.count(v) for v in dict.fromkeys(xs)}


@FEW
@given(LONGS, st.integers(-25, 25), st.integers(-25, 25))
def test_within(xs: list[int], low: int, high: int) -> None:
    assert items(q("x within(l;h)", x=longs(xs), l=low, h=high)) == [low <= v <= high for v in xs]


@FEW
@given(st.lists(st.text("abc", max_size=2), max_size=12), st.lists(st.text("abc", max_size=2), min_size=1, max_size=6))
def test_bin_of_words(known: list[str], wanted: list[str]) -> None:
    known.sort()
    q("", x=sym_vec(known), y=sym_vec(wanted))
    assert items(q("x bin y")) == [bisect.bisect_right(known, w) - 1 for w in wanted]
    assert items(q("x binr y")) == [bisect.bisect_left(known, w) for w in wanted]


@FEW
@given(st.lists(st.integers(0, 4), max_size=15), st.lists(st.booleans(), max_size=15))
def test_where_counts(counts: list[int], flags: list[bool]) -> None:
    assert items(q("where x", x=longs(counts))) == [i for i, n in enumerate(counts) for _ in range(n)]
    assert items(q("where 0<x", x=longs([int(b) for b in flags]))) == [i for i, b in enumerate(flags) if b]
    assert items(q("til n", n=len(flags))) == list(range(len(flags)))


# ------------------------------------------------------------------ take, drop, cut, rotate, sublist


@FEW
@given(LONGS, st.integers(-40, 40), st.lists(st.integers(0, 30), max_size=5))
def test_parts_of_lists(xs: list[int], n: int, cuts: list[int]) -> None:
    q("", x=longs(xs), n=n)
    assert items(q("n _ x")) == (xs[n:] if n >= 0 else xs[:n])
    assert items(q("n sublist x")) == (xs[:n] if n >= 0 else xs[n:])
    assert items(q("(3;5)sublist x")) == xs[3:8]
    assert items(q("reverse x")) == xs[::-1]
    if xs:
        k = n % len(xs)
        assert items(q("n rotate x")) == xs[k:] + xs[:k]
    cuts = sorted(c for c in cuts if c <= len(xs))
    if cuts:
        got = q("c _ x", c=longs(cuts))
        assert [items(part) for part in got.items] == [xs[a:b] for a, b in pairwise([*cuts, len(xs)])]
    assert [items(part) for part in q("3 cut x").items] == [xs[i:i + 3] for i in range(0, len(xs), 3)]


# ------------------------------------------------------------------ numbers


@FEW
@given(st.lists(st.one_of(st.floats(-1e15, 1e15), st.sampled_from([math.nan, math.inf, -math.inf])), max_size=30))
def test_rounding_and_signs(xs: list[float]) -> None:
    q("", x=floats(xs))

    def whole(v: float, fn: Callable[[float], int]) -> int:
        return NULL if v != v else fn(v) if math.isfinite(v) else MAX if v > 0 else -MAX

    assert items(q("floor x")) == [whole(v, math.floor) for v in xs]
    assert items(q("ceiling x")) == [whole(v, math.ceil) for v in xs]
    assert items(q("signum x")) == [-1 if v != v or v < 0 else int(v > 0) for v in xs]
    assert np.array_equal(q("abs x").a, np.abs(xs), equal_nan=True)
    with np.errstate(all="ignore"):
        for verb, fn in (("sqrt", np.sqrt), ("exp", np.exp), ("log", np.log), ("sin", np.sin), ("cos", np.cos),
                         ("tan", np.tan), ("atan", np.arctan), ("asin", np.arcsin), ("acos", np.arccos),
                         ("reciprocal", np.reciprocal)):
            np.testing.assert_array_equal(q(f"{verb} x").a, fn(np.array(xs)))


@FEW
@given(st.integers(1, 4), st.data())
def test_matrices(n: int, data: st.DataObject) -> None:
    cell = st.integers(-9, 9).map(float)
    a, b = (np.array(data.draw(st.lists(cell, min_size=n * n, max_size=n * n))).reshape(n, n) for _ in "ab")
    q("", n=n, x=floats(a.ravel()), y=floats(b.ravel()))
    q("a:(n;n)#x;b:(n;n)#y")
    assert np.array_equal(q("a mmu b").a, a @ b) and np.array_equal(q("a$b").a, a @ b)
    assert np.array_equal(q("a mmu first b").a, a @ b[0]) and raw(q("(first a)mmu first b")) == a[0] @ b[0]
    if abs(np.linalg.det(a)) > 0.5:
        np.testing.assert_allclose(q("inv a").a, np.linalg.inv(a), atol=1e-8)
        np.testing.assert_allclose(q("b lsq a").a, b @ np.linalg.inv(a), atol=1e-6)


@FEW
@given(st.integers(2, 36), st.lists(st.integers(0, 10**9), min_size=1, max_size=8))
def test_digits_of_lists(base: int, ns: list[int]) -> None:
    got = q("flip b vs x", b=base, x=longs(ns))
    for row, n in zip(got.items, ns, strict=True):
        total = 0
        for d in items(row):
            assert 0 <= d < base
            total = total * base + d
        assert total == n
    assert items(q("b sv b vs x")) == ns


# ------------------------------------------------------------------ text

TEXT = st.text(st.sampled_from("aBcD ,.z9"), max_size=15)


@FEW
@given(TEXT, st.lists(TEXT, min_size=1, max_size=5))
def test_text(one: str, many: list[str]) -> None:
    q("", s=string(one))
    for verb, fn in (("upper", str.upper), ("lower", str.lower), ("trim", lambda s: s.strip(" ")),
                     ("ltrim", lambda s: s.lstrip(" ")), ("rtrim", lambda s: s.rstrip(" ")),
                     ("reverse", lambda s: s[::-1]), ("asc", lambda s: "".join(sorted(s)))):
        assert text_of(q(f"{verb} s")) == fn(one)
    S["m"] = q("enlist s")
    for s in many:
        q("m,:enlist s", s=string(s))
    all_ = [one, *many]
    assert text_of(q('"|"sv m')) == "|".join(all_)
    assert [text_of(s) for s in q("upper m").items] == [s.upper() for s in all_]
    assert [text_of(s) for s in q('"|"vs"|"sv m').items] == all_
    assert items(q("m like\\:\"*a*\"")) == ["a" in s for s in all_]


# ------------------------------------------------------------------ queries and joins

KEY = st.sampled_from("abc")
ROWS = st.lists(st.tuples(KEY, st.integers(0, 12), st.integers(-9, 9)), max_size=12)


def table(rows: list[tuple[str, int, int]], names: tuple[str, str, str] = ("s", "t", "v")) -> Table:
    return Table(list(names), [sym_vec([r[0] for r in rows]), longs([r[1] for r in rows]),
                               longs([r[2] for r in rows])])


def rows_of(t: Value) -> list[tuple[Any, ...]]:
    """The rows of a table as tuples; a null long as None."""
    cols = [[s.s for s in c.items] if c.t == T.S else [None if v == NULL else v for v in c.a.tolist()] for c in t.cols]
    return list(zip(*cols, strict=True))


@FEW
@given(ROWS)
def test_select_by_is_a_dictionary_of_lists(rows: list[tuple[str, int, int]]) -> None:
    S["x"] = table(rows)
    groups: dict[str, list[int]] = {}
    for s, _, v in rows:
        groups.setdefault(s, []).append(v)
    got = q("0!select n:count i,v:sum v,m:max v,f:first v by s from x")
    want = [(s, len(g), sum(g), max(g), g[0]) for s, g in sorted(groups.items())]
    assert rows_of(got) == want
    assert rows_of(q("select from x where v>0,t<6")) == [r for r in rows if r[2] > 0 and r[1] < 6]
    assert rows_of(q("update v:sum v by s from x")) == [(s, t, sum(groups[s])) for s, t, _ in rows]
    assert rows_of(q("delete from x where s=`a")) == [r for r in rows if r[0] != "a"]
    if rows:
        assert rows_of(q("ungroup`s xgroup x")) == sorted(rows, key=lambda r: r[0])


@FEW
@given(ROWS, ROWS)
def test_joins_by_key(left: list[Any], right: list[Any]) -> None:
    first: dict[str, tuple[int, int]] = {}
    for s, t, v in right:
        first.setdefault(s, (t, v))
    S["x"], S["y"] = table(left), table([(s, *tv) for s, tv in first.items()], ("s", "v", "w"))
    assert rows_of(q("x lj 1!y")) == [(s, t, *first.get(s, (v, None))) for s, t, v in left]
    assert rows_of(q("x ij 1!y")) == [(s, t, *first[s]) for s, t, _ in left if s in first]
    assert rows_of(q("x pj 1!y")) == [(s, t, v + first.get(s, (0, 0))[0], first.get(s, (0, 0))[1])
                                      for s, t, v in left]
    S["y"] = table(right, ("s", "v", "w"))
    assert rows_of(q("x uj y")) == [(s, t, v, None) for s, t, v in left] + [(s, None, v, w) for s, v, w in right]
    assert rows_of(q("ej[`s;delete v from x;y]")) == [(s, t, v, w) for s, t, _ in left for r, v, w in right if r == s]


@FEW
@given(ROWS, ROWS)
def test_as_of_join_takes_the_last_before(left: list[Any], right: list[Any]) -> None:
    right = sorted(right, key=lambda r: r[:2])
    S["x"], S["y"] = table(left), table(right, ("s", "t", "w"))

    def last(s: str, t: int) -> tuple[int | None, int | None]:
        found = [(rt, w) for rs, rt, w in right if rs == s and rt <= t]
        return found[-1] if found else (None, None)

    assert rows_of(q("aj[`s`t;x;y]")) == [(s, t, v, last(s, t)[1]) for s, t, v in left]
    assert rows_of(q("aj0[`s`t;x;y]")) == [(s, t if last(s, t)[0] is None else last(s, t)[0], v, last(s, t)[1])
                                           for s, t, v in left]
    for s, t, _ in left[:3]:
        assert [None if n == NULL else n for n in items(q(f"value y asof`s`t!(`{s};{t})"))] == [last(s, t)[1]]


@FEW
@given(ROWS, ROWS)
def test_upsert_into_a_keyed_table_is_update(left: list[Any], right: list[Any]) -> None:
    known = {r[0]: r[1:] for r in left}
    S["x"], S["y"] = q("1!x", x=table([(s, *r) for s, r in known.items()])), table(right)
    for s, t, v in right:
        known[s] = (t, v)
    assert rows_of(q("0!x upsert y")) == [(s, *r) for s, r in known.items()]


@FEW
@given(ROWS, st.sampled_from(["sum", "max", "min", "first", "last", "count", "avg"]))
def test_fby_and_exec_by_agree(rows: list[Any], verb: str) -> None:
    S["x"] = table(rows)
    assert raw(q(f"(exec ({verb};v)fby s from x)~(exec {verb} v by s from x)x`s")) or not rows


# ------------------------------------------------------------------ iterators


@FEW
@given(WHOLE)
def test_iterators_are_reduce_and_accumulate(xs: list[int]) -> None:
    q("", x=longs(xs))
    assert raw(q("{x+2*y}/[x]")) == wrap(list(accumulate(xs, lambda a, b: wrap(a + 2 * b)))[-1])
    assert items(q("{y-x}\\[x]")) == list(accumulate(xs, lambda a, b: b - a))
    assert items(q("{x*x}each x")) == [v * v for v in xs] == items(q("{x*x}peach x"))
    assert items(q("x{x-y}'reverse x")) == [a - b for a, b in zip(xs, xs[::-1], strict=True)]
    assert items(q("{x-y}prior x"))[1:] == [b - a for a, b in pairwise(xs)]
    assert [items(row) for row in q("x{x-y}/:\\:3#x").items] == [[a - b for b in (xs * 3)[:3]] for a in xs]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_do_and_while_iterate(n: int) -> None:
    assert raw(q(f"{n} {{x*2}}/1")) == 2**n
    assert items(q(f"{n} {{x*2}}\\1")) == [2**k for k in range(n + 1)]
    assert raw(q(f"{{x<{2**n}}}{{x*2}}/1")) == 2**n


# ------------------------------------------------------------------ arithmetic over all pairs of integer types

WIDTH = {T.B: 1, T.X: 8, T.H: 16, T.I: 32, T.J: 64}
NANOS = {T.N: 1, T.T: 10**6, T.V: 10**9, T.U: 60 * 10**9}


def numbers(t: int) -> st.SearchStrategy[int]:
    if t == T.B:
        return st.integers(0, 1)
    if t == T.X:
        return st.integers(0, 255)
    half = 2 ** (8 * T.DTYPE[t].itemsize - 1)
    return st.one_of(st.integers(-50, 50), st.integers(-half, half - 1), st.sampled_from([-half, half - 1, 1 - half]))


def missing(t: int, v: int) -> bool:
    return t in T.SIGNED and v == T.NULL[t]


def wrapped(n: int, t: int) -> int:
    half = -T.NULL[t]
    return (n + half) % (2 * half) - half


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_integers_of_all_widths(data: st.DataObject) -> None:
    """A sum, difference or product is that of the raw numbers, wrapped to the width of the wider type, at least int."""
    tx, ty = (data.draw(st.sampled_from(list(WIDTH))) for _ in "xy")
    pairs = data.draw(st.lists(st.tuples(numbers(tx), numbers(ty)), min_size=1, max_size=8))
    q("", x=vec(tx, np.array([p[0] for p in pairs], T.DTYPE[tx])), y=vec(ty, np.array([p[1] for p in pairs], T.DTYPE[ty])))
    t = T.J if T.J in (tx, ty) else T.I
    lost = [missing(tx, a) or missing(ty, b) for a, b in pairs]
    for verb, op in (("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b)):
        got = q(f"x{verb}y")
        assert got.t == t
        assert got.a.tolist() == [T.NULL[t] if m else wrapped(op(a, b), t) for (a, b), m in zip(pairs, lost, strict=True)]
    least = [tuple(-math.inf if missing(t, v) else v for t, v in ((tx, a), (ty, b))) for a, b in pairs]
    for verb, op in (("=", lambda a, b: a == b), ("<", lambda a, b: a < b), (">", lambda a, b: a > b),
                     ("<=", lambda a, b: a <= b), (">=", lambda a, b: a >= b), ("<>", lambda a, b: a != b)):
        assert q(f"x{verb}y").a.tolist() == [op(a, b) for a, b in least]
    wide = max(tx, ty)
    for verb, op in (("&", min), ("|", max)):
        got = q(f"x{verb}y")
        assert got.t == wide
        assert got.a.tolist() == [T.NULL[wide] if op(p) == -math.inf else op(p) for p in least]
    with np.errstate(all="ignore"):
        want = [math.nan if m else float(np.float64(a) / np.float64(b)) for (a, b), m in zip(pairs, lost, strict=True)]
    np.testing.assert_array_equal(q("x%y").a, want)
    t = T.I if tx != T.J else T.J
    whole = [T.NULL[t] if m or not b else wrapped(a // b, t) for (a, b), m in zip(pairs, lost, strict=True)]
    assert q("x div y").a.tolist() == whole


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_spans_of_time(data: st.DataObject) -> None:
    """Spans add in the finer of their units; a span and a point in time give a timestamp; they compare as instants."""
    tx, ty = (data.draw(st.sampled_from(list(NANOS))) for _ in "xy")
    a, b = (data.draw(st.integers(-10**4, 10**4)) for _ in "xy")
    day = data.draw(st.integers(-10**4, 10**4))
    q("", x=vec(tx, [a]), y=vec(ty, [b]), d=vec(T.D, [day]))
    x, y = a * NANOS[tx], b * NANOS[ty]
    fine = tx if NANOS[tx] < NANOS[ty] else ty
    for verb, total in (("+", x + y), ("-", x - y)):
        got = q(f"x{verb}y")
        assert (got.t, got.a.tolist()) == (fine, [total // NANOS[fine]])
        got = q(f"d{verb}x")
        assert (got.t, got.a.tolist()) == (T.P, [day * 86_400 * 10**9 + (x if verb == "+" else -x)])
    assert items(q("x<y")) == [x < y] and items(q("x=y")) == [x == y] and items(q("x>=y")) == [x >= y]
    stamp = day * 86_400 * 10**9 + x
    assert items(q("(d+x)-`timestamp$d")) == [x] and items(q("`date$d+x")) == [stamp // (86_400 * 10**9)]
    assert items(q("`timespan$d+x")) == [stamp % (86_400 * 10**9)]
    for t in NANOS:
        assert items(q(f"`{T.TYPE[t].name}$d+x")) == [stamp % (86_400 * 10**9) // NANOS[t]]
        assert items(q(f"`{T.TYPE[t].name}$x")) == [x // NANOS[t]]
