"""`kshell.embed(model=m, opt=o)`: the prompt inside a running Python program, on its live objects.

Nothing is raised into the program, which may have been running for days. Problems are reported on standard error, and
it continues.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

from kshell.errors import QExit, first_line, message_of
from kshell.python import taking
from kshell.python.session import Session
from kshell.shell.run_line import enter, tick

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def embed(session: Session | FrameType | None = None, /, **values: Any) -> Session:
    """Open the prompt with some values, and continue when the user leaves it (Ctrl-D, `\\\\`, `exit 0`); returns the
    session.

    Modules, losses, optimizers, schedulers and tensors become handles of the same objects, so changes made there
    persist. Other values are copied, and their final values are in the session (`s = embed(x=x)`, `s.x`); values
    without a q equivalent are kept as they are. A given session is continued.

    Without arguments, the variables are the caller's: those of its function, over those of its module; with a frame,
    such as a signal handler gets, those of that frame. A note lists what was taken and what was left out.

    Without a terminal, lines are read from standard input until it ends or `\\\\` is read. If the prompt cannot be
    opened, or a name is not valid in q, that is reported on standard error, and nothing is raised.
    """
    s = session if isinstance(session, Session) else Session()
    notes: list[str] = []
    frame = session if isinstance(session, FrameType) else None
    if session is None and not values:
        frame = sys._getframe(1)
    if frame is not None:
        notes.append(_of_frame(s, taking.own_frame(frame) if frame is session else frame))
    elif session is not None and s is not session:
        notes.append(
            f"embed: expected a session, given {type(session).__name__}; variables go by name: embed(x=x)\n"
        )
    unlike = taking.told(taking.put(s, values, True), "not taken as they are")
    notes += [f"embed: {line}\n" for line in unlike]
    reason = _no_prompt()
    _tell(s, "".join(notes))
    if not reason:
        reason = _open(s)
    if reason:
        _tell(s, f"embed: no prompt: {reason}; the program goes on\n")
    return s


def _of_frame(s: Session, frame: FrameType) -> str:
    """Take the variables of a frame; returns the note about them."""
    try:
        taken, refused = taking.of_frame(s, frame)
        for reason, names in taking.put(s, taken, False).items():
            refused.setdefault(reason, []).extend(names)
        return taking.note(s, taken, frame, refused)
    except Exception as e:
        return f"embed: the variables cannot be taken: {type(e).__name__}: {first_line(message_of(e))}\n"


def _tell(s: Session, text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # streams that are closed or missing
        if text:
            s.warn(text)


def _no_prompt() -> str:
    """Why the prompt cannot be opened; empty if it can."""
    if threading.current_thread() is not threading.main_thread():
        return "it needs the main thread"
    try:
        asyncio.get_running_loop()
        return "an event loop is running in this thread; in a notebook use %%q"
    except RuntimeError:
        pass
    if sys.stdin is None or sys.stdin.closed:
        return "standard input is closed"
    with suppress(OSError, ValueError, AttributeError):
        descriptor = sys.stdin.fileno()
        # reading there would stop the program
        if os.isatty(descriptor) and os.tcgetpgrp(descriptor) != os.getpgrp():
            return "the program is in the background of its terminal (fg brings it back)"
    return ""


def _open(s: Session) -> str:
    """The prompt, until the user leaves it; returns why it ended, if abnormally."""
    reason = ""
    before = {signum: signal.getsignal(signum) for signum in _SIGNALS}
    try:
        signal.signal(signal.SIGINT, s.interrupt)
        _prompt(s)
    except QExit:
        pass
    except Exception as e:
        reason = first_line(f"{type(e).__name__}: {message_of(e)}")
    finally:
        for signum, handler in before.items():
            signal.signal(signum, signal.SIG_DFL if handler is None else handler)
        with suppress(OSError, ValueError, AttributeError):
            (s.out or sys.stdout).flush()
    return reason


def _prompt(s: Session) -> None:
    if sys.stdin.isatty():
        from kshell.shell.prompt import loop

        loop(s, False, own=False)
        return
    while line := sys.stdin.readline():  # not further: input after `\\` belongs to the program
        tick(s)
        enter(s, line.rstrip("\n"))
        (s.out or sys.stdout).flush()
