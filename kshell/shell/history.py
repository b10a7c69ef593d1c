"""The history of typed input: a file that only its owner can read, with multi-line entries kept whole."""

from __future__ import annotations

import os
from collections.abc import Iterable

from prompt_toolkit.history import History, InMemoryHistory

LONGEST = 100_000  # maximum characters of an entry written to the file; longer ones are kept for the session only


def path() -> str:
    """The location of the history file: in the user's state folder, following XDG."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "kshell", "history")


def history() -> History:
    """The history of earlier sessions; only this session's if the file cannot be written."""
    where = path()
    try:
        os.makedirs(os.path.dirname(where), mode=0o700, exist_ok=True)
        with open(os.open(where, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "rb") as file:
            os.fchmod(file.fileno(), 0o600)
        return Entries(where)
    except OSError:
        return InMemoryHistory()


class Entries(History):
    """A file in which each line of an entry begins with +, and entries are separated by empty lines.

    If writing fails, entries are kept in memory only: a full disk does not stop a session.
    """

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def load_history_strings(self) -> Iterable[str]:
        """The entries, newest first."""
        try:
            with open(self.where, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                text = file.read()
        except OSError:
            text = ""
        entries: list[list[str]] = []
        fresh = True
        for line in text.split("\n"):
            if line[:1] == "+":
                if fresh:
                    entries.append([])
                entries[-1].append(line[1:])
            fresh = line[:1] != "+"
        return reversed(["\n".join(entry) for entry in entries])

    def store_string(self, string: str) -> None:
        """Append an entry to the file."""
        if len(string) > LONGEST:
            return
        text = "".join(f"+{line}\n" for line in string.split("\n")) + "\n"
        try:
            descriptor = os.open(self.where, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:
            return
        try:
            os.write(descriptor, text.encode("utf-8", "surrogateescape"))
        except OSError:
            pass
        finally:
            os.close(descriptor)
