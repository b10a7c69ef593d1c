"""Making a running program listen that does not: by Python 3.14's sys.remote_exec."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from kshell.attach import place
from kshell.errors import first_line

SCRIPT = 'from kshell.attach import startup\n\nstartup.begin("attach")\n'
BEGINS = 10.0  # seconds in which the program must listen
LOOK = 0.05  # seconds between looks whether it does
NEEDS = "attaching to a program that does not listen needs Python 3.14 on both sides"
_PYTHON = re.compile(r"python(\d+\.\d+)?")
_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")


def attach(pid: int, patience: float = BEGINS) -> str:
    """Let the program with a process id begin to listen; why it does not, empty if it does."""
    remote_exec: Any = getattr(sys, "remote_exec", None)
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if remote_exec is None:
        return NEEDS
    if (theirs := version(pid)) != own:
        return f"{NEEDS}: here it is {own}, there {theirs or 'no Python that is known'}"
    if not may_trace(pid):
        return forbidden(pid)
    descriptor, path = tempfile.mkstemp(".py", "attach", place.made())
    try:
        with open(descriptor, "w") as file:
            file.write(SCRIPT)
        remote_exec(pid, path)
        return _awaited(pid, patience)
    except (OSError, RuntimeError, ValueError) as e:
        return reason(e, pid)
    finally:
        with suppress(OSError):
            os.unlink(path)


def version(pid: int) -> str:
    """The version of Python that a process runs, by the name of its program or library; empty if that tells none."""
    names = []
    with suppress(OSError):
        names.append(os.path.basename(os.readlink(f"/proc/{pid}/exe")))
    with suppress(OSError), open(f"/proc/{pid}/maps") as file:
        names += [os.path.basename(line.rstrip()) for line in file if "libpython" in line]
    versions = [match[1] for name in names if (match := _PYTHON.search(name)) and match[1]]
    return versions[0] if versions else ""


def _awaited(pid: int, patience: float) -> str:
    """Wait until a program listens."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if os.path.exists(place.socket_of(pid)) and place.asked(pid) is not None:
            return ""
        time.sleep(LOOK)
    return f"{pid} did not begin to listen in {patience:g} s: its Python needs kshell, and to run a line of Python"


def may_trace(pid: int) -> bool:
    """May this process read and write the memory of another one? Where Linux forbids it, sys.remote_exec says only that
    it finds no Python there."""
    try:
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY))
    except PermissionError:
        return False
    except OSError:  # not Linux, or the process has ended
        pass
    return True


def forbidden(pid: int) -> str:
    """What is missing to trace a process."""
    scope = ""
    with suppress(OSError):
        scope = f" (it is {_SCOPE.read_text().strip()})"
    return f"{pid}: not permitted: needs CAP_SYS_PTRACE, or 0 in {_SCOPE}{scope}"


def reason(problem: Exception, pid: int) -> str:
    """What is missing, according to an error of sys.remote_exec."""
    text = first_line(str(problem))
    if isinstance(problem, PermissionError):
        return forbidden(pid)
    if isinstance(problem, ProcessLookupError):
        return f"{pid} has ended"
    if text.startswith("Remote debugging"):
        whose = "the program" if "remote process" in text else "this Python"
        off = "PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug"
        return f"{pid}: {whose} was started with {off}: {text}"
    if "send commands" in text or "Python version" in text:
        return f"{pid}: it runs another version of Python: {text}"
    return f"{pid}: {text}"
