"""Interrupts at chosen lines of everything that changes something: 'stop always, nothing half done, and a word if it was
done (tests/support/stops.py has the rules, tests/whole/stopcases.py the operations)."""

from __future__ import annotations

import contextlib
import io
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.checkpoints.base import stored
from kshell.errors import QError, QExit
from kshell.session import Session
from tests.support.stops import PLACE, RUN, Case, faults, lines_of
from tests.whole.stopcases import CASES

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


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("setup", "edit"), [
    ("t:tensor 1 2e", "t[0]:7e"), ("t:tensor 1 2e", "t+:1"), ("l:(tensor 1 2e;2)", "l[0;0]:7e"),
    ("d:dict(`a`b!(1 2e;3 4e))", "d[`a]*:2"), ("v:til 100", "v[0 1]:7 8"), ("v:til 100", "v[0 1]*:2"),
    ("v:til 100", "v+:1"), ("d:`a`b!(1;`x)", "d[`a`b]:1 2"), ("t:([]a:1 2;b:3 4)", "t[0 1;`a]:5"),
    ("s:`a`b", "`s?`a"), ("a:1", ".a.b.c:5"), ("t:([]a:1 2)", "t,:enlist 3")])
def test_a_loop_of_assignments_stops_at_once(setup: str, edit: str, session: Session) -> None:
    """Most of the time of such a loop nothing may be raised; still it ends by the end of the assignment."""
    line = f"{{do[100;{edit}]}}[]"
    session.run(setup)
    n, _ = lines_of(session, line)
    with pytest.raises(QError):  # what a report needs is loaded
        session.run("{'stop}[]")
    rng = random.Random(edit)
    for k in range(8):
        at = rng.randint(n // 2, n * 3 // 5)
        session.run(setup)
        with pytest.raises(QError if k % 2 else QExit):
            lines_of(session, line, at, signal.SIGINT if k % 2 else signal.SIGTERM)
        assert RUN[0] - at < 400 + n / 20, PLACE[0]  # the report of the error takes some, too


def test_the_last_error_does_not_keep_the_value(session: Session) -> None:
    for _ in range(2):  # the first one loads what it needs
        n, _ = lines_of(session, "tensor 1 2e")
    notes = set()
    for at in range(n - 30, n + 1):  # the last of them belong to what ends a line
        with contextlib.suppress(QError):
            lines_of(session, "tensor 1 2e", at)
            continue
        assert session.last_error is not None
        notes.add(session.last_error.note)
        assert len(session.handles) == 0, PLACE[0]
    assert "the line was carried out" in notes


def test_what_was_run_before_is_said(session: Session, tmp_path: Path) -> None:
    """The statements of a line, the lines of a script and the turns of \\t that an interrupt comes between."""
    (tmp_path / "three.q").write_text("a:2\nb:3\nc:4\n")
    for line, done, note, step in (("a:2;b:3", "a=2", "a:2 was carried out", 5),
                                   ("\\l three.q", "b=3", "three.q was carried out up to line 2", 25),
                                   ("\\t:3 a+:1", "a=3", "a+:1 was carried out 2 times", 1)):
        session.run("a:1;b:2;c:3")
        n, _ = lines_of(session, line)
        notes = set()
        for at in range(n // 2, n + 1, step):
            session.run("a:1;b:2;c:3")
            try:
                lines_of(session, line, at)
            except QError as e:
                assert e.note or e.frames or session.run("(a;b;c)~1 2 3"), PLACE[0]
                if session.run(done) is True:
                    notes.add(e.note)
        assert note in notes, notes


@pytest.mark.sampled(4)
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("file", ["c.pt", "c.safetensors"])
def test_a_tensor_of_a_file_that_is_read_is_given_up(file: str, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two parts of it, not when all is read."""
    read: list[int] = []
    session.run(f"d:`a`b!2#enlist tensor 1000#1e;ckpt(`:{file};d);e:0")
    monkeypatch.setattr(stored, "PIECE", 256)
    give_up = stored.give_up
    monkeypatch.setattr(stored, "give_up", lambda: (read.append(1), give_up()))
    session.run(f"f:ckpt`:{file}")
    n, _ = lines_of(session, "e:tensor f`a")
    for at in range(1, n, 3):
        session.run(f"e:0;f:ckpt`:{file}")
        try:
            lines_of(session, "e:tensor f`a", at)
        except QError as stopped:
            assert stopped.text == "stop" and session.run("(e~0)or e~tensor d`a")
    assert len(read) > 3
    session.run(f"e:ckpt`:{file}")
    assert session.run("(tensor e`b)~tensor d`b")
