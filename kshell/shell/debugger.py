"""The debugger's prompt, `q))`: what can be typed there, following q."""

from __future__ import annotations

from typing import Any

from kshell.session import Session
from kshell.shell.run_line import attempt, print_error

# commands: how far each moves up, towards the caller
_MOVES = {"`": 1, ".": -1}
STUCK = "level [{}] cannot continue: it was in a query, a verb or a thread; 'text signals an error, \\ leaves"


def enter(session: Session, text: str) -> bool:
    """Execute a line typed in the debugger; was there an error?"""
    line = text.strip()
    suspension = session.suspended[-1]
    if line == "\\":
        session.suspended.pop()
    elif line in _MOVES:
        suspension.move(_MOVES[line])
        show(session)
    elif line == "&":
        show(session, whole=True)
    elif line[:1] == ":":
        return go_on(session, line[1:])
    elif line[:1] == "'" and len(line) > 1:
        signal(session, line[1:])
    elif line:
        return run(session, text)
    return False


def show(session: Session, whole: bool = False) -> None:
    """Print the current level, after the error's text if `whole`."""
    session.write("\n".join(session.suspended[-1].lines(whole)) + "\n")


def signal(session: Session, text: str) -> None:
    """Signal an error from the innermost level, which is removed; when only the typed line is left, the debugger ends
    with it."""
    text = text.strip().lstrip("`").strip('"')
    suspension = session.suspended[-1]
    error = suspension.cut(text)
    if error is None:
        show(session, whole=True)
    else:
        session.suspended.pop()
        print_error(session, error)


def go_on(session: Session, text: str) -> bool:
    """Continue with the value of a text, or ::, in place of the failed call; was there an error?"""
    suspension = session.suspended[-1]
    level = suspension.stuck()
    if level >= 0:
        session.warn(STUCK.format(level) + "\n")
        return True
    results: list[Any] = []
    if not attempt(session, lambda: results.append(session.run_suspended(text, False))):
        return True
    return not attempt(session, session.go_on, results[0])


def run(session: Session, text: str) -> bool:
    """Run a line with the level's variables; was there an error?"""
    return not attempt(session, session.run_suspended, text)
