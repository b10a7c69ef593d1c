"""List verbs against numpy and plain Python: order, search, sets, take and cut, amend, patterns."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.lang.compiler.built_ins import prim
from kshell.lang.verbs import apply_, arith, compare, lists, search, sets, sort, strings, take  # noqa: F401
from kshell.registry import find
from kshell.values.base import types as T
from kshell.values.base.build import collapse, floats, longs, regular, string, table, vec
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Dict,
    List,
    Nd,
    Value,
    Vec,
    char,
    flat_list,
    long,
    sym_vec,
)
from kshell.values.base.functions import Prim
from kshell.values.base.match import match
from kshell.values.base.symbols import sym
from kshell.values.change.amend import amend, assign_at, assign_in_place
from kshell.values.change.concat import raze
from kshell.values.change.join import append, join
from kshell.values.items import integer_keys, order
from kshell.values.items import search as kernel
from kshell.values.items.index import FIND, index, index1
from kshell.values.items.keys import group_keys
from kshell.values.items.pick import take_at

PLUS = Prim("+", {2: arith.add})
RAW = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(-3, 6)
FLOAT = st.floats(allow_nan=True, allow_infinity=True, width=64)


def arrays(elements: Any = RAW, dtype: Any = np.int64, **limits: Any) -> Any:
    return st.lists(elements, **limits).map(lambda items: np.array(items, dtype))


KEYS = st.one_of(arrays(), arrays(SMALL), arrays(st.integers(0, 255), np.uint8), arrays(SMALL, np.int16),
                 arrays(st.integers(0, 2**40), min_size=70, max_size=120))


@given(KEYS, st.booleans())
def test_grade_is_the_stable_argsort(a: np.ndarray, down: bool) -> None:
    want = np.argsort(~a if down else a, kind="stable")
    assert np.array_equal(integer_keys.grade_keys(a, down), want)


@given(st.lists(FLOAT, min_size=60, max_size=200))
def test_grade_of_floats_puts_nulls_first(items: list[float]) -> None:
    got = order.grade(floats(items))
    want = sorted(range(len(items)), key=lambda i: (items[i] == items[i], items[i] if items[i] == items[i] else 0))
    assert got.tolist() == want
    assert np.array_equal(order.sort_vec(floats(items)).a, np.array(items)[got], equal_nan=True)


def test_grade_mends_what_the_packed_words_lose() -> None:
    rng = np.random.default_rng(5)
    base = rng.integers(-(2**62), 2**62, 50)
    a = base[rng.integers(0, 50, 5000)] + rng.integers(0, 3, 5000)
    assert np.array_equal(integer_keys.grade_keys(a), np.argsort(a, kind="stable"))


@given(st.lists(st.text("abcXYZ", max_size=4), max_size=30))
def test_symbols_and_strings_sort_alphabetically(words: list[str]) -> None:
    assert [s.s for s in sort.asc(sym_vec(words)).items] == sorted(words)
    if words:
        assert sort.iasc(collapse([string(w) for w in words])).a.tolist() == \
            sorted(range(len(words)), key=words.__getitem__)
        assert sort.idesc(sym_vec(words)).a.tolist() == \
            sorted(range(len(words)), key=lambda i: [-ord(c) for c in words[i].ljust(5, "\0")])


@given(KEYS)
def test_distinct_group_and_find(a: np.ndarray) -> None:
    first = np.sort(np.unique(a, return_index=True)[1])
    x = Vec({1: T.X, 2: T.H, 8: T.J}[a.dtype.itemsize], a)
    assert np.array_equal(kernel.distinct_at(x), first)
    at, ids = group_keys(a)
    assert np.array_equal(at, first)
    assert np.array_equal(a[at][ids], a) if len(a) else not len(ids)
    for where, k in zip(kernel.group_lists(x)[1], first, strict=True):
        assert np.array_equal(where, np.flatnonzero(a == a[k]))
    needles = Vec(x.t, np.concatenate((a[::2], a[:3] + a.dtype.type(1))))
    want = [int(np.flatnonzero(a == v)[0]) if (a == v).any() else len(a) for v in needles.a]
    assert FIND.fn(x, needles).tolist() == want
    assert search.in_(needles, x).a.tolist() == [i < len(a) for i in want] if len(a) else True


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 66, 300, 2000])
@pytest.mark.parametrize("span", [1, 2, 5, 300, 5000, 70_000, 10**6, 2**62])
def test_few_keys_take_every_route(size: int, span: int) -> None:
    a = np.random.default_rng(size).integers(-span, span, size)
    first = np.sort(np.unique(a, return_index=True)[1])
    assert np.array_equal(kernel.distinct_at(longs(a)), first)
    at, ids = group_keys(a)
    assert np.array_equal(at, first) and np.array_equal(a[at][ids], a)
    at, rows = kernel.group_lists(longs(a))
    assert np.array_equal(at, first) and at.dtype == np.int64
    for where, k in zip(rows, first, strict=True):
        assert np.array_equal(where, np.flatnonzero(a == a[k])) and where.dtype == np.int64
    for few in (a[:1], a[-64:], a[-65:] + 1):
        want = [np.flatnonzero(a == v)[0] if (a == v).any() else size for v in few]
        assert np.asarray(kernel.find(longs(a), longs(few))).tolist() == want


@given(st.lists(st.one_of(FLOAT, st.sampled_from([0.0, -0.0, math.nan, 1.5, -1.5])), max_size=80), st.integers(0, 80))
def test_floats_are_told_apart_by_value(items: list[float], n: int) -> None:
    keys = ["null" if v != v else v for v in items]
    x = floats(items)
    assert kernel.distinct_at(x).tolist() == [k for k, v in enumerate(keys) if v not in keys[:k]]
    assert [where.tolist() for where in kernel.group_lists(x)[1]] == [
        [k for k, v in enumerate(keys) if v == u] for u in dict.fromkeys(keys)]
    found = kernel.find(floats(items[n:]), x) if items[n:] else np.zeros(len(items))
    assert found.tolist() == [keys[n:].index(v) if v in keys[n:] else len(keys[n:]) for v in keys]


@pytest.mark.parametrize("name", ["=", "<>", "<", ">", "<=", ">="])
@given(st.lists(st.one_of(FLOAT, st.sampled_from([0.0, 1.5, 1.5 + 1e-15, 1.5 + 1e-13])), min_size=2, max_size=40),
       st.one_of(FLOAT, st.sampled_from([0.0, 1.5, 1e-14, math.nan])))
def test_a_vector_and_a_float_compare_as_their_items(name: str, items: list[float], c: float) -> None:
    fn = prim(find("verb", name)).fns[2]
    assert fn(floats(items), c).a.tolist() == [fn(v, c) for v in items]
    assert fn(c, floats(items)).a.tolist() == [fn(c, v) for v in items]


@pytest.mark.parametrize("size", [100_000])
def test_large_vectors_take_every_route(size: int) -> None:
    rng = np.random.default_rng(1)
    for a in (rng.integers(0, 10**12, size), rng.integers(0, 40_000, size), rng.integers(-(2**62), 2**62, size)):
        first = np.sort(np.unique(a, return_index=True)[1])
        assert np.array_equal(kernel.distinct_at(longs(a)), first)
        assert np.array_equal(kernel.find(longs(a), longs(a[first])), first)
        at, ids = group_keys(a)
        assert np.array_equal(a[at][ids], a)


@given(st.lists(st.tuples(st.integers(0, 2), st.text("ab", max_size=2)), min_size=1, max_size=30))
def test_rows_of_tables_are_found_as_tuples(rows: list[tuple[int, str]]) -> None:
    t = table(["n", "s"], [longs([r[0] for r in rows]), sym_vec([r[1] for r in rows])])
    distinct = list(dict.fromkeys(rows))
    got = sets.distinct(t)
    assert [(r.v.item(0), r.v.item(1).s) for r in got.items] == distinct
    assert kernel.find(t, got).tolist() == [rows.index(r) for r in distinct]
    assert [kernel.find(t, r) for r in got.items] == [rows.index(r) for r in distinct]
    graded = order.grade(t).tolist()
    assert [rows[i] for i in graded] == sorted(rows)


@given(arrays(SMALL), arrays(SMALL))
def test_sets_keep_order(a: np.ndarray, b: np.ndarray) -> None:
    x, y = longs(a), longs(b)
    assert sets.except_(x, y).a.tolist() == [v for v in a.tolist() if v not in b.tolist()]
    assert sets.inter(x, y).a.tolist() == [v for v in a.tolist() if v in b.tolist()]
    assert sets.union(x, y).a.tolist() == list(dict.fromkeys([*a.tolist(), *b.tolist()]))


@given(arrays(SMALL), arrays(SMALL, min_size=1))
def test_bin_is_searchsorted(a: np.ndarray, b: np.ndarray) -> None:
    a = np.sort(a)
    assert search.bin_(longs(a), longs(b)).a.tolist() == (np.searchsorted(a, b, "right") - 1).tolist()
    assert search.binr(longs(a), longs(b)).a.tolist() == np.searchsorted(a, b).tolist()


# ------------------------------------------------------------------ take, cut, join


@given(st.integers(-12, 12), st.lists(SMALL, min_size=1, max_size=5))
def test_take_goes_round(n: int, items: list[int]) -> None:
    ring = items * 13
    want = ring[:n] if n >= 0 else ring[n:]
    assert take.take(n, longs(items)).a.tolist() == want


@given(st.lists(st.integers(1, 4), min_size=2, max_size=4), st.lists(SMALL, min_size=1, max_size=9))
def test_reshape_is_resize(shape: list[int], items: list[int]) -> None:
    got = take.take(longs(shape), longs(items))
    assert isinstance(got, Nd)
    assert np.array_equal(got.a, np.resize(np.array(items), shape))
    assert match(got, take.take(longs(shape), List(list(items))))


@given(st.integers(1, 7), st.lists(SMALL, max_size=20))
def test_cut_and_raze_are_inverse(n: int, items: list[int]) -> None:
    assert match(raze(take.cut(n, longs(items))), longs(items)) or not items
    rows = take.take(collapse([NULL_J, n]), longs(items))
    assert [len(r) for r in rows.items] == [len(items[i:i + n]) for i in range(0, len(items), n)]


@given(st.lists(st.lists(SMALL, max_size=3), max_size=5))
def test_raze_joins(parts: list[list[int]]) -> None:
    got = raze(List([longs(p) for p in parts]))
    want = [v for p in parts for v in p]
    assert got.items == want


@given(st.lists(st.lists(st.lists(SMALL, max_size=3), max_size=4), max_size=4), st.integers(0, 255))
def test_lists_of_lists_are_razed_in_every_form(parts: list[list[list[int]]], held: int) -> None:
    rows = [[longs(v) for v in p] for p in parts]
    want = [v for p in rows for v in p]
    items = [flat_list(T.J, np.concatenate([v.a for v in p]), np.cumsum([len(v.a) for v in p]))
             if p and held >> k & 1 else List(p) for k, p in enumerate(rows)]
    assert match(raze(List([*items])), List(want))
    x = List([i for i in items if len(i)])
    for k in range(4):  # an item of each; where there is none, as one list after the other gives it
        assert match(index(x, (NIL, k)), collapse([index1(i, k) for i in x.items]) if len(x) else List([]))


def test_join_types() -> None:
    assert match(join(1, 2), longs([1, 2]))
    assert match(join(longs([1]), 2.0), List([1, 2.0]))
    assert match(join(List([]), 1), longs([1]))
    assert match(join(longs([]), floats([1.0])), floats([1.0]))
    with pytest.raises(QError, match="type"):
        append(longs([1]), 2.0)
    with pytest.raises(QError, match="type"):
        join(1, Dict(sym_vec(["a"]), longs([1])))


@given(st.dictionaries(st.sampled_from("abcdef"), SMALL, min_size=1),
       st.dictionaries(st.sampled_from("abcdef"), SMALL, min_size=1))
def test_join_of_dictionaries_is_update(x: dict[str, int], y: dict[str, int]) -> None:
    got = join(*(Dict(sym_vec(d), longs(list(d.values()))) for d in (x, y)))
    assert dict(zip((s.s for s in got.k.items), got.v.items, strict=True)) == {**x, **y}
    assert [s.s for s in got.k.items] == list({**x, **y})


# ------------------------------------------------------------------ match


def test_match_needs_type_and_content() -> None:
    assert match(longs([1, 2]), Vec(T.J, np.array([1, 2]), "s"))
    assert not match(1, True) and not match(1, 1.0) and not match(longs([]), List([]))
    assert match(float("nan"), float("nan")) and match(1.0, 1.0 - 1e-13) and not match(1.0, 1.0 - 1e-12)
    assert match(regular(T.J, np.ones((2, 2), int)), List([longs([1, 1]), longs([1, 1])]))
    assert not match(string("ab"), sym("ab"))


@given(st.recursive(st.one_of(SMALL, FLOAT, st.booleans(), st.sampled_from([sym("a"), char("x"), NULL_J])),
                    lambda inner: st.lists(inner, max_size=3).map(collapse), max_leaves=8))
def test_a_value_matches_its_copy_and_is_found(x: Value) -> None:
    copy = collapse(list(x.items)) if isinstance(x, (Vec, List)) and len(x) else x
    assert match(x, copy)
    assert kernel.key_of(x) == kernel.key_of(copy)


# ------------------------------------------------------------------ amend


@given(st.lists(SMALL, min_size=1, max_size=8), st.data())
def test_amend_accumulates_over_repeated_indexes(items: list[int], data: Any) -> None:
    at = data.draw(st.lists(st.integers(0, len(items) - 1), max_size=8))
    by = data.draw(st.lists(SMALL, min_size=len(at), max_size=len(at)))
    want = list(items)
    for i, v in zip(at, by, strict=True):
        want[i] += v
    assert amend(longs(items), (longs(at),), PLUS, longs(by)).items == want
    put = list(items)
    for i, v in zip(at, by, strict=True):
        put[i] = v
    assert assign_at(longs(items), (longs(at),), longs(by)).items == put


@given(st.data())
def test_deep_assignment_is_numpys(data: Any) -> None:
    a = np.arange(24).reshape(2, 3, 4)
    place, path = [], []
    for n in a.shape:
        i = data.draw(st.one_of(st.integers(0, n - 1), st.just(None), st.lists(st.integers(0, n - 1), min_size=1)))
        path.append(i if isinstance(i, int) else NIL if i is None else longs(i))
        place.append([i] if isinstance(i, int) else list(range(n)) if i is None else i)
    want = a.copy()
    want[np.ix_(*place)] = -1
    x = Nd(T.J, a.copy())
    assert np.array_equal(assign_at(x, path, -1).a, want)
    assert np.array_equal(x.a, a)
    loose = List([List([longs(r) for r in m]) for m in a])
    assert match(assign_at(loose, path, -1), Nd(T.J, want))
    assert np.array_equal(assign_in_place(x, path, -1).a, want)


def refused(text: str, fn: Callable[[], Value]) -> bool:
    try:
        fn()
    except QError as error:
        return error.text == text
    return False


def test_assignment_keeps_types() -> None:
    x = longs([1, 2, 3])
    assert refused("type", lambda: assign_at(x, (1,), 2.5))
    assert refused("length", lambda: assign_at(x, (3,), 2))
    assert refused("length", lambda: assign_at(x, (longs([0, 1]),), longs([1])))
    assert match(assign_at(List([1, 2.0]), (1,), 5), longs([1, 5]))
    assert match(assign_at(longs([1, 2]), (0,), long(-(2**63))), collapse([NULL_J, 2]))
    d = Dict(sym_vec(["a", "b"]), longs([1, 2]))
    assert match(assign_at(d, (sym_vec(["b", "c"]),), longs([5, 6])), Dict(sym_vec(["a", "b", "c"]), longs([1, 5, 6])))
    assert refused("type", lambda: assign_at(d, (sym("c"),), sym("x")))
    t = table(["a", "b"], [longs([1, 2]), sym_vec(["x", "y"])])
    assert match(index1(assign_at(t, (1, sym("a")), 9), sym("a")), longs([1, 9]))
    assert match(assign_at(t, (sym("b"), 0), sym("z")).cols[1], sym_vec(["z", "y"]))
    nested = Dict(sym_vec(["a"]), List([Dict(sym_vec(["b", "s"]), List([longs([1, 2]), sym("q")]))]))
    deep = assign_at(nested, (sym("a"), sym("b"), 1), 7)
    assert match(index1(index1(deep, sym("a")), sym("b")), longs([1, 7]))


def test_in_place_writes_the_array() -> None:
    a = np.arange(5)
    x = Vec(T.J, a)
    assert assign_in_place(x, (2,), 9) is x and a[2] == 9
    assert assign_in_place(x, (longs([0, 1]),), 7) is x and a[:2].tolist() == [7, 7]
    y = vec(T.I, [1, 2])
    assert refused("type", lambda: assign_in_place(y, (0,), 5))


# ------------------------------------------------------------------ text


@given(st.text("ab", max_size=6), st.text("ab?*", max_size=5))
def test_like_is_shell_matching(text: str, pattern: str) -> None:
    stars = pattern.count("*")
    if "**" in pattern or stars > 2 or (stars == 2 and pattern[-1] != "*"):
        assert refused("nyi", lambda: strings.like(string(text), string(pattern)))
    else:
        assert strings.like(string(text), string(pattern)) == fnmatch.fnmatchcase(text, pattern)


@given(st.text("abc", max_size=12), st.text("ab?", min_size=1, max_size=3))
def test_ss_finds_what_re_finds(text: str, pattern: str) -> None:
    found = [m.start() for m in re.finditer(pattern.replace("?", "."), text)]
    assert strings.ss(string(text), string(pattern)).a.tolist() == found
    assert strings.ssr(string(text), string(pattern), string("-")).a.tobytes().decode() == \
        re.sub(pattern.replace("?", "."), "-", text)


@settings(max_examples=20)
@given(arrays(SMALL, min_size=1), st.integers(-9, 9))
def test_rotate_reverse_where(a: np.ndarray, n: int) -> None:
    x = longs(a)
    assert np.array_equal(lists.rotate(n, x).a, np.roll(a, -n))
    assert np.array_equal(lists.reverse(x).a, a[::-1])
    counts = longs(np.abs(a))
    assert np.array_equal(lists.where(counts).a, np.repeat(np.arange(len(a)), np.abs(a)))
    assert match(take_at(x, lists.where(longs(np.ones(len(a), int))).a), x)
