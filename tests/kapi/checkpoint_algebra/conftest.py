"""A session in a folder of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kshell.session import Session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session()
