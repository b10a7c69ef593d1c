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
