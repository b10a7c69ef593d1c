"""Lines of tables, put together by arrays: what joining the texts of the fields one by one gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.lang.console.float_texts import float_flat
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import List, Table, Value, Vec, sym_vec

N = 200
SPECIAL = [0.0, -0.0, 1.0, 10.0, 1e6, 9999999.0, 9999999.4, 9999999.5, 9999999.6, 1e7, 1e-4, 9.9999999e-5, 0.99999995, 0.00099999995, 0.5,
           123456.75, 1234567.5, 0.12345675, 99999995.0, 999999.95, 1e300, 5e-324, 0.3, 2 / 3, 1e22, 0.1 + 0.2]


@settings(max_examples=200)
@given(st.lists(st.one_of(st.sampled_from(SPECIAL), st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e4, 1e4),
                          st.integers(-(10**9), 10**9).map(lambda n: n / 1000), st.integers(-(10**8), 10**8).map(lambda n: n / 2)), min_size=1, max_size=40),
       st.integers(1, 9))
def test_floats_are_written_as_by_the_format(few: list[float], digits: int) -> None:
    a = np.array((few * 64)[: max(64, len(few))])
    made = float_flat(a, digits)
    assert made is not None
    characters, sizes = made
    text, at, texts = characters.tobytes().decode(), 0, []
    for size in sizes.tolist():
        texts.append(text[at : at + size])
        at += size
    assert texts == [f"%.{digits}g" % x for x in a.tolist()] and at == len(text)


def test_digits_that_are_not_written_at_once() -> None:
    assert float_flat(np.ones(100), 10) is None and float_flat(np.ones(100), 0) is None and float_flat(np.ones(3), 7) is None


def spread(items: st.SearchStrategy[Value], make: object = None) -> st.SearchStrategy[list[Value]]:
    """N items, a few of them drawn, and which comes where."""
    return st.tuples(st.lists(items, min_size=1, max_size=12), st.randoms()).map(lambda drawn: [drawn[1].choice(drawn[0]) for _ in range(N)])


TEXTS = spread(st.sampled_from([b"", b"a", b"abcdefgh", b"abcdefghi", b"x" * 70, b"a,b", b'say "hi"', b'"q", r', b"tab\there", b"\xc3\xa9t\xc3\xa9", b"0"]))
COLUMNS = st.one_of(
    spread(st.integers(-5, 10**18) | st.sampled_from([T.NULL[T.J], T.TYPE[T.J].inf])).map(lambda v: Vec(T.J, np.array(v, np.int64))),
    spread(st.integers(0, 9)).map(lambda v: Vec(T.J, np.array(v, np.int64))),
    spread(st.floats() | st.sampled_from(SPECIAL)).map(lambda v: Vec(T.F, np.array(v))),
    spread(st.floats(width=32)).map(lambda v: Vec(T.E, np.array(v, np.float32))),
    spread(st.integers(-700_000, 700_000) | st.sampled_from([T.NULL[T.D], T.TYPE[T.D].inf])).map(lambda v: Vec(T.D, np.array(v, np.int32))),
    spread(st.integers(0, 86_399_999)).map(lambda v: Vec(T.T, np.array(v, np.int32))),
    spread(st.integers(-(2**60), 2**60)).map(lambda v: Vec(T.P, np.array(v, np.int64))),
    spread(st.integers(32, 126)).map(lambda v: Vec(T.C, np.array(v, np.uint8))),
    spread(st.sampled_from(["", "a", "b,c", "long name here", "\xe9"])).map(sym_vec),
    TEXTS.map(lambda texts: List([string(t.decode()) for t in texts])),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(COLUMNS, min_size=1, max_size=4), st.sampled_from([",", "|", "\t"]))
def test_lines_are_those_of_the_rows_one_by_one(columns: list[Value], separator: str) -> None:
    """Few rows at a time take no way that is for many."""
    s = Session()
    s["t"], s["sep"] = Table([f"c{k}" for k in range(len(columns))], columns), string(separator)
    s.run("sep:first sep; lines:sep 0:t; alone:raze{1_sep 0:x}each t each enlist each til count t")
    assert s.run("count[lines]=1+count t") and s.run("(1_lines)~alone")
    assert s.run('(first lines)~sep sv string cols t')


def test_the_file_is_the_lines(tmp_path: object) -> None:
    s = Session()
    s.run(f"t:([]a:til 40000;b:40000?`x`yy;c:40000#(\"ab\";\"\";\"c,d\"));`:{tmp_path}/t.csv 0:csv 0:t")
    assert s.run(f'(read0`:{tmp_path}/t.csv)~csv 0:t') and s.run(f'(("JS*";enlist",")0:`:{tmp_path}/t.csv)~t')


@pytest.mark.parametrize(("text", "lines"), [("csv 0:()", "()"), ("csv 0:([]a:`long$())", 'enlist enlist"a"'), ("csv 0:(1 2;`a`b)", '("1,a";"2,b")'),
                                             ("csv 0:([]a:1 2;b:3 4)", '("a,b";"1,3";"2,4")'), ("csv 0:enlist 1 2", '(enlist"1";enlist"2")')])
def test_lines_of_little(text: str, lines: str) -> None:
    assert Session().run(f"({text})~{lines}")
