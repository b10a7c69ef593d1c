"""Interrupts at a chosen place: SIGINT at the n-th line of Python that a line of q runs.

Python looks for signals where a function begins, where a loop goes back and after calls of C. A line of kshell's own
files stands for all of these, unless it only returns, raises or names what is there: between the line before and the
end of such a line it does not look. Of compiled q code the beginnings of functions and the ways back of loops stand for them.
"""

from __future__ import annotations

import functools
import gc
import linecache
import random
import re
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from kshell.errors import Q_FILE, QError
from kshell.session import Session
from kshell.values.base.core import text_of
from kshell.values.session import interrupts


class Case(NamedTuple):
    """What is interrupted: lines that make the state, run before each try; the line itself; and an expression that
    shows the state, to which the number of handles is added. `again`: may the line be run a second time after it was
    carried out?"""

    name: str
    setup: str
    line: str
    state: str
    again: bool = True


PLACE = [""]  # where the last interrupt was sent
RUN = [0]  # how many lines the last line of q ran


class Outcome(NamedTuple):
    """What one try did: `sent` whether the line was long enough to be interrupted, the error's text and note (empty if
    the line ended well), and the state afterwards."""

    sent: bool
    text: str
    note: str
    state: str


def lines_of(session: Session, text: str, at: int = 0, signum: int = signal.SIGINT) -> tuple[int, bool]:
    """Run q text, with a signal at line `at` of Python's, counted from 1; how many lines were run, and was it sent?"""
    count, sent = 0, False

    def trace(frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        nonlocal count, sent
        if event == "call" and frame.f_code.co_filename.startswith("<frozen"):
            return None
        if frame.f_code.co_filename == Q_FILE:
            if event != "call" and not (event == "line" and _is_loop(frame)):
                return trace
        elif event != "line" or only_names(frame.f_code.co_filename, frame.f_lineno):
            return trace
        count += 1
        if count == at:
            sent = True
            PLACE[0] = f"{frame.f_code.co_filename.rpartition('kshell/')[2]}:{frame.f_lineno}"
            signal.raise_signal(signum)
        return trace

    before = signal.signal(signum, session.interrupt if signum == signal.SIGINT else session.terminate)
    tracing = sys.gettrace()
    try:
        sys.settrace(trace)
        session.run(text)
    finally:
        sys.settrace(tracing)
        signal.signal(signum, before)
        RUN[0] = count
    return count, sent


@functools.cache
def only_names(file: str, number: int) -> bool:
    """Does a line only return or raise what is there, or give it a name?"""
    return re.fullmatch(r"(return|raise)( \w+)?|\w+ = \w+", linecache.getline(file, number).strip()) is not None


def _is_loop(frame: FrameType) -> bool:
    """Does compiled q code come to the head of a loop?"""
    info = frame.f_code.co_consts[-1]
    return info.text.split("\n")[frame.f_lineno - 1].lstrip().startswith(("while", "for"))


def attempt(session: Session, case: Case, at: int) -> Outcome:
    """One try of a case: SIGINT at line `at`."""
    for line in case.setup.split("\n"):
        session.run(line)
    text = note = ""
    sent = True
    try:
        _, sent = lines_of(session, case.line, at)
    except QError as e:
        text, note = e.text, e.note
    assert not interrupts.HOLD.depth
    return Outcome(sent, text, note, shown(session, case))


def shown(session: Session, case: Case) -> str:
    return text_of(session.run(f".Q.s1({case.state};count obj[])"))


def faults(session: Session, case: Case, some: int, last: int, rng: random.Random) -> tuple[int, list[str]]:
    """Try a case at lines drawn at random, at least one, and at its last ones: how many tries, and what was wrong. Every
    interrupt has to be 'stop, with the state as it was before the line, or with that after it and a note, and the line
    has to work again."""
    gc.collect()  # handles of the cases before
    before, after = _states(session, case)
    for line in case.setup.split("\n"):
        session.run(line)
    n, _ = lines_of(session, case.line)
    tries, found = 0, []
    for at in sorted({*range(n - last + 1, n + 1), *(rng.randint(1, n) for _ in range(max(some, 1)))}):
        try:
            got = attempt(session, case, at)
        except KeyboardInterrupt:
            found.append(f"{case.name} at {at} ({PLACE[0]}): KeyboardInterrupt")
            continue
        if got.sent:  # it may take fewer lines than before
            tries += 1
            if wrong := _wrong(session, case, got, before, after):
                found.append(f"{case.name} at {at} ({PLACE[0]}): {wrong}")
    return tries, found


def _states(session: Session, case: Case) -> tuple[str, str]:
    """The states before and after the line; it runs twice before, so that what is loaded once is there."""
    for _ in range(2):
        for line in case.setup.split("\n"):
            session.run(line)
        before = shown(session, case)
        session.run(case.line)
    return before, shown(session, case)


def _is_of(note: str, line: str) -> bool:
    """Is a note about the line, or the call that it begins with, and not about a part that comes before that?"""
    begin = re.match(r"\w+(?=[(\[ ])", line)
    return note.startswith(("the line", line, begin[0] + " was" if begin else line))


def _wrong(session: Session, case: Case, got: Outcome, before: str, after: str) -> str:
    if got.state not in (before, after):
        return f"half done: {got.state!r}, not {before!r} or {after!r}"
    if got.text not in ("", "stop"):
        return f"the error is {got.text}"
    if got.text and got.state == after != before and not got.note:
        return "carried out without a word"
    if got.text and got.state == before != after and _is_of(got.note, case.line):
        return f"not carried out, but the note is {got.note}"
    if not got.text and got.state != after:
        return "ended well with nothing done"
    if got.state == before != after or case.again:
        try:
            session.run(case.line)
        except QError as e:
            return f"the same line again: {e.text}"
        if got.state == before and (again := shown(session, case)) != after:
            return f"the same line again gives {again!r}, not {after!r}"
    return ""
