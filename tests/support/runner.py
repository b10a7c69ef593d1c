"""The two forms of tests written in q: lines `expression  / expected`, and sessions with their exact output."""

from __future__ import annotations

import atexit
import io
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from kshell.errors import QError, QExit
from kshell.session import Session


@dataclass
class Case:
    """One line of a cases file."""

    file: Path
    line: int
    text: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file.name}:{self.line}"


# Examples write to /tmp/kshell..: in tests to a folder of this process, whose name is as long so that lengths and
# layouts stay.
SHOWN = "/tmp/kshell"


def _folder() -> str:
    """A new folder of /tmp named with five characters, removed at the end of the process that made it."""
    folder = Path("/tmp") / secrets.token_hex(3)[: len(SHOWN) - len("/tmp//")]
    folder.mkdir(0o700)
    here = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == here else None)
    return f"{folder}/"


FOLDER = _folder()


def private(text: str) -> str:
    """A text with the folder of this process where it shows /tmp/kshell."""
    return text.replace(SHOWN, FOLDER)


def cases(path: Path) -> list[Case]:
    """The cases of a file: what stands after the last two blanks, slash and blank of a line is expected."""
    out = []
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("/"):
            continue
        text, found, expected = line.rpartition("  / ")
        if not found and line.endswith("  /"):
            text, expected = line[:-3], ""
        assert text, f"{path.name}:{n}: no expected output"
        out.append(Case(path, n, private(text.rstrip()), private(expected.rstrip())))
    return out


def console(session: Session, text: str) -> str:
    """What the console shows for a line: the printed output, or the error's lines."""
    out = io.StringIO()
    session.out, session.err = out, out
    try:
        session.run(text, show=True)
    except QError as e:
        out.write("\n".join(session.error_lines(e)) + "\n")
    except QExit as e:
        out.write(f"exit {e.code}\n")
    return out.getvalue()


def one_line(output: str) -> str:
    """The output of a case as its one expected line: of an error only the text, of several lines with \\n between."""
    lines = [s.rstrip() for s in output.splitlines()]
    if lines and lines[0].startswith("'") and (len(lines) == 1 or lines[1].startswith("  [")):
        return lines[0]
    return "\\n".join(lines)


@dataclass
class Step:
    """One input of a transcript with the output under it."""

    line: int
    text: str
    output: list[str]


def transcript(text: str, prompt: str = "q)") -> list[Step]:
    """The steps of a session text: inputs after the prompt, the output under each."""
    steps: list[Step] = []
    for n, line in enumerate(private(text).splitlines(), 1):
        if line.startswith(prompt):
            steps.append(Step(n, line[len(prompt):], []))
        elif steps and not (line.startswith("/ ") or line == "/"):
            steps[-1].output.append(line)
    return steps


def clean(lines: list[str]) -> list[str]:
    """Output lines without trailing blanks and empty lines around them."""
    lines = [s.rstrip() for s in lines]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def check_transcript(text: str, where: str) -> None:
    """Run a session text in a fresh session and compare every output."""
    session = Session()
    for step in transcript(text):
        got = clean(console(session, step.text).splitlines())
        assert got == clean(step.output), f"{where}:{step.line}: q){step.text}\n" + "\n".join(got)
