"""`kshell run train.py`: a Python program that listens, and otherwise runs as by `python train.py`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from kshell import attach
from kshell.shell.options import USAGE, UsageError

SITE = os.path.join(os.path.dirname(attach.__file__), "site")  # of the sitecustomize that begins


def start(words: list[str]) -> NoReturn:
    """Become Python with the program: the same process, so that signals, exit code and terminal are the program's."""
    settings, program = parsed(words)
    os.environ.update(settings)
    if sys.flags.utf8_mode and "LC_CTYPE" in os.environ:
        os.environ["LC_CTYPE"] = "C"  # which this Python changed; the next one changes it again
    os.execv(sys.executable, [sys.executable, *program])


def parsed(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """The variables of the environment for the options before the program, and the words for Python."""
    path = filter(None, [SITE, os.environ.get("PYTHONPATH")])
    settings = {"KSHELL_LISTEN": "1", "PYTHONPATH": os.pathsep.join(path)}
    rest = list(words)
    while rest and rest[0].startswith("--"):
        word = rest.pop(0)
        if word == "--":
            break
        if word == "--help":
            raise SystemExit(print(USAGE))
        if word != "--replay":
            raise UsageError(f"run: unknown option {word}")
        settings["KSHELL_REPLAY"] = _file(rest)
    if not rest:
        raise UsageError("run needs a program: kshell run train.py")
    return settings, rest


def _file(words: list[str]) -> str:
    """The absolute path of the file that the next word names."""
    if not words:
        raise UsageError("--replay needs a file")
    path = os.path.abspath(words.pop(0))
    if not os.path.isfile(path):
        raise UsageError(f"--replay: {path}: no such file")
    return path
