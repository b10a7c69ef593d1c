"""Running without a prompt: expressions, script files, lines from a pipe."""

from __future__ import annotations

import os
import signal
import sys
import warnings

from kshell.errors import QError, QExit, first_line
from kshell.parse.python_block import belongs, wants_more
from kshell.session import Session
from kshell.shell.options import USAGE, Options
from kshell.shell.run_line import attempt, enter, report, tick
from kshell.values.session import restrict

PROGRESS = 10  # seconds between progress lines in a pipe


def start(opts: Options) -> int:
    """Do what the command line requests; returns the exit code."""
    session = Session(args=opts.args, script=opts.script)
    session.hosted = False
    if not opts.python:
        restrict.turn_python_off()
    session.keeps_code, session.settings.q = opts.cache, opts.quiet
    signal.signal(signal.SIGINT, session.interrupt)
    signal.signal(signal.SIGTERM, session.terminate)
    warnings.showwarning = lambda message, *_, **__: session.warn(
        f"warning: {first_line(str(message))}\n"
    )
    session.limit_memory(opts.memory)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    job = in_job()
    if job:  # while waiting for other processes, signals only have their default action
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if not attempt(session, session.join, opts.timeout, opts.verbose):
            return 1
    if not opts.quiet and not (job and session.rank):
        session.settings.progress = PROGRESS
    try:
        code = _start(session, opts)
        code = code if attempt(session, session.at_exit, code) else code or 1
    except QExit as e:
        code = e.code
    if session.autosave is not None:  # complete a file that is being written
        session.autosave.close()
    session.end_ipc()
    if job:
        session.leave(code == 0)
    return code


def _start(session: Session, opts: Options) -> int:
    if opts.resume and not resume(session, opts.resume):
        return 1
    if opts.clients and not attempt(session, session.restrict_clients, **opts.clients):
        return 2
    if opts.clients.get("confined"):
        forget_folder()
    synced = opts.updates == "-L"
    if opts.updates and not attempt(session, session.log_updates, opts.script, synced=synced):
        return 2
    for command in sorted(opts.commands, key=_listens):  # when all settings are made
        if not _option(session, command):
            return 2
    stays = opts.stay and sys.stdin.isatty() and not in_job()
    session.interactive = stays  # so that a failure can be inspected
    succeeded = not opts.script or run_file(session, opts.script, bool(opts.updates))
    if succeeded and opts.updates and not attempt(session, session.replay_updates):
        return 1
    succeeded = succeeded and not any(report(session, text) for text in opts.exprs)
    if not succeeded and not (stays and session.last_error is not None):
        return failed(session)
    listening = session.ipc is not None and session.ipc.stays
    if (opts.script or opts.exprs) and not (opts.stay or opts.updates or listening):
        return 0
    return console(session, opts)


def forget_folder() -> None:
    """From now on Python imports nothing from the current folder, where clients may write."""
    restrict.SHARED_FOLDER[:] = [True]
    here = os.path.realpath(os.getcwd())
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder or here) != here]


def _listens(command: str) -> bool:
    """Is it the command that opens the port?"""
    return command.startswith("p ")


def _option(session: Session, command: str) -> bool:
    """Run the system command for a q option; on failure, false, and its usage on standard error."""
    try:
        session.run("\\" + command)
        return True
    except QError as e:
        reason = e.text
    form, meaning = next(
        line[2:].split("  ", 1)
        for line in USAGE.splitlines()
        if line.startswith(f"  -{command[0]} ")
    )
    session.warn(f"kshell: -{command}: '{reason}; expected {form}, {meaning.strip()}\n")
    return False


def console(session: Session, opts: Options) -> int:
    """The prompt, or lines from a pipe; with several processes, process 0 reads lines for all. Returns the exit
    code."""
    if in_job():
        from kshell.shell.together import Together

        session.together = Together(session)
        if session.rank:
            return session.together.follow()
    code = 1
    session.read_only = opts.read_only
    try:
        if sys.stdin.isatty():
            from kshell.shell.prompt import loop

            code = loop(
                session, opts.quiet, any(command.startswith("c ") for command in opts.commands)
            )
        else:
            code = lines(session)
        return code
    except QExit as e:
        code = e.code
        raise
    finally:
        if session.together is not None:
            session.together.end(code)


def in_job() -> bool:
    """Is this one of several processes?"""
    return os.environ.get("WORLD_SIZE", "1") != "1" and "RANK" in os.environ


def failed(session: Session) -> int:
    """The exit code after an error: 130 for an interrupt."""
    return 130 if session.was_stopped else 1


def resume(session: Session, path: str) -> bool:
    """Restore the session from a snapshot; false, with the error on standard error, on failure."""
    text = path.replace("\\", "\\\\").replace('"', '\\"')
    return not report(session, f'resume`$":{text}";')


def run_file(session: Session, path: str, logs: bool = False) -> bool:
    """Run a script, or load a data file or folder; false, with the error on standard error, if that failed or it does
    not exist. If updates are logged, the name may be that of the log alone."""
    if not os.path.exists(path) and os.path.exists(path + ".q"):
        path += ".q"
    if logs and not os.path.exists(path):
        return True
    if not os.path.exists(path):
        session.warn(f"kshell: {path}: no such script\n")
        return False
    return attempt(session, session.run_script, path)


def lines(session: Session) -> int:
    """Run lines from standard input one at a time, flushing the output of each before reading the next, with the timer
    function in between; returns 1 if any failed."""
    failed = False
    block = ""  # Python code that is incomplete
    while True:
        failed |= tick(session)
        sys.stdout.flush()
        line = next_line(session)
        if line is None:
            continue
        text = line.decode("utf-8", "surrogateescape").rstrip("\n")
        if block and line and belongs(block, text):
            block += "\n" + text
            continue
        if block:
            failed |= enter(session, block)
            block = ""
        if text.startswith("p)") and wants_more(text):
            block = text
            continue
        if not line:
            if session.ipc is None or not session.ipc.stays:
                return int(failed)
            session.ipc.input_ended()
            continue
        failed |= enter(session, text)


def next_line(session: Session) -> bytes | None:
    """The next line of standard input with its end, nothing at the end of input; None if none came before the timer is
    due, or before something happened on the port."""
    port, wait = session.ipc, session.timer.wait()
    if port is None or session.input.holds_line():
        return session.input.line(wait)
    if port.network.turn(wait, None if port.without_input else session.input.number()):
        return session.input.line(0)
    return None
