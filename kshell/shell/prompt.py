"""The interactive prompt."""

from __future__ import annotations

import os

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from kshell import __version__
from kshell.errors import QError
from kshell.session import Session
from kshell.shell.complete import QCompleter
from kshell.shell.script import report


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
            text = lines.prompt("q)" if space == "." else f"q{space})")
        except EOFError:
            return 0
        except (KeyboardInterrupt, QError):
            continue
        report(session, text)
