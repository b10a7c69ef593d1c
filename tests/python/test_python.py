"""The session of Python programs: values both ways, torch objects that are shared, errors, interrupts, frames."""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import gc
import signal
import subprocess
import sys
import threading
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import kshell
from kshell import QError, Session, Table
from kshell.python.into import to_q
from kshell.python.outof import from_q
from kshell.session import Session as Core
from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, Special, Value
from kshell.values.base.core import Table as QTable
from kshell.values.base.match import match
from kshell.values.session import context
from tests.store.test_roundtrip import NAME, RAW, VALUES, tables, vector
from tests.support import stops

SOME = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def s() -> Session:
    return Session()


# ------------------------------------------------------------------ Python to q

# a Python value, and the q text of its value
INTO = [
    (None, "(::)"), (True, "1b"), (5, "5"), (2**63 - 1, "0W"), (-(2**63), "0N"), (1.5, "1.5"), (float("nan"), "0n"),
    (float("inf"), "0w"), ("ab", "`ab"), ("", "`"), (b"ab", '"ab"'), (b"", '""'), (bytearray(b"x"), 'enlist"x"'),
    (np.bytes_(b"a"), '"a"'), (np.str_("ab"), "`ab"), ([], "()"), ((), "()"), ([1, 2], "1 2"), ((1, None, 3), "1 0N 3"),
    ([1.5, None], "1.5 0n"), (["a", None], "`a`"), ([[1], None], "(enlist 1;`long$())"), ([None, None], "(::;::)"), ([True, None], "(1b;::)"),
    ([1, "a", b"xy"], '(1;`a;"xy")'), ([1, 2.5], "(1;2.5)"), ([[1, 2], [3]], "(1 2;enlist 3)"), ([b"a", b"bc"], '(enlist"a";"bc")'),
    (range(2, 8, 3), "2 5"), ({"a": 1, "b": 2}, "`a`b!1 2"), ({}, "()!()"), ({1: "x", 2: None}, "1 2!`x`"),
    ({"a": [1, 2], "b": "z"}, "`a`b!(1 2;`z)"), ([{"a": 1, "b": 2.0}, {"a": 2, "b": 3.0}], "([]a:1 2;b:2 3.)"),
    (np.int8(-3), "-3h"), (np.uint8(255), "0xff"), (np.int16(3), "3h"), (np.uint16(3), "3i"), (np.int32(3), "3i"),
    (np.uint32(3), "3"), (np.int64(3), "3"), (np.float16(0.5), "0.5e"), (np.float32(0.5), "0.5e"), (np.bool_(True), "1b"),
    (np.array(7), "7"), (np.array([1, 2], ">i4"), "1 2i"), (np.arange(6).reshape(2, 3), "(0 1 2;3 4 5)"),
    (np.asfortranarray(np.arange(6).reshape(2, 3)), "(0 1 2;3 4 5)"), (np.empty(0, "i4"), "`int$()"),
    (np.ma.array([1, 2, 3], mask=[0, 1, 0]), "1 0N 3"), (np.ma.array([1.5, 2], mask=[1, 0]), "0n 2"), (np.ma.masked, "0N"),
    (np.array(["ab", "c"]), "`ab`c"), (np.array([b"ab", b"c"]), '("ab";enlist"c")'),
    (np.array(["x", None], object), "`x`"), (np.array([[1, "a"]], object), "enlist(1;`a)"),
    (np.array([(1, 2.5)], [("a", "i8"), ("b", "f8")]), "([]a:enlist 1;b:enlist 2.5)"),
    (dt.date(2024, 2, 29), "2024.02.29"), (dt.datetime(2024, 2, 29, 1, 2, 3, 4), "2024.02.29D01:02:03.000004"),
    (dt.datetime(2024, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2024.01.01D00"),
    (dt.timedelta(days=1, microseconds=5), "1D00:00:00.000005"), (dt.time(1, 2, 3, 4), "0D01:02:03.000004"),
    (np.datetime64("2280-01-01T00:00:00"), "2280.01.01D00"), (np.datetime64("2024-02"), "2024.02m"), (np.datetime64("2024"), "2024.01m"), (np.datetime64("2024-02-29"), "2024.02.29"),
    (np.datetime64("2024-02-29T01:02"), "2024.02.29D01:02"), (np.datetime64("NaT"), "0Np"),
    (np.datetime64("NaT", "D"), "0Nd"), (np.timedelta64(90, "m"), "01:30"), (np.timedelta64(90, "s"), "00:01:30"),
    (np.timedelta64(90, "ms"), "00:00:00.090"), (np.timedelta64(2, "h"), "0D02"), (np.timedelta64(1, "D"), "1D00"), (np.datetime64(2, "25s"), "1970.01.01D00:00:50"), (np.timedelta64(5000, "ps"), "0D00:00:00.000000005"),
    (np.timedelta64(1 << 32, "s"), "0D00:00:01*4294967296"), (np.timedelta64("NaT", "s"), "0Nv"),
    (uuid.UUID(int=5), '"G"$"00000000-0000-0000-0000-000000000005"'), (decimal.Decimal("1.5"), "1.5"),
    (Table({"a": [1, 2], "b": ["x", "y"]}), "([]a:1 2;b:`x`y)"),
    (Table({"k": ["x"], "v": [[1, 2]]}, key=["k"]), "([k:enlist`x]v:enlist 1 2)"), (torch.float32, "`float"),
    (torch.device("cpu"), "`cpu"), (torch.Size([2, 3]), "2 3"),
]


@pytest.mark.parametrize(("x", "text"), INTO, ids=[row[1] for row in INTO])
def test_python_values_are_q_values(s: Session, x: Any, text: str) -> None:
    s["x"] = x
    assert s.run(f"x~{text}") is True, s.show(s.run("x"))


@pytest.mark.parametrize(("x", "error"), [
    (2**63, "limit"), ([1, 2**64], "limit"),
    (np.array([2**63], "u8"), "limit"), (np.datetime64("3000-01-01T00:00:00"), "limit"),
    (np.datetime64(-(10**9), "D").astype("M8[s]"), "limit"),
    (Table({"a": [1], "b": [1, 2]}), "length"), (Table({"a": 1}), "column a: expected a list, given int"),
    (Table({"a": np.zeros(2, "V3")}), "no q type for numpy's |V3")])
def test_what_has_no_q_value_is_an_error(s: Session, x: Any, error: str) -> None:
    s["x"] = 42
    with pytest.raises(QError) as e:
        s["x"] = x
    assert e.value.text == error
    assert s["x"] == 42


def test_an_array_given_is_q_s_own(s: Session) -> None:
    a = np.arange(3)
    s.a = a
    a[0] = 9
    assert s("a").tolist() == [0, 1, 2]
    b = s("a")
    b[0] = 7
    assert s("a[1]:5;a").tolist() == [0, 5, 2] and b.tolist() == [7, 1, 2]


# ------------------------------------------------------------------ q to Python

OUT: list[tuple[str, Any]] = [
    ("1b", True), ("5", 5), ("0N", None), ("0W", 2**63 - 1), ("1.5", 1.5), ("`ab", "ab"), ('"ab"', b"ab"),
    ('"a"', np.bytes_(b"a")), ("(::)", None), ("3h", np.int16(3)), ("3i", np.int32(3)), ("0Ni", None), ("0x05", np.uint8(5)),
    ("2e", np.float32(2)), ("2024.02.29", np.datetime64("2024-02-29")), ("2024.02m", np.datetime64("2024-02")),
    ("2024.02.29D00:00:00.000000001", np.datetime64("2024-02-29T00:00:00.000000001")), ("01:30", np.timedelta64(90, "m")),
    ("00:01:30", np.timedelta64(90, "s")), ("00:00:00.090", np.timedelta64(90, "ms")),
    ("0D00:00:00.000000090", np.timedelta64(90, "ns")), ("2000.01.01T12", np.datetime64("2000-01-01T12:00:00.000")),
    ('"G"$"00000000-0000-0000-0000-000000000005"', uuid.UUID(int=5)), ("()", []), ("(1;`a;\"xy\")", [1, "a", b"xy"]),
    ('("ab";"cd")', [b"ab", b"cd"]), ("`a`b!1 2", {"a": 1, "b": 2}), ("1 2!(`x;\"y z\")", {1: "x", 2: b"y z"}),
    ("`a`a!1 2", {"a": 1}), ("(1 2;3 4)!`a`b", {(1, 2): "a", (3, 4): "b"}), ("e:`a`b;`e$`b", "b")]


@pytest.mark.parametrize(("text", "value"), OUT, ids=[row[0] for row in OUT])
def test_q_values_are_python_values(s: Session, text: str, value: Any) -> None:
    found = s(text)
    assert type(found) is type(value) and found == value


VECTORS = [("1 2", "i8"), ("1 2i", "i4"), ("1 2h", "i2"), ("0x0102", "u1"), ("101b", "?"), ("1 2e", "f4"), ("1 2.", "f8"),
           ("2024.01 0Nm", "M8[M]"), ("2024.01.01 0Nd", "M8[D]"), ("2024.01.01D00 0N", "M8[ns]"), ("0D00 0N", "m8[ns]"),
           ("01:00 0N", "m8[m]"), ("01:00:00 0N", "m8[s]"), ("01:00:00.000 0N", "m8[ms]"), ("`a`b", "O"), ("`symbol$()", "U1"),
           ("(1 2;3 4)", "i8"), ("(`a`b;`c`d)", "O"), ("e:`a`b;`e$`a`b`a", "O")]


@pytest.mark.parametrize(("text", "dtype"), VECTORS, ids=[row[0] for row in VECTORS])
def test_vectors_are_arrays(s: Session, text: str, dtype: str) -> None:
    found = s(text)
    assert isinstance(found, np.ndarray) and found.dtype == np.dtype(dtype)
    assert len(found) == s("count", s(text))


def test_nulls_of_integers_are_masked(s: Session) -> None:
    for text in ("1 0N 3", "1 0N 3i", "1 0N 3h"):
        found = s(text)
        assert found.mask.tolist() == [False, True, False] and found.sum() == 4
    assert s("(1 0N;3 4)").mask.tolist() == [[False, True], [False, False]]
    assert not isinstance(s("1 2"), np.ma.MaskedArray)


def test_tables(s: Session) -> None:
    t = s("([k:`x`y]v:1 2;w:(1 2;`a))")
    assert isinstance(t, Table) and t.key == ("k",) and list(t) == ["k", "v", "w"] and t.rows == 2
    assert t["v"].tolist() == [1, 2] and t["w"][1] == "a"
    assert repr(t) == "k| v w  \n-| -----\nx| 1 1 2\ny| 2 `a "
    assert "<th>k</th>" in t._repr_html_() and '<td style="text-align:right">2</td>' in t._repr_html_()
    with pytest.raises(ValueError, match="no column z"):
        Table({"a": [1]}, key=["z"])


# ------------------------------------------------------------------ round trips


def crosses(x: Value) -> bool:
    """Does a value have a Python form of its own: no 0N atom, datetime, mixed keys, nor lists that Python's types
    make more regular?"""
    if isinstance(x, Special):
        return x.v != -T.M63
    c = x.__class__
    if c is Dict:
        return c is Dict and (x.keyed or len(x.k) == 0 or _keys(x)) and crosses(x.k) and crosses(x.v)
    if c is QTable:
        return all(map(crosses, x.cols))
    if getattr(x, "t", 0) == T.Z or (getattr(x, "t", 0) in (T.H, T.I) and not hasattr(x, "a") and x.v == T.NULL[x.t]):
        return False
    if getattr(x, "t", 0) == T.P:
        return not np.any(np.asarray(x.a if hasattr(x, "a") else x.v) > T.LONG_MAX - 946_684_800_000_000_000)
    if isinstance(x, List) and not hasattr(x, "t"):
        return all(map(crosses, x.items)) and len(x.items) > 0
    return True


def _keys(x: Dict) -> bool:
    found = [repr(k) for k in x.k.items]
    return len(set(found)) == len(found) and getattr(x.k, "t", 0) not in (T.Z, T.F, T.E, T.P, T.H, T.I, T.J)


@SOME
@given(x=st.one_of(VALUES, tables(), tables(keyed=True)))
def test_q_values_come_back(x: Value) -> None:
    session = Session()
    token = context.enter(session)
    try:
        if crosses(x):
            assert match(to_q(from_q(x)), x)
    finally:
        context.leave(token)


ARRAYS = ["?", "u1", "i2", "i4", "i8", "f4", "f8", "M8[D]", "M8[M]", "M8[ns]", "m8[ns]", "m8[s]", "m8[m]", "m8[ms]"]


@SOME
@given(a=st.sampled_from(ARRAYS).flatmap(
    lambda t: hnp.arrays(t, hnp.array_shapes(max_dims=3, max_side=4), elements=_elements(t))))
def test_arrays_come_back(a: np.ndarray) -> None:
    session = Session()
    session.a = a
    found = session["a"]
    assert found.dtype == a.dtype and found.shape == a.shape
    np.testing.assert_array_equal(found, a)


def _elements(t: str) -> st.SearchStrategy[Any] | None:
    if t[0] in "Mm":
        unit = t[3:-1]
        most = 2**60 if unit == "ns" else 2**30
        cls = np.datetime64 if t[0] == "M" else np.timedelta64
        return st.one_of(st.integers(-most, most).map(lambda n: cls(n, unit)), st.just(cls("NaT", unit)))
    if t[0] == "i":
        bits = 8 * int(t[1])
        return st.integers(1 - 2 ** (bits - 1), 2 ** (bits - 1) - 1)
    return None


# ------------------------------------------------------------------ frames


def frames(draw: st.DrawFn) -> dict[str, list[Any]]:
    n = draw(st.integers(0, 5))
    column = st.one_of(*(st.lists(st.one_of(e, st.none()), min_size=n, max_size=n) for e in (
        st.integers(-(2**62), 2**62), st.floats(allow_nan=False), st.text("abcé", min_size=1),
        st.dates(dt.date(1800, 1, 1), dt.date(2290, 1, 1)), st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1)),
        st.timedeltas(dt.timedelta(days=-1000), dt.timedelta(days=1000)),
        st.lists(st.integers(-9, 9), min_size=1, max_size=3), st.binary(min_size=1, max_size=20)))) | \
        st.lists(st.booleans(), min_size=n, max_size=n)
    names = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    return {name: draw(column) for name in names}


FRAMES = st.composite(frames)()


def plain(x: Any) -> Any:
    """An item of a frame, or of q, so that the two compare: what is missing as None."""
    if x is None or x is np.ma.masked or (isinstance(x, str | bytes) and not x) or (isinstance(x, float) and np.isnan(x)):
        return None
    if isinstance(x, np.datetime64 | np.timedelta64):
        return None if np.isnat(x) else int(x.astype(f"{x.dtype.kind}8[ns]").astype(np.int64))
    if isinstance(x, dt.date | dt.timedelta):
        return plain(np.datetime64(x) if isinstance(x, dt.date) else np.timedelta64(x))
    if isinstance(x, list | np.ndarray):
        return [plain(i) for i in x] or None
    return x.item() if isinstance(x, np.generic) else x


def check(given_: dict[str, list[Any]], frame: Any) -> Table:
    """A frame made of given columns is the same table in q; the table, as q gives it."""
    session = Session()
    session.t = frame
    found = session["t"]
    assert list(found) == list(given_)
    for name, items in given_.items():
        assert [plain(i) for i in found[name]] == [plain(i) for i in items], name
    return found


@pytest.mark.extra
@SOME
@given(columns=FRAMES)
def test_polars_frames(columns: dict[str, list[Any]]) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    found = check(columns, pl.DataFrame(columns, strict=False))
    again = pl.DataFrame(found)
    assert check(columns, again).keys() == found.keys()


@pytest.mark.extra
@SOME
@given(columns=FRAMES)
def test_arrow_tables(columns: dict[str, list[Any]]) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    found = check(columns, pa.table(columns))
    if any(isinstance(c, list) and len({type(i) for i in c}) > 1 for c in found.values()):
        return
    again = pa.RecordBatchReader.from_stream(found).read_all()
    again.validate(full=True)
    assert check(columns, again).keys() == found.keys()
    two = pa.concat_tables([again, again.slice(1)])  # several chunks, and one that starts inside a buffer
    check({k: v + v[1:] for k, v in columns.items()}, two)


@pytest.mark.extra
def test_structs_of_arrow_are_tables() -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    session = Session()
    session.x = given_ = pa.table({"a": [1, 2], "st": [{"p": 1, "q": b"x"}, {"p": 2, "q": b"y"}]})
    assert session("exec st[`p]from x where a=2").tolist() == [2]
    assert pa.RecordBatchReader.from_stream(session["x"]).read_all().to_pylist() == given_.to_pylist()


@pytest.mark.extra
@SOME
@given(columns=FRAMES)
def test_pandas_frames(columns: dict[str, list[Any]]) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame({k: pd.Series(v, dtype=_pandas_type(v)) for k, v in columns.items()})
    found = check(columns, frame)
    if all(isinstance(c, np.ndarray) for c in found.values()):
        session = Session()
        session.u = pd.DataFrame(found)
        assert session["u"].keys() == found.keys()


def _pandas_type(items: list[Any]) -> Any:
    first = next((i for i in items if i is not None), None)
    whole = isinstance(first, int) and not isinstance(first, bool)
    return "Int64" if whole else "bool" if isinstance(first, bool) else object


@pytest.mark.extra
def test_columns_of_pandas() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    session = Session()
    session.t = pd.DataFrame({
        "c": pd.Categorical(["x", None, "x"]), "n": pd.Categorical([10, 20, 10]), "i": pd.array([1, None, 3], "Int32"),
        "f": pd.array([1.5, None, 3], "Float64"), "s": pd.array(["a", None, "b"], "string"), "b": [True, False, True],
        "z": pd.to_datetime(["2024-01-01"] * 3).tz_localize("America/New_York"), "d": pd.to_timedelta([1, 2, None], "s")})
    assert session.show(session.run("t")).splitlines()[2].split() == \
        ["x", "10", "1", "1.5", "a", "1", "2024.01.01D05:00:00.000000000", "0D00:00:01.000000000"]
    assert session("exec t from meta t") == b"sjifsbpn"
    assert session("exec c from t").tolist() == ["x", "", "x"] and session("null t`i").tolist() == [False, True, False]
    session.k = pd.DataFrame({"v": [1, 2]}, index=pd.Index(["a", "b"], name="k"))
    assert session.run("k~([k:`a`b]v:1 2)") is True
    assert pd.DataFrame(session["k"]).set_index("k")["v"].to_dict() == {"a": 1, "b": 2}
    session.u = pd.DataFrame({"v": [1, 2, 3]}, index=[5, 6, 7])
    assert session.run("u~([]v:1 2 3)") is True
    session.v = pd.Series([1, 2], name="v")
    assert session.run("v~1 2") is True
    assert session("{x}", pd.Timestamp("2024-01-01T00:00:00.000000001")) == np.datetime64("2024-01-01T00:00:00.000000001")
    assert session("{x}", [pd.NA, 1]).tolist() == [None, 1] and session.run("null 0Np") is True
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    held = pa.table({"i": [1, None], "s": ["a", None], "l": [[1], None], "d": pa.array([0, None], pa.date32()),
                     "p": pa.array([0, None], pa.timestamp("us", "America/New_York")), "x": [b"a", None]})
    session.h = held.to_pandas(types_mapper=pd.ArrowDtype)
    assert session.run('h~([]i:1 0N;s:`a`;l:(enlist 1;`long$());d:1970.01.01 0Nd;p:1970.01.01D00 0Np;x:(enlist"a";""))') is True
    session.w = pd.DataFrame({"b": pd.array([True, None], "boolean"), "u": pd.array([1, None], "UInt8")})
    assert session.run("w~([]b:(1b;::);u:(0x01;::))") is True and session("w")["b"] == [True, None]


@pytest.mark.extra
def test_types_without_a_null() -> None:
    """Of booleans and bytes some of which are missing a list is made, in which `::` stands for those, as for a list."""
    session = Session()
    for x, text in ((np.ma.array([True, False], mask=[0, 1]), "(1b;::)"), (np.ma.array([7, 0], "u1", mask=[1, 0]), "(::;0x00)"),
                    (np.ma.array([[True, False], [True, True]], mask=[[0, 0], [0, 1]]), "(10b;(1b;::))"),
                    (np.ma.array([True, True], mask=[0, 0]), "11b"), ([True, None], "(1b;::)")):
        session.x = x
        assert session.run(f"x~{text}") is True, text
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    held = pa.table({"b": pa.chunked_array([[True, False], [None, True]]), "d": pa.array([None, True, None, False])})
    session.t = held
    assert session.run("t~([]b:(1b;0b;::;1b);d:(::;1b;::;0b))") is True
    assert pa.table(session["t"]).to_pydict() == held.to_pydict()


class Interchange:
    """A frame that has nothing but the interchange protocol."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __dataframe__(self, **options: Any) -> Any:
        return self.frame.__dataframe__(**options)


@pytest.mark.extra
@pytest.mark.filterwarnings("ignore:.*interchange:")
def test_frames_of_the_interchange_protocol() -> None:
    """The same tables as by Arrow; nulls by NaN, by a value, by bytes and by bits."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    session = Session()
    held = pa.table({"i": pa.array([1, None, 3, 4], pa.int32()), "f": [1.5, 2.0, None, 4.0], "s": ["a", None, "\u00e9", ""],
                     "b": [True, None, False, True], "u": pa.array([1, 2, 3, 200], pa.uint8()),
                     "p": pa.array([0, None, 86400, 1], pa.timestamp("s")), "c": pa.array(["p", None, "q", "p"]).dictionary_encode()})
    frame = pd.DataFrame({"i": [1, 2, 3], "f": [1.5, None, 2], "s": ["x", None, "y"], "b": [True, False, True],
                          "p": pd.to_datetime(["2024-01-01", None, "2024-01-02"]), "c": pd.Categorical(["u", None, "u"]),
                          "n": pd.array([1, None, 3], "Int64")})
    for x in (held, held.slice(1, 3), pa.concat_tables([held, held.slice(2)]), held.slice(0, 0), frame, frame[::2]):
        session.x, session.y = x, Interchange(x)
        assert session.run("x~y") is True, session.show(session.run("(x;y)"))
    with pytest.raises(QError, match=r"column d: .*date32"):
        session.z = Interchange(pa.table({"d": pa.array([1], pa.date32())}))
    assert "z" not in session


@pytest.mark.extra
def test_columns_of_polars_and_arrow() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    session = Session()
    session.t = pl.DataFrame({"c": pl.Series(["x", None], dtype=pl.Categorical), "st": [{"a": 1, "b": "q"}, {"a": 2, "b": "r"}],
                              "l": [["a"], ["b", "c"]], "n": [None, None], "a": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2)),
                              "t": [dt.time(1), None], "long": ["a text longer than a view", "short"]})
    assert session("exec c from t").tolist() == ["x", ""] and session.run("(t`st)~([]a:1 2;b:`q`r)") is True
    assert session.run("(t`l)~(enlist`a;`b`c)") is True and session.run("(t`a)~(1 2;3 4)") is True
    assert session("t`t")[0] == np.timedelta64(3600 * 10**9, "ns") and session("t`long").tolist()[0] == "a text longer than a view"
    session.s = pl.Series([1, None])
    assert session.run("s~1 0N") is True
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    session.r = pa.array([1, None, 3])
    assert session.run("r~1 0N 3") is True
    session.e = pa.table({"a": pa.array([], pa.int32()), "s": pa.array([], pa.string())})
    assert session.run('"is"~exec t from meta e') is True and len(session["e"]["a"]) == 0
    session.d = pa.table({"d": pa.array([decimal.Decimal("-1.50"), None], pa.decimal128(9, 2)), "g": pa.array([bytes(16), None], pa.binary(16))})
    assert session.run("(d`d)~-1.5 0n") is True and session("type d`g") == T.G
    with pytest.raises(QError, match=r"column m: no q type for Arrow.s [+]m"):
        session.m = pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))})
    with pytest.raises(QError, match="two columns of one name"):
        session.m = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])


@pytest.mark.extra
def test_tables_as_arrow_data() -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from kshell.python import arrowout

    gc.collect()
    before = len(arrowout._HELD)
    session = Session()
    t = session('([]s:`a`b;j:1 0N;f:1 0n;b:10b;p:2024.01.01D00 0N;m:2024.01 2024.02m;d:2024.01.01 0Nd;v:01:00 0N;c:("ab";"c");'
                'l:(1 2;enlist 3);n:("ab";"cd");g:2#0Ng)')
    arrow = pa.RecordBatchReader.from_stream(t).read_all()
    arrow.validate(full=True)
    assert [str(f.type).partition("<")[0] for f in arrow.schema] == [
        "dictionary", "int64", "double", "bool", "timestamp[ns]", "date32[day]", "date32[day]", "duration[s]", "binary",
        "large_list", "binary", "fixed_size_binary[16]"]
    assert arrow["j"].to_pylist() == [1, None] and arrow["s"].to_pylist() == ["a", "b"] and arrow["d"].null_count == 1
    assert arrow["f"].null_count == 0 and arrow["l"].to_pylist() == [[1, 2], [3]]
    with pytest.raises(TypeError, match="column x has no Arrow form"):
        session("([]x:(1;`a))").__arrow_c_stream__()
    capsule = t.__arrow_c_stream__()
    del capsule  # nobody took it
    del arrow
    gc.collect()
    assert len(arrowout._HELD) == before


def test_a_library_without_what_it_needs_is_an_error() -> None:
    class Frame:
        def __arrow_c_stream__(self, schema: Any = None) -> Any:
            raise ImportError("needs more")

    with pytest.raises(QError, match="no Arrow data of a Python object of class Frame: needs more"):
        Session().x = Frame()


def test_kshell_imports_no_frames() -> None:
    code = ("import sys,numpy;from kshell import Session;s=Session();s.t=[{'a':1},{'a':2}];s('t');"
            "assert not {'pandas','polars','pyarrow','IPython','torch'}&set(sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ------------------------------------------------------------------ torch objects


def test_torch_objects_are_shared() -> None:
    session = Session()
    m = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    o = torch.optim.AdamW([{"params": m[0].parameters()}, {"params": m[1].parameters(), "lr": 0.5}], lr=0.1)
    x, loss = torch.ones(4, 3), torch.nn.MSELoss()
    for name, value in {"m": m, "o": o, "x": x, "loss1": loss}.items():
        session[name] = value
        assert session[name] is value
    assert session("lr o").tolist() == [0.1, 0.5]
    session("lr(o;.01 .02)")
    assert [g["lr"] for g in o.param_groups] == [0.01, 0.02]
    session("x[0;0]:5e")
    assert x[0, 0] == 5
    assert session("exec name from opt[o]`parms").tolist() == ["0.weight", "0.bias", "1.weight", "1.bias"]
    before = m[0].weight.clone()
    session("zerograd o; l:mse(forward(m;x);4 1#0e); backward l; step o")
    assert not torch.equal(before, m[0].weight) and len(o.state) == 4
    assert torch.equal(session("forward(m;x)"), m(x)) and session("objtype loss1") == "mse"
    session.o2 = session["o"]
    assert session("o2") is o


def test_containers_of_tensors() -> None:
    session = Session()
    m = torch.nn.Linear(2, 1)
    session.d, session.v, session.none = m.state_dict(), list(m.parameters()), {}
    assert session("class d") == "dictionary" and session("class v") == "vector" and session("count none") == 0
    assert session["v"][0] is m.weight and list(session["d"]) == ["weight", "bias"]
    session.net = Own()
    assert session("objtype net") == "Own" and torch.equal(session("forward(net;1 2e)"), torch.tensor([2.0, 4.0]))
    session("q1:module enlist(`linear;2;1);mm:model(q1;loss`mse;opt(`sgd;q1;.1))")
    assert set(session["mm"]) == {"module", "loss", "optimizer"} and session["mm"]["optimizer"].param_groups[0]["lr"] == 0.1
    session("free d")
    with pytest.raises(QError, match="stale pointer"):
        session["d"]


class Own(torch.nn.Module):
    """A module of a class that q has no type for."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x


# ------------------------------------------------------------------ the session


def test_functions_cross(s: Session) -> None:
    add = s("{x+y}")
    assert add(1, 2) == 3 and repr(add) == "{x+y}" and s("{x[1;y]}", add, 5) == 6
    s.twice = lambda x: 2 * x
    assert s("twice 1 2 3").tolist() == [2, 4, 6] and s("twice each 1 2").tolist() == [2, 4]
    s.both = lambda a, b: {"a": a, "b": b}
    assert s("both[1;`x]") == {"a": 1, "b": "x"}
    s.fails = lambda x: 1 / 0
    with pytest.raises(QError, match="<lambda>: ZeroDivisionError: division by zero"):
        s("fails 1")
    assert s("@[fails;1;{x}]") == b"<lambda>: ZeroDivisionError: division by zero"
    s.none = lambda: "none"
    assert s("none[]") == "none" and s("type none") == 105 and s(".p.i.isc none")
    assert s("s:none;(s~none;none~{x})").tolist() == [True, False] and s.none() == "none"
    for text in ("string none", ".Q.s1 none", "none~none", "(none;1)", "{none[]}[]", "value none"):
        try:
            s.run(text, show=True)
        except QError as e:
            assert e.text in ("type", "domain", "nyi"), text


def test_variables(s: Session) -> None:
    s.alpha = 1
    s[".my.beta"] = 2
    assert s.alpha == 1 and s[".my.beta"] == 2 and "alpha" in s and "alpha" in list(s) and "nosuch" not in s
    assert "out" not in s
    del s.alpha
    assert "alpha" not in s
    with pytest.raises(AttributeError):
        _ = s.nosuch
    with pytest.raises(QError, match="nosuch"):
        _ = s["nosuch"]
    s["out"] = 5
    assert s("out") == 5 and s.out is None
    with pytest.raises(AttributeError, match=r"words is a session's own: assign the variable as session\['words'\]"):
        s.words = [1]
    s["words"] = [1]
    assert s("words").tolist() == [1] and callable(s.words)
    for name in ("", "1a", "a b", "til", "select", "a-b", "é", "_a", "a..b"):
        with pytest.raises(QError, match="assign"):
            s[name] = 1


def test_an_error_has_its_q_frames(s: Session) -> None:
    s("f:{x+`a}")
    with pytest.raises(QError) as e:
        s("f 1")
    assert e.value.text == "type" and any("f:{x+`a}" in note for note in e.value.__notes__)
    with pytest.raises(QError) as e:
        s.run("f 1", show=True)
    assert e.value.__notes__ == ["  [1]  f:{x+`a}", "           ^", "  [0]  f 1", "       ^"]
    with pytest.raises(SystemExit) as left:
        s("exit 3")
    assert left.value.code == 3


def test_an_error_holds_nothing(s: Session) -> None:
    """What was given to a call that failed goes when the caller is done with it."""
    x = torch.ones(3)
    gone = weakref.ref(x)
    for text in ("{'bad}", "{x+`a}", "{1+nosuch}"):
        try:
            s(text, x)
        except QError as e:
            assert e.text
    del x
    gc.collect()
    assert gone() is None and s.last_error is not None and s.last_error.text == "nosuch"


@pytest.mark.sampled(2)
def test_own_attributes_are_made_at_the_start() -> None:
    """What kshell assigns to a session is never taken for a variable."""
    known = set(vars(Core())) | set(dir(Core))
    for path in Path(kshell.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
            for t in targets:
                for part in getattr(t, "elts", [t]):
                    if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name | ast.Call):
                        owner = getattr(part.value, "id", "") or ast.unparse(part.value)
                        if owner == "running()" or owner == "session" or (owner == "self" and path.name in ("session.py", "session_lines.py")):
                            assert part.attr in known, f"{path.name}: {owner}.{part.attr}"


def test_ctrl_c_is_pythons_afterwards(s: Session) -> None:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            s("while[1b;1+1]")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert s("1+1") == 2
    finally:
        signal.signal(signal.SIGINT, before)


LIBRARY = str(Path(threading.__file__).parent) + "/"


@pytest.mark.parametrize("call", [
    lambda s: s("a:2"), lambda s: s.run("a:2"), lambda s: s.enter("a:2"), lambda s: setattr(s, "a", 2), lambda s: s.f(2)])
def test_no_ctrl_c_is_lost(s: Session, call: Callable[[Session], object]) -> None:
    """At any line of kshell's, in a program where it is Python's own: a KeyboardInterrupt, before the call's work or after
    it, and the handler is Python's again."""
    def traced(at: int) -> int:
        count = 0

        def trace(frame: FrameType, event: str, arg: object) -> object:
            nonlocal count
            # not in the library: Python 3.11 that is interrupted by a tracer in an except clause stays in it for ever
            file = frame.f_code.co_filename
            if file == __file__ or file.startswith(("<frozen", LIBRARY)) or "/hypothesis/" in file:
                return None
            if event == "line" and not stops.only_names(frame.f_code.co_filename, frame.f_lineno):
                count += 1
                if count == at:
                    signal.raise_signal(signal.SIGINT)
            return trace

        sys.settrace(trace)
        try:
            call(s)
        finally:
            sys.settrace(tracing)
        return count

    before, tracing = signal.signal(signal.SIGINT, signal.default_int_handler), sys.gettrace()
    around = context.perhaps(), sys.getrecursionlimit(), np.geterr()
    try:
        s("f:{`a set x}")
        for _ in range(2):
            n = traced(0)
        for at in sorted({*range(1, n, 17), *range(n - 6, n)}):
            s("a:1")
            try:
                assert traced(at) < at, "lost"  # a call may have fewer lines than the one that was counted
            except KeyboardInterrupt:
                pass
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            assert (context.perhaps(), sys.getrecursionlimit(), np.geterr()) == around
            assert s("a") in (1, 2)
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_says_what_was_carried_out(s: Session) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        s.stop = lambda: signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt) as stopped:
            s("a:1;stop[]")
        assert "  (a:1 was carried out)" in stopped.value.__notes__
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("t", list(RAW))
def test_every_type_has_a_null_that_comes_back(s: Session, t: int) -> None:
    assert vector(t) is not None
    s.run(f'nulls:2#first 0#"{T.TYPE[t].char}"$()')
    s["again"] = s["nulls"]
    assert s.run("again~nulls") is (t != T.Z)
