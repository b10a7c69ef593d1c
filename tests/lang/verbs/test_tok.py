"""Text to values by columns gives what each text alone gives: rows of `string` numbers, of parts of numbers, of noise."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kshell.lang.verbs import files, tok
from kshell.session import Session
from kshell.store import fields, text
from kshell.values.base import types as T
from kshell.values.base.core import Vec, char, raw
from kshell.values.base.match import match
from kshell.values.items.rows import rows_of

WORDS = ("", "-", "+", ".", "-.5", "5.", ".5", "+5", "--1", "1.2.3", "1 2", " 7", "7 ", "0W", "-0W", "0N", "1e5", "1e-3",
         "123456789012345678", "9223372036854775807", "9223372036854775808", "99999999999999999999", "999999999999999.5",
         "1234567890.12345678", "1.7976931348623157e308", "2020.01.02", "2020-01-02", "2020/13/01", "2019.02.29",
         "2020.01.01D10:11:12", "2020.01.01D10:11:12.123", "2020.01.01D10:11:12.123456789", "10:11:12", "10:11:12.345",
         "25:61:61", "10:11", "  12  ", "0.1234567890123456", "-1.491640804097952", "0.00012345678901234567", "4.35",
         "9007199254740993", "9007199254740992.5", "123456789012345.678", "2020-01-01T10:11:12Z", "2020-01-02 10:11",
         "2020.01.01D10:11:12.123456789Z", "2020-01-01T10:11:12ZZ", "0D10:11:12.123456789", "-3D10:11:12.123456789",
         "10:11:12.123456789", "D10:11:12.123456789", "99999999D10:11:12.123456789", "1", "t", "true", "0x1f", "ff", "fg",
         "1-2", "12-", "-1-2", "5--", "-12.5-", "1.-5", "-.", "-1e-5", "2020-01-01T10:11:12.5Z", "2020-01-01TZ0:11:12",
         "8c680a01-5a49-5aab-5a65-d4bfddb6a661", "8c680a015a495aab5a65d4bfddb6a661", "2020.03", "2020-03m", "1,000",
         "a text that is longer than any number that there is, and no number")  # fmt: skip
numbers = st.one_of(st.integers(-2**70, 2**70).map(str), st.integers(-999, 999).map(str),
                    st.floats(-1e9, 1e9).map(lambda x: repr(round(x, 6))), st.floats(allow_nan=False).map(repr))
noise = st.text("0123456789.-+eE :DTWNx/", max_size=21)
columns = st.one_of(st.lists(numbers, min_size=9, max_size=30),
                    st.lists(st.one_of(numbers, noise, st.sampled_from(WORDS)), min_size=9, max_size=30))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("t", [T.B, T.G, T.X, T.H, T.I, T.J, T.E, T.F, T.P, T.M, T.D, T.Z, T.N, T.U, T.V, T.T])
@given(texts=columns)
def test_columns_are_parsed_as_each_text_is(t: int, texts: list[str]) -> None:
    items = [s.encode() for s in texts]
    whole = tok.tok_strings(t, items)
    alone = [tok.tok_bytes(t, s) for s in items]
    np.testing.assert_array_equal(whole.a, np.array([raw(x) for x in alone], T.DTYPE[t]), str(texts))


@pytest.mark.parametrize("t", [T.F, T.P, T.X])
def test_a_text_that_stands_often_is_parsed_once(t: int, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [s.encode() for s in WORDS[:12] * 50]
    asked: list[bytes] = []
    parse = tok._PARSERS[t]
    monkeypatch.setitem(tok._PARSERS, t, lambda s: asked.append(s) or parse(s))
    whole = tok.tok_strings(t, items)
    assert len(asked) <= 12 and len(whole) == 600
    np.testing.assert_array_equal(whole.a[:12], whole.a[-12:])


# fields as they should be, and with quotes in other places
tidy = st.text('ab,"x é\0\n', max_size=5).map(lambda s: '"' + s.replace('"', '""') + '"' if set(s) & set('",\n') else s)
untidy = st.one_of(tidy, st.text('ab,"\r', max_size=4))


@given(part=st.sampled_from([5, 64, 1 << 18]), breaks=st.booleans(), data=st.data())
def test_fields_are_those_of_each_line(part: int, breaks: bool, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from([tidy, untidy]))
    width = data.draw(st.integers(1, 4))
    short = data.draw(st.booleans())
    rows = data.draw(st.lists(st.lists(field, min_size=1 if short else width, max_size=width), min_size=16, max_size=20))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    raw_text = (end.join(map(",".join, rows)) + data.draw(st.sampled_from(["", end, "\r"]))).encode()
    with pytest.MonkeyPatch.context() as m:
        m.setattr(fields, "_PART", part)
        found = fields.fields_of(raw_text, b",", breaks)
    if found is None:
        assert breaks or raw_text.count(b"\n") < 16
        return
    expected = text.columns(raw_text, b",", width + 1, breaks)
    assert [found.column(i).items() for i in range(width + 1)] == expected
    for first in range(0, len(expected[0]), 3):  # column after column of each block of the rows that were found
        last = min(first + 3, len(expected[0]))
        assert [found.column(i, first, last).items() for i in range(width + 1)] == [c[first:last] for c in expected]


def test_what_reads_a_file_is_freed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["a,b,c", *(f"{k},s{k},x" for k in range(50)), ""]))
    s = Session()
    gc.collect()
    gc.disable()
    try:
        s.run(f't:("JS*";enlist",")0:`:{path}')
        assert not [x for x in gc.get_objects() if isinstance(x, files._Maker | fields.Fields)]
    finally:
        gc.enable()


def test_a_quote_alone_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"\n' + 20 * "1\n")
    s = Session()
    s.run(f'r:((enlist"B";",")0:`:{path})~enlist 0b,20#1b')
    assert s["r"]


def test_columns_made_in_blocks_are_those_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'{k},{k / 7!r},2020-01-{k % 31 + 1:02d},"{k},""{k % 3}""",{k % 2},{"" if k % 5 else "n/a"}' for k in range(200)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["a,b,c,d,e,f", *lines, ""]))
    s, load = Session(), f'("JFD*BS";enlist",")0:`:{path}'
    s.run(f"t:{load}")
    monkeypatch.setattr(files, "_BLOCK", 17)
    s.run(f'same:t~{load};quotes:(last t)[`d]~"199,\\"1\\"";exact:t[`b]~(til 200)%7')
    assert s["same"] and s["quotes"] and s["exact"]


@given(st.lists(st.lists(st.one_of(st.sampled_from(WORDS), st.text("ab \0é", max_size=18)), min_size=1, max_size=20), max_size=4),
       st.sampled_from([1, 4, 1 << 16]), st.sampled_from([2, 1 << 11]))
def test_symbols_of_parts_are_those_of_each_text(parts: list[list[str]], slots: int, head: int) -> None:
    with pytest.MonkeyPatch.context() as m:
        m.setattr(tok, "_SLOTS", slots)
        m.setattr(tok, "_HEAD", head)
        symbols = tok.Symbols()
        for texts in parts * 2:
            items = [s.encode() for s in texts]
            found = symbols.of(rows_of(items)).tolist()
            assert found == [tok.tok_bytes(T.S, s).v for s in items], texts


def test_symbols_that_came_before_are_not_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    look = tok._looked_up
    monkeypatch.setattr(tok, "_looked_up", lambda rows: (len(rows) and asked.append(len(rows))) or look(rows))
    symbols, names = tok.Symbols(), rows_of([b"name%d" % k for k in range(100)] * 5)
    for _ in range(3):
        symbols.of(names)
    assert asked == [100] and not symbols.left
    for k in range(3):
        symbols.of(rows_of([b"%d %d" % (k, j) for j in range(500)]))
    assert symbols.left


def test_symbols_of_a_long_list_are_learned_from_its_head(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    look = tok._looked_up
    monkeypatch.setattr(tok, "_looked_up", lambda rows: (len(rows) and asked.append(len(rows))) or look(rows))
    symbols = tok.Symbols()
    symbols.of(rows_of([b"name%d" % (k % 1000) for k in range(20_000)]))
    symbols.of(rows_of([b"name%d" % (k % 2000) for k in range(20_000)]))
    assert sum(asked) == 2000 and not symbols.left


@given(st.lists(st.one_of(st.binary(max_size=5), st.binary(min_size=300, max_size=400)), max_size=20), st.data())
def test_texts_one_after_the_other(items: list[bytes], data: st.DataObject) -> None:
    rows = rows_of(items)
    order = np.array(data.draw(st.permutations(range(len(items)))), np.int64)
    assert rows.at(order).joined().tobytes() == b"".join(items[k] for k in order.tolist())


fitting = {"J": numbers, "H": st.integers(-40_000, 40_000).map(str), "F": numbers, "E": numbers, "D": st.dates().map(str),
           "P": st.datetimes().map(str), "T": st.times().map(lambda x: str(x)[:12]), "B": st.sampled_from("01tf"),
           "S": st.text("abé\0", max_size=18), "*": st.one_of(st.text("ab é,\"", max_size=6), st.just("x" * 500)),
           "C": st.text("ab", max_size=1), " ": noise}


@pytest.mark.sampled(2)
@given(st.data())
def test_a_file_is_read_by_columns_as_line_by_line(data: st.DataObject) -> None:
    codes = data.draw(st.text("".join(fitting), min_size=1, max_size=4))
    n = data.draw(st.integers(16, 40))
    odd = st.one_of(st.just(""), st.sampled_from(WORDS), noise, st.text('ab"', max_size=3))
    cells = [data.draw(st.lists(fitting[c], min_size=n, max_size=n)) for c in codes]
    for k, i, x in data.draw(st.lists(st.tuples(st.integers(0, len(codes) - 1), st.integers(0, n - 1), odd), max_size=6)):
        cells[k][i] = x
    quoted = data.draw(st.booleans())
    texts = [['"' + x.replace('"', '""') + '"' if quoted and set(x) & set('",') else x for x in c] for c in cells]
    lines = [",".join(row) for row in zip(*texts, strict=True)]
    for k, extra in data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.sampled_from([",", ",a,b", None])), max_size=2)):
        lines[k] = lines[k].split(",")[0] if extra is None else lines[k] + extra
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    raw_text = (end.join(lines) + data.draw(st.sampled_from(["", end]))).encode()
    form = char(",") if data.draw(st.booleans()) else Vec(T.C, np.frombuffer(b",", np.uint8))
    types = Vec(T.C, np.frombuffer(codes.encode(), np.uint8))
    with pytest.MonkeyPatch.context() as m:
        m.setattr(files, "_source", lambda y: raw_text)
        m.setattr(files, "_BLOCK", data.draw(st.sampled_from([10, 17, 1 << 15])))
        m.setattr(tok, "_HEAD", 4)
        found = files.load_text(types, form, Vec(T.S, np.zeros(0, np.int32)))
        m.setattr(fields, "fields_of", lambda *_: None)
        assert match(found, files.load_text(types, form, Vec(T.S, np.zeros(0, np.int32))))


@given(texts=st.lists(numbers, min_size=9, max_size=30), blanks=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30))))
def test_blanks_around_a_few_texts_or_all(texts: list[str], blanks: list[tuple[int, int]]) -> None:
    items = [s.encode() for s in texts]
    for k, (left, right) in enumerate(blanks[: len(items)]):
        items[-1 - k] = b" " * left + items[-1 - k] + b" " * right
    for t in (T.B, T.H, T.J, T.F, T.D, T.P):
        alone = [raw(tok.tok_bytes(t, s)) for s in items]
        np.testing.assert_array_equal(tok.tok_strings(t, items).a, np.array(alone, T.DTYPE[t]), str(items))


WRITTEN = {"d": "2020.01.01 0Nd 0Wd -0Wd 1999.12.31", "t": "10:00:00.000 0Nt 0Wt 23:59:59.999 -00:00:00.001",
           "p": "2020.01.01D00:00:00 0Np 0Wp -0Wp 2001.02.03D04:05:06.789", "j": "1 0N 0W -0W 25", "f": "1.5 0n 0w -0w 1e300",
           "s": '`a`b,`$("x,y";"";"q\\"q")', "w": '("ab";"";"a,b";"x\\ny";"q\\"q")'}


@pytest.mark.parametrize("name", WRITTEN)
def test_columns_are_written_as_single_items_are(name: str) -> None:
    s = Session()
    s.run(f"x:{WRITTEN[name]};y:20#x")
    assert s.run('(20#csv 0:enlist x)~csv 0:enlist y')
    assert s.run('(csv 0:enlist 20#2 sublist x)~20#csv 0:enlist 2 sublist x')
