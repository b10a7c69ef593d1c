"""The console for several processes: process 0 reads the lines, all run them, and an error is shown once."""

from __future__ import annotations

import sys

from kshell.errors import QError, QExit
from kshell.session import Session
from kshell.shell.run_line import attempt


class Together:
    """A session's part in it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lines = session.console()
        self.ended = False

    def enter(self, text: str) -> bool:
        """Process 0: make all execute a line; was there an error?"""
        return self._give("line", text)

    def tick(self) -> bool:
        """Process 0: make all call the timer function; was there an error?"""
        return self._give("tick", "")

    def end(self, code: int) -> None:
        """Process 0: make all exit with this code, unless they have started to."""
        if not self.ended:
            self.ended = True
            self.lines.give("exit", str(code))
            self.lines.part()

    def follow(self) -> int:
        """Another process: run the lines sent by process 0; returns the exit code."""
        while True:
            kind, text = self.lines.take(self._serve)
            if kind == "exit":
                self.lines.part()
                return int(text)
            self._run(kind, text)

    def _serve(self) -> bool:
        """Handle the messages of this process's port, if it has one."""
        ipc = self.session.ipc
        if ipc is not None:
            ipc.network.turn(0.0)
        return ipc is not None

    def _give(self, kind: str, text: str) -> bool:
        self.lines.give(kind, text)
        errors = self._run(kind, text)
        for report, ranks in errors.items():
            label = f"[{spans(ranks)}] "
            self.session.report("".join(f"{label}{line}\n" for line in report.split("\n")))
        return bool(errors)

    def _run(self, kind: str, text: str) -> dict[str, list[int]]:
        local_codes: list[int | None] = []

        def work() -> tuple[str, int | None]:
            error, exit_code = self._work(kind, text)
            local_codes.append(exit_code)
            return error, exit_code

        errors, code = self.lines.run(work)
        if code is not None:
            self.ended = True
            if local_codes[0] is None:  # `exit` on another process
                attempt(self.session, self.session.at_exit, code)
            raise QExit(code)
        return errors

    def _work(self, kind: str, text: str) -> tuple[str, int | None]:
        session = self.session
        try:
            session.enter(text) if kind == "line" else session.tick()
            return "", None
        except QExit as e:
            return "", e.code
        except QError as e:
            error = e
        finally:
            (session.out or sys.stdout).flush()
        return "\n".join(session.error_lines(error)), None


def spans(ranks: list[int]) -> str:
    """Numbers in order, with consecutive ones as first-last."""
    ranges: list[list[int]] = []
    for rank in ranks:
        if ranges and ranges[-1][1] == rank - 1:
            ranges[-1][1] = rank
        else:
            ranges.append([rank, rank])
    return " ".join(str(begin) if begin == end else f"{begin}-{end}" for begin, end in ranges)
