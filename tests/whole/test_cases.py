"""Every line of tests/cases and every session of tests/transcripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kshell.session import Session
from tests import ROOT
from tests.support import versions
from tests.support.runner import cases, check_transcript, console, one_line

CASES = sorted((ROOT / "tests" / "cases").glob("*.q"))
TRANSCRIPTS = sorted((ROOT / "tests" / "transcripts").glob("*.q"))


def masked(text: str) -> str:
    """A text without the numbers of handles and tensors, which count what was made before, and without what torch's
    CUDA builds log where there is no CUDA."""
    text = re.sub(r"W\d{4} [^\\]*torch/\S+\] .*?\\n", "", text)
    return re.sub(r"\b[58]\d{7}\b", "########", text)


LONG = {"compile"}  # importing torch's compiler takes seconds


@pytest.mark.parametrize("path", [pytest.param(p, marks=pytest.mark.sampled(6)) if p.stem in LONG else p for p in CASES],
                         ids=lambda p: p.stem)
def test_cases(path: Path, record_property: Callable[[str, object], None]) -> None:
    """Each line in one session a file; every failure of the file is reported. Lines that name what this torch is too old
    for are left out."""
    session = Session()
    wrong = []
    for case in cases(path):
        if reasons := versions.named_in(case.text):
            record_property("left out", reasons[0])
            continue
        got = one_line(console(session, case.text))
        if masked(got) != masked(case.expected):
            wrong.append(f"{case}: {case.text}\n   expected {case.expected}\n   got      {got}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda p: p.stem)
def test_transcript(path: Path) -> None:
    check_transcript(path.read_text(), path.name)
