"""Interrupts at chosen lines of everything that changes something: 'stop always, nothing half done, and a word if it was
done (tests/stops.py has the rules, tests/stopcases.py the operations)."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from tests.stopcases import CASES
from tests.stops import Case, faults, lines_of

KINDS = sorted({c.name.split(" ", 1)[0] for c in CASES})


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "db").mkdir()
    (tmp_path / "script.q").write_text("a:2\n")
    yield Session(out=io.StringIO(), err=io.StringIO())


def _checked(session: Session, cases: list[Case], some: int, last: int, monkeypatch: pytest.MonkeyPatch) -> int:
    tries, found, folder = 0, [], Path.cwd()
    for case in cases:
        monkeypatch.chdir(folder)
        n, wrong = faults(session, case, some, last, random.Random(case.name))
        tries, found = tries + n, found + wrong
    assert not found, "\n".join(found)
    return tries


def test_some_lines(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line drawn among all, and the last ones, of every fourth operation: where most faults were."""
    assert _checked(session, CASES[::4], 1, 2, monkeypatch) > 50


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_lines(kind: str, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = _checked(session, [c for c in CASES if c.name.split(" ", 1)[0] == kind], 30, 20, monkeypatch)
    print(f"{kind}: {tries} interrupts")
    assert tries > 100


def test_a_trap_gets_the_bare_text(session: Session) -> None:
    """What was carried out is said in the report alone."""
    line = "e:@[{`a set 2;while[x;1]};1b;{x}]"
    n, _ = lines_of(session, "e:@[{`a set 2;while[x;1]};0b;{x}]")
    seen = set()
    for at in range(n // 2, n):
        session.run("e:0")
        with contextlib.suppress(QError):  # before the trap is there
            lines_of(session, line, at)
        seen.add(session.show(session.run("e")))
    assert seen == {"0", '"stop"'}


def test_the_report_says_what_was_carried_out(session: Session) -> None:
    case = Case("", "t:([]a:1 2)", "`t insert enlist 3", "count t")
    session.run(case.setup)
    n, _ = lines_of(session, case.line)
    reports = set()
    for at in range(n // 2, n + 1):
        session.run(case.setup)
        try:
            lines_of(session, case.line, at)
        except QError as e:
            reports.add("\n".join(session.error_lines(e)[:1] + session.error_lines(e)[3:]))
    assert "'stop\n  (insert was carried out)" in reports
