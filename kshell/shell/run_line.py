"""Running a line at the console, in a session whose errors are printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kshell.errors import QError
from kshell.session import Session


def attempt(session: Session, work: Callable[..., Any], *args: Any, **options: Any) -> bool:
    """Call work(*args), printing errors on standard error: was there none?"""
    try:
        work(*args, **options)
        return True
    except QError as e:
        error = e
    print_error(session, error)
    return False


def print_error(session: Session, error: QError) -> None:
    session.warn("\n".join(session.error_lines(error)) + "\n")


def report(session: Session, text: str) -> bool:
    """Run text as on the console, printing its value or its error; was there an error?"""
    return not attempt(session, session.run, text, show=True)


def enter(session: Session, text: str) -> bool:
    """Execute a line at the console, printing errors; was there one?"""
    if session.together is not None:
        return session.together.enter(text)
    return not attempt(session, session.enter, text)


def tick(session: Session) -> bool:
    """Call the timer function if due; was there an error?"""
    if session.timer.wait() != 0:
        return False
    return (
        session.together.tick()
        if session.together is not None
        else not attempt(session, session.tick)
    )


def prompt_text(session: Session) -> str:
    """q), with the namespace, and one more bracket for each open debugger."""
    suspended = session.suspended
    space = suspended[-1].level.space if suspended else session.names.current
    return "q" + space * (space != ".") + ")" * (1 + len(suspended))
