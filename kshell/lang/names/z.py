"""The .z namespace: clock, host, process, command line."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from kshell.lang.names.define import name
from kshell.lang.session.clock import local, utc
from kshell.lang.session.views import depends
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, string, symdict
from kshell.values.base.core import NIL, Atom, Dict, List, Value, Vec
from kshell.values.base.symbols import sym
from kshell.values.engine.cast import DAY
from kshell.values.session.context import blocked, running

# the kdb+ version that the language follows, and its release date (2024.03.18)
VERSION, RELEASE = (
    4.1,
    8843,
)


@name(".z.p")
def p() -> Value:
    """The time in UTC, as a timestamp.

    q).z.p
    2026.11.21D23:36:37.716430849
    """
    return Atom(T.P, utc())


@name(".z.P")
def local_p() -> Value:
    """The local time, as a timestamp.

    q).z.P
    2026.11.21D23:36:37.717015902
    """
    return Atom(T.P, local())


@name(".z.n")
def n() -> Value:
    """The time of day in UTC, as a timespan.

    q).z.n
    0D23:36:37.717550930
    """
    return Atom(T.N, utc() % DAY)


@name(".z.N")
def local_n() -> Value:
    """The local time of day, as a timespan.

    q).z.N
    0D23:36:37.717993119
    """
    return Atom(T.N, local() % DAY)


@name(".z.t")
def t() -> Value:
    """The time of day in UTC, in milliseconds.

    q).z.t
    23:36:37.718
    """
    return Atom(T.T, utc() % DAY // 1_000_000)


@name(".z.T")
def local_t() -> Value:
    """The local time of day, in milliseconds.

    q).z.T
    23:36:37.718
    """
    return Atom(T.T, local() % DAY // 1_000_000)


@name(".z.d")
def d() -> Value:
    """The date in UTC.

    q).z.d
    2026.11.21
    """
    return Atom(T.D, utc() // DAY)


@name(".z.D")
def local_d() -> Value:
    """The local date.

    q).z.D
    2026.11.21
    """
    return Atom(T.D, local() // DAY)


@name(".z.z")
def z() -> Value:
    """The time in UTC, as a datetime.

    q).z.z
    2026.11.21T23:36:37.725
    """
    return Atom(T.Z, utc() / DAY)


@name(".z.Z")
def local_z() -> Value:
    """The local time, as a datetime.

    q).z.Z
    2026.11.21T23:36:37.726
    """
    return Atom(T.Z, local() / DAY)


@name(".z.x")
def x() -> Value:
    """The command-line words after the script, as strings.

    q).z.x
    ()
    """
    return List([string(word) for word in getattr(running(), "args", ())])


@name(".z.ex")
def failed_verb() -> Value:
    """In the debugger, the verb or function that failed; :: if something else failed, or outside the debugger.

    q)(::)~.z.ex
    1b
    """
    suspended = getattr(running(), "suspended", [])
    return suspended[-1].failed()[0] if suspended else NIL


@name(".z.ey")
def failed_args() -> Value:
    """In the debugger, the arguments of the verb or function that failed.

    q).z.ey
    ()
    """
    suspended = getattr(running(), "suspended", [])
    return collapse(list(suspended[-1].failed()[1])) if suspended else List([])


@name(".z.X")
def raw_x() -> Value:
    """All command-line words, as strings.

    q)10h=type first .z.X
    1b
    """
    return List([string(word) for word in getattr(sys, "orig_argv", sys.argv) or [""]])


@name(".z.f")
def f() -> Value:
    """The script that kshell was started with.

    q)type .z.f
    -11h
    """
    return sym(getattr(running(), "script", ""))


@name(".z.o")
def o() -> Value:
    """The operating system in q's notation: l64, m64, w64.

    q).z.o in`l64`m64`w64
    1b
    """
    letter = {"linux": "l", "darwin": "m", "win32": "w"}.get(sys.platform, "l")
    machine = os.uname().machine if hasattr(os, "uname") else ""
    return sym(letter + "64" + ("arm" if letter == "l" and machine in ("aarch64", "arm64") else ""))


@name(".z.K")
def major() -> Value:
    """The kdb+ version that the language follows.

    q).z.K
    4.1
    """
    return VERSION


@name(".z.k")
def release() -> Value:
    """The release date of the kdb+ version that the language follows.

    q).z.k
    2024.03.18
    """
    return Atom(T.D, RELEASE)


@name(".z.l")
def licence() -> Value:
    """Licence details; an empty list, because kshell needs no licence.

    q).z.l
    ()
    """
    return List([])


@name(".z.h")
def host() -> Value:
    """The host name.

    q)type .z.h
    -11h
    """
    import socket

    return sym(socket.gethostname())


@name(".z.a")
def address() -> Value:
    """The IP address of the client being served, as an integer; at the console that of the host.

    q)type .z.a
    -6h
    """
    client = _client()
    if client is not None:
        return Atom(T.I, client.address)
    import socket

    number = address_of(socket.gethostname())
    return Atom(T.I, _LOCALHOST if number is None else number)


_LOCALHOST = 0x7F000001


def address_of(host: str) -> int | None:
    """The IPv4 address of a host as a signed 32-bit integer; None if it has none."""
    import socket

    try:
        return int.from_bytes(socket.inet_aton(socket.gethostbyname(host)), "big", signed=True)
    except (OSError, UnicodeError):
        return None


@name(".z.i")
def pid() -> Value:
    """The process id.

    q)0<.z.i
    1b
    """
    return Atom(T.I, os.getpid())


@name(".z.u")
def user() -> Value:
    """The user of the client being served; at the console, the one that the process runs under.

    q)type .z.u
    -11h
    """
    client = _client()
    if client is not None:
        return sym(client.user)
    username = os.environ.get("USER") or os.environ.get("LOGNAME") or ""
    if not username:
        import pwd

        try:
            username = pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            username = str(os.getuid())
    return sym(username)


@name(".z.c")
def cores() -> Value:
    """The number of processor cores.

    q)0<.z.c
    1b
    """
    return Atom(T.I, os.cpu_count() or 1)


@name(".z.q")
def quiet() -> Value:
    """Whether kshell was started with -q.

    q).z.q
    0b
    """
    return bool(getattr(running().settings, "q", False))


@name(".z.w")
def handle() -> Value:
    """The handle of the client being served; 0 at the console.

    q).z.w
    0i
    """
    client = _client()
    return Atom(T.I, 0 if client is None else client.handle)


def _client() -> Any:
    """The connection whose message is being handled; None at the console."""
    port = running().ipc
    return None if port is None else port.client


@name(".z.W")
def handles() -> Value:
    """The open connections, with the number of bytes queued on each.

    q)count .z.W
    0
    """
    port = running().ipc
    if port is None or not port.network.connections:
        return Dict(empty(T.I), empty(T.J))
    found = sorted(port.network.connections.items())
    return Dict(
        Vec(T.I, np.array([handle for handle, _ in found], np.int32)),
        Vec(T.J, np.array([connection.queued for _, connection in found], np.int64)),
    )


@name(".z.H")
def sockets() -> Value:
    """The handles of the open connections.

    q).z.H
    `int$()
    """
    port = running().ipc
    if port is None:
        return empty(T.I)
    return Vec(T.I, np.array(sorted(port.network.connections), np.int32), "s")


@name(".z.e")
def tls() -> Value:
    """The cipher and the protocol of the client's connection, and its certificate if it gave one; empty without TLS.

    q)count .z.e
    0
    """
    client = _client()
    if client is None or client.channel is None:
        return Dict(empty(T.S), List([]))
    cipher, protocol, certificate = client.channel.described()
    found: dict[str, Value] = {"CIPHER": sym(cipher), "PROTOCOL": sym(protocol)}
    if certificate:
        details: dict[str, Value] = {name: string(text) for name, text in certificate.items()}
        found["CERT"] = symdict([*details, "VERIFIED", "VERIFYERROR"], [*details.values(), True, 0])
    return symdict(list(found), list(found.values()))


@name(".z.b")
def dependencies() -> Value:
    """The dependencies of views on variables.

    q)a:2
    q)v::a*a
    q).z.b
    a| v
    """
    return depends()


@name(".z.r")
def restricted() -> Value:
    """Whether updates are blocked here, as in reval and in peach threads.

    q).z.r
    0b
    """
    return blocked()
