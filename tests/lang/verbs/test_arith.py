"""Properties of arithmetic, comparison, aggregates and casts, with numpy and plain Python as oracles."""

from __future__ import annotations

import datetime
import io
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.lang.verbs import arith, cast, compare, division, moving, running, spread, stats, tok
from kshell.lang.verbs import math as qmath
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import bools, floats, longs, vec
from kshell.values.base.core import Dict, List, Nd, Value, Vec, long
from kshell.values.base.match import match
from kshell.values.change.grow import COUNTS
from kshell.values.engine.cast import convert
from kshell.values.items import search  # noqa: F401  (sets find, which dictionaries use)

NULL = -T.M63
LONG = st.one_of(st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1), st.just(NULL), st.just(2**63 - 1))
FLOAT = st.one_of(st.floats(-100, 100), st.floats(width=64), st.just(math.nan))
NUMERIC = (T.B, T.X, T.H, T.I, T.J, T.E, T.F)
TEMPORAL = (T.P, T.M, T.D, T.Z, T.N, T.U, T.V, T.T)
DYADS: dict[str, Callable[[Value, Value], Value]] = {
    "+": arith.add, "-": arith.sub, "*": arith.mul, "%": arith.div_, "div": division.idiv, "mod": division.mod,
    "&": compare.min_, "|": compare.max_, "^": compare.fill, "=": compare.eq, "<>": compare.ne, "<": compare.lt,
    ">": compare.gt, "<=": compare.le, ">=": compare.ge, "xbar": division.xbar, "xlog": division.xlog}


def wrap(n: int) -> int:
    return (n + 2**63) % 2**64 - 2**63


def raws(t: int) -> st.SearchStrategy[Any]:
    """Raw values of a type, small ones and nulls often."""
    if t == T.B:
        return st.booleans()
    if t == T.X:
        return st.integers(0, 255)
    if t in T.FLOATS:
        return st.one_of(st.integers(-50, 50).map(float), st.just(math.nan))
    return st.one_of(st.integers(-50, 50), st.just(T.NULL[t]))


@given(st.lists(st.tuples(LONG, LONG), min_size=1, max_size=30))
def test_long_arithmetic_wraps_and_keeps_nulls(pairs: list[tuple[int, int]]) -> None:
    x, y = longs([a for a, _ in pairs]), longs([b for _, b in pairs])
    for fn, op in ((arith.add, lambda a, b: a + b), (arith.sub, lambda a, b: a - b), (arith.mul, lambda a, b: a * b)):
        want = [NULL if NULL in (a, b) else wrap(op(a, b)) for a, b in pairs]
        assert fn(x, y).a.tolist() == want
        assert match(fn(x, y), Vec(T.J, np.array([_raw(fn(long(a), long(b))) for a, b in pairs])))


def _raw(x: Value) -> Any:
    return getattr(x, "v", x)


@given(st.lists(st.tuples(FLOAT, FLOAT), min_size=1, max_size=30))
def test_float_arithmetic_is_numpys(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array([p for p, _ in pairs]), np.array([q for _, q in pairs])
    with np.errstate(all="ignore"):
        for fn, want in ((arith.add, a + b), (arith.sub, a - b), (arith.mul, a * b), (arith.div_, a / b)):
            got = fn(floats(a), floats(b)).a
            assert np.array_equal(got, want, equal_nan=True)
            one = [fn(p, q) for p, q in pairs]
            assert np.array_equal(np.array(one), want, equal_nan=True)


@settings(max_examples=25, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", list(DYADS))
def test_atoms_vectors_and_matrices_agree(name: str, data: st.DataObject) -> None:
    """Whatever the two types: item by item, vector with vector, vector with atom and matrix give the same."""
    tx = data.draw(st.sampled_from(NUMERIC + TEMPORAL))
    ty = data.draw(st.sampled_from(NUMERIC + TEMPORAL))
    n = data.draw(st.integers(1, 5))
    x = vec(tx, data.draw(st.lists(raws(tx), min_size=n, max_size=n)))
    y = vec(ty, data.draw(st.lists(raws(ty), min_size=n, max_size=n)))
    fn = DYADS[name]
    try:
        whole = fn(x, y)
    except QError as e:
        assert e.text == "type"
        with pytest.raises(QError):
            fn(x.item(0), y.item(0))
        return
    assert whole.a.dtype == T.DTYPE[whole.t]
    for i in range(n):
        assert match(fn(x.item(i), y.item(i)), whole.item(i)), (x, y, i)
        assert match(fn(x, y.item(i)).item(i), whole.item(i))
        assert match(fn(x.item(i), y).item(i), whole.item(i))
    grid = Nd(ty, np.stack([y.a, y.a], axis=1))
    assert match(fn(x, grid), List([fn(x.item(i), grid.item(i)) for i in range(n)]))


@given(st.lists(st.tuples(FLOAT, FLOAT), min_size=1))
def test_comparison_is_a_trichotomy(pairs: list[tuple[float, float]]) -> None:
    x, y = floats([a for a, _ in pairs]), floats([b for _, b in pairs])
    lt, eq, gt = compare.lt(x, y).a, compare.eq(x, y).a, compare.gt(x, y).a
    assert (lt.astype(int) + eq + gt == 1).all()
    assert np.array_equal(compare.le(x, y).a, lt | eq) and np.array_equal(compare.ge(x, y).a, gt | eq)
    assert np.array_equal(eq, [compare.close(a, b) for a, b in pairs])


def test_tolerance_over_blocks() -> None:
    a = np.linspace(1, 2, 50_001)
    assert compare.eq(floats(a), floats(a * (1 + 2.0**-44))).a.all()
    assert not compare.eq(floats(a), floats(a * (1 + 2.0**-42))).a.any()


@given(st.lists(LONG, max_size=40))
def test_aggregates_leave_out_nulls(items: list[int]) -> None:
    x = longs(items)
    here = [n for n in items if n != NULL]
    assert _raw(stats.sum_(x)) == wrap(sum(here))
    assert _raw(stats.max_(x)) == (max(here) if here else 1 - 2**63)
    assert _raw(stats.min_(x)) == (min(here) if here else 2**63 - 1)
    rounded = 1e-15 * max((abs(n) for n in here), default=0)  # numbers that cancel leave the rounding of their sum
    mean = np.mean(np.array(here, float)) if here else math.nan
    assert spread.avg(x) == pytest.approx(mean, abs=rounded, nan_ok=True)
    running_total, want = 0, []
    for n in items:
        running_total = wrap(running_total + (0 if n == NULL else n))
        want.append(running_total)
    assert running.sums(x).a.tolist() == want


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40), st.integers(1, 10))
def test_moving_windows(items: list[float], n: int) -> None:
    x = floats(items)
    windows = [np.array(items[max(0, i - n + 1):i + 1]) for i in range(len(items))]
    assert moving.mmax(n, x).a.tolist() == [w.max() for w in windows]
    assert moving.mmin(n, x).a.tolist() == [w.min() for w in windows]
    np.testing.assert_allclose(moving.mavg(n, x).a, [w.mean() for w in windows], atol=1e-9)
    np.testing.assert_allclose(moving.mdev(n, x).a, [w.std() for w in windows], atol=1e-4)
    np.testing.assert_allclose(spread.dev(x), np.std(items), atol=1e-9)
    np.testing.assert_allclose(spread.med(x), np.median(items))


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40), st.integers(-1000, 1000))
def test_div_and_mod(items: list[int], d: int) -> None:
    x = longs(items)
    q, r = division.idiv(x, d).a.tolist(), division.mod(x, d).a.tolist()
    assert q == [n // d if d else NULL for n in items] and r == [n % d if d else NULL for n in items]


@given(st.lists(st.integers(-(10**20), 10**20).map(str), min_size=1, max_size=30))
def test_tok_of_longs(texts: list[str]) -> None:
    got = tok.tok_strings(T.J, [s.encode() for s in texts]).a.tolist()
    assert got == [int(s) if -(2**63) < int(s) < 2**63 else NULL for s in texts]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False).map(repr), min_size=1, max_size=30))
def test_tok_of_floats(texts: list[str]) -> None:
    assert tok.tok_strings(T.F, [s.encode() for s in texts]).a.tolist() == [float(s) for s in texts]


@given(st.lists(st.dates(min_value=datetime.date(1710, 1, 1),
                         max_value=datetime.date(2290, 1, 1)), min_size=1, max_size=30))
def test_dates_parse_cast_and_split(dates: list[Any]) -> None:
    x = tok.tok_strings(T.D, [d.isoformat().encode() for d in dates])
    assert [n + 730120 for n in x.a.tolist()] == [d.toordinal() for d in dates]
    assert match(cast.cast(T.D, cast.cast(T.P, x)), x)
    assert cast.part("year", x).a.tolist() == [d.year for d in dates]
    assert cast.part("dd", x).a.tolist() == [d.day for d in dates]
    assert cast.cast(T.M, x).a.tolist() == [(d.year - 2000) * 12 + d.month - 1 for d in dates]
    week = cast.part("week", x)
    assert [n + 730120 for n in week.a.tolist()] == [d.toordinal() - d.weekday() for d in dates]


@settings(deadline=None)
@given(st.data())
def test_casts_keep_nulls(data: st.DataObject) -> None:
    kinds = (T.H, T.I, T.J, T.E, T.F)
    f, t = data.draw(st.sampled_from(kinds)), data.draw(st.sampled_from(kinds))
    a = vec(f, data.draw(st.lists(raws(f), max_size=10))).a
    r = convert(a, f, t)
    assert r.dtype == T.DTYPE[t]
    for p, q in zip(vec(f, a).items, vec(t, r).items, strict=True):
        assert compare.eq(p, q)


@given(st.lists(FLOAT, max_size=20))
def test_rounding(items: list[float]) -> None:
    lo, hi = qmath.floor(floats(items)), qmath.ceiling(floats(items))
    for x, a, b in zip(items, lo.a.tolist(), hi.a.tolist(), strict=True):
        if math.isfinite(x) and abs(x) < 2**62:
            assert (a, b) == (math.floor(x), math.ceil(x))
    assert match(qmath.floor(floats(items)), Vec(T.J, np.array([_raw(qmath.floor(x)) for x in items], np.int64)))


def test_dictionaries_unite_their_keys() -> None:
    x, y = Dict(longs([1, 2, 3]), longs([10, 20, 30])), Dict(longs([3, 9]), longs([5, 7]))
    for fn, want in ((arith.add, [10, 20, 35, 7]), (arith.sub, [10, 20, 25, -7]), (compare.min_, [10, 20, 5, 7])):
        assert match(fn(x, y), Dict(longs([1, 2, 3, 9]), longs(want)))


def test_lengths_and_types() -> None:
    for x, y, text in ((longs([1, 2]), longs([1, 2, 3]), "length"), (1, vec(T.S, [0]), "type"),
                       (Nd(T.J, np.zeros((2, 3), np.int64)), longs([1, 2, 3]), "length")):
        with pytest.raises(QError) as e:
            arith.add(x, y)
        assert e.value.text == text


def test_regular_lists_broadcast_along_leading_axes() -> None:
    m = np.arange(24).reshape(2, 3, 4)
    got = arith.add(Nd(T.J, m), Nd(T.J, np.array([[1, 2, 3], [4, 5, 6]])))
    assert np.array_equal(got.a, m + np.array([[1, 2, 3], [4, 5, 6]])[:, :, None])
    rows = List([longs(r) for r in m[0].tolist()])
    assert match(arith.mul(rows, longs([1, 10, 100])), Nd(T.J, m[0] * np.array([[1], [10], [100]])))


def test_booleans_and_dictionary_with_atom() -> None:
    assert match(arith.add(bools([1, 0]), bools([1, 1])), vec(T.I, [2, 1]))
    assert match(arith.add(Dict(longs([1, 2]), longs([3, 4])), 1), Dict(longs([1, 2]), longs([4, 5])))


# ways to hold the vector f, or a part of it, from which `%s` is calculated; each is looked at again afterwards
_HELD = ("{v:x;(%s;v)}f", "{[v](%s;v)}f", "l:(1;f);v:l 1;(%s;l 1)", "d:(enlist`a)!enlist f;v:d`a;(%s;d`a)",
         "v:0_f;(%s;f)", "v:f;(%s;f)", "(first{[v;i]%s}[f]each 0 1;f)", "({v:x;%s}'[enlist f];f)",
         "t:([]a:f);v:t`a;(%s;t`a)", "v:f;({x}%s;f)", "v:f;r:@[{'`stop};%s;::];(r;f)")


@pytest.mark.parametrize("verb", ["+", "-", "*", "%"])
@pytest.mark.parametrize("sides", ["v{}2", "2{}v", "v{}v", "(v{}1){}v", "v{}0.5{}v", "(v%3){}2*v%7"])
def test_a_vector_that_is_held_is_never_written_over(verb: str, sides: str) -> None:
    """Verbs write their result over an operand that was calculated for them, and over no other."""
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run("f:20000#1+til[97]%7;g:1*f")
    text = sides.replace("{}", verb)
    for held in _HELD:
        s.run(held.replace("%s", text))
        assert s.run("f~g") is True, held
    assert s.run(f"({{[v]{text}}}f)~raze{{[v]{text}}}each 1000 cut f") is True


@pytest.mark.skipif(not COUNTS, reason="this Python does not count who refers to an argument")
def test_what_was_calculated_for_a_verb_is_written_over() -> None:
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run("h:1000000#1 2 3h")
    s.run("1%h 0;")
    tracemalloc.start()
    for text, most in (("-1+2*h%127.5;", 8), ("(h%2)-1;", 8), ("(h%2)%h%3;", 16), ("h%127.5;", 8)):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        s.run(text)
        assert tracemalloc.get_traced_memory()[1] - before < (most + 1) * 1_000_000, text
    tracemalloc.stop()
