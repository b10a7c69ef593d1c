"""q in notebooks: output of cells, completion and inspection; IPython's magic `%%q`.

`%load_ext kshell` adds `%q text`, whose value is a Python value, and the cell magic `%%q`, which shows what the prompt
would. All cells belong to one session, the notebook's variable `q`.
"""

from __future__ import annotations

import asyncio
import base64
import re
import sys
from collections.abc import Callable
from typing import Any

from kshell.entry_kinds import by_lead
from kshell.errors import QError
from kshell.parse import parse, split_script
from kshell.parse.lex import complete
from kshell.python.display import html
from kshell.python.session import Session
from kshell.values.base.core import NIL, Value

Bundle = dict[str, str]
_WORD = re.compile(r"[.A-Za-z][\w.]*", re.ASCII)
_Q_CELL, _Q_LINE = re.compile(r"%%q\b[^\n]*\n"), re.compile(r"(?:^|[\s=])%q ")


def bundle(session: Session, x: Value) -> Bundle:
    """A value in a notebook's formats: its text, with notes next to handles as at the prompt; for a table also HTML."""
    from kshell.shell.notes import annotator

    formats = {"text/plain": annotator(session, False)(session.show(x), x)}
    page = html(x, session.settings)
    return formats | {"text/html": page} if page else formats


def run(session: Session, code: str, show: Callable[[Bundle, bool], None]) -> None:
    """Run the statements of a cell; `show` is called with the formats of each value and image, and whether it is the
    last value."""

    def picture(png: bytes, text: str) -> None:
        (session.out or sys.stdout).flush()
        show({"image/png": base64.b64encode(png).decode(), "text/plain": text}, False)

    statements = split_script(code, typed=True)
    before, session.picture = session.picture, picture
    try:
        for index, (line, text) in enumerate(statements):
            value = session.run(text, line=line)
            if value is not NIL:
                (session.out or sys.stdout).flush()
                show(bundle(session, value), index == len(statements) - 1)
    finally:
        session.picture = before


def state(code: str) -> str:
    """Is a cell `complete`, `incomplete`, or `invalid`?"""
    if not complete(code):
        return "incomplete"
    try:
        for _, text in split_script(code, typed=True):
            list(parse(text, lambda name: False))
    except QError:
        return "invalid"
    return "complete"


def completions(session: Session, code: str, at: int) -> tuple[list[tuple[str, str]], int]:
    """The completions of the text before the cursor, with a note on each, and the offset where it begins."""
    from kshell.shell.complete import offers

    offered = offers(session, code[:at], code[at:])
    return [(offer.text, offer.note) for offer in offered], at - (offered[0].size if offered else 0)


def inspection(session: Session, code: str, at: int) -> Bundle:
    """The description of the name at the cursor: the value of a variable, the forms and help of a function."""
    word = next(
        (match[0] for match in _WORD.finditer(code) if match.start() <= at <= match.end()), ""
    )
    if not word:
        return {}
    space, last = session.names.split(word)
    value = session.names.spaces.get(space, {}).get(last) if last[:2] != "__" else None
    if value is not None:
        return bundle(session, value)
    session.names.load_builtins()
    kinds = (kind for kind in by_lead() if kind.is_word or kind.form)
    entry = next((candidate for kind in kinds if (candidate := kind.find(word)) is not None), None)
    if entry is None:
        return {}
    forms = entry.forms or session.forms(entry) or (word,)
    return {"text/plain": "\n".join([*forms, "", entry.doc.strip()])}


# ------------------------------------------------------------------ IPython


class Shown:
    """The formats of a value, for IPython to choose from."""

    def __init__(self, data: Bundle) -> None:
        self.data = data

    def __repr__(self) -> str:
        return self.data["text/plain"]

    def _repr_mimebundle_(self, **_: Any) -> Bundle:
        return self.data


def load_ipython_extension(shell: Any) -> None:
    """Add `%q` and `%%q` to IPython; the session is its variable `q`, unless that is taken."""
    session = Session()
    if hasattr(shell, "kernel"):  # standard input belongs to the front end
        session.input.ask = _asked
    magics, matcher = _magics(session, shell), _matcher(session)
    shell.register_magics(magics)
    shell.Completer.custom_matchers.append(matcher)
    _LOADED[id(shell)] = matcher, magics
    shell.user_ns.setdefault("q", session)


def serve_between_cells(
    session: Session, task: asyncio.Task[None] | None
) -> asyncio.Task[None] | None:
    """The task that handles messages of other processes while a notebook is idle, begun if the session listens, or has
    connections, and there is an event loop."""
    if session.ipc is None or (task is not None and not task.done()):
        return task
    try:
        return asyncio.get_running_loop().create_task(session.serving())
    except RuntimeError:  # IPython in a terminal
        return None


def _magics(session: Session, shell: Any) -> Any:
    """IPython magics whose lines and cells run in a session."""
    from IPython.core.magic import Magics, line_cell_magic, magics_class
    from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
    from IPython.display import display

    @magics_class
    class QMagics(Magics):
        serving: asyncio.Task[None] | None = None

        @magic_arguments()
        @argument(
            "-i", "--input", action="append", default=[], help="Python variables that q is to have"
        )
        @argument(
            "-o", "--output", action="append", default=[], help="q variables that Python is to have"
        )
        @argument("text", nargs="*", help="q text")
        @line_cell_magic
        def q(self, line: str, cell: str | None = None) -> Any:
            """Run q. `%q text` returns the value of a text; `%%q -i x,y -o z` runs a cell with x and y from Python, and
            sets z in Python afterwards."""
            try:
                return self._run(line, cell)
            finally:
                self.serving = serve_between_cells(session, self.serving)

        def end(self) -> None:
            """Stop listening and close the connections."""
            if self.serving is not None and not self.serving.get_loop().is_closed():
                self.serving.cancel()
            session.end_ipc()

        def _run(self, line: str, cell: str | None) -> Any:
            if cell is None:
                return _shown_as_q(session, lambda: session(line))
            arguments, variables = parse_argstring(self.q, line), shell.user_ns
            for name in _names(arguments.input):
                if name not in variables:
                    raise NameError(f"name '{name}' is not defined")
                _shown_as_q(session, lambda n=name: session.__setitem__(n, variables[n]))  # type: ignore[misc]
            text = "\n".join([" ".join(arguments.text), cell])
            _shown_as_q(session, lambda: run(session, text, lambda data, _: display(Shown(data))))
            for name in _names(arguments.output):
                variables[name] = _shown_as_q(session, lambda n=name: session[n])  # type: ignore[misc]
            return None

    return QMagics(shell)


def _asked() -> bytes:
    """A line of Python's input, requested from the notebook's front end."""
    try:
        return input().encode("utf-8", "surrogateescape") + b"\n"
    except EOFError:
        return b""


_LOADED: dict[int, tuple[Any, Any]] = {}  # the matcher and the magics of each shell


def _matcher(session: Session) -> Any:
    """A q completer for cells that begin with `%%q`, and after `%q`: it offers the same as the prompt."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher()  # type: ignore[untyped-decorator, unused-ignore]
    def match_q(context: Any) -> Any:
        lines = context.full_text.split("\n")
        before = "\n".join(
            [*lines[: context.cursor_line], lines[context.cursor_line][: context.cursor_position]]
        )
        match = _Q_CELL.match(before) or _Q_LINE.search(before)
        if match is None:
            return {"completions": []}
        text = before[match.end() :]
        offered, start = completions(session, text, len(text))
        return {
            "completions": [
                SimpleCompletion(completion, type=note[:60]) for completion, note in offered
            ],
            "matched_fragment": text[start:],
            "suppress": True,
        }

    return match_q


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics; their session stops listening."""
    if id(shell) in _LOADED:
        matcher, magics = _LOADED.pop(id(shell))
        shell.Completer.custom_matchers.remove(matcher)
        magics.end()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("q", None)
    if isinstance(shell.user_ns.get("q"), Session):
        del shell.user_ns["q"]


def _names(given: list[str]) -> list[str]:
    return [word for part in given for word in part.split(",") if word]


def _shown_as_q(session: Session, work: Callable[[], Any]) -> Any:
    """work(), with errors displayed by IPython as q shows them."""
    try:
        return session.for_python(work)
    except QError as e:
        lines = session.error_lines(e)
        e._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
        raise
