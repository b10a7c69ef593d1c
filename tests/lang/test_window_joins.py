"""Aggregates of the windows of wj and wj1, computed at once: what each window by itself gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.lang.qsql import joins
from kshell.session import Session

COLUMNS = {
    "f": "0n 1.5 -2 0w -0w 0.1", "j": "0N 1 -5 0W 7", "i": "0N 3 -4 9i", "h": "0N 3 -4 9h", "e": "0n 1.5 -2e", "b": "01b", "s": "`a`b`", "d": "0N 8000 8100d",
    "t": "0N 1000 2000t", "c": '"ab "', "p": "2000.01.01D0 0Np", "x": "0x0001ff"}
AGGREGATES = ("max", "min", "sum", "avg", "count", "first", "last", "med", "dev", "var", "all", "any", "prd", "distinct", "{max x}", "::", "sdev")


@pytest.fixture(scope="module")
def shared() -> Session:
    return Session()


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(COLUMNS)), st.sampled_from(AGGREGATES), st.sampled_from(["wj", "wj1"]), st.integers(0, 60), st.integers(1, 40),
       st.integers(-6, 3), st.integers(0, 12), st.integers(0, 5), st.integers(1, 10**6))
def test_windows_at_once(shared: Session, column: str, f: str, join: str, rows: int, asked: int, low: int, width: int, seed: int, few: int) -> None:
    """Empty windows, nulls and infinities among them, whatever the type; windows in several parts too."""
    s = shared
    s.run(f"system\"S {few}\";q:`sy`tm xasc([]sy:{rows}?`a`b`c;tm:{rows}?50;v:{rows}?{COLUMNS[column]});"
          f"t:`tm xasc([]sy:{asked}?`a`b`c`d;tm:{asked}?50);w:{low} {low + width}+\\:t`tm")
    text = f"{join}[w;`sy`tm;t;(q;({f};`v))]"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joins, "_at_once", lambda *_: None)
        want = _result(s, text, "want")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joins, "_ROWS", 1 + 7 * seed)
        have = _result(s, text, "have")
    assert have == want
    if not have:
        assert s.run("(have~want)&(meta have)~meta want"), f"{text}: {s.run('-3!have`v')} {s.run('-3!want`v')}"


def _result(s: Session, text: str, name: str) -> str:
    """The text of the error; empty if there is none."""
    return bytes(s.run(f'$[10h=type r:.[{{value x}};enlist"{text}";{{x}}];r;[`{name} set r;""]]'.replace("\\", "\\\\")).a).decode()  # type: ignore[union-attr]


def test_several_columns_and_their_weights(shared: Session) -> None:
    shared.run("q:`sy`tm xasc([]sy:900?`a`b;tm:900?500;v:900?10f;n:900?5);t:([]sy:300?`a`b;tm:300?500);w:-9 9+\\:t`tm")
    text = "wj1[w;`sy`tm;t;(q;(wavg;`n;`v);(wsum;`n;`v))]"
    shared.run(f"have:{text}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joins, "_at_once", lambda *_: None)
        assert shared.run(f"have~{text}")
