"""Properties of text, time, joins, attributes and step functions."""

from __future__ import annotations

import bisect
import datetime
import functools
import operator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import floats, longs, string
from kshell.values.base.core import List, Table, Value, Vec, raw, sym_vec, text_of
from kshell.values.items.order import is_sorted

S = Session()

def q(text: str, **given_names: Value) -> Value:
    for name, x in given_names.items():
        S[name] = x
    return S.run(text)


# ------------------------------------------------------------------ text

TEXT = st.text(st.sampled_from("ab ,;x"), max_size=20)


@given(TEXT, st.sampled_from([",", ";", "ab", " x"]))
def test_vs_is_split_and_sv_undoes_it(text: str, mark: str) -> None:
    parts = q("m vs t", m=string(mark), t=string(text))
    assert [text_of(p) for p in parts.items] == text.split(mark)
    assert text_of(q("m sv m vs t")) == text


@given(TEXT, st.sampled_from(["a", "ab", ", "]), TEXT)
def test_ssr_is_replace(text: str, old: str, new: str) -> None:
    assert text_of(q("ssr[t;o;n]", t=string(text), o=string(old), n=string(new))) == text.replace(old, new)


@given(st.integers(2, 300), st.integers(0, 10**15))
def test_digits_give_the_number_back(base: int, n: int) -> None:
    digits = q("b vs n", b=base, n=n).a.tolist()
    total = 0
    for d in digits:
        assert 0 <= d < base
        total = total * base + d
    assert total == n == q("b sv b vs n")


@given(st.integers(-(2**63) + 2, 2**63 - 2))
def test_bytes_and_bits_are_the_numbers_own(n: int) -> None:
    assert q("0x0 vs n", n=n).a.tobytes() == n.to_bytes(8, "big", signed=True)
    assert q("0x0 sv 0x0 vs n") == n == q("0b sv 0b vs n")


@given(TEXT)
def test_trim_is_strip(text: str) -> None:
    assert text_of(q("trim t", t=string(text))) == text.strip(" ")
    assert text_of(q("ltrim t")) == text.lstrip(" ")
    assert text_of(q("upper rtrim t")) == text.rstrip(" ").upper()


# ------------------------------------------------------------------ time

DATES = st.dates(datetime.date(1800, 1, 1), datetime.date(2250, 12, 31))


@given(DATES, DATES, st.integers(-5000, 5000))
def test_dates_count_days(a: datetime.date, b: datetime.date, n: int) -> None:
    x, y = (d.strftime("%Y.%m.%d") for d in (a, b))
    assert raw(q(f"{x}-{y}")) == (a - b).days
    moved = a + datetime.timedelta(n)
    assert q(f"string {x}+{n}").a.tobytes().decode() == moved.strftime("%Y.%m.%d")
    assert q(f"(`year`mm`dd$\\:{x})~{a.year} {a.month} {a.day}i")
    assert raw(q(f"{x} mod 7")) == (a.toordinal() - datetime.date(2000, 1, 1).toordinal()) % 7


@given(DATES, st.integers(0, 86_399_999), st.integers(-10**9, 10**9))
def test_timestamps_add_spans(day: datetime.date, ms: int, span: int) -> None:
    start = datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(milliseconds=ms)
    S["d"], S["n"] = q(day.strftime("%Y.%m.%d")), span
    end = start + datetime.timedelta(milliseconds=span)
    S["ms"] = ms
    got = q("(d+`time$ms)+`timespan$1000000*n")
    want = end - datetime.datetime(2000, 1, 1)
    assert raw(got) == (want.days * 86_400 + want.seconds) * 10**9 + want.microseconds * 1000


# ------------------------------------------------------------------ joins

ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 20), st.integers(-9, 9)), min_size=1, max_size=15)


def quotes(rows: list[tuple[str, int, int]]) -> Table:
    rows = sorted(rows, key=lambda r: r[:2])
    return Table(["s", "t", "v"], [sym_vec([r[0] for r in rows]), longs([r[1] for r in rows]),
                                   longs([r[2] for r in rows])])


@settings(max_examples=50)
@given(ROWS, ROWS, st.integers(0, 5), st.booleans())
def test_window_join(left: list[Any], right: list[Any], width: int, strict: bool) -> None:
    S["x"], S["y"], S["n"] = quotes(left), quotes(right), width
    got = q(f"{'wj1' if strict else 'wj'}[(neg n;n)+\\:x`t;`s`t;x;(y;(::;`v))]").cols[-1]
    ordered = sorted(right, key=lambda r: r[:2])
    for row, (s, t, _) in zip(got.items, sorted(left, key=lambda r: r[:2]), strict=True):
        first = t - width if strict else t - width + 1
        inside = [v for k, at, v in ordered if k == s and first <= at <= t + width]
        before = [v for k, at, v in ordered if k == s and at < first]  # the last of these holds as the window opens
        assert row.a.tolist() == (inside if strict else before[-1:] + inside)


@settings(max_examples=50)
@given(ROWS, ROWS)
def test_plus_join_adds(left: list[Any], right: list[Any]) -> None:
    S["x"], S["y"] = quotes(left), quotes(list({r[:2]: r for r in right}.values()))
    got = q("x pj 2!update w:v from y")
    add = {r[:2]: r[2] for r in right}
    ordered = sorted(left, key=lambda r: r[:2])
    assert got.col("v").a.tolist() == [v + add.get((s, t), 0) for s, t, v in ordered]
    assert got.col("w").a.tolist() == [add.get((s, t), 0) for s, t, _ in ordered]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9)), min_size=1, max_size=20))
def test_fby_spreads_the_aggregate(rows: list[tuple[str, int]]) -> None:
    S["t"] = Table(["k", "v"], [sym_vec([k for k, _ in rows]), longs([v for _, v in rows])])
    totals: dict[str, int] = {}
    for k, v in rows:
        totals[k] = totals.get(k, 0) + v
    assert q("exec (sum;v) fby k from t").a.tolist() == [totals[k] for k, _ in rows]
    assert q("exec (sum;v) fby ([]k;j:k) from t").a.tolist() == [totals[k] for k, _ in rows]


# ------------------------------------------------------------------ attributes, step functions, kept knowledge

CHANGES = st.lists(st.sampled_from(["x,:9", "x,:-1", "x,:3 4", "x[0]:5", "x:x,7", "x:reverse x", "x:asc x", "x+:1",
                                    "x:1_x", "@[`x;0;+;2]", "x:x where x>0", "x:`s#asc x", "x:`u#distinct x",
                                    "x:`g#x", "x:x iasc x", "x[0 1]:4 2"]), max_size=8)


@given(CHANGES)
def test_attributes_never_lie(changes: list[str]) -> None:
    q("x:3 1 2 6")
    for change in changes:
        with suppress(QError):  # x may be too short by now
            q(change)
        x = S["x"]
        values = x.a.tolist()
        assert x.attr != "s" or is_sorted(Vec(x.t, x.a)), change
        assert x.attr != "u" or len(set(values)) == len(values), change


@given(st.lists(st.integers(-50, 50), min_size=1, unique=True), st.lists(st.integers(-60, 60), max_size=20))
def test_step_function_is_bisect(keys: list[int], wanted: list[int]) -> None:
    keys.sort()
    got = q("(`s#k!til count k) w", k=longs(keys), w=longs(wanted)).a.tolist()
    assert got == [n if (n := bisect.bisect_right(keys, w) - 1) >= 0 else -T.M63 for w in wanted]


@pytest.mark.parametrize("write", ["x[5]:0N", "x[4 5]:0N", "x:@[x;5;:;0N]", "x[5]+:0N", "@[`x;5;:;0N]"])
def test_a_null_written_into_a_long_vector_is_seen(write: str) -> None:
    q("x:til 10000;y:x+x;y:x-1;y:2*x;z:sum x")
    q(write)
    assert q("null (x+x;x-1;2*x;1+x)[;5]").a.all()
    assert q("sum[x]=sum 0^x")


def test_sums_of_floats_run_from_first_to_last() -> None:
    tenths = [0.1] * 10
    assert q("sum x", x=floats(tenths)) == functools.reduce(operator.add, tenths) != 1.0  # Python's sum corrects itself
    many = np.random.default_rng(1).random(100_000)
    assert abs(q("sum x", x=floats(many)) - many.sum()) < 1e-9


def test_general_lists_have_attributes() -> None:
    x = q('asc ("b";`a;1 2;1 1)')
    assert isinstance(x, List) and x.attr == "s" and is_sorted(List(x.items))
    q('y:`u#(1 2;"ab");y[0]:"ab"')
    assert S["y"].attr == ""


@given(st.text("\n\n/\\ a1", max_size=20))
def test_tokens_are_the_text(text: str) -> None:
    with suppress(QError):
        assert "".join(text_of(token) for token in q("-4!x", x=string(text)).items) == text  # type: ignore[union-attr]


@pytest.mark.parametrize(("unit", "count"), [("/\n", 100_001), ("a\n/\nb\n", 500_000), ("/\n\\\n", 50_001), (" ", 1)])
def test_tokens_of_long_texts(unit: str, count: int) -> None:
    """In an instant: where a comment looked for its end in all that follows, each of these took minutes."""
    text = unit * 100_000 if unit != " " else "1" + 100_000 * unit + "2"
    assert q("count -4!x", x=string(text)) == count
