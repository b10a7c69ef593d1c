"""What is known of a process from outside: whose it is, which Python it runs, and of which job it is one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
_SCOPE = PROC / "sys/kernel/yama/ptrace_scope"
_PYTHON = re.compile(r"python(\d+\.\d+)")
_JOB = "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"  # the variables that name a job


def runs(pid: int) -> bool:
    """Is there such a process, which has not ended?"""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return _status(pid, "State")[:1] not in (["Z"], ["X"])  # one that only its parent waits for


def owner(pid: int) -> int | None:
    """The user of a process; None where the system does not tell."""
    users = _status(pid, "Uid")
    return int(users[1]) if len(users) > 1 else None


def name_of(user: int | None) -> str:
    """The name of a user of this machine."""
    import pwd

    if user is None:
        return ""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def forbidden(pid: int) -> str:
    """Why this process may not trace another one, which is to read and write its memory; empty if it may."""
    user = owner(pid)
    if user is not None and user != os.geteuid():
        name = name_of(user)
        return f"it is a process of user {name}, who alone can: sudo -u {name} kshell attach {pid}"
    try:
        os.close(os.open(PROC / str(pid) / "mem", os.O_RDONLY))
    except PermissionError:
        return not_permitted()
    except OSError:  # not Linux, or the process has ended
        pass
    return ""


def not_permitted() -> str:
    """Which right is missing to trace a process of the same user."""
    scope = ""
    with suppress(OSError):
        scope = _SCOPE.read_text().strip()
    if scope == "3":
        return f"not permitted: {_SCOPE} is 3, so no process may trace another"
    others = f", or 0 in {_SCOPE}, which is {scope}" if scope not in ("", "0") else ""
    return f"not permitted: needs CAP_SYS_PTRACE, as root has{others}"


def python(pid: int) -> str:
    """The version of Python that a process runs, by the names of its program and libraries, or of folders with its
    files; empty if none tells."""
    folder = PROC / str(pid)
    paths = []
    with suppress(OSError):
        paths.append(os.readlink(folder / "exe"))
    with suppress(OSError):
        paths += (folder / "maps").read_text(errors="replace").splitlines()
    names = [os.path.basename(path) for path in paths]
    versions = [match[1] for name in [*names, *paths] if (match := _PYTHON.search(name))]
    return versions[0] if versions else ""


def is_apart(pid: int, path: str) -> bool:
    """Does a process see other files than this one, or other process ids, as in a container? `path` is a file."""
    ids = _status(pid, "NSpid")
    if ids and (int(ids[-1]) != pid or len(ids) != len(_status(os.getpid(), "NSpid"))):
        return True
    try:
        return not os.path.samefile(path, f"{PROC}/{pid}/root{path}")
    except FileNotFoundError:
        return PROC.is_dir()
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """The processes that another one has started."""
    return [int(word) for part in _read(pid, "task/*/children") for word in part.split()]


def ranks(pid: int) -> dict[int, int]:
    """The other processes of the job of a process that a launcher such as torchrun has started here, by their rank."""
    parent = _status(pid, "PPid")
    mine = _variables(pid)
    if not parent or not mine.get("RANK", "").isdigit():
        return {}
    found = {}
    for other in children(int(parent[0])):
        given = _variables(other)
        is_same = all(given.get(name) == mine.get(name) for name in _JOB)
        if other != pid and is_same and given.get("RANK", "").isdigit():
            found[int(given["RANK"])] = other
    return dict(sorted(found.items()))


def _status(pid: int, name: str) -> list[str]:
    """The words of a line of what Linux tells of a process."""
    for text in _read(pid, "status"):
        for line in text.splitlines():
            if line.startswith(f"{name}:"):
                return line.split()[1:]
    return []


def _variables(pid: int) -> dict[str, str]:
    """The environment with which a process was started."""
    pairs = (pair for text in _read(pid, "environ") for pair in text.split("\0"))
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _read(pid: int, name: str) -> Iterator[str]:
    for path in (PROC / str(pid)).glob(name):
        with suppress(OSError):
            yield path.read_text(errors="replace")
