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
    descriptor, path = tempfile.mkstemp(".py", "attach", place.made())
    try:
        with open(descriptor, "w") as file:
            file.write(SCRIPT)
        remote_exec(pid, path)
        return _awaited(pid, patience)
    except (OSError, RuntimeError, NotImplementedError) as e:
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


def reason(problem: Exception, pid: int) -> str:
    """What is missing, according to an error of sys.remote_exec."""
    text = first_line(str(problem))
    if isinstance(problem, PermissionError):
        scope = ""
        with suppress(OSError):
            scope = f" (it is {_SCOPE.read_text().strip()})"
        return f"{pid}: not permitted: needs CAP_SYS_PTRACE, or 0 in {_SCOPE}{scope}"
    if isinstance(problem, ProcessLookupError):
        return f"{pid} has ended"
    if "not enabled" in text or "disabled" in text:
        return f"{pid}: it was started with PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug: {text}"
    if "version" in text or "pre-release" in text:
        return f"{pid}: it runs another version of Python: {text}"
    return f"{pid}: {text}"
