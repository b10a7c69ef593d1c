"""Unix sockets beside ports go to a folder of the tests' own, with a short path as their names must be."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def sockets() -> Iterator[None]:
    before, folder = os.environ.get("QUDSPATH"), tempfile.mkdtemp(prefix="kx")
    os.environ["QUDSPATH"] = folder
    yield
    if before is None:
        del os.environ["QUDSPATH"]
    else:
        os.environ["QUDSPATH"] = before
    shutil.rmtree(folder)
