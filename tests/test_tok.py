"""Text to values by columns gives what each text alone gives: rows of `string` numbers, of parts of numbers, of noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kshell.lang.verbs import files, tok
from kshell.session import Session
from kshell.store import fields, text
from kshell.values import types as T
from kshell.values.core import raw
from kshell.values.rows import rows_of

WORDS = ("", "-", "+", ".", "-.5", "5.", ".5", "+5", "--1", "1.2.3", "1 2", " 7", "7 ", "0W", "-0W", "0N", "1e5", "1e-3",
         "123456789012345678", "9223372036854775807", "9223372036854775808", "99999999999999999999", "999999999999999.5",
         "1234567890.12345678", "1.7976931348623157e308", "2020.01.02", "2020-01-02", "2020/13/01", "2019.02.29",
         "2020.01.01D10:11:12", "2020.01.01D10:11:12.123", "2020.01.01D10:11:12.123456789", "10:11:12", "10:11:12.345",
         "25:61:61", "10:11", "  12  ", "0.1234567890123456", "-1.491640804097952", "0.00012345678901234567", "4.35",
         "9007199254740993", "9007199254740992.5", "123456789012345.678", "2020-01-01T10:11:12Z", "2020-01-02 10:11",
         "2020.01.01D10:11:12.123456789Z", "2020-01-01T10:11:12ZZ", "0D10:11:12.123456789", "-3D10:11:12.123456789",
         "10:11:12.123456789", "D10:11:12.123456789", "99999999D10:11:12.123456789", "1", "t", "true", "0x1f", "ff", "fg",
         "8c680a01-5a49-5aab-5a65-d4bfddb6a661", "8c680a015a495aab5a65d4bfddb6a661", "2020.03", "2020-03m", "1,000",
         "a text that is longer than any number that there is, and no number")  # fmt: skip
numbers = st.one_of(st.integers(-2**70, 2**70).map(str), st.integers(-999, 999).map(str),
                    st.floats(-1e9, 1e9).map(lambda x: repr(round(x, 6))), st.floats(allow_nan=False).map(repr))
noise = st.text("0123456789.-+eE :DTWNx/", max_size=21)
columns = st.one_of(st.lists(numbers, min_size=9, max_size=30),
                    st.lists(st.one_of(numbers, noise, st.sampled_from(WORDS)), min_size=9, max_size=30))


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
tidy = st.text('ab,"x \n', max_size=5).map(lambda s: '"' + s.replace('"', '""') + '"' if set(s) & set('",\n') else s)
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
    assert [found.column(i, 1, 3).items() for i in range(width + 1)] == [c[1:3] for c in expected]


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
       st.sampled_from([1, 4, 1 << 16]))
def test_symbols_of_parts_are_those_of_each_text(parts: list[list[str]], slots: int) -> None:
    with pytest.MonkeyPatch.context() as m:
        m.setattr(tok, "_SLOTS", slots)
        symbols = tok.Symbols()
        for texts in parts * 2:
            items = [s.encode() for s in texts]
            found = symbols.of(rows_of(items)).tolist()
            assert found == [tok.tok_bytes(T.S, s).v for s in items], texts


def test_symbols_that_came_before_are_not_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    look = tok._symbols
    monkeypatch.setattr(tok, "_symbols", lambda rows: asked.append(len(rows)) or look(rows))
    symbols, names = tok.Symbols(), rows_of([b"name%d" % k for k in range(100)] * 5)
    for _ in range(3):
        symbols.of(names)
    assert asked == [500] and not symbols.left
    for k in range(3):
        symbols.of(rows_of([b"%d %d" % (k, j) for j in range(500)]))
    assert symbols.left


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
