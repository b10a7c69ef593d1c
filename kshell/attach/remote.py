"""Making a running program listen that does not: by Python 3.14's sys.remote_exec."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from kshell.attach import place, process
from kshell.attach.injected import LATER, NEVER
from kshell.errors import first_line

# Nothing of it may fail in the program, where errors are printed. It removes itself, as nobody else knows when the
# program has opened it. The program's own modules are found before those that are lent to it.
SCRIPT = """\
def begin(script, answer, folder, names, paths):
    import _thread, os, sys

    loop = getattr(sys.modules.get("asyncio"), "_get_running_loop", int)() or None

    class Lent:
        by_kshell = True
        def find_spec(self, name, path=None, target=None):
            if name in names:
                from importlib.machinery import PathFinder
                return PathFinder.find_spec(name, paths, target)

    def say(text):
        try:
            with open(os.open(answer, os.O_WRONLY | os.O_TRUNC), "w") as file:
                file.write(text + "\\n")
        except OSError:
            pass

    def work():
        try:
            own = [finder for finder in sys.meta_path if not hasattr(finder, "by_kshell")]
            sys.meta_path = [*own, Lent()]
            from kshell.attach import injected
            injected.begin(folder, say, loop)
        except BaseException as e:
            say("never " + (f"{type(e).__name__}: {e}".splitlines() or [""])[0])

    try:
        os.unlink(script)
        _thread.start_new_thread(work, ())
    except BaseException as e:
        say(f"never {e}")

begin"""
# what the program may import from where the attaching process has it
LENT = "kshell", "numpy", "prompt_toolkit", "wcwidth", "pyparsing", "safetensors", "h11", "wsproto"
BEGINS = 10.0  # seconds in which the program must listen
LOOK = 0.05  # seconds between looks whether it does
NEEDS = (
    "attaching to a program that does not listen needs the same Python on both sides, 3.14 or later"
)
NOT_YET = "it listens as soon as"
OFF = "PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug"


def attach(pid: int, patience: float = BEGINS) -> str:
    """Let the program with a process id begin to listen; why it does not, empty if it does."""
    remote_exec: Any = getattr(sys, "remote_exec", None)
    if remote_exec is None:
        return NEEDS
    try:
        reason = lacking(pid) or _asked(remote_exec, pid, patience)
    finally:
        with suppress(OSError):
            os.unlink(place.answer_of(pid))
    if reason and not process.runs(pid):
        with suppress(OSError):
            os.unlink(place.script_of(pid))
        return f"{pid} has ended"
    return f"{pid}: {reason}" if reason else ""


def attach_others(pid: int) -> dict[int, str]:
    """Let the other processes of a program's job on this machine begin to listen too; why some do not, by rank."""
    deaf = {
        rank: other
        for rank, other in process.ranks(pid).items()
        if not os.path.exists(place.socket_of(other))
    }
    with ThreadPoolExecutor(len(deaf) + 1) as pool:
        reasons = zip(deaf, pool.map(attach, deaf.values()), strict=True)
        return {rank: reason for rank, reason in reasons if reason}


def lacking(pid: int) -> str:
    """What is missing to make a program listen; empty if that is not known."""
    if forbidden := process.forbidden(pid):
        return forbidden
    own, theirs = f"{sys.version_info[0]}.{sys.version_info[1]}", process.python(pid)
    if theirs != own:
        return f"{NEEDS}: here it is {own}, there {theirs or 'no Python that is known'}"
    return ""


def _asked(remote_exec: Any, pid: int, patience: float) -> str:
    """Ask a program to listen, and wait until it does; why it does not."""
    answer = Path(place.made(), os.path.basename(place.answer_of(pid)))
    answer.touch(0o600)
    if process.is_apart(pid, str(answer)):
        return "it runs in a container, or sees other files for another reason: attach from there"
    path = place.script_of(pid)
    _write(path, pid)
    try:
        remote_exec(pid, path)
    except FileNotFoundError:  # the program has just run it, as another process asked too
        pass
    except (OSError, RuntimeError, ValueError) as e:
        with suppress(OSError):
            os.unlink(path)
        return reason(e)
    return _awaited(pid, patience)


def _write(path: str, pid: int) -> None:
    """Write the script. It is whole whenever the program opens it: another process may ask too."""
    own = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    paths = [os.path.abspath(path) for path in [*sys.path, own]]
    given = path, place.answer_of(pid), place.folder(), LENT, paths
    descriptor, new = tempfile.mkstemp(prefix=f"{pid}.", dir=place.folder())
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{SCRIPT}{given!r}\n")
    os.replace(new, path)


def _awaited(pid: int, patience: float) -> str:
    """Wait until a program listens; why it does not."""
    end = time.monotonic() + patience
    word = text = ""
    while time.monotonic() < end and word != NEVER and process.runs(pid):
        if os.path.exists(place.socket_of(pid)) and place.asked(pid) is not None:
            return ""
        time.sleep(LOOK)
        word, text = _answer(pid)
    if word in (NEVER, LATER):
        return text
    if os.path.exists(place.script_of(pid)):
        return (
            f"{NOT_YET} its main thread runs a line of Python again, which it has not done in "
            f"{patience:g} s: it is in a long call, or waits for input or another thread"
        )
    if not word:
        return f"{NOT_YET} it has imported what it needs, for which {patience:g} s did not do"
    return f"it does not listen after {patience:g} s"


def _answer(pid: int) -> tuple[str, str]:
    """What a program has answered so far: a word and a text."""
    with suppress(OSError):
        text = Path(place.answer_of(pid)).read_text(errors="replace")
        if text.endswith("\n"):
            word, _, text = text.rstrip("\n").partition(" ")
            return word, text
    return "", ""


def reason(problem: Exception) -> str:
    """What is missing, according to an error of sys.remote_exec."""
    text = first_line(str(problem))
    if isinstance(problem, PermissionError):
        return process.not_permitted()
    if "not enabled" in text:
        whose = "the program" if "remote process" in text else "this Python"
        return f"{whose} was started with {OFF}, or built without remote debugging: {text}"
    if "send commands" in text:
        return f"it runs another build of Python: {text}"
    return text
