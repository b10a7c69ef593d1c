"""Open files and pipes: hopen, hclose, and applying their handles."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from kshell import registry
from kshell.errors import QError, os_text
from kshell.lang.console.standard_input import Input
from kshell.registry import verb
from kshell.store import codec, kdb, tails
from kshell.values.base import types as T
from kshell.values.base.core import NIL, Atom, List, Sym, Value, Vec, atom_t, raw, text_of
from kshell.values.session.context import running
from kshell.values.session.restrict import refuse


class OpenFile:
    """A file opened for appending, or a named pipe opened for reading; `fd` is q's handle."""

    __slots__ = ("fd", "path", "pipe")

    def __init__(self, fd: int, path: str, pipe: bool) -> None:
        self.fd, self.path, self.pipe = fd, path, pipe


def opened() -> dict[int, OpenFile]:
    """The session's open files."""
    return running().files


@verb("hopen", effect="own")
def hopen(x: Value) -> Value:
    """Open a file for appending and return its handle. Missing files and folders are created.

    If the last writer of a message log was killed, an incomplete message at its end is cut off, with a warning, because
    nothing after it could be read. If another process has the log open, nothing is cut off.

    q)h:hopen`:/tmp/kshell_doc.txt
    q)neg[h]"ab";
    q)hclose h
    q)read0`:/tmp/kshell_doc.txt
    "ab"
    q)hdel`:/tmp/kshell_doc.txt;
    """
    if x.__class__ is List and len(x) == 2:
        x = x.item(0)  # (handle;timeout)
    if atom_t(x) in (T.I, T.J, T.H) or not (
        x.__class__ is Sym or (x.__class__ is Vec and x.t == T.C)
    ):
        return _connect(x)
    name = text_of(x)
    if not name.startswith(":"):
        raise QError("type")
    path = os.path.expanduser(name[1:])
    if path.startswith("fifo://"):
        return _open(path[7:], os.O_RDONLY, True)
    if path.count(":") and not os.path.exists(path):
        return _connect(x)
    return _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, False)


def _connect(x: Value) -> Value:
    """Connect to a process, if a connection type for it is registered."""
    refuse("hopen", "access")
    entry = registry.find("handler", "hopen")
    if entry is not None:
        return entry.fns[1](x)
    if atom_t(x) not in (T.I, T.J, T.H, T.S) and not (x.__class__ is Vec and x.t == T.C):
        raise QError("type")
    raise QError("connections to other processes are not supported")


def _open(path: str, flags: int, pipe: bool) -> Value:
    refuse(path, "access")
    problem: OSError | None = None
    try:
        if not pipe:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        fd = os.open(path, flags, 0o666)
        cut = 0 if pipe or not os.path.isfile(path) else tails.mend_log(fd, path)
        opened()[fd] = OpenFile(fd, path, pipe)
        if cut:
            running().warn(
                f"hopen: {path}: the last message was incomplete, its {cut} bytes were cut off\n"
            )
        return Atom(T.I, fd)
    except OSError as e:
        problem = e
    raise QError(os_text(problem))


@verb("hclose", effect="opens")
def hclose(x: Value) -> Value:
    """Close an open file.

    q)h:hopen`:/tmp/kshell_doc.txt
    q)hclose h
    q)hdel`:/tmp/kshell_doc.txt;
    """
    if atom_t(x) not in (T.I, T.J, T.H):
        raise QError("type")
    n = int(raw(x))
    found = opened().pop(abs(n), None)
    if found is None:
        entry = registry.find("handler", "hclose")
        if entry is not None:
            return entry.fns[1](x)
        raise QError(f"{n}: Bad file descriptor")
    os.close(found.fd)
    return NIL


def send(handle: int, args: Sequence[Value]) -> Value | None:
    """Apply a handle to a value: append the value to a file, with a negative handle as text plus a line break. None
    means that the result is the handle itself."""
    if len(args) != 1:
        raise QError("rank")
    refuse(f"handle {handle}")
    found = opened().get(abs(handle))
    if found is None and not _is_message(args[0]):
        raise QError("type")
    if found is None:
        entry = registry.find("handler", "send")
        if entry is not None:
            return entry.fns[2](handle, args[0])
        raise QError(f"Cannot write to handle {handle}. OS reports: Bad file descriptor")
    if found.pipe:
        raise QError(f"Cannot write to handle {handle}. OS reports: Bad file descriptor")
    x = args[0]
    if handle < 0:
        _put(found, lines(x))
    elif not (_is_counted(x, found.path) and kdb.append([(found.path, x)])):
        _put(found, data_of(x))
    return None


def _is_message(x: Value) -> bool:
    """Can it be sent as data: text, a name, a list or vector (but not a single function or number)?"""
    return x.__class__ is Vec or isinstance(x, List) or atom_t(x) in (T.C, T.S)


def lines(x: Value) -> bytes:
    """A string, or several, each with a line break."""
    items = x.items if x.__class__ is List else [x]
    return b"".join(text_of(item).encode("utf-8", "surrogateescape") + b"\n" for item in items)


def data_of(x: Value) -> bytes:
    """The bytes that a handle appends to a file: list items serialized, vectors and atoms as raw bytes."""
    if isinstance(x, List):
        return b"".join(codec.encode(item, file=True) for item in x.items)
    qtype = x.t if x.__class__ is Vec else atom_t(x)
    if not qtype:
        return codec.encode(x, file=True)
    array = x.a if x.__class__ is Vec else np.array([raw(x)], T.DTYPE[qtype])
    return codec.symbols(array) if qtype == T.S else bytes(array.tobytes())


def _is_counted(x: Value, path: str) -> bool:
    """Is x a vector, and the file a data file with an item count?"""
    if x.__class__ is not Vec or x.t in (T.S, T.C, T.X):
        return False
    with open(path, "rb") as file:
        return file.read(2) in (kdb.VECTOR, kdb.PAGED)


def _put(found: OpenFile, data: bytes) -> None:
    problem: OSError | None = None
    try:
        tails.added(found.fd, data)
        return
    except OSError as e:
        problem = e
    raise QError(f"Cannot write to handle {found.fd}. OS reports: {problem.strerror}")


def receive(handle: int, n: int) -> bytes:
    """A line (n < 0), or up to n bytes, from the console or an open pipe."""
    if handle == 0:
        source: Input = running().input
        return (source.line() or b"") if n < 0 else source.take(n)
    found = opened().get(handle)
    if found is None:
        raise QError(f"Cannot read from handle {handle}. OS reports: Bad file descriptor")
    if n >= 0:
        return os.read(found.fd, n)
    out = b""
    while (c := os.read(found.fd, 1)) and c != b"\n":
        out += c
    return out
