"""What runs in a program that `kshell attach` makes listen, in a thread of its own that is soon over.

The script that Python injects runs in the middle of the program's main thread, whose locks are held there and whose
signals would end an import. So it only starts this thread.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from kshell.attach import place, process, startup

LISTENS, LATER, NEVER = "listens", "later", "never"  # the first word of an answer
NEEDED = "numpy", "prompt_toolkit", "pyparsing"  # besides torch
LOOK = 0.02  # seconds between looks at an import of torch
BEGUN = 0.5  # seconds in which an import of torch that has begun is seen
LONGEST = 5.0  # seconds that a fork waits

Say = Callable[[str], None]  # tells the one who attaches


def begin(folder: str, say: Say, loop: object = None) -> None:
    """Let this program listen in a folder: at once, or when it has imported torch. `loop`: the event loop that runs in
    the main thread."""
    startup.loop = loop
    if os.path.basename(startup.program()) in startup.LAUNCHERS:
        started = " ".join(map(str, process.children(os.getpid())))
        say(f"{NEVER} it makes no steps itself, but the processes that it has started: {started}")
        return
    place.chosen = place.chosen or folder
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        say(f"{NEVER} kshell needs {', '.join(missing)}, which the program cannot import")
        return
    if not startup.is_imported("torch"):
        startup.begin("attach")
        say(f"{LATER} it listens as soon as it has imported torch")
        if not _was_missed():
            return
    say(_listening(folder))


def _was_missed() -> bool:
    """Has torch been imported without the finder of `startup`, since its import had begun before?"""
    end = time.monotonic() + BEGUN
    while time.monotonic() < end or ("torch" in sys.modules and not startup.is_imported("torch")):
        time.sleep(LOOK)
    return startup.is_imported("torch") and startup.stop()


def _listening(folder: str) -> str:
    """Listen; the answer."""
    with _Forks().lock:
        host = importlib.import_module(startup.HOST)
        try:
            torch: Any = sys.modules["torch"]
            torch.from_numpy(importlib.import_module("numpy").zeros(1))
        except RuntimeError:  # it looked for numpy once
            return f"{NEVER} kshell needs numpy, without which the program has imported torch"
        startup.late = True
        path = host.listen()
    there = os.path.dirname(path)
    if there != folder:
        place.chosen = ""
        return f"{NEVER} it listens in another folder: KSHELL_RUN={there}"
    return LISTENS


class _Forks:
    """Forks of the program wait until modules are imported: in the child nobody would end an import."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._held = False
        os.register_at_fork(
            before=self._wait, after_in_parent=self._go_on, after_in_child=self._go_on
        )

    def _wait(self) -> None:
        self._held = self.lock.acquire(timeout=LONGEST)

    def _go_on(self) -> None:
        if self._held:
            self.lock.release()
