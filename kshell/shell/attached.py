"""`kshell attach`: lines that run in another program, which listens."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from kshell.attach import place, process, remote
from kshell.attach.client import GONE, Attached, Ended, Late
from kshell.errors import QError, QExit, os_text
from kshell.shell.options import Options, parse_attach
from kshell.values.base.build import string
from kshell.values.base.core import List, seq_items, text_of
from kshell.values.base.symbols import sym

HOW = """\
how a program listens: kshell run train.py, KSHELL_LISTEN=1 python train.py, or in it
  import kshell; kshell.listen()
"""
PATIENCE = 0.5  # seconds after which a terminal shows what an answer waits for
WIDEST = 50  # characters of a program's text in the table
UNREACHED = 3  # the exit code if a program cannot be reached
ERASE = "\r\x1b[K"
LEAVES = re.compile(r"exit\b[\s\[(]*(-?\d+)[hij]?[\])\s]*;?")
WAITS = {
    "training": "waiting for a safe point",
    "before the first step": "waiting for the first step",
}
# in lines of a stack that are not the program's
FOREIGN = re.compile(r"(^|[\s/\"])(torch|site-packages|lib/python3\.\d+)/|<frozen")


def start(words: list[str]) -> int:
    """Do what the words after `kshell attach` request; returns the exit code."""
    opts = parse_attach(words)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        if not opts.script:
            return listed()
        attached = found(opts.script, opts.timeout)
        return attached if isinstance(attached, int) else served(attached, opts)
    except QExit as e:
        return e.code
    except KeyboardInterrupt:
        return 130
    except OSError as e:
        warn(f"kshell: {os_text(e)}\n")
    except QError as e:
        warn(f"kshell: {e.text}\n")
    return UNREACHED


def served(attached: Attached, opts: Options) -> int:
    """Run the expressions, or lines from the terminal or a pipe; returns the exit code."""
    console = Console(attached, opts.timeout)
    at_prompt = not opts.exprs and sys.stdin.isatty()
    try:
        if opts.exprs:
            return int(any(console.enter(text) for text in opts.exprs))
        if not at_prompt:
            return lines(console)
        if not opts.quiet:
            print(banner(attached.pid))
        code: int = importlib.import_module("kshell.shell.attached_prompt").loop(console)
        return code
    except Ended as e:
        warn("the program has ended\n")
        return UNREACHED if e.unanswered or not at_prompt else 0
    except Late:
        warn(f"kshell: no answer in {opts.timeout:g} s: {told(where(attached.pid))}\n")
        return UNREACHED
    finally:
        attached.close()


def lines(console: Console) -> int:
    """Run lines from standard input one at a time; returns 1 if any failed."""
    failed = False
    for line in iter(sys.stdin.buffer.readline, b""):
        text = line.decode("utf-8", "surrogateescape").rstrip("\n")
        if (code := leaving(text)) is not None:
            return code
        failed |= console.enter(text)
        for _ in range(console.prompt.count(")") - 1):  # debuggers are for those who see the prompt
            console.enter("\\")
    return int(failed)


def leaving(text: str) -> int | None:
    """The exit code of a line that leaves, `\\\\` or `exit`; None of any other. The program goes on."""
    if text.strip() == "\\\\":
        return 0
    leaves = LEAVES.fullmatch(text.strip())
    if leaves is None:
        return None
    warn("the program goes on: exit leaves kshell attach alone\n")
    return int(leaves[1]) & 255


def warn(text: str) -> None:
    """Write to standard error, after what is printed."""
    sys.stdout.flush()
    sys.stderr.write(text)
    sys.stderr.flush()


class Console:
    """The console of a program: lines run there, and what they print is printed here."""

    def __init__(self, attached: Attached, limit: float | None = None) -> None:
        self.attached, self.limit = attached, limit
        self.prompt = "q)"
        self.size = (25, 80)  # rows and columns

    def enter(self, text: str) -> bool:
        """Run a line and print what it prints; was there an error?"""
        request = List([sym(".run.line"), string(text), *self.size])
        waiting = Waiting(self.attached.pid)
        try:
            parts = seq_items(self.attached.ask(request, waiting, self.limit))
            printed, warned, self.prompt = [text_of(part) for part in parts[:3]]
        except (Ended, Late):
            raise
        except QError as e:
            printed, warned = "", f"'{e.text}\n" + (f"hint: {e.hint}\n" if e.hint else "")
        finally:
            waiting.erase()
        sys.stdout.write(printed)
        warn(warned)
        return any(line.startswith("'") for line in warned.split("\n"))


class Waiting:
    """The line on a terminal that tells where a program is as long as its answer is awaited."""

    def __init__(self, pid: int) -> None:
        self.pid, self.shown = pid, False
        self.wanted = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "")

    def __call__(self, seconds: float) -> None:
        if self.wanted and seconds >= PATIENCE:
            self.shown = True
            text = told(where(self.pid, PATIENCE))
            warn(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")

    def erase(self) -> None:
        if self.shown:
            warn(ERASE)


def where(pid: int, timeout: float = 2.0) -> place.State | None:
    """The state of a program, if it tells that."""
    with suppress(OSError):
        return place.asked(pid, timeout=timeout)
    return None


def told(state: place.State | None) -> str:
    """What an answer waits for."""
    if state is None:
        return "waiting for the program, which does not tell where it is"
    what = WAITS.get(state.what, f"waiting, {state.what}")
    facts = []
    if state.since is not None:
        facts += [f"step {state.step}", f"{state.since:.1f} s ago"]
    own = [line for line in state.stack if not FOREIGN.search(line)]
    facts += [f"in {line.strip()}" for line in own[-1:]]
    return f"{what}: {', '.join(facts)}" if facts else what


# ------------------------------------------------------------------ which program


def found(word: str, patience: float | None = None) -> Attached | int:
    """The program with this process id, or with this text in its own; else an exit code, when it is said why."""
    if word.isdecimal():
        return of_pid(int(word), patience)
    states = place.listening()
    matching = [state for state in states if word in state.program]
    if len(matching) == 1:
        return of_pid(matching[0].pid)
    if matching:
        warn(f"kshell: {len(matching)} programs have {word} in their text\n{table(matching)}")
        return 2
    warn(f"kshell: no program that listens has {word} in its text\n{table(states)}")
    return UNREACHED


def of_pid(pid: int, patience: float | None = None) -> Attached | int:
    """The program with a process id, which begins to listen within so many seconds; else an exit code."""
    try:
        return Attached(pid)
    except GONE:
        pass
    if not process.runs(pid):
        warn(f"kshell: {pid} does not listen\n{table(place.listening())}")
        return UNREACHED
    if reason := remote.attach(pid, patience or remote.BEGINS):
        if not process.runs(pid):
            warn(f"kshell: {reason}\n")
            return UNREACHED
        how = (
            "" if remote.NOT_YET in reason else ": start it by kshell run, or with KSHELL_LISTEN=1"
        )
        warn(f"kshell: {pid} runs, but does not listen{how}\n{reason}\n")
        return UNREACHED
    for rank, reason in remote.attach_others(pid).items():
        warn(f"kshell: rank {rank} of its job does not listen: {reason}\n")
    return Attached(pid)


def listed() -> int:
    """Print what listens; 1 if nothing does."""
    states = place.listening()
    if not states:
        warn(f"nothing listens\n{HOW}")
        return 1
    sys.stdout.write(table(states))
    return 0


def table(states: Sequence[place.State]) -> str:
    """The programs, a line each, under the names of the columns; empty if there are none."""
    if not states:
        return ""
    rows = [
        ("pid", "user", "program", "step", "since", "devices", "rank", "what"),
        *map(row, states),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join("  ".join(map(str.ljust, words, widths)).rstrip() + "\n" for words in rows)


def row(state: place.State) -> tuple[str, ...]:
    """The line of a program in the table."""
    text = state.program
    program = text if len(text) <= WIDEST else text[: WIDEST - 2] + ".."
    since = "" if state.since is None else f"{state.since:.1f} s"
    rank = "" if state.rank < 0 else str(state.rank)
    devices = " ".join(state.devices)
    return str(state.pid), state.user, program, str(state.step), since, devices, rank, state.what


def banner(pid: int) -> str:
    """What the program is and where."""
    state = where(pid)
    facts = f"pid {pid}"
    if state is not None:
        facts = ", ".join([f"{state.program}: {facts}", f"step {state.step}", *state.devices])
    return f"attached to {facts}. \\\\ leaves, the program goes on"
