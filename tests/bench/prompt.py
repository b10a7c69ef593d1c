"""The prompt: from the start of the program until it shows, against importing torch; and one completion."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kshell.session import Session
from kshell.shell.complete import offers
from tests.bench.timing import best_of, row

ENV = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"TERM": "xterm"}
KSHELL = str(Path(sys.executable).parent / "kshell")
TEXTS = ("", "mo", "opt(`ad", "opt(`adam;m;`", "module(`linear;", "help`", "select pr", ".z.", "\\", "x:tensor(1;`")


def _until_prompt(folder: str) -> float:
    """Seconds from the start of a kshell on a terminal until its prompt is there."""
    start = time.perf_counter()
    pid, fd = pty.fork()
    if not pid:
        os.execve(KSHELL, [KSHELL, "-q"], ENV | {"XDG_STATE_HOME": folder})
    seen = b""
    while b"q)" not in seen:
        select.select([fd], [], [], 30)
        seen += os.read(fd, 65536)
    took = time.perf_counter() - start
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(fd)
    return took


def _import_torch() -> float:
    return best_of(lambda: subprocess.run([sys.executable, "-c", "import torch"], check=True, env=ENV))


def report() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        _until_prompt(folder), _import_torch()
        both = [(_until_prompt(folder), _import_torch()) for _ in range(5)]
    a, b = min(a for a, _ in both), min(b for _, b in both)
    session = Session()
    session.run("prices:([]price:til 1000;size:til 1000)")
    session.names.load_builtins()
    slowest = max(min(best_of(lambda t=text: offers(session, t)) for _ in range(5)) for text in TEXTS)
    return [row("from start to prompt", a, b, 0.35 / 0.8, "python -c 'import torch'"),
            row("the slowest completion", slowest, 0.03, 1, "30 ms")]
