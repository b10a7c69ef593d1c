"""Running Python text: in `__main__`, which kshell's command gives to its user."""

from __future__ import annotations

import io
import itertools
import linecache
import os
import sys
from types import CodeType, ModuleType
from typing import Any

from kshell.embedpy.running_q import RunningQ
from kshell.registry import Hook
from kshell.values.session.context import running
from kshell.values.session.restrict import SHARED_FOLDER

RAN = Hook(lambda text, file: None)  # called when statements have run: classes.py
_KEPT = 500  # texts whose code is kept
_CODE: dict[tuple[str, str, str, int], CodeType] = {}
_NUMBERS = itertools.count(1)


def main_module() -> ModuleType:
    """The module in which Python text runs: the program's own; of the command `kshell` a fresh one, and its paths and
    arguments are as those of Python without a program."""
    main = sys.modules["__main__"]
    if is_command(main):
        main = sys.modules["__main__"] = ModuleType("__main__")
        main.q = RunningQ()  # type: ignore[attr-defined]
        main.itertools = itertools  # type: ignore[attr-defined]  # embedPy imports it, and programs count on it
        sys.argv[:] = [""]
        home = os.environ.get("QHOME")
        first = [*([] if SHARED_FOLDER else [""]), *([home] if home else [])]
        if not sys.stdin.isatty():
            sys.stdin = _Lines()
        sys.path[:] = dict.fromkeys([*first, *_without_command(sys.path)])
        if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
            os.environ.setdefault("MPLBACKEND", "module://kshell.python.figures")
    return main


def has_torch() -> bool:
    """Has something imported torch? Without it there are no classes of modules."""
    return hasattr(sys.modules.get("torch"), "optim")


class _Lines(io.TextIOBase):
    """Standard input of Python code where kshell reads its own lines from there: the next of them."""

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def readline(self, limit: int = -1) -> str:  # type: ignore[override]
        line: bytes = running().input.line() or b""
        return line.decode("utf-8", "surrogateescape")

    def read(self, size: int = -1) -> str:  # type: ignore[override]
        if size < 0:
            return "".join(iter(self.readline, ""))
        return bytes(running().input.take(size)).decode("utf-8", "surrogateescape")


def is_command(main: ModuleType) -> bool:
    """Is it that of kshell's own command?"""
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return bool(spec.name == "kshell.__main__")
    file = os.path.basename(getattr(main, "__file__", None) or "")
    return file in ("kshell", "kshell-script.py", "kshell.exe") and hasattr(main, "main")


def _without_command(path: list[str]) -> list[str]:
    """The folders of modules without that of the command."""
    own = os.path.dirname(sys.executable)
    return [folder for folder in path if folder not in (own, "")]


def execute(text: str, file: str = "", line: int = 0) -> None:
    """Run statements, which are at a line of a file if they are of one."""
    exec(_compiled(text, "exec", file, line), main_module().__dict__)
    RAN.fn(text, file)


def evaluate(text: str) -> Any:
    """The value of an expression."""
    return eval(_compiled(text.strip(" \t"), "eval", "", 0), main_module().__dict__)


def _compiled(text: str, mode: str, file: str, line: int) -> CodeType:
    """The code of a text, whose lines tracebacks show; that of the last ones is kept."""
    key = (text, mode, file, line)
    found = _CODE.get(key)
    if found is None:
        if not file:
            compile(text, "", mode)  # its error is that of a nameless text
        name = file or f"<p) {next(_NUMBERS)}>"
        found = _CODE[key] = compile("\n" * max(line - 1, 0) + text, name, mode, dont_inherit=True)
        if not file:
            linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        while len(_CODE) > _KEPT:
            old = _CODE.pop(next(iter(_CODE)))
            linecache.cache.pop(old.co_filename if old.co_filename[:1] == "<" else "", None)
    return found
