"""`kshell.embed(model=m, opt=o)`: the prompt inside a running Python program, on its live objects."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from typing import Any

from kshell.errors import QExit
from kshell.python.session import Session

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def embed(session: Session | None = None, /, **values: Any) -> Session:
    """Open the prompt on some values, and go on when it is left (Ctrl-D, `\\\\`, `exit 0`); the session is the result.

    Modules, losses, optimizers and tensors are handles of the very objects, so what is done to them there counts
    afterwards; other values are copied, and what they became is in the session (`s = embed(x=x)`, `s.x`). A session
    that is given goes on. Without a terminal, lines are read from standard input until it ends or `\\\\` comes.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("embed: the prompt needs the main thread")
    if _in_loop():
        raise RuntimeError("embed: an event loop is running in this thread; in a notebook use %%q")
    s = Session() if session is None else session
    for name, x in sorted(values.items(), key=lambda item: hasattr(item[1], "param_groups")):
        s[name] = x  # modules before optimizers, whose parameters have their names
    before = {n: signal.getsignal(n) for n in _SIGNALS}
    signal.signal(signal.SIGINT, s.interrupt)
    try:
        _prompt(s)
    except QExit:
        pass
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)
        (s.out or sys.stdout).flush()
    return s


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
        return True
    except RuntimeError:
        return False


def _prompt(s: Session) -> None:
    if sys.stdin.isatty():
        from kshell.shell.prompt import loop

        loop(s, False, own=False)
        return
    from kshell.shell.script import enter, tick

    while line := sys.stdin.readline():  # not further: what comes after `\\` is the program's
        tick(s)
        enter(s, line.rstrip("\n"))
        (s.out or sys.stdout).flush()
