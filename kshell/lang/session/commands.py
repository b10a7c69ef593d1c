"""System commands: `\\t`, `\\l`, `\\d` and the others, at the start of a line or through the verb `system`."""

from __future__ import annotations

import os
import re
import time

from kshell import registry
from kshell.errors import QError, QExit
from kshell.lang.session import loading
from kshell.lang.session.repeating import repeat
from kshell.lang.session.settings_commands import int_atom
from kshell.lang.tables.tables import names_of
from kshell.registry import command, verb
from kshell.store.text import lines_of
from kshell.values.base import types as T
from kshell.values.base.build import longs, string
from kshell.values.base.core import NIL, Atom, Dict, List, Table, Value, seq_items, sym_vec, text_of
from kshell.values.base.functions import Function
from kshell.values.base.symbols import sym
from kshell.values.change.names import PERMANENT
from kshell.values.engine.apply import apply1
from kshell.values.session import memory
from kshell.values.session.context import running, worker
from kshell.values.session.interrupts import PENDING, carried_out, stoppable, wake, whole
from kshell.values.session.restrict import REVAL, forbid, refuse, restricted


def run(text: str) -> Value:
    """Run a system command, given without its backslash; anything that is not a q command goes to the operating
    system."""
    word, _, rest = text.strip().partition(" ")
    if word[:1] == "?":
        word, rest = "?", text.strip()[1:]
    name, _, count = word.partition(":")
    entry = registry.find("command", name)
    if restricted():
        _allow(word, name, entry, rest)
    if word == "\\":
        leave("")
    if not word:
        return NIL
    if entry is not None:
        if name in _PLAIN:
            rest = _COMMENT.split(rest, 1)[0]
        argument = f"{count}:{rest}" if count and name in ("t", "ts") else rest.strip()
        result = stoppable(entry.fns[1], argument) if name in _LONG else entry.fns[1](argument)
        if PENDING:
            wake(carried_out(f"\\{name}"))
        return NIL if result is None else result
    return stoppable(shell, text)


whole(run.__code__)
# commands that can take long themselves, rather than through the q code they run
_LONG = frozenset("l?")


def _allow(word: str, name: str, entry: registry.Entry | None, rest: str) -> None:
    """'access if a restricted evaluation may not run a command; it may read settings and list things."""
    effect = (
        "changes"
        if entry is None and word not in ("", "\\")
        else "own"
        if entry is None
        else entry.effect
    )
    no_argument = not (_COMMENT.split(rest, 1)[0] if name in _PLAIN else rest).strip()
    if effect not in ("none", "own") and not (effect == "reads0" and no_argument):
        refuse("\\" + word, "access")


# commands with numbers and names as arguments, where ` /` begins a comment rather than a path
_PLAIN = frozenset(
    (
        "P",
        "c",
        "C",
        "S",
        "e",
        "z",
        "W",
        "o",
        "T",
        "g",
        "s",
        "w",
        "v",
        "f",
        "a",
        "b",
        "B",
        "d",
        "x",
        "p",
        "debug",
        "progress",
        "suggest",
    )
)
_COMMENT = re.compile(r"(?:^|[ \t])/")


def shell(text: str) -> Value:
    """Run an operating system command; returns its output as a list of strings."""
    import subprocess
    import tempfile

    forbid("system")
    if worker() is not None:
        raise QError("sys")
    # not a pipe: a command that keeps running in the background would hold it open
    with tempfile.TemporaryFile() as output:
        if subprocess.run(text, shell=True, stdout=output, check=False).returncode:
            raise QError("os")
        output.seek(0)
        lines = lines_of(output.read())
    return List([string(line) for line in lines]) if lines else NIL


@verb("system", effect="own")
def system(x: Value) -> Value:
    """Run a system command given as a string, without its backslash.

    q)system"P"
    7i
    """
    return run(text_of(x))


@verb("exit", effect="own")
def exit_(x: Value) -> Value:
    """Exit kshell with an exit code.

    q)type exit
    101h
    """
    code = (
        x
        if x.__class__ in (int, bool)
        else x.v
        if x.__class__ is Atom and x.t in (T.X, T.H, T.I)
        else None
    )
    if code is None:
        raise QError("type")
    _leave("exit", int(code))
    raise QExit(int(code) & 255)


def _leave(call: str, code: int) -> None:
    """Prepare to exit: call `.z.exit`, or refuse inside reval and confinement. A read-only session may exit."""
    if restricted() == REVAL:
        refuse(call, "access")
    forbid(call)
    port = running().ipc
    if port is not None and port.refuses_exit:  # before .z.exit hears of it
        raise QError("access: exit")
    call_exit(code)


def call_exit(code: int) -> None:
    """Call `.z.exit`, once, with the exit code."""
    names = running().names
    handler = names.find(".z.exit")
    if handler is not None:
        names.delete(".z.exit")
        apply1(handler, code)


# ------------------------------------------------------------------ timing


def _timed(arg: str) -> float:
    """Milliseconds taken by `expr`, or by n repetitions of it with `n:expr`."""
    count, colon, expression = arg.partition(":")
    turns = int(count) if colon and count.isdigit() else 1
    if not (colon and count.isdigit()):
        expression = arg
    _gpu("peak")  # wait until the GPU has finished earlier work
    start = time.perf_counter()
    stoppable(repeat, expression, turns)
    _gpu("peak")
    return (time.perf_counter() - start) * 1000


@command("t", "\\t", "\\t n", "\\t expr", "\\t:n expr", effect="own")
def t(arg: str) -> Value:
    """Time an expression in milliseconds; show or set the timer interval.

    A number sets the interval; without an argument, it is shown. While the interval is not 0, `.z.ts` is called that
    often with the time, whenever kshell waits for input.

    q)\\t sum til 1000
    0
    """
    if not arg:
        return int_atom(running().timer.interval)
    if arg.isdigit():
        refuse("\\t", "access")
        running().timer.set(int(arg))
        return NIL
    return int(_timed(arg))


def _gpu(what: str) -> int:
    """Bytes in use on a GPU after synchronizing: the current number, which restarts the peak (`reset`), or the peak
    since then (`peak`); 0 without a GPU."""
    entry = registry.find("handler", "gpu")
    return 0 if entry is None else entry.fns[1](what)


@command("ts", "\\ts expr", "\\ts:n expr", effect="changes")
def ts(arg: str) -> Value:
    """Time an expression in milliseconds and bytes.

    The bytes are the peak memory that it needs in addition: on the GPU if it uses one, else in the process, including
    tensors.

    q)\\ts sum til 1000
    4 0
    """
    with memory.Grown() as grown:
        on_gpu = _gpu("reset")
        milliseconds = _timed(arg)
        on_gpu = _gpu("peak") - on_gpu
    return longs([int(milliseconds), on_gpu if on_gpu > 0 else grown.most])


# ------------------------------------------------------------------ names


def _kind(x: Value) -> str:
    if x.__class__ is Table or (x.__class__ is Dict and x.keyed):
        return "table"
    return "function" if isinstance(x, Function) else "variable"


def _members(arg: str, kinds: tuple[str, ...]) -> Value:
    """The names of the matching members of a namespace; for kshell's own namespaces, including its names."""
    names = running().names
    space = arg or names.current
    is_present = space[:1] == "." and (space in names.spaces or space == names.current)
    members = (
        {name: names.spaces[space][name] for name in names.members(space)} if is_present else {}
    )
    if arg in PERMANENT:
        members = _permanent(arg) | members
    elif not is_present:
        raise QError(space)
    return sym_vec(sorted(name for name, value in members.items() if _kind(value) in kinds))


def _permanent(space: str) -> dict[str, Value]:
    """The names that a permanent namespace has from the start, and their values."""
    contents = registry.known("name", space).fns[0]()
    return {
        name: value
        for name, value in zip(names_of(contents.k), seq_items(contents.v), strict=True)
        if name
    }


@command("v", "\\v", "\\v .ns", effect="none")
def variables(arg: str) -> Value:
    """The variables of a namespace.

    q)a:1;b:`x;f:{x}
    q)\\v
    `a`b
    """
    return _members(arg, ("variable", "table"))


@command("f", "\\f", "\\f .ns", effect="none")
def functions(arg: str) -> Value:
    """The functions of a namespace.

    q)a:1;f:{x};g:{x+y}
    q)\\f
    `f`g
    """
    return _members(arg, ("function",))


@command("a", "\\a", "\\a .ns", effect="none")
def tables(arg: str) -> Value:
    """The tables of a namespace.

    q)a:1;t:([]v:1 2)
    q)\\a
    ,`t
    """
    return _members(arg, ("table",))


@command("d", "\\d", "\\d .ns", effect="reads0")
def directory(arg: str) -> Value:
    """Show the current namespace, or change to another.

    q)\\d .lab
    q)rate:.1
    q)\\d .
    q).lab.rate
    0.1
    """
    names = running().names
    if not arg:
        return sym(names.current)
    if not arg.startswith(".") or any(
        not part.isidentifier() for part in arg[1:].split(".") if arg != "."
    ):
        raise QError("nyi")
    names.space(arg)
    names.current = arg
    return NIL


@command("l", "\\l name", "\\l", effect="changes")
def load(arg: str) -> Value:
    """Run a script, load a data file, splayed table or database; run a file of Python (.p). One whose name ends in .py
    is a module of its own: its entries are registered, and its classes of modules, losses and optimizers become types.
    `p.q`, embedPy's script, is there already.

    Without a name, under -l and -L, save all variables to NAME.qdb and empty the log of updates.

    q)`:s.q 0:enlist"a:1 2 3";
    q)\\l s.q
    q)a
    1 2 3
    """
    if not arg:
        port = running().ipc
        if port is not None and port.updates is not None:
            port.updates.checkpoint()
        return NIL
    if arg == "p.q":  # embedPy's script: its names are there
        return NIL
    return loading.load(arg)


@command("cd", "\\cd", "\\cd folder", effect="reads0")
def change_folder(arg: str) -> Value:
    """Show the current folder, or change to another.

    q)\\cd /
    q)\\cd
    ,"/"
    """
    if not arg:
        return string(os.getcwd())
    os.chdir(os.path.expanduser(arg))
    return NIL


@command("\\", "\\\\", effect="own")
def leave(arg: str) -> None:
    """Exit kshell.

    q)\\\\
    """
    _leave("\\\\", 0)
    raise QExit(0)


@command("r", "\\r from to", effect="changes")
def rename(arg: str) -> Value:
    """Rename a file.

    q)`:a.txt 0:enlist"one";
    q)\\r a.txt b.txt
    q)read0`:b.txt
    "one"
    """
    source, _, target = arg.partition(" ")
    if not target.strip():
        raise QError("replication is not supported")
    os.replace(source, target.strip())
    return NIL


@command("x", "\\x .z.name", effect="changes")
def expunge(arg: str) -> Value:
    """Remove the assignment of a callback such as .z.pg; .z.ph is then the one that kshell has.

    q).z.ps:{0N!x}
    q)\\x .z.ps
    q).z.ps
    '.z.ps
      [0]  .z.ps
           ^
    """
    if not arg.startswith(".z."):
        raise QError("type")
    names = running().names
    if arg.removeprefix(".z.") in names.spaces.get(".z", {}):
        names.delete(arg)
    return NIL
