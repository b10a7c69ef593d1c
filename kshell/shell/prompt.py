"""The interactive prompt."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session, get_app, run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory, ConditionalAutoSuggest
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from kshell import __version__
from kshell.errors import QError, QExit
from kshell.parse import split_script
from kshell.session import Session
from kshell.shell import debugger
from kshell.shell.complete import QCompleter, offers
from kshell.shell.highlight import STYLE, QLexer, colours
from kshell.shell.history import history
from kshell.shell.keys import bindings
from kshell.shell.notes import annotator
from kshell.shell.run_line import enter, prompt_text, tick
from kshell.shell.toolbar import signature, status, toolbar

_SHOWN = str.maketrans({key: shown for key, shown in Char.display_mappings.items() if key != "\n"})
# words from other shells, and what to type here
HINTS = {
    word: "\\\\ leaves, Ctrl-D too"
    for word in ("quit", "exit", "quit()", "exit()", "q", ":q", "bye")
} | {
    word: "help[] lists topics, help`til describes a name, \\?text searches"
    for word in ("help", "help()", "?", "man")
}


def loop(session: Session, quiet: bool, sized: bool = False, own: bool = True) -> int:
    """Read, run and print until end of input; returns the exit code. `sized` says that the console's size was set
    explicitly, `own` that the process belongs to the session rather than to a program that opened a prompt."""
    if not quiet:
        session.write(
            f"kshell {__version__}: q over PyTorch. Help: help[], help`til, \\?text. \\\\ leaves\n"
        )
    # a debugger's variables exist in one process only
    session.interactive = session.together is None
    if session.together is None and session.output.isatty():
        session.annotate = annotator(session, colours() and not is_dumb_terminal())
    try:
        with output_of_terminal():
            return _loop(session, None if sized else session.settings.c, own)
    finally:
        session.interactive, session.annotate = False, None
        session.suspended.clear()


def output_of_terminal() -> AbstractContextManager[object]:
    """Inside, prompts are written as the terminal can show them."""
    if is_dumb_terminal():
        return create_app_session(output=PlainTextOutput(sys.stdout))
    return nullcontext()


def _loop(session: Session, size: tuple[int, int] | None, own: bool) -> int:
    lines = reader(session)
    size = fit(session, size)
    loading = Loading()
    while True:
        try:
            text = lines.prompt(prompt_text(session), pre_run=lambda: start(session, loading, own))
        except EOFError:
            return 0
        except (KeyboardInterrupt, QError):
            continue
        finally:
            signal.signal(
                signal.SIGTERM, session.terminate if session.together is None else signal.SIG_DFL
            )
        shown_again(lines, prompt_text(session), text)
        size = fit(session, size)
        run(session, text)


def shown_again(lines: PromptSession[str], prompt: str, text: str) -> None:
    """Write a typed text that was erased since it has many lines."""
    if lines.app.erase_when_done:
        lines.app.erase_when_done = False
        sys.stdout.write(plain(prompt, text) + "\n")


def reader(
    session: Session,
    completer: Completer | None = None,
    right: Callable[[Session], str] = status,
) -> PromptSession[str]:
    """The prompt session that reads the lines; `right` is what the right half of the toolbar says."""
    suggest = Condition(
        lambda: bool(session.settings.suggest) and len(get_app().current_buffer.text) < 1000
    )
    return PromptSession(
        history=history(),
        completer=completer or QCompleter(session),
        complete_while_typing=False,
        enable_history_search=True,
        multiline=True,
        prompt_continuation=lambda width, *_: " " * width,
        key_bindings=bindings(),
        lexer=QLexer() if colours() else None,
        include_default_pygments_style=False,
        style=Style([(f"q.{name}", style) for name, style in STYLE.items()]) if colours() else None,
        input_processors=[HighlightMatchingBracketProcessor(max_cursor_distance=500)],
        auto_suggest=ConditionalAutoSuggest(AutoSuggestFromHistory(), suggest),
        bottom_toolbar=lambda: toolbar(session, right(session)),
        enable_open_in_editor=True,
    )


def plain(prompt: str, text: str) -> str:
    """The terminal's text for a prompt and the text after it, without colours; control characters as in
    prompt_toolkit."""
    return prompt + text.translate(_SHOWN).replace("\n", "\n" + " " * len(prompt))


def run(session: Session, text: str) -> None:
    """Run what was typed or pasted: a line, or a block statement by statement, up to the first error."""
    for _, statement in split_script(text, typed=True):
        if debugger.enter(session, statement) if session.suspended else enter(session, statement):
            break
    hint = HINTS.get(text.strip())
    if hint and session.names.find(text.strip()) is None:
        session.warn(f"/ {hint}\n")
    (session.out or sys.stdout).flush()


def fit(session: Session, size: tuple[int, int] | None) -> tuple[int, int] | None:
    """Make the console's size follow the terminal's, as long as nothing else has set it."""
    if size is None or session.settings.c != size:
        return None
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return size
    if columns and rows:
        session.settings.c = size = min(max(rows, 10), 2000), min(max(columns, 10), 2000)
    return size


@dataclass
class Loading:
    """The state of loading in the background: the thread, and whether the prompt has noticed its end."""

    thread: threading.Thread | None = None
    done: bool = False


def start(session: Session, loading: Loading, own: bool) -> None:
    """Once the prompt has appeared: load what completion needs, then torch, in the background, once; start the timer;
    exit cleanly on request."""
    app = get_app()
    if not loading.done:
        app.create_background_task(_prepare(session, loading, own))
    asyncio.get_running_loop().add_signal_handler(
        signal.SIGTERM, lambda: app.exit(exception=QExit(143))
    )
    if session.ipc is not None:
        app.create_background_task(_serves(session))
    if session.timer.interval:  # a timer that is off can only be started by a line
        app.create_background_task(_ticks(session))


async def _prepare(session: Session, loading: Loading, own: bool) -> None:
    """Start loading, or finish it. In its `own` process, the loaded objects are then excluded from garbage collection,
    which would otherwise stop the prompt for a tenth of a second now and then."""
    await asyncio.sleep(0.1)
    if loading.thread is None:
        loading.thread = session.prepare(lambda: (offers(session, "t"), signature(session, "til ")))
    collects = own and gc.isenabled()
    if collects:
        gc.disable()
    try:
        while loading.thread.is_alive():
            await asyncio.sleep(0.02)
    finally:
        if collects:
            gc.enable()
    loading.done = True
    if own:
        gc.freeze()


async def _ticks(session: Session) -> None:
    """While the prompt waits for a line, call the timer function when due; its output goes above the prompt."""
    while (wait := session.timer.wait()) is not None:
        await asyncio.sleep(wait)
        try:
            await run_in_terminal(lambda: _tick(session))
        except QExit as e:
            get_app().exit(exception=e)
            return


async def _serves(session: Session) -> None:
    """While the prompt waits for a line, handle what comes in on the port; what that prints goes above the line."""
    try:
        async for _ in session.ipc.arrivals():
            shown, warned = _served(session)
            if shown or warned:
                await run_in_terminal(partial(_print, session, shown, warned))
    except QExit as e:
        get_app().exit(exception=e)


def _print(session: Session, shown: str, warned: str) -> None:
    session.write(shown)
    if warned:
        session.warn(warned)


def _served(session: Session) -> tuple[str, str]:
    """Take a turn of the port, with Ctrl-C as when a line runs; what it printed on the two streams of the console."""
    streams, shown, warned = (session.out, session.err), io.StringIO(), io.StringIO()
    before, interactive = signal.signal(signal.SIGINT, session.interrupt), session.interactive
    session.out, session.err, session.interactive = shown, warned, False
    try:
        session.ipc.network.turn(0.0)
    finally:
        (session.out, session.err), session.interactive = streams, interactive
        signal.signal(signal.SIGINT, before)
    return shown.getvalue(), warned.getvalue()


def _tick(session: Session) -> None:
    """A tick, with Ctrl-C handled as for a line: the prompt's own handling would not stop it. Its errors open no
    debugger."""
    before, interactive = signal.signal(signal.SIGINT, session.interrupt), session.interactive
    session.interactive = False
    try:
        tick(session)
        (session.out or sys.stdout).flush()
    finally:
        session.interactive = interactive
        signal.signal(signal.SIGINT, before)
