"""The session of docs/attach.md, run again: its lines are sent to examples/train.py, and what they print is compared."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.attach import place
from kshell.attach.client import Attached
from kshell.shell.attached import Console, leaving
from tests import ROOT
from tests.host.programs import Program
from tests.support.runner import Step, clean, transcript

PAGE = ROOT / "docs" / "attach.md"
RECORDED = re.compile(r"<!-- recorded -->\n```text\n(.*?)^```$", re.M | re.S)
TIMED = re.compile(r"loss|norm|avg|^\.run\.step$")  # in lines whose values depend on when they run
NAMED = re.compile(r"`(\.run\.\w+)`")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    """examples/train.py, started as the page starts it, after some hundred steps."""
    made = Program(tmp_path, "")
    (tmp_path / "train.py").unlink()
    monkeypatch.setenv("KSHELL_RUN", str(made.run))
    made.start(sys.executable, "-m", "kshell", "run", str(ROOT / "examples" / "train.py"), "100000")
    try:
        made.until(lambda: (state := place.asked(made.pid)) and state.step > 500)
        yield made
    finally:
        made.kill()


def recorded() -> list[Step]:
    """The lines of the page's session, with what the page says that they print."""
    found = RECORDED.search(PAGE.read_text())
    assert found is not None
    return transcript(found[1])


def comparable(line: str, printed: list[str]) -> list[str]:
    """What is compared of what a line prints: if that depends on time, words and whether there are numbers."""
    printed = clean(printed)
    if not TIMED.search(line):
        return printed
    numbers = [re.sub(r"-?\b\d+(\.\d+)?(e-?\d+)?", "#", text) for text in printed]
    return [re.sub(r"-+", "-", re.sub(r" +", " ", text)).strip() for text in numbers]


def test_the_session_of_the_page(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    attached = Attached(program.pid)
    console, wrong = Console(attached, 60.0), []
    steps = recorded()
    assert len(steps) > 15 and any(step.output for step in steps if not TIMED.search(step.text))
    for step in steps:
        if leaving(step.text) is not None:
            break
        console.enter(step.text)
        shown = "".join(capsys.readouterr()).splitlines()
        if comparable(step.text, shown) != comparable(step.text, step.output):
            wrong.append("\n".join([f"q){step.text}", *shown]))
    attached.close()
    assert not wrong, "\n".join(wrong)
    log = (program.folder / f"kshell-edits-{program.pid}.q").read_text()
    texts = [step.text for step in steps]
    edits = [text for text in texts if text in log and "lr(" in text]
    assert edits == ["lr(optimizer;.002 .0005)"]  # and not the one that failed
    assert re.search(r"^/ [\d.D:]+ \S+: optimizer group 1 lr: 0.002 -> 0.0005$", log, re.M)  # as the page shows it


def test_the_names_of_the_page_are_there() -> None:
    """In a process of its own: the names are known only where a program listens."""
    named = set(NAMED.findall(PAGE.read_text()))
    assert len(named) >= 7
    page = (ROOT / "docs" / "reference" / "run.md").read_text()
    assert named <= set(re.findall(r"^### `(.*)`$", page, re.M))
