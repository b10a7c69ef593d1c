"""`kshell.embed(model=m, opt=o)`: the prompt inside a running Python program, on its live objects.

Nothing is raised into the program: it may have run for days. What is wrong is told on standard error, and it goes on.
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

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def embed(session: Session | FrameType | None = None, /, **values: Any) -> Session:
    """Open the prompt on some values, and go on when it is left (Ctrl-D, `\\\\`, `exit 0`); the session is the result.

    Modules, losses, optimizers, schedulers and tensors are handles of the very objects, so what is done to them there
    counts afterwards; other values are copied, and what they became is in the session (`s = embed(x=x)`, `s.x`); what
    has no q value is held as it is. A session that is given goes on.

    Without any argument the variables are the caller's, those of its function over those of its module; with a frame,
    as a signal's handler gets one, those of that frame. A note tells what is there and what was left out.

    Without a terminal, lines are read from standard input until it ends or `\\\\` comes. Where there can be no prompt,
    or a name is none in q, that is told on standard error, and nothing is raised.
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
    why = _no_prompt()
    _tell(s, "".join(notes))
    if not why:
        why = _open(s)
    if why:
        _tell(s, f"embed: no prompt: {why}; the program goes on\n")
    return s


def _of_frame(s: Session, frame: FrameType) -> str:
    """Take the variables of a frame; the note on them."""
    try:
        found, left = taking.of_frame(s, frame)
        for reason, names in taking.put(s, found, False).items():
            left.setdefault(reason, []).extend(names)
        return taking.note(s, found, frame, left)
    except Exception as e:
        return f"embed: the variables cannot be taken: {type(e).__name__}: {first_line(message_of(e))}\n"


def _tell(s: Session, text: str) -> None:
    with suppress(
        OSError, ValueError, AttributeError
    ):  # streams that are closed, or were never there
        if text:
            s.warn(text)


def _no_prompt() -> str:
    """Why there can be no prompt; empty if there can."""
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
        fd = sys.stdin.fileno()
        if (
            os.isatty(fd) and os.tcgetpgrp(fd) != os.getpgrp()
        ):  # to read there would stop the program
            return "the program is in the background of its terminal (fg brings it back)"
    return ""


def _open(s: Session) -> str:
    """The prompt, until it is left; why it ended, if not as it should."""
    why = ""
    before = {n: signal.getsignal(n) for n in _SIGNALS}
    try:
        signal.signal(signal.SIGINT, s.interrupt)
        _prompt(s)
    except QExit:
        pass
    except Exception as e:
        why = first_line(f"{type(e).__name__}: {message_of(e)}")
    finally:
        for n, handler in before.items():
            signal.signal(n, signal.SIG_DFL if handler is None else handler)
        with suppress(OSError, ValueError, AttributeError):
            (s.out or sys.stdout).flush()
    return why


def _prompt(s: Session) -> None:
    if sys.stdin.isatty():
        from kshell.shell.prompt import loop

        loop(s, False, own=False)
        return
    from kshell.shell.run_line import enter, tick

    while line := sys.stdin.readline():  # not further: what comes after `\\` is the program's
        tick(s)
        enter(s, line.rstrip("\n"))
        (s.out or sys.stdout).flush()
