"""Text to values by columns gives what each text alone gives: rows of `string` numbers, of parts of numbers, of noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kshell.lang.verbs import tok
from kshell.values import types as T
from kshell.values.core import raw

WORDS = ("", "-", "+", ".", "-.5", "5.", ".5", "+5", "--1", "1.2.3", "1 2", " 7", "7 ", "0W", "-0W", "0N", "1e5", "1e-3",
         "123456789012345678", "9223372036854775807", "9223372036854775808", "99999999999999999999", "999999999999999.5",
         "1234567890.12345678", "1.7976931348623157e308", "2020.01.02", "2020-01-02", "2020/13/01", "2019.02.29",
         "2020.01.01D10:11:12", "2020.01.01D10:11:12.123", "2020.01.01D10:11:12.123456789", "10:11:12", "10:11:12.345",
         "25:61:61", "10:11")  # fmt: skip
numbers = st.one_of(st.integers(-2**70, 2**70).map(str), st.integers(-999, 999).map(str),
                    st.floats(-1e9, 1e9).map(lambda x: repr(round(x, 6))), st.floats(allow_nan=False).map(repr))
noise = st.text("0123456789.-+eE :DTWNx/", max_size=21)
columns = st.one_of(st.lists(numbers, min_size=9, max_size=30),
                    st.lists(st.one_of(numbers, noise, st.sampled_from(WORDS)), min_size=9, max_size=30))


@pytest.mark.parametrize("t", [T.H, T.I, T.J, T.E, T.F, T.D, T.T, T.V, T.U, T.P])
@given(texts=columns)
def test_columns_are_parsed_as_each_text_is(t: int, texts: list[str]) -> None:
    items = [s.encode() for s in texts]
    whole = tok.tok_strings(t, items)
    alone = [tok.tok_bytes(t, s) for s in items]
    np.testing.assert_array_equal(whole.a, np.array([raw(x) for x in alone], T.DTYPE[t]), str(texts))
