"""A kshell that listens and a client of it, for the modules that take them. Unix sockets beside ports go to a folder of the
tests' own, with a short path as their names must be."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest

from tests.ipc.processes import LOGIN, Client, Server


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


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A process that has run the module's SCRIPT, with its ARGS on the command line."""
    script, args = getattr(request.module, "SCRIPT", ""), getattr(request.module, "ARGS", ())
    with Server(tmp_path_factory.mktemp("server"), script + '-1"set";\n', args) as running:
        assert running.line() == "set"  # clients are let in between the lines of a script
        yield running
        if running.process.poll() is None:
            running.end()


@pytest.fixture
def client(request: pytest.FixtureRequest, server: Server) -> Iterator[Client]:
    """A connection to it, with the module's LOGIN."""
    made = Client(server.port, getattr(request.module, "LOGIN", LOGIN))
    yield made
    made.close()
