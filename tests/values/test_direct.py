"""Single items are taken and cast directly; the same comes of ways that go through arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from kshell.errors import QError
from kshell.session import Session
from kshell.values.base.core import Table, Value, atom_t
from kshell.values.base.match import match
from kshell.values.items.index import index

S = Session()
S.run("""e:`u`v`w;g:2?0Ng;table:([]a:1 0N 3;b:`x`y`z;c:("ab";"";"c"))""")

LISTS = ["1 2 0N 0W -0W", "1.5 0n 0w -0w -0f", "\"a b\"", "`a``b", "101b", "0x0102", "1 0N 0Wh", "1 0N 0Wi", "1.5 0n 2e", "2024.01.05 0N 0Wd",
         "2024.01.05D01 0Np", "12:30 0Nu", "12:30:01.5 0Nt", "2024.01 0Nm", "2024.01.05T01 0Nz", "1 0Nn", "g", "`e$`u`w", "(1;`a;\"abc\";0n)",
         "(1 2;3 4 5;\"ab\";())", "2 3#til 6", "2 3#6?1f", "2 3#\"abcdef\"", "2 2 2#til 8", "()", "0#0", "table", "(1;(2;(3 4;5)))", "2 2#g"]
DICTIONARIES = ["`a`b`c!1 2 0N", "`a`b`a!1 2 3", "1 0N 3!`a`b`c", "1 2 1!\"abc\"", "(1 2;3 4)!`a`b", "(`$())!()", "`s#1 3 5!`a`b`c", "`s#`b`d!1 2",
                "`a`b!(1 2;`x)", "1.5 0n!1 2", "([k:1 2 3]v:4 5 0N;w:`a`b`c)", "([k:`a`b`a]v:1 2 3)", "([k:`e$`u`w]v:1 2)", "([k:1 1;j:`a`b]v:1 2)",
                "`s#([k:1 3 5]v:4 5 6)", "([k:0#0]v:0#0)", "`a`b!table 0 1", "([k:1 2]v:(1 2;`x))"]
INDEXES = ["0", "1", "2", "5", "-1", "0N", "0W", "1b", "1h", "2i", "`a", "`b", "`zz", "`", "\"a\"", "1.5", "0n", "0x01", "`k`v", "::", "`u"]


def outcome(run: Callable[[], Value]) -> Value | str:
    try:
        return run()
    except QError as e:
        return e.text


def same(text: str, other: Callable[[], Value]) -> None:
    wanted = outcome(other)
    for _ in range(4):  # a list that is searched again is searched in another way
        got = outcome(lambda: S.run(text))
        assert got == wanted if isinstance(wanted, str) or isinstance(got, str) else match(got, wanted), f"{text}: {got} is not {wanted}"


@pytest.mark.parametrize("x", [*LISTS, *DICTIONARIES])
def test_items(x: str) -> None:
    value = S.run(f"x:{x};x")
    is_plain = x in DICTIONARIES and value.k.__class__ is not Table and not value.attr
    is_keyed = x in DICTIONARIES and value.k.__class__ is Table and len(value.k.names) == 1
    for i in INDEXES:
        if x in LISTS and "$" not in x and i in ("0", "1", "2", "5", "-1", "0N"):
            same(f"x {i}", partial(S.run, f"first x enlist {i}"))
        elif is_plain and i != "::":
            same(f"x {i}", partial(S.run, f"(value x)(key x)?{i}"))
        elif is_keyed and atom_t(S.run(i)) == value.k.cols[0].t:
            same(f"x {i}", partial(S.run, f"first x([]k:enlist {i})"))
        for j in INDEXES:
            same(f"x[{i};{j}]", partial(S.handle, index, value, (S.run(i), S.run(j))))


NUMBERS = ["0", "1", "-1", "127", "255", "256", "32766", "32767", "-32767", "32768", "2147483646", "2147483647", "-2147483647", "2147483648", "0W", "-0W", "0N",
           "9007199254740993", "4611686018427387904", "-.5", ".5", "1.5", "2.5", "-2.5", "1e15", "4503599627370497.5", "1e19", "-1e19", "0n", "0w", "-0w", "-0f", "0b", "1b"]


@pytest.mark.parametrize("kind", ['"bxhijefcpmdznuvt"', "`boolean`byte`short`int`long`real`float`char`timestamp`month`date`datetime`timespan`minute`second`time"])
def test_casts(kind: str) -> None:
    for n in range(16):
        for number in NUMBERS:
            same(f"({kind}[{n}])${number}", partial(S.run, f"first ({kind}[{n}])$enlist {number}"))
