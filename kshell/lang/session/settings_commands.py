"""Settings: the system commands that show and set a session's settings."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.compile import check_stores
from kshell.registry import command
from kshell.values.base import symbols
from kshell.values.base import types as T
from kshell.values.base.build import longs
from kshell.values.base.core import NIL, Atom, Value, Vec
from kshell.values.session import memory
from kshell.values.session.context import running


def int_atom(n: int) -> Atom:
    return Atom(T.I, n)


def _numbers(arg: str, n: int) -> list[int]:
    try:
        numbers = [int(word.rstrip("ij")) for word in arg.split()]
    except ValueError:
        numbers = []
    if len(numbers) != n:
        raise QError("type")
    return numbers


@command("P", "\\P", "\\P n", effect="reads0")
def precision(arg: str) -> Value:
    """Show or set the digits shown for floats; 0 shows all 17.

    q)\\P 4
    q)acos -1
    3.142
    q)\\P
    4i
    """
    settings = running().settings
    if not arg:
        return int_atom(settings.P)
    (digits,) = _numbers(arg, 1)
    if not 0 <= digits <= 17:
        raise QError("domain")
    settings.P = digits
    return NIL


@command("c", "\\c", "\\c rows columns", effect="reads0")
def console(arg: str) -> Value:
    """Show or set the rows and columns of the console.

    q)\\c 25 40
    q)til 30
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15..
    """
    return _size(arg, "c")


@command("C", "\\C", "\\C rows columns", effect="reads0")
def http_console(arg: str) -> Value:
    """Show or set the rows and columns of text for web browsers.

    q)\\C
    36 2000i
    """
    return _size(arg, "C")


def _size(arg: str, name: str) -> Value:
    settings = running().settings
    if not arg:
        return Vec(T.I, np.array(getattr(settings, name), np.int32))
    rows, columns = _numbers(arg, 2)
    setattr(settings, name, (min(max(rows, 10), 2000), min(max(columns, 10), 2000)))
    return NIL


@command("S", "\\S", "\\S n", "\\S 0N", effect="reads0")
def seed(arg: str) -> Value:
    """Show or set the random seed; with 0N, a seed from which the generator can be continued.

    q)\\S 42
    q)a:3?100
    q)\\S 42
    q)a~3?100
    1b
    """
    session = running()
    if not arg:
        return int_atom(session.settings.S)
    if arg == "0N":
        state = int(session.rng.integers(1, 1 << 31))
        session.rng = np.random.default_rng(state)
        return int_atom(state)
    (number,) = _numbers(arg, 1)
    session.settings.S = number
    session.rng = np.random.default_rng(abs(number))
    return NIL


def _flag(name: str, arg: str, low: int, high: int) -> Value:
    settings = running().settings
    if not arg:
        return int_atom(getattr(settings, name))
    (number,) = _numbers(arg, 1)
    if not low <= number <= high:
        raise QError("domain")
    setattr(settings, name, number)
    return NIL


@command("e", "\\e", "\\e 0|1|2", effect="reads0")
def error_mode(arg: str) -> Value:
    """The effect of a client's error, besides its text going back: 0 nothing, 2 prints the stack. 1, which suspends a
    kdb+, is the same as 0: nothing waits for somebody at the console.

    q)\\e
    0i
    """
    return _flag("e", arg, 0, 2)


@command("debug", "\\debug", "\\debug 0|1", effect="reads0")
def debug(arg: str) -> Value:
    """Show or set whether an error inside a function opens the debugger at the prompt.

    q)\\debug 0
    q)\\debug
    0i
    """
    return _flag("debug", arg, 0, 1)


@command("progress", "\\progress", "\\progress seconds", effect="reads0")
def progress(arg: str) -> Value:
    """Show or set progress reports for long work; 0 turns them off, as does -q.

    On a terminal, one line is redrawn; otherwise a line is printed every so many seconds.

    q)\\progress 5
    q)\\progress
    5i
    """
    return _flag("progress", arg, 0, 86400)


@command("suggest", "\\suggest", "\\suggest 0|1", effect="reads0")
def suggest(arg: str) -> Value:
    """Show or set whether the prompt suggests completions from the history; the right arrow accepts one.

    q)\\suggest 0
    q)\\suggest
    0i
    """
    return _flag("suggest", arg, 0, 1)


@command("z", "\\z", "\\z 0|1", effect="reads0")
def date_form(arg: str) -> Value:
    """Show or set how "D"$ reads dates: 0 month/day, 1 day/month.

    q)\\z 1
    q)"D"$"04/03/2024"
    2024.03.04
    """
    return _flag("z", arg, 0, 1)


@command("W", "\\W", "\\W n", effect="reads0")
def week_offset(arg: str) -> Value:
    """Show or set the first day of the week: 0 is Saturday, 2 Monday.

    q)\\W
    2i
    """
    return _flag("W", arg, 0, 6)


@command("o", "\\o", "\\o n", effect="reads0")
def offset(arg: str) -> Value:
    """Show or set the UTC offset of local time, in hours, or in minutes if above 23.

    q)\\o 2
    q)\\o
    2i
    """
    if not arg:
        return (
            int_atom(running().settings.o)
            if running().settings.o is not None
            else Atom(T.I, T.NULL[T.I])
        )
    (running().settings.o,) = _numbers(arg, 1)
    return NIL


@command("T", "\\T", "\\T seconds", effect="reads0")
def time_limit(arg: str) -> Value:
    """Show or set the time limit of a client's call in seconds; 0 is no limit.

    q)\\T
    0i
    """
    return _flag("T", arg, 0, 1 << 30)


@command("g", "\\g", "\\g 0|1", effect="reads0")
def collect(arg: str) -> Value:
    """Show or set whether freed memory is returned to the system immediately.

    q)\\g 1
    q)\\g
    1i
    """
    return _flag("g", arg, 0, 1)


@command("s", "\\s", "\\s n", "\\s 0N", effect="reads0")
def threads(arg: str) -> Value:
    """Show or set the number of threads for peach; with 0N, the largest possible number.

    q)\\s 2
    q){x*x}peach 1 2 3
    1 4 9
    q)\\s 0
    """
    if arg == "0N":
        return int_atom(os.cpu_count() or 1)
    result = _flag("s", arg, -1024, 1024)
    if running().settings.s > 0:
        check_stores(running().names)
    return result


@command("w", "\\w", "\\w 0|1", "\\w megabytes", effect="reads0")
def workspace(arg: str) -> Value:
    """Show memory in bytes, or set the limit: used, heap, peak, limit, mapped, physical.

    With 0 or 1, shows symbol statistics; another number sets the limit.

    q)\\w
    49676288 49676288 49676288 0 0 25276502016
    """
    settings = running().settings
    if not arg:
        used = memory.status("VmRSS")
        return longs([used, used, memory.status("VmHWM"), settings.w << 20, 0, memory.physical()])
    (limit,) = _numbers(arg, 1)
    if limit in (0, 1) or (settings.w and limit >= 1 << 31):
        return longs([len(symbols.SYMBOLS), sum(len(symbol.s) for symbol in symbols.SYMBOLS)])
    if not settings.w:
        raise QError("-w init via cmd line")
    limit_memory(settings, max(limit, settings.w))
    return settings.w << 20


def limit_memory(settings: Any, megabytes: int) -> None:
    """Set the memory limit; 0 uses the machine's memory."""
    memory.limit(megabytes)
    settings.w = megabytes
