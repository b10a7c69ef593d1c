"""The kernel: Jupyter's requests, answered by a session."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from ipykernel.kernelbase import Kernel
from IPython.core.error import StdinNotImplementedError

from kshell import __version__, notebook
from kshell.errors import QError, QExit
from kshell.python.session import Session

Reply = dict[str, Any]


class QKernel(Kernel):
    """A q kernel. Every value of a cell is shown, the last one as its result; tables also as HTML."""

    implementation = "kshell"
    implementation_version = __version__
    banner = f"kshell {__version__}: q over PyTorch"
    language_info = {
        "name": "q",
        "version": "4.1",
        "mimetype": "text/x-q",
        "file_extension": ".q",
        "pygments_lexer": "q",
        "codemirror_mode": "q",
    }
    help_links = [{"text": "q reference", "url": "https://code.kx.com/q/ref/"}]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.session_q = Session()
        self.session_q.input.ask = self._ask
        self.serving: asyncio.Task[None] | None = None  # handles messages between cells
        self.cells: list[str] = []  # the cells that were run, as listed by consoles

    # ------------------------------------------------------------ running
    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: Reply | None = None,
        allow_stdin: bool = False,
        **_: Any,
    ) -> Reply:
        """Run a cell."""
        self._allow_stdin = allow_stdin
        if store_history and not silent:
            self.cells.append(code)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "set_parent"):  # the cell under which a front end shows the output
                stream.set_parent(self.get_parent())
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self.session_q.interrupt) if main else None
        try:
            reply = self._run_cell(code, silent, user_expressions or {})
        finally:
            if main:
                signal.signal(signal.SIGINT, before)
            sys.stdout.flush()
            self.serving = notebook.serve_between_cells(self.session_q, self.serving)
        return reply | {"execution_count": self.execution_count}

    def _run_cell(self, code: str, silent: bool, user_expressions: Reply) -> Reply:
        """Run the statements of a cell and show their values; returns the reply with the outcome."""
        try:
            notebook.run(
                self.session_q, code, lambda data, last: None if silent else self._show(data, last)
            )
            values = self._expressions(user_expressions)
            return {"status": "ok", "payload": [], "user_expressions": values}
        except QError as e:
            reply = self._failed(e)
            if not silent:
                shown = {k: reply[k] for k in ("ename", "evalue", "traceback")}
                self.send_response(self.iopub_socket, "error", shown)
            return reply
        except QExit:
            leave = {"source": "ask_exit", "keepkernel": False}
            return {"status": "ok", "payload": [leave], "user_expressions": {}}

    def _ask(self) -> bytes:
        """A line requested from the front end, when q reads standard input."""
        try:
            return self.raw_input().encode("utf-8", "surrogateescape") + b"\n"
        except EOFError:
            return b""
        except StdinNotImplementedError:
            pass
        raise QError("the front end takes no input")

    def _show(self, data: notebook.Bundle, last: bool) -> None:
        content: Reply = {"data": data, "metadata": {}}
        if last:
            self.send_response(
                self.iopub_socket,
                "execute_result",
                content | {"execution_count": self.execution_count},
            )
        else:
            self.send_response(self.iopub_socket, "display_data", content)

    def _failed(self, e: QError) -> Reply:
        return {
            "status": "error",
            "ename": e.text,
            "evalue": "",
            "traceback": self.session_q.error_lines(e),
        }

    def _expressions(self, given: Reply) -> Reply:
        out: Reply = {}
        for name, text in given.items():
            try:
                value = self.session_q.run(text)
                out[name] = {
                    "status": "ok",
                    "data": notebook.bundle(self.session_q, value),
                    "metadata": {},
                }
            except QError as e:
                out[name] = self._failed(e)
        return out

    # ------------------------------------------------------------ what is typed
    async def do_complete(self, code: str, cursor_pos: int | None) -> Reply:
        """The completions at the cursor."""
        count = len(code) if cursor_pos is None else cursor_pos
        found, start = notebook.completions(self.session_q, code, count)
        types = [
            {"text": text, "type": note[:60], "start": start, "end": count} for text, note in found
        ]
        return {
            "status": "ok",
            "matches": [text for text, _ in found],
            "cursor_start": start,
            "cursor_end": count,
            "metadata": {"_jupyter_types_experimental": types},
        }

    async def do_inspect(
        self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: tuple[str, ...] = ()
    ) -> Reply:
        """The description of the name at the cursor."""
        data = notebook.inspection(self.session_q, code, cursor_pos)
        return {"status": "ok", "found": bool(data), "data": data, "metadata": {}}

    async def do_is_complete(self, code: str) -> Reply:
        """Can the cell be run as it is?"""
        status = notebook.state(code)
        return {"status": status, "indent": "  "} if status == "incomplete" else {"status": status}

    async def do_history(
        self,
        hist_access_type: str,
        output: bool,
        raw: bool,
        session: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        n: int | None = None,
        pattern: str | None = None,
        unique: bool = False,
    ) -> Reply:
        """The cells that were run: the last ones, a range of numbers, or those that match a pattern."""
        found = list(enumerate(self.cells, 1))
        if hist_access_type == "range":
            found = found[max(start or 1, 1) - 1 : None if stop is None else max(stop - 1, 0)]
        elif hist_access_type == "search":
            found = [(i, text) for i, text in found if fnmatchcase(text, pattern or "*")]
            found = list({text: (i, text) for i, text in found}.values()) if unique else found
        if hist_access_type != "range" and n is not None:
            found = found[max(len(found) - n, 0) :]
        return {
            "status": "ok",
            "history": [(1, i, (text, None) if output else text) for i, text in found],
        }

    async def do_shutdown(self, restart: bool) -> Reply:
        """Shut down, calling `.z.exit` like any session."""
        with suppress(QError, QExit):
            self.session_q.at_exit(0)
        return {"status": "ok", "restart": restart}
