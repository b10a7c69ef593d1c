"""Every line of tests/cases and every session of tests/transcripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kshell.session import Session
from tests import ROOT
from tests.support.runner import cases, check_transcript, console, one_line

CASES = sorted((ROOT / "tests" / "cases").glob("*.q"))
TRANSCRIPTS = sorted((ROOT / "tests" / "transcripts").glob("*.q"))


def masked(text: str) -> str:
    """A text without the numbers of handles and tensors, which count what was made before."""
    return re.sub(r"\b[58]\d{7}\b", "########", text)


LONG = {"compile"}  # importing torch's compiler takes seconds


@pytest.mark.parametrize("path", [pytest.param(p, marks=pytest.mark.sampled(6)) if p.stem in LONG else p for p in CASES],
                         ids=lambda p: p.stem)
def test_cases(path: Path) -> None:
    """Each line in one session a file; every failure of the file is reported."""
    session = Session()
    wrong = []
    for case in cases(path):
        got = one_line(console(session, case.text))
        if masked(got) != masked(case.expected):
            wrong.append(f"{case}: {case.text}\n   expected {case.expected}\n   got      {got}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda p: p.stem)
def test_transcript(path: Path) -> None:
    check_transcript(path.read_text(), path.name)
