"""Display: the one-line form reads back as the same value, columns align, and big values cost nothing to show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kshell.errors import Frame, QError, Source
from kshell.lang.console.error_report import error_text
from kshell.lang.console.format import date_text, quoted, span_text, stamp_text, vec_words
from kshell.lang.console.one_line import cut, s1_text
from kshell.lang.console.show import head, show_text
from kshell.lang.session.settings import Settings
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import floats, longs, string, vec
from kshell.values.base.core import NULL_J, Dict, List, Nd, Table, Value, Vec, sym_vec

LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)
NAME = st.text("abcdefgXYZ019", min_size=1, max_size=5).filter(lambda s: not s[0].isdigit())
RAW = {
    T.B: st.booleans(), T.X: st.integers(0, 255), T.H: st.integers(-(2**15), 2**15 - 1), T.I: INT, T.J: LONG,
    T.F: st.floats(), T.E: st.floats(width=32), T.C: st.integers(0, 255), T.P: st.integers(-(2**61), 2**61),
    T.M: st.integers(-20000, 90000), T.D: st.integers(-700000, 2900000), T.N: st.integers(-(2**62), 2**62),
    T.U: st.integers(-6000, 6000), T.V: st.integers(-360000, 360000), T.T: st.integers(-360000000, 360000000),
}  # fmt: skip


def vectors() -> st.SearchStrategy[Vec]:
    """Vectors of the types that q text can write, up to six items but not one: `,1` is no q."""
    simple = [several(s).map(lambda v, t=t: vec(t, np.array(v, T.DTYPE[t]))) for t, s in RAW.items()]
    return st.one_of(*simple, several(NAME).map(sym_vec))


def several(items: st.SearchStrategy) -> st.SearchStrategy[list]:
    return st.lists(items, max_size=6).filter(lambda v: len(v) != 1)


def values() -> st.SearchStrategy[Value]:
    return st.recursive(vectors(), lambda inner: several(inner).map(List), max_leaves=8)


@pytest.fixture(scope="module")
def session() -> Session:
    return Session()


@given(x=values())
def test_one_line_form_reads_back(session: Session, x: Value) -> None:
    """At 17 digits the text of a value is q source for the same value."""
    session["x"] = x
    session.run("\\P 0")
    assert session.run("x~value .Q.s1 x") is True, s1_text(x, 0)


@given(v=st.lists(st.integers(-(10**12), 10**12), min_size=2, max_size=8))
def test_longs_are_python_ints(v: list[int]) -> None:
    assert show_text(longs(v), Settings(c=(25, 2000))) == " ".join(map(str, v))


@given(v=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=8))
def test_floats_are_g_format(v: list[float]) -> None:
    text = s1_text(floats(v))
    assert text.rstrip("f").split() == [f"{x:.7g}" for x in v]
    assert text.endswith("f") == all("." not in w and "e" not in w for w in text.rstrip("f").split())


@given(rows=st.lists(st.lists(st.integers(-999, 99999), min_size=3, max_size=3), min_size=2, max_size=9))
def test_matrix_columns_align(rows: list[list[int]]) -> None:
    a = np.array(rows)
    lines = show_text(Nd(T.J, a), Settings()).split("\n")
    assert len({len(line) for line in lines}) == 1
    assert [list(map(int, line.split())) for line in lines] == rows
    assert lines == show_text(List([longs(r) for r in rows]), Settings()).split("\n")


@given(ns=st.integers(-(2**62), 2**62))
def test_timestamps_agree_with_numpy(ns: int) -> None:
    stamp = np.datetime64("2000-01-01", "ns") + np.timedelta64(ns, "ns")
    assert stamp_text(ns) == str(stamp).replace("-", ".").replace("T", "D")


@given(days=st.integers(-700000, 2900000))
def test_dates_agree_with_numpy(days: int) -> None:
    assert date_text(days) == str(np.datetime64("2000-01-01") + days).replace("-", ".")


@given(ns=st.integers(0, 2**62))
def test_spans_are_signed(ns: int) -> None:
    assert span_text(-ns) == ("-" if ns else "") + span_text(ns)


@given(data=st.binary(max_size=20))
def test_strings_are_ascii(data: bytes) -> None:
    text = quoted(data)
    assert text.isascii() and text.isprintable()
    assert text[1:-1].encode().decode("unicode_escape").encode("latin1") == data


@given(line=st.text(max_size=60), width=st.integers(10, 40))
def test_cut_fits(line: str, width: int) -> None:
    out = cut(line, width)
    size = len(out.encode("utf-8", "surrogateescape"))
    assert size < width
    assert out == line or (out.endswith("..") and size == width - 1)


def test_height_counts_the_title() -> None:
    t = Table(["a"], [longs(range(30))])
    lines = show_text(t, Settings()).split("\n")
    assert len(lines) == 23 and lines[-2:] == ["19", ".."]
    assert len(show_text(head(t, 21), Settings()).split("\n")) == 23
    assert ".." not in show_text(head(t, 21), Settings())


@pytest.mark.parametrize("x", [
    longs(range(10**6)), floats(np.ones(10**6)), string(b"x" * 10**6), sym_vec(["a"] * 10**6),
    Nd(T.F, np.ones((1000, 1000))), List([longs([1, 2])] * 10**6), Dict(longs(range(10**6)), longs(range(10**6))),
    Table(["a"], [longs(range(10**6))]), List([longs(range(10**6)), string("a")]),
], ids=["longs", "floats", "string", "syms", "matrix", "rows", "dict", "table", "nested"])  # fmt: skip
def test_big_values_show_a_screen(x: Value, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not more than a screen of items is turned into text."""
    seen = []

    def counted(t: int, a: np.ndarray, *rest: object) -> list[str]:
        seen.append(len(a))
        return original(t, a, *rest)

    from kshell.lang.console import format as module

    original = module.raw_texts
    monkeypatch.setattr(module, "raw_texts", counted)
    monkeypatch.setattr("kshell.lang.console.one_line.raw_texts", counted)
    text = show_text(x, Settings())
    assert len(text) < 25 * 80
    assert sum(seen) < 25 * 80


def test_null_words_need_a_suffix_only_alone() -> None:
    assert vec_words(T.D, ["0N", "0N"]) == "0N 0Nd"
    assert vec_words(T.D, ["0N", "2000.01.01"]) == "0N 2000.01.01"
    assert s1_text(longs([NULL_J.v, 1])) == "0N 1"


def test_error_report() -> None:
    e = QError("type")
    e.frames = [Frame(Source("{x+\n  `a+y}", "/f.q", 3, "g"), 8), Frame(Source("g 1"), 0)]
    assert error_text(e) == ["'type", "  [1]  /f.q:4:   `a+y}", "                   ^", "  [0]  g 1", "       ^"]
    e.frames = [Frame(Source("{x+`a}", "/f.q", 3, "f"), 2)]
    assert error_text(e) == ["'type", "  [0]  /f.q:3: f:{x+`a}", "                   ^"]


def test_error_of_several_lines() -> None:
    assert error_text(QError("one\ntwo\x1b[2J")) == ["'one", "two\ufffd[2J"]
    assert len(error_text(QError("\n".join("abc")))) == 3
    assert len(error_text(QError("line\n" * 1000))) == 24
