"""The interactive prompt."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, run_in_terminal
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from kshell import __version__
from kshell.errors import QError, QExit
from kshell.session import Session
from kshell.shell.complete import QCompleter
from kshell.shell.script import enter, tick


def history() -> History:
    """Lines of former sessions, in the user's state folder; in memory if there is none to write to."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    folder = os.path.join(base, "kshell")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, "history")
        with open(path, "a"):
            return FileHistory(path)
    except OSError:
        return InMemoryHistory()


def loop(session: Session, quiet: bool) -> int:
    """Read, run and print until end of input; the exit code."""
    if not quiet:
        session.write(f"kshell {__version__}: q over PyTorch. help[] for help, \\\\ to leave\n")
    lines: PromptSession[str] = PromptSession(history=history(), completer=QCompleter(session),
                                             complete_while_typing=False)
    while True:
        space = session.names.current
        try:
            text = lines.prompt("q)" if space == "." else f"q{space})", pre_run=lambda: start_timer(session))
        except EOFError:
            return 0
        except (KeyboardInterrupt, QError):
            continue
        enter(session, text)


def start_timer(session: Session) -> None:
    """While the prompt waits for a line, call the timer's function when it is time; its output goes above the prompt.
    A timer that is off can only be started by a line."""
    if session.timer.interval:
        get_app().create_background_task(_ticks(session))


async def _ticks(session: Session) -> None:
    while (wait := session.timer.wait()) is not None:
        await asyncio.sleep(wait)
        try:
            await run_in_terminal(lambda: _tick(session))
        except QExit as e:
            get_app().exit(exception=e)
            return


def _tick(session: Session) -> None:
    """A tick with Ctrl-C as when a line runs: the prompt's own way would not stop it."""
    before = signal.signal(signal.SIGINT, session.interrupt)
    try:
        tick(session)
        (session.out or sys.stdout).flush()
    finally:
        signal.signal(signal.SIGINT, before)
