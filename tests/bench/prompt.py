"""The prompt: from the start of the program until it shows, against importing torch; completions; and on a terminal the
first Tab, a key in a function of 10,000 lines, and such a function pasted and run, against the time it may take."""

from __future__ import annotations

import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kshell.session import Session
from kshell.shell.complete import offers
from tests.bench.timing import best_of, effort, row

ENV = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"TERM": "xterm"}
KSHELL = str(Path(sys.executable).parent / "kshell")
LINES = 10_000
FUNCTION = ("f:{[x]\n" + "".join(f"  v{i}:{i}+x*{i % 7};\n" for i in range(LINES)) + "  70006+x}").encode()
KEYS = (b"a", b"b", b"c", b'"', b'"', b"(", b")", b"\r", b"x", b"\x1b[A", b"\x7f")
TEXTS = ("", "mo", "opt(`ad", "opt(`adam;m;`", "module(`linear;", "help`", "select pr", ".z.", "\\", "x:tensor(1;`")


class _Terminal:
    """A kshell on a pseudo-terminal."""

    def __init__(self, folder: str) -> None:
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execve(KSHELL, [KSHELL, "-q"], ENV | {"XDG_STATE_HOME": folder})
        self.seen = b""

    def __enter__(self) -> _Terminal:
        self.until(b"q)")
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def read(self, seconds: float) -> bytes:
        if not select.select([self.fd], [], [], seconds)[0]:
            return b""
        found = os.read(self.fd, 65536)
        if b"\x1b[6n" in found:  # it asks where the cursor is
            os.write(self.fd, b"\x1b[1;1R")
        return found

    def until(self, text: bytes) -> None:
        while text not in self.seen:
            self.seen += self.read(30)
        self.seen = self.seen.partition(text)[2]

    def rest(self, seconds: float) -> None:
        """Let so much time pass, and then what is still being shown."""
        time.sleep(seconds)
        while self.read(0.1):
            pass
        self.seen = b""

    def write(self, data: bytes) -> None:
        while data:
            if select.select([self.fd], [self.fd], [])[0]:
                self.seen += self.read(0)
            data = data[os.write(self.fd, data[:4000]):]

    def answer(self, key: bytes) -> float:
        """Seconds from a key until something is shown."""
        start = time.perf_counter()
        self.write(key)
        self.read(30)
        return time.perf_counter() - start

    def effort(self) -> float:
        """Processor seconds of its main thread; by the clock where they are not known."""
        file = Path(f"/proc/{self.pid}/schedstat")
        return int(file.read_text().split()[0]) / 1e9 if file.exists() else time.perf_counter()


def _until_prompt(folder: str) -> float:
    """Seconds from the start of a kshell on a terminal until its prompt is there."""
    start = time.perf_counter()
    with _Terminal(folder):
        return time.perf_counter() - start


def _first_tab(folder: str) -> float:
    """Seconds that the first Tab takes when the prompt has been there for one."""
    with _Terminal(folder) as t:
        t.rest(0.9)
        t.write(b"opt(`ad")
        t.rest(0)
        return t.answer(b"\t")


def _keys(folder: str) -> float:
    """Processor seconds of a key inside a function of LINES lines."""
    with _Terminal(folder) as t:
        t.rest(2)
        t.write(b"\x1b[200~" + FUNCTION[:-1] + b"\x1b[201~")
        t.rest(1)
        took = []
        for key in KEYS:
            start = t.effort()
            t.write(key)
            t.rest(0)
            took.append(t.effort() - start)
        return statistics.median(took)


def _paste(folder: str) -> float:
    """Processor seconds of such a function, pasted and called."""
    with _Terminal(folder) as t:
        t.rest(2)
        start = t.effort()
        t.write(b"\x1b[200~" + FUNCTION + b"\n\x1b[201~f 1\r")
        t.until(b"70007\r\n")
        return t.effort() - start


def _completion(session: Session, text: str) -> float:
    """The least processor seconds of a completion."""
    return min(effort(lambda: offers(session, text)) for _ in range(5))


def _files(session: Session, count: int = 20_000) -> tuple[float, float]:
    """Processor seconds of the first completion of a file among many, and of the second."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            open(f"{folder}/file{i}", "w").close()
        os.utime(folder, (0, 0))  # changed long ago
        return effort(lambda: offers(session, f"get`:{folder}/file1")), _completion(session, f"get`:{folder}/file1")


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
    slowest = max(_completion(session, text) for text in TEXTS)
    first, again = _files(session)
    long = _completion(session, FUNCTION[:-2].decode() + "\n  v99")
    with tempfile.TemporaryDirectory() as folder:
        tab, key, paste = min(_first_tab(folder) for _ in range(3)), _keys(folder), _paste(folder)
    return [row("from start to prompt", a, b, 0.35 / 0.8, "python -c 'import torch'"),
            row("the slowest completion", slowest, 0.03, 1, "30 ms"),
            row("a file among 20,000, first", first, 0.03, 1, "30 ms"),
            row("a file among 20,000, again", again, 0.03, 1, "30 ms"),
            row("a name in a function of 10,000 lines", long, 0.03, 1, "30 ms"),
            row("the first Tab, a second after the prompt", tab, 0.06, 1, "60 ms"),
            row("a key in a function of 10,000 lines", key, 0.016, 1, "16 ms"),
            row("the function, pasted and run", paste, 1.5, 1, "1.5 s")]
