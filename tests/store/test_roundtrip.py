"""What is written comes back: values as text, as bytes, in files, as CSV and as JSON, for generated values of every
type with its nulls and infinities, and for nested lists, dictionaries, tables, keyed tables and functions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kshell.lang.console.one_line import s1_text
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import collapse, string, vec
from kshell.values.base.core import Dict, List, Nd, Table, Value, Vec, sym_vec

SOME = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
BITS = {T.H: 16, T.I: 32, T.J: 64}
DAY = 86_400_000
NAME = st.text("abcdefgXYZ019_", min_size=1, max_size=6).filter(lambda s: s[0].isalpha())


def near(t: int, least: int, most: int) -> st.SearchStrategy[int]:
    """Ordinary values of a type, and its null and infinities."""
    top, null = T.TYPE[t].inf, T.NULL[t]
    return st.one_of(st.integers(least, most), st.sampled_from([null, top, -top]))


RAW: dict[int, st.SearchStrategy[Any]] = {
    T.B: st.booleans(), T.G: st.binary(min_size=16, max_size=16), T.X: st.integers(0, 255),
    **{t: near(t, -(2 ** (n - 1)), 2 ** (n - 1) - 1) for t, n in BITS.items()},
    T.E: st.floats(width=32), T.F: st.floats(), T.C: st.integers(0, 255), T.S: NAME,
    T.P: near(T.P, -(2**61), 2**61), T.M: near(T.M, -20000, 90000), T.D: near(T.D, -700_000, 2_900_000),
    T.Z: st.integers(DAY, 50_000 * DAY).map(lambda ms: ms / DAY), T.N: near(T.N, -(2**62), 2**62),
    T.U: near(T.U, -6000, 6000), T.V: near(T.V, -360_000, 360_000), T.T: near(T.T, -360_000_000, 360_000_000),
}  # fmt: skip


def vector(t: int, **size: int) -> st.SearchStrategy[Vec]:
    def build(items: list[Any]) -> Vec:
        if t == T.S:
            return sym_vec(items)
        if t == T.G:
            return Vec(T.G, np.frombuffer(b"".join(items), T.DTYPE[t]))
        return vec(t, np.array(items, T.DTYPE[t]))

    return st.lists(RAW[t], **(size or {"max_size": 5})).map(build)


TYPES = st.sampled_from(list(RAW))
VECTORS = TYPES.flatmap(vector)
ATOMS = TYPES.flatmap(lambda t: vector(t, min_size=1, max_size=1)).map(lambda v: v.item(0))
GRIDS = TYPES.filter(lambda t: t != T.G).flatmap(lambda t: vector(t, min_size=6, max_size=6)).map(
    lambda v: Nd(v.t, v.a.reshape(2, 3)))


@st.composite
def tables(draw: st.DrawFn, types: tuple[int, ...] = tuple(RAW), keyed: bool = False) -> Value:
    n = draw(st.integers(0 if not keyed else 1, 4))
    names = draw(st.lists(NAME, min_size=2, max_size=4, unique=True))
    cols = [draw(st.sampled_from(types).flatmap(lambda t: vector(t, min_size=n, max_size=n))) for _ in names]
    return Dict(Table(names[:1], cols[:1]), Table(names[1:], cols[1:])) if keyed else Table(names, cols)


def dictionaries(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return st.lists(values, min_size=2, max_size=3).flatmap(
        lambda v: TYPES.flatmap(lambda t: vector(t, min_size=len(v), max_size=len(v))).map(
            lambda k: Dict(k, collapse(list(v)))))


FUNCTIONS = st.sampled_from([
    "{x+y}", "{[a;b]a*b}", "{x+y}[1]", "{x+y}[;2]", "{x,y,z}[1;;`a]", "+", "neg", "sum", "+/", "{x+y}\\", "+':", "count'",
    "(neg sum@)", "('[neg;+])", "+[1]", "in[;1 2]", "{$[x>1;\"a;}\";`b]}", "{\n x}", "::", "2#", "(+)", "'[;]"])
LEAVES = st.one_of(ATOMS, VECTORS, GRIDS, tables(), tables(keyed=True))
VALUES = st.recursive(LEAVES, lambda v: st.one_of(st.lists(v, max_size=4).map(lambda i: collapse(list(i))),
                                                  dictionaries(v)), max_leaves=6)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    made = Session()
    made.run("\\P 0")  # all digits
    yield made


# ------------------------------------------------------------------ bytes and files


@SOME
@given(x=VALUES)
def test_bytes_and_messages(session: Session, x: Value) -> None:
    session["x"] = x
    assert session.run("x~-9!-8!x") is True
    assert session.run("(type x)=type -9!-8!x") is True


@SOME
@given(x=VALUES)
def test_get_gives_what_set_was_given(session: Session, tmp_path: Path, x: Value) -> None:
    session["x"], session["f"] = x, session.run(f"`:{tmp_path}/v")
    assert session.run("x~get f set x") is True
    assert session.run("x~value f") is True
    assert session.run("x~get(f,17 2 6)set x") is True


@SOME
@given(x=tables(tuple(t for t in RAW if t not in (T.S,))))
def test_splayed_tables(session: Session, tmp_path: Path, x: Value) -> None:
    session["x"], session["f"] = x, session.run(f"`:{tmp_path}/t/")
    assert session.run("x~select from get f set x") is True


@pytest.mark.parametrize("text", FUNCTIONS.elements)
def test_functions_in_files_and_bytes(session: Session, tmp_path: Path, text: str) -> None:
    session["f"] = session.run(f"`:{tmp_path}/v")
    session.run(f"x:{text}")
    for form in ("-9!-8!x", "get f set x", "first -9!-8!enlist x", "@[-9!-8!`a`b!(x;1);`a]"):
        assert session.run(f"(-3!x)~-3!{form}") is True, form
        assert session.run(f"(type x)=type {form}") is True, form


# ------------------------------------------------------------------ text


def finite(x: Vec) -> Vec:
    """x with nulls for its infinite times, which are written 0W and read as no time."""
    if x.t not in T.TEMPORAL or x.t == T.Z:
        return x
    return Vec(x.t, np.where(np.abs(x.a) == T.TYPE[x.t].inf, T.NULL[x.t], x.a).astype(x.a.dtype))


def written(x: Value) -> bool:
    """Is the one-line form q? That of a list of one item or a table is k, which has no other form for them."""
    if isinstance(x, Vec):
        return len(x) != 1 and (x.t != T.G or len(x) == 0)
    if isinstance(x, List):
        return len(x) != 1 and all(written(i) for i in x.items)
    if isinstance(x, Dict):
        return not x.keyed and written(x.k) and written(x.v)
    if getattr(x, "t", 0) == T.E:  # with an exponent it has no suffix
        return "e" not in s1_text(x, 0)[:-1]
    return not isinstance(x, Table) and getattr(x, "t", 0) != T.G


TEXT_VALUES = st.recursive(st.one_of(ATOMS, VECTORS, GRIDS), lambda v: st.one_of(
    st.lists(v, max_size=4).map(lambda i: collapse(list(i))), dictionaries(v)), max_leaves=6).filter(written)


@SOME
@given(x=TEXT_VALUES)
def test_the_one_line_form_is_source(session: Session, x: Value) -> None:
    session["x"] = x
    assert session.run("x~value -3!x") is True
    assert session.run("x~eval parse -3!x") is True or session.run("0h>type x") is not True


@SOME
@given(x=TYPES.flatmap(vector))
def test_parsing_undoes_string(session: Session, x: Vec) -> None:
    """The upper-case letter of a type reads what string writes, item by item."""
    session["x"] = x = finite(x)
    if x.t in (T.C, T.S):
        assert session.run('(x~$[10h=type x;raze string x;`$string x])or 0=count x') is True
    else:
        letter = T.TYPE[x.t].char.upper()
        assert session.run(f'x~"{letter}"$string x') is True


@pytest.mark.parametrize("text", [f for f in FUNCTIONS.elements if f not in ("(neg sum@)", "('[neg;+])", "2#", "'[;]")])
def test_functions_read_back(session: Session, text: str) -> None:
    session.run(f"x:{text}")
    assert session.run("(-3!x)~-3!value -3!x") is True


# ------------------------------------------------------------------ CSV

CSV_TYPES = tuple(t for t in RAW if t not in (T.C, T.Z))
WORDS = st.text("ab ,\"'|x1\\", max_size=6)


@SOME
@given(x=tables(CSV_TYPES), words=st.lists(WORDS, min_size=4, max_size=4), mark=st.sampled_from([",", "|", ";", "\t"]))
def test_csv(session: Session, tmp_path: Path, x: Table, words: list[str], mark: str) -> None:
    n = len(x.cols[0])
    x = Table(x.names, [finite(c) for c in x.cols])
    words = [w if mark in w else w.lstrip('" ') for w in words]  # a field without the mark is not quoted
    cols = [*x.cols, List([string(w) for w in words[:n]]), sym_vec([w.strip() for w in words[:n]])]
    session["x"] = Table([*x.names, "text", "name"], cols) if n else x
    session["m"], session["f"] = string(mark).item(0), session.run(f"`:{tmp_path}/t.csv")
    letters = "".join(T.TYPE[c.t].char.upper() for c in x.cols) + "*S" * bool(n)
    session["t"] = string(letters)
    assert session.run("x~(t;enlist m)0:m 0:x") is True
    assert session.run("x~(t;enlist m)0:f 0:m 0:x") is True
    assert session.run("value[flip x]~(t;m)0:1_m 0:x") is True or not n


# ------------------------------------------------------------------ JSON

NUMBER = st.one_of(st.floats(allow_infinity=False), st.integers(-(10**15), 10**15).map(float))
STRING = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=5).map(string)
PLAIN = st.one_of(NUMBER, st.booleans(), STRING, st.lists(NUMBER, min_size=1, max_size=4).map(lambda v: vec(T.F, v)),
                  st.lists(st.booleans(), min_size=1, max_size=4).map(lambda v: vec(T.B, v)))


def objects(v: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return st.dictionaries(NAME, v, min_size=1, max_size=3).map(
        lambda d: Dict(sym_vec(list(d)), collapse(list(d.values()))))


JSON = st.recursive(PLAIN, lambda v: st.one_of(st.lists(v, max_size=4).map(lambda i: collapse(list(i))), objects(v)),
                    max_leaves=8)


@SOME
@given(x=JSON)
def test_json(session: Session, x: Value) -> None:
    session["x"] = x
    assert session.run("x~.j.k .j.j x") is True
    assert session.run("(.j.j x)~.j.j .j.k .j.j x") is True


@SOME
@given(n=st.integers(2, 4), data=st.data())
def test_json_tables(session: Session, n: int, data: st.DataObject) -> None:
    names = data.draw(st.lists(NAME, min_size=1, max_size=3, unique=True))
    cols = [data.draw(st.one_of(
        st.lists(NUMBER, min_size=n, max_size=n).map(lambda v: vec(T.F, v)),
        st.lists(st.booleans(), min_size=n, max_size=n).map(lambda v: vec(T.B, v)),
        st.lists(STRING, min_size=n, max_size=n).map(lambda v: List(list(v))))) for _ in names]
    session["x"] = Table(names, cols)
    assert session.run("x~.j.k .j.j x") is True
