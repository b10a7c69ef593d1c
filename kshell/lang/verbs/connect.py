"""Open files and pipes: hopen, hclose, and applying their handles."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from kshell.errors import QError, os_text
from kshell.ipc.address import peer, url
from kshell.lang.console.standard_input import Input
from kshell.registry import verb
from kshell.store import appending, codec, kdb, tails
from kshell.store.runs import symbol_bytes
from kshell.values.base import types as T
from kshell.values.base.build import text_bytes
from kshell.values.base.core import NIL, Atom, List, Value, Vec, atom_t, raw, text_of
from kshell.values.engine.apply import ONE_SHOT
from kshell.values.session.context import running, worker
from kshell.values.session.restrict import forbid, is_outside, refuse


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
    """Connect to another process, or open a file to append to; gives the handle.

    A process is a port of this machine, `hopen 5000`, or an address, ``hopen`:host:port:user:password`` (``:unix://5000``
    by its unix socket), both also as (address;milliseconds). A file and its folders are made if they are not there.

    If the last writer of a message log was killed, an incomplete message at its end is cut off, with a warning, because
    nothing after it could be read. If another process has the log open, nothing is cut off.

    q)h:hopen`:/tmp/kshell_doc.txt
    q)neg[h]"ab";
    q)hclose h
    q)read0`:/tmp/kshell_doc.txt
    "ab"
    q)hdel`:/tmp/kshell_doc.txt;
    """
    x, timeout = timed(x)
    name = f"::{raw(x)}" if atom_t(x) in (T.I, T.J, T.H) else text_of(x)
    path = os.path.expanduser(name[1:])
    if path.startswith("fifo://"):
        return _open(path[7:], os.O_RDONLY, True)
    if is_outside(path) or not os.path.exists(path):
        handle = connect(name, timeout)
        if handle is not None:
            return handle
    if not name.startswith(":"):
        raise QError("type")
    return _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, False)


def timed(x: Value) -> tuple[Value, float | None]:
    """What to open, and the seconds that it may take: (address;milliseconds), or an address alone."""
    if x.__class__ is not List or len(x) != 2:
        return x, None
    limit = x.item(1)
    if atom_t(limit) not in (T.I, T.J, T.H):
        raise QError("type")
    return x.item(0), int(raw(limit)) / 1000 or None


def connect(name: str, timeout: float | None) -> Value | None:
    """A handle of the process that a name is the address of; None if it is none."""
    peer_address = peer(name)
    if peer_address is None:
        return None
    refuse("hopen", "access")
    _not_in_peach()
    return Atom(T.I, running().use_ipc().open(peer_address, timeout))


def _not_in_peach() -> None:
    """'nosocket in a thread of peach: the loop of connections belongs to the main thread."""
    if worker() is not None:
        raise QError("nosocket")


@ONE_SHOT.set
def ask_once(name: str, x: Value) -> Value | None:
    """The answer of the process that a name is the address of, by a connection for this one request; None if it is the
    name of a file. `` `::[(address;milliseconds);x] `` gives a time for connecting."""
    timeout = None
    if name == "::" and x.__class__ is List and len(x) == 2:
        place, x = x.item(0), x.item(1)
        address, timeout = timed(place)
        name = text_of(address)
    server = url(name)
    if server is not None:
        refuse(server.scheme, "access")
        return running().use_ipc().ask_web(server, timeout, x)
    peer_address = peer(name)
    if peer_address is None:
        return None
    refuse("hopen", "access")
    return running().use_ipc().ask_once(peer_address, timeout, x)


def _open(path: str, flags: int, pipe: bool) -> Value:
    refuse(path, "access")
    forbid("hopen")
    problem: OSError | None = None
    try:
        if not pipe:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
        removed = 0 if pipe or not os.path.isfile(path) else tails.mend_log(descriptor, path)
        opened()[descriptor] = OpenFile(descriptor, path, pipe)
        if removed:
            running().warn(
                f"hopen: {path}: the last message was incomplete, its {removed} bytes were cut off\n"
            )
        return Atom(T.I, descriptor)
    except OSError as e:
        problem = e
    raise QError(os_text(problem))


@verb("hclose", effect="opens")
def hclose(x: Value) -> Value:
    """Close an open file or a connection.

    q)h:hopen`:/tmp/kshell_doc.txt
    q)hclose h
    q)hdel`:/tmp/kshell_doc.txt;
    """
    if atom_t(x) not in (T.I, T.J, T.H):
        raise QError("type")
    number = int(raw(x))
    open_file = opened().pop(abs(number), None)
    if open_file is None:
        port = running().ipc
        if port is not None and port.close(abs(number)):
            return NIL
        raise QError(f"{number}: Bad file descriptor")
    os.close(open_file.fd)
    return NIL


def send(handle: int, args: Sequence[Value]) -> Value | None:
    """Apply a handle to a value: send it to a process, where a positive handle waits for the answer and a negative one
    does not; or append it to a file, with a negative handle as text, a line's end after it. None: the handle itself is
    the result."""
    if len(args) != 1:
        raise QError("rank")
    refuse(f"handle {handle}")
    open_file = opened().get(abs(handle))
    if open_file is None:
        return _send(handle, args[0])
    if open_file.pipe:
        raise QError(f"Cannot write to handle {handle}. OS reports: Bad file descriptor")
    x = args[0]
    if handle < 0:
        _put(open_file, lines(x))
    elif not (_is_counted(x, open_file.path) and appending.append([(open_file.path, x)])):
        _put(open_file, data_of(x))
    return None


def _send(handle: int, x: Value) -> Value:
    """Apply the handle of a connection: `h x` asks, `h[]` waits for a message, `neg[h]x` sends, `neg[h][]` flushes."""
    port = running().ipc
    is_known = port is not None and port.has(abs(handle))
    if not is_known and not _is_message(x):
        raise QError("type")
    if not is_known:
        raise QError(f"Cannot write to handle {handle}. OS reports: Bad file descriptor")
    _not_in_peach()
    if handle > 0:
        return port.receive(handle) if x is NIL else port.ask(handle, x)
    if x is NIL:
        port.flush(-handle)
    else:
        port.send(-handle, x)
    return NIL


def _is_message(x: Value) -> bool:
    """Can it be sent as data: text, a name, a list or vector (but not a single function or number)?"""
    return x.__class__ is Vec or isinstance(x, List) or atom_t(x) in (T.C, T.S)


def lines(x: Value) -> bytes:
    """A string, or several, each with a line break."""
    items = x.items if x.__class__ is List else [x]
    return b"".join(text_bytes(item) + b"\n" for item in items)


def data_of(x: Value) -> bytes:
    """The bytes that a handle appends to a file: list items serialized, vectors and atoms as raw bytes."""
    if isinstance(x, List):
        return b"".join(codec.encode(item, file=True) for item in x.items)
    qtype = x.t if x.__class__ is Vec else atom_t(x)
    if not qtype:
        return codec.encode(x, file=True)
    array = x.a if x.__class__ is Vec else np.array([raw(x)], T.DTYPE[qtype])
    return symbol_bytes(array) if qtype == T.S else bytes(array.tobytes())


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
    open_file = opened().get(handle)
    if open_file is None:
        raise QError(f"Cannot read from handle {handle}. OS reports: Bad file descriptor")
    if n >= 0:
        return os.read(open_file.fd, n)
    line = b""
    while (char := os.read(open_file.fd, 1)) and char != b"\n":
        line += char
    return line
