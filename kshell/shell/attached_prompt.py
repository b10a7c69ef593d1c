"""The prompt of `kshell attach`, like that of kshell: the lines run in the program, and it is asked for completions."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterable
from contextlib import suppress

from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from kshell.attach.client import Attached, Ended
from kshell.errors import QError, QExit
from kshell.parse import split_script
from kshell.session import Session
from kshell.shell.attached import Console, leaving, warn
from kshell.shell.complete import Found, offers
from kshell.shell.prompt import HINTS, fit, output_of_terminal, reader, shown_again
from kshell.shell.toolbar import signature
from kshell.values.base.build import string
from kshell.values.base.core import NIL, List, Value, raw, seq_items, text_of
from kshell.values.base.symbols import sym

OFFERS = 0.3  # seconds that completion waits for the program


def loop(console: Console) -> int:
    """Read and run lines until the user leaves; returns the exit code."""
    session = Session()  # it runs nothing, but knows q's own words
    threading.Thread(target=_load, args=(session,), daemon=True).start()
    status = Status(console.attached)
    lines = reader(session, Offers(console.attached, session), lambda _: status.text)
    size = fit(session, session.settings.c)
    with output_of_terminal():
        while True:
            status.refresh()
            try:
                text = lines.prompt(console.prompt, pre_run=lambda: _started(console.attached))
            except EOFError:
                return 0
            except KeyboardInterrupt:
                continue
            finally:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            shown_again(lines, console.prompt, text)
            size = fit(session, size)
            console.size = session.settings.c
            code = run(console, text)
            if code is not None:
                return code


def run(console: Console, text: str) -> int | None:
    """Run what was typed or pasted, statement by statement, up to the first error; an exit code if it leaves."""
    for _, statement in split_script(text, typed=True):
        if (code := leaving(statement)) is not None:
            return code
        if console.enter(statement):
            if hint := HINTS.get(text.strip()):
                warn(f"/ {hint}\n")
            break
    return None


def _load(session: Session) -> None:
    """Load what the first key would wait for."""
    with suppress(Exception):  # the first use will report errors
        offers(session, "t")
        signature(session, "til ")


def _started(attached: Attached) -> None:
    """Once the prompt has appeared: take what the program sends, and leave when it ends, or when told to."""
    app, events = get_app(), asyncio.get_running_loop()
    events.add_signal_handler(signal.SIGTERM, lambda: app.exit(exception=QExit(143)))
    file = attached.connection.handle

    def arrived() -> None:
        attached.turn()
        if not attached.connection.ended:
            return
        events.remove_reader(file)
        if attached.has_ended() and not app.is_done:
            app.exit(exception=Ended("close", unanswered=False))

    if not attached.connection.closed:
        events.add_reader(file, arrived)


class Status:
    """What the right half of the toolbar says: the last answer of the program."""

    def __init__(self, attached: Attached) -> None:
        self.attached, self.text = attached, ""

    def refresh(self) -> None:
        """Ask for it; the answer is shown when it comes."""
        with suppress(QError):  # the next line reports it
            self.attached.send(List([sym(".run.status"), NIL]), self._take)

    def _take(self, answer: Value | QError) -> None:
        if not isinstance(answer, QError):
            with suppress(QError):
                self.text = text_of(answer)
                get_app().invalidate()


class Offers(Completer):
    """Completions from the program; if it does not answer soon, q's own words."""

    def __init__(self, attached: Attached, session: Session) -> None:
        self.attached, self.session = attached, session

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        before, after = document.text_before_cursor, document.text_after_cursor
        for text, size, note in self._asked(before, after) or offers(self.session, before, after):
            yield Completion(text, -size, display_meta=note)

    def _asked(self, before: str, after: str) -> list[Found]:
        """What the program answers. It is not asked while it owes an answer."""
        with suppress(QError, ValueError):
            self.attached.turn()
            if not self.attached.waits:
                request = List([sym(".run.offers"), string(before), string(after)])
                texts, sizes, notes = map(
                    seq_items, seq_items(self.attached.ask(request, limit=OFFERS))
                )
                return [
                    Found(text_of(text), int(raw(size)), text_of(note))
                    for text, size, note in zip(texts, sizes, notes, strict=True)
                ]
        return []
