"""Where programs that listen have their sockets: FOLDER/PID, which speaks q's protocol, and FOLDER/PID.where, which
tells the state of the program and stops a query.

The folder is the user's alone, and whoever asks checks that the process at the other end is the user's or root's.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import struct
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from kshell.attach import process

LONGEST = 107 if sys.platform == "linux" else 103  # bytes of the path of a unix socket
BACKLOG = 16
MOST = 1 << 20  # bytes of an answer
AGAIN = 0.02  # seconds until a socket that refuses is asked again: it may be about to listen
NOT_ANSWERING = "not answering"

chosen = ""  # the folder, if another process has chosen it for this one


@dataclass
class State:
    """What a program that listens tells of itself."""

    pid: int = 0
    user: str = ""
    program: str = ""  # as `train.py --lr 1`
    step: int = 0
    since: float | None = None  # seconds since the last safe point
    started: float = 0.0  # unix time
    devices: list[str] = field(default_factory=list)
    memory: int = 0  # bytes
    rank: int = -1  # -1 if there is one process
    what: str = ""  # training, paused, before the first step, busy, idle; NOT_ANSWERING
    stack: list[str] = field(default_factory=list)  # lines of text
    attached: int = 0  # clients
    job: str = ""  # the same in all processes of a job; empty if there is one process
    digests: list[tuple[int, int]] = field(default_factory=list)  # of the last edits: step, digest
    answer: str = ""  # to what else was asked for

    def to_json(self) -> str:
        """The state as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> State:
        """The state of `to_json`, also of another version; ValueError if the text is none."""
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError("not a state")
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


# ------------------------------------------------------------------ the folder


def folder() -> str:
    """The folder of the sockets: KSHELL_RUN, else one in the user's runtime folder, else in the temporary one."""
    if chosen:
        return chosen
    given = os.environ.get("KSHELL_RUN")
    if given:
        return os.path.abspath(given)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        with suppress(OSError):
            found = os.stat(runtime)
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                return os.path.join(runtime, "kshell")
    from tempfile import gettempdir  # costs more than all else here

    return os.path.join(gettempdir(), f"kshell-{os.geteuid()}")


def made() -> str:
    """The folder, which is made if it is not there. OSError if it is not the user's alone."""
    path = folder()
    with suppress(FileExistsError):
        os.makedirs(path, 0o700)
    _check(path)
    return path


def _check(path: str) -> None:
    """OSError if a folder can be used by other users."""
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", path)
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"belongs to user {found.st_uid}", path)
    if found.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "other users may use it (chmod 700 helps)", path)


def socket_of(pid: int) -> str:
    """The path of the socket on which a program takes queries."""
    return _path(str(pid))


def where_of(pid: int) -> str:
    """The path of the socket on which a program tells its state."""
    return _path(f"{pid}.where")


def script_of(pid: int) -> str:
    """The path of the script that a program is to run: it is there until the program has begun to."""
    return _path(f"{pid}.py")


def answer_of(pid: int) -> str:
    """The path of the file in which a program answers to that, if it is there."""
    return _path(f"{pid}.answer")


def _path(name: str) -> str:
    path = os.path.join(folder(), name)
    if len(os.fsencode(path)) > LONGEST:
        text = f"longer than the {LONGEST} bytes of a socket's path; KSHELL_RUN can name another folder"
        raise OSError(errno.ENAMETOOLONG, text, path)
    return path


# ------------------------------------------------------------------ sockets


def listen(path: str) -> socket.socket:
    """A unix socket for the user alone, which listens and does not block; a dead process's file is replaced."""
    _remove_dead([path])
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        sock.bind(path)
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError as e:
        sock.close()
        raise OSError(e.errno, e.strerror, path) from None
    finally:
        os.umask(before)
    return sock


def _remove_dead(paths: list[str]) -> None:
    """Remove those of some sockets on which nobody listens."""
    refusing = [path for path in paths if _refuses(path)]
    if refusing:
        time.sleep(AGAIN)
    for path in refusing:
        if _refuses(path):
            Path(path).unlink(missing_ok=True)


def _refuses(path: str) -> bool:
    """Is this a socket on which nobody listens now?"""
    try:
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            _connected(path).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False


def _connected(path: str) -> socket.socket:
    """A connection that does not block; BlockingIOError if too many others wait to be accepted."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return sock


def user_of(sock: socket.socket) -> int:
    """The user of the process at the other end."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.geteuid()  # the folder's permissions must do
    size = struct.calcsize("3i")
    return int(struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])


# ------------------------------------------------------------------ asking


def asked(pid: int, word: str = "where", timeout: float = 2.0) -> State | None:
    """The state of a program, which is asked `where`, or to `stop` its query first. None if it does not listen, or
    does not answer within `timeout` seconds; PermissionError if it is not the user's."""
    path = where_of(pid)
    try:
        with _sent(path, word) as sock:
            return _answer(sock, time.monotonic() + timeout)
    except (BlockingIOError, ConnectionError, FileNotFoundError):
        return None


def listening(timeout: float = 2.0) -> list[State]:
    """All programs of the folder that listen; one that does not answer is NOT_ANSWERING. What dead ones left is
    removed."""
    states, sent, gone = [], {}, []
    for pid in _pids():
        try:
            sent[pid] = _sent(where_of(pid), "where")
        except (ConnectionRefusedError, FileNotFoundError):
            gone.append(pid)
        except BlockingIOError:
            states.append(State(pid, what=NOT_ANSWERING))
        except OSError:  # not the user's, or it ended meanwhile
            pass
    _forget(gone)
    end = time.monotonic() + timeout  # of all, who answer at the same time
    for pid, sock in sent.items():
        with sock:
            states.append(_answer(sock, end) or State(pid, what=NOT_ANSWERING))
    return sorted(states, key=lambda state: state.pid)


def _pids() -> set[int]:
    """The processes that have sockets in the folder."""
    path = folder()
    try:
        _check(path)
        names = os.listdir(path)
    except FileNotFoundError:
        return set()
    stems = (name.partition(".")[0] for name in names)
    return {int(stem) for stem in stems if stem.isascii() and stem.isdigit()}


def tidy() -> None:
    """Remove what programs left that were killed."""
    _forget([p for p in _pids() if not os.path.exists(where_of(p)) or _refuses(where_of(p))])


def _forget(pids: list[int]) -> None:
    """Remove what programs left, if they do not listen any more."""
    _remove_dead([path for pid in pids for path in (socket_of(pid), where_of(pid))])
    for pid in pids:
        if not process.runs(pid):
            for path in (script_of(pid), answer_of(pid)):
                Path(path).unlink(missing_ok=True)


def _sent(path: str, word: str) -> socket.socket:
    """A connection to the user's own program, on which a word was sent."""
    sock = _connected(path)
    try:
        uid = user_of(sock)
        if uid not in (os.geteuid(), 0):
            raise PermissionError(errno.EPERM, f"the process there is user {uid}'s", path)
        sock.sendall(f"{word}\n".encode())
    except OSError:
        sock.close()
        raise
    return sock


def _answer(sock: socket.socket, end: float) -> State | None:
    """The state that is received until a time; None if none is."""
    data = b""
    try:
        while len(data) < MOST:
            sock.settimeout(max(end - time.monotonic(), 1e-3))
            part = sock.recv(1 << 16)
            if not part:
                return State.from_json(data)
            data += part
    except (OSError, ValueError):
        pass
    return None
