"""System commands: `\\t`, `\\l`, `\\d` and the rest, at the start of a line or through the verb `system`."""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
import time
from typing import Any

import numpy as np

from kshell import registry
from kshell.errors import QError, QExit, first_line
from kshell.lang import memory
from kshell.lang.compile import check_stores
from kshell.registry import command, verb
from kshell.values import core
from kshell.values import types as T
from kshell.values.apply import apply1
from kshell.values.build import longs, string, sym_vec
from kshell.values.context import running, worker
from kshell.values.core import NIL, Atom, Dict, List, Table, Value, Vec, sym, text_of
from kshell.values.functions import Function


def run(text: str) -> Value:
    """Run a system command, given without its backslash; what is no command of q goes to the operating system."""
    word, _, rest = text.strip().partition(" ")
    if word[:1] == "?":
        word, rest = "?", text.strip()[1:]
    name, _, count = word.partition(":")
    entry = registry.find("command", name)
    if word == "\\":
        leave("")
    if not word:
        return NIL
    if entry is not None:
        x = entry.fns[1](f"{count}:{rest}" if count else rest.strip()) if name in ("t", "ts") else \
            entry.fns[1](rest.strip())
        return NIL if x is None else x
    return shell(text)


def shell(text: str) -> Value:
    """Run a command of the operating system; its output as a list of strings."""
    if worker() is not None:
        raise QError("sys")
    with tempfile.TemporaryFile() as out:  # not a pipe: a command that goes on in the background would hold it open
        if subprocess.run(text, shell=True, stdout=out, check=False).returncode:
            raise QError("os")
        out.seek(0)
        lines = out.read().decode("utf-8", "surrogateescape").splitlines()
    return List([string(s) for s in lines]) if lines else NIL


@verb("system")
def system(x: Value) -> Value:
    """Run a system command given as a string, without its backslash.

    q)system"P"
    7i
    """
    return run(text_of(x))


@verb("exit")
def exit_(x: Value) -> Value:
    """End the program with an exit code.

    q)type exit
    101h
    """
    code = x if x.__class__ in (int, bool) else x.v if x.__class__ is Atom and x.t in (T.X, T.H, T.I) else None
    if code is None:
        raise QError("type")
    call_exit(int(code))
    raise QExit(int(code) & 255)


def call_exit(code: int) -> None:
    """Call `.z.exit`, once, with the exit code."""
    names = running().names
    handler = names.find(".z.exit")
    if handler is not None:
        names.delete(".z.exit")
        apply1(handler, code)


def _int(n: int) -> Atom:
    return Atom(T.I, n)


def _numbers(arg: str, n: int) -> list[int]:
    try:
        found = [int(w.rstrip("ij")) for w in arg.split()]
    except ValueError:
        found = []
    if len(found) != n:
        raise QError("type")
    return found


# ------------------------------------------------------------------ timing


def _timed(arg: str) -> float:
    """Milliseconds that `expr`, or `n:expr`, takes."""
    count, colon, text = arg.partition(":")
    n = int(count) if colon and count.isdigit() else 1
    if not (colon and count.isdigit()):
        text = arg
    session = running()
    start = time.perf_counter()
    session.repeat(text, n)
    return (time.perf_counter() - start) * 1000


@command("t", "\\t", "\\t n", "\\t expr", "\\t:n expr")
def t(arg: str) -> Value:
    """Milliseconds an expression takes; with a number, the timer's interval; alone, that interval.

    While it is not 0, `.z.ts` is called that often with the time, whenever kshell waits for input.
    """
    if not arg:
        return _int(running().timer.interval)
    if arg.isdigit():
        running().timer.set(int(arg))
        return NIL
    return int(_timed(arg))


def _reset_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as f:  # makes the peak of memory start afresh
            f.write("5")
    except OSError:
        pass


@command("ts", "\\ts expr", "\\ts:n expr")
def ts(arg: str) -> Value:
    """Milliseconds and bytes of memory that an expression takes."""
    _reset_peak()
    before = memory.status("VmRSS")
    ms = _timed(arg)
    return longs([int(ms), max(0, memory.status("VmHWM") - before)])


# ------------------------------------------------------------------ settings


@command("P", "\\P", "\\P n")
def precision(arg: str) -> Value:
    """Digits shown of a float; 0 shows all 17."""
    settings = running().settings
    if not arg:
        return _int(settings.P)
    (n,) = _numbers(arg, 1)
    if not 0 <= n <= 17:
        raise QError("domain")
    settings.P = n
    return NIL


@command("c", "\\c", "\\c rows columns")
def console(arg: str) -> Value:
    """Rows and columns of the console."""
    return _size(arg, "c")


@command("C", "\\C", "\\C rows columns")
def http_console(arg: str) -> Value:
    """Rows and columns of text sent to a web browser."""
    return _size(arg, "C")


def _size(arg: str, name: str) -> Value:
    settings = running().settings
    if not arg:
        return Vec(T.I, np.array(getattr(settings, name), np.int32))
    rows, columns = _numbers(arg, 2)
    setattr(settings, name, (min(max(rows, 10), 2000), min(max(columns, 10), 2000)))
    return NIL


@command("S", "\\S", "\\S n", "\\S 0N")
def seed(arg: str) -> Value:
    """The seed of random numbers; of 0N one from which they go on, if it is set again."""
    session = running()
    if not arg:
        return _int(session.settings.S)
    if arg == "0N":
        state = int(session.rng.integers(1, 1 << 31))
        session.rng = np.random.default_rng(state)
        return _int(state)
    (n,) = _numbers(arg, 1)
    session.settings.S = n
    session.rng = np.random.default_rng(abs(n))
    return NIL


def _flag(name: str, arg: str, low: int, high: int) -> Value:
    settings = running().settings
    if not arg:
        return _int(getattr(settings, name))
    (n,) = _numbers(arg, 1)
    if not low <= n <= high:
        raise QError("domain")
    setattr(settings, name, n)
    return NIL


@command("e", "\\e", "\\e 0|1|2")
def error_mode(arg: str) -> Value:
    """What an error of a client does: 0 nothing, 1 suspends, 2 prints the stack."""
    return _flag("e", arg, 0, 2)


@command("debug", "\\debug", "\\debug 0|1")
def debug(arg: str) -> Value:
    """At the prompt, whether an error inside a function opens the debugger."""
    return _flag("debug", arg, 0, 1)


@command("suggest", "\\suggest", "\\suggest 0|1")
def suggest(arg: str) -> Value:
    """At the prompt, whether endings from the history are suggested; the right arrow takes one."""
    return _flag("suggest", arg, 0, 1)


@command("z", "\\z", "\\z 0|1")
def date_form(arg: str) -> Value:
    """How "D"$ reads dates: 0 month before day, 1 day before month."""
    return _flag("z", arg, 0, 1)


@command("W", "\\W", "\\W n")
def week_offset(arg: str) -> Value:
    """The day that starts a week: 0 is Saturday, 2 Monday."""
    return _flag("W", arg, 0, 6)


@command("o", "\\o", "\\o n")
def offset(arg: str) -> Value:
    """Offset of local time from UTC, in hours, or minutes if above 23."""
    if not arg:
        return _int(running().settings.o) if running().settings.o is not None else Atom(T.I, T.NULL[T.I])
    (running().settings.o,) = _numbers(arg, 1)
    return NIL


@command("T", "\\T", "\\T seconds")
def time_limit(arg: str) -> Value:
    """The longest a client's call may take, in seconds; 0 is no limit."""
    return _flag("T", arg, 0, 1 << 30)


@command("g", "\\g", "\\g 0|1")
def collect(arg: str) -> Value:
    """Whether memory goes back to the system at once."""
    return _flag("g", arg, 0, 1)


@command("s", "\\s", "\\s n", "\\s 0N")
def threads(arg: str) -> Value:
    """Threads that peach may use; of 0N how many there can be."""
    if arg == "0N":
        return _int(os.cpu_count() or 1)
    out = _flag("s", arg, -1024, 1024)
    if running().settings.s > 0:
        check_stores(running().names)
    return out


@command("w", "\\w", "\\w 0|1", "\\w megabytes")
def workspace(arg: str) -> Value:
    """Memory in bytes: used, heap, peak, limit, mapped, physical; with 0 or 1 of the symbols; else a limit."""
    settings = running().settings
    if not arg:
        used = memory.status("VmRSS")
        return longs([used, used, memory.status("VmHWM"), settings.w << 20, 0, memory.physical()])
    (n,) = _numbers(arg, 1)
    if n in (0, 1) or (settings.w and n >= 1 << 31):
        return longs([len(core._SYMS), sum(len(s.s) for s in core._SYMS)])
    if not settings.w:
        raise QError("-w init via cmd line")
    limit_memory(settings, max(n, settings.w))
    return settings.w << 20


def limit_memory(settings: Any, megabytes: int) -> None:
    """Set the most memory to use; 0 is what the machine has."""
    memory.limit(megabytes)
    settings.w = megabytes


# ------------------------------------------------------------------ names


def _kind(x: Value) -> str:
    if x.__class__ is Table or (x.__class__ is Dict and x.keyed):
        return "table"
    return "function" if isinstance(x, Function) else "variable"


def _members(arg: str, kinds: tuple[str, ...]) -> Value:
    """The names of such members of a namespace; of one that kshell provides, with what it provides."""
    names = running().names
    space = arg or names.current
    known = space[:1] == "." and (space in names.spaces or space == names.current)
    built: dict[str, str] = {}
    if arg and space != ".":
        for e in registry.entries("name"):
            head, _, last = e.name.rpartition(".")
            if head == space:
                built[last] = "variable" if 0 in e.fns else "function"
    if not known and not built:
        raise QError(space)
    for n in names.members(space) if known else []:
        built[n] = _kind(names.spaces[space][n])
    return sym_vec(sorted(n for n, kind in built.items() if kind in kinds))


@command("v", "\\v", "\\v .ns")
def variables(arg: str) -> Value:
    """Names of the variables of a namespace."""
    return _members(arg, ("variable", "table"))


@command("f", "\\f", "\\f .ns")
def functions(arg: str) -> Value:
    """Names of the functions of a namespace."""
    return _members(arg, ("function",))


@command("a", "\\a", "\\a .ns")
def tables(arg: str) -> Value:
    """Names of the tables of a namespace."""
    return _members(arg, ("table",))


@command("d", "\\d", "\\d .ns")
def directory(arg: str) -> Value:
    """The present namespace; with a name, go there."""
    names = running().names
    if not arg:
        return sym(names.current)
    if not arg.startswith(".") or any(not p.isidentifier() for p in arg[1:].split(".") if arg != "."):
        raise QError("nyi")
    names.space(arg)
    names.current = arg
    return NIL


@command("l", "\\l name")
def load(arg: str) -> Value:
    """Run a script, load a data file, splayed table or database; of a Python file (.py), register the entries."""
    from kshell.lang import loading

    if not arg:
        return NIL  # a log of updates would be closed and begun again; there is none
    if arg.endswith(".py") and os.path.isfile(arg):
        _entries(arg)
        return NIL
    return loading.load(arg)


def _entries(path: str) -> None:
    """Register the entries of a Python file; what goes wrong in it is a q error with its path."""
    try:
        registry.load_file(path)
        return
    except QError:
        raise
    except Exception as e:
        text = first_line(f"{path}: {e or type(e).__name__}")
    raise QError(text)


@command("cd", "\\cd", "\\cd folder")
def change_folder(arg: str) -> Value:
    """The present folder; with a name, go there."""
    if not arg:
        return string(os.getcwd())
    os.chdir(os.path.expanduser(arg))
    return NIL


@command("\\", "\\\\")
def leave(arg: str) -> None:
    """Leave kshell."""
    call_exit(0)
    raise QExit(0)


@command("r", "\\r from to")
def rename(arg: str) -> Value:
    """Rename a file."""
    source, _, target = arg.partition(" ")
    if not target.strip():
        raise QError("replication is not supported")
    os.replace(source, target.strip())
    return NIL


@command("x", "\\x .z.name")
def expunge(arg: str) -> Value:
    """Forget what was assigned to a callback, as .z.pg."""
    if not arg.startswith(".z."):
        raise QError("type")
    names = running().names
    if names.find(arg) is not None and registry.find("name", arg) is None:
        names.delete(arg)
    return NIL


# ------------------------------------------------------------------ help

_SHOWN = 40  # entries that a search lists


@command("?", "\\?text")
def search(arg: str) -> None:
    """Search the help: what has the text in its name or summary, or else in what is told of it."""
    session = running()
    session.names.load_builtins()
    text = arg.strip().lower()
    if not text:
        raise QError("\\?text searches the help for a text")
    ranked = sorted(((rank, e.name, e) for e in registry.every() if (rank := _rank(e, text)) >= 0),
                    key=lambda row: row[:2])
    near = [row for row in ranked if row[0] < 3] or ranked
    lines = [(("\\" * (e.kind == "command")) + e.name, e.kind, e.summary) for _, _, e in near[:_SHOWN]]
    wide = max((len(name) for name, _, _ in lines), default=0)
    session.write("".join(f"{name:{wide}}  {kind:9}  {summary}\n" for name, kind, summary in lines)
                  or f"nothing in the help has: {text}\n")
    if len(near) > _SHOWN:
        session.write(f".. and {len(near) - _SHOWN} more\n")


def _rank(entry: registry.Entry, text: str) -> int:
    """How near an entry is to a text that is searched: 0 its name, 1 part of it, 2 in the summary, 3 elsewhere; -1."""
    name = entry.name.lower()
    if name == text:
        return 0
    if text in name:
        return 1
    if text in entry.summary.lower():
        return 2
    return 3 if text in entry.doc.lower() or any(text in o.name or text in o.doc.lower() for o in entry.options) else -1


# ------------------------------------------------------------------ streams, scripts


def _redirect(arg: str, which: str) -> Value:
    """Send a stream of the console to a file, or back."""
    session = running()
    if not arg:
        raise QError("type")
    old = getattr(session, which)
    if getattr(old, "kshell_redirected", False):
        old.close()
    if arg in ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"):
        setattr(session, which, None)
        return NIL
    path = os.path.expanduser(arg)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    stream = _Stream(path)
    setattr(session, which, stream)
    return NIL


class _Stream(io.TextIOWrapper):
    """A file that a stream of the console goes to, each line at once."""

    kshell_redirected = True

    def __init__(self, path: str) -> None:
        super().__init__(open(path, "ab"), "utf-8", "surrogateescape", line_buffering=True)  # noqa: SIM115


@command("1", "\\1 file")
def redirect_out(arg: str) -> Value:
    """Send what the console shows to a file; /dev/stdin ends that."""
    return _redirect(arg, "out")


@command("2", "\\2 file")
def redirect_err(arg: str) -> Value:
    """Send errors to a file; /dev/stdin ends that."""
    return _redirect(arg, "err")


@command("_", "\\_", "\\_ script")
def lock_script(arg: str) -> Value:
    """Whether writing is blocked for clients; with a script, make one of it whose text cannot be read."""
    if not arg:
        return False
    from kshell.lang import locked
    from kshell.store import atomic, text

    atomic.write_bytes(arg + "_", locked.lock(text.read_bytes(arg)))
    return sym(arg + "_")


# ------------------------------------------------------------------ connections


@command("p", "\\p", "\\p port")
def port(arg: str) -> Value:
    """The port that is listened on, 0 if none."""
    if not arg:
        return _int(running().settings.p)
    entry = registry.find("handler", "listen")
    if entry is not None:
        return entry.fns[1](arg)
    if arg == "0":
        return NIL
    raise QError("listening on a port is not supported")


@command("E", "\\E")
def encryption(arg: str) -> Value:
    """Whether connections are encrypted: 0, they are not."""
    if arg not in ("", "0"):
        raise QError("encryption of connections is not supported")
    return _int(0) if not arg else NIL


@command("u", "\\u")
def passwords(arg: str) -> Value:
    """Read the file of users again; there is none, as there is no port."""
    return NIL
