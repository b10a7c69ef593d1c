"""A folder of sockets of the tests' own, with a short path as their names must be, and programs that listen there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator

import pytest

from tests.attach.program import Program


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    path = tempfile.mkdtemp(prefix="ks")
    monkeypatch.setenv("KSHELL_RUN", path)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def program(folder: str) -> Iterator[Program]:
    """A program that answers at once."""
    with Program() as running:
        yield running
