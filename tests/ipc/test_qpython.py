"""qPython, the oldest client in Python, against our port: every type with its null and infinities, in each of its modes.

It needs numpy below 2, so it lives in an environment of its own, `.venv/qpython`, which `make setup-all` makes where it can;
KSHELL_QPYTHON names the Python of another."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.ipc.processes import Server
from tests.ipc.test_outside_clients import ATOMS, KEYED, LISTS

pytestmark = pytest.mark.extra

SCRIPT = '.z.pw:{[user;password]password~"pw"};\n'
CLIENT = Path(__file__).parent / "qpython_client.py"
VALUES = [*ATOMS, *LISTS, *KEYED, "{x+y}", "{x+y}[1]", "::"]
HIGH = '"\u00e9"'  # a char above 127 alone; qPython's reader fails for it
# what the options of a mode make something else of, in qPython itself
LEFT_OUT = {
    "plain": {HIGH},
    "numpy": {HIGH},
    "utf8": {HIGH},
    "old": {HIGH},
    # a char alone goes back as a string
    "single": {HIGH, '"a"', '" "', '(1;`a;"x";2.5)', '([]s:("ab";"c");t:0Np,2000.01.01D)'},
    # symbols of one letter go back as chars, floats that are null alone as blanks, infinite longs with a null as floats
    "pandas": {HIGH, "0Ne", "0n", "1 0N 0W -0W", "`a``b", "`symbol$()", "(1 2;`a`b)", "`u#`a`b"},
}


@pytest.fixture(scope="module")
def python() -> str:
    """The Python of an environment that has qPython."""
    found = os.environ.get("KSHELL_QPYTHON") or str(ROOT / ".venv" / "qpython" / "bin" / "python")
    if not Path(found).exists():
        pytest.skip(f"no environment with qPython: {found} does not exist")
    done = subprocess.run([found, "-c", "import qpython.qconnection, pandas"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no environment with qPython: {found}: {(done.stderr.splitlines() or ['failed'])[-1]}")
    return found


def wrong(python: str, server: Server, check: str, given: Any = None) -> Any:
    """What a check of qpython_client.py finds wrong."""
    done = subprocess.run([python, CLIENT, str(server.port), check], input=json.dumps(given), capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("mode", LEFT_OUT)
def test_every_type_there_and_back(python: str, server: Server, mode: str) -> None:
    assert wrong(python, server, mode, [text for text in VALUES if text not in LEFT_OUT[mode]]) == []


@pytest.mark.parametrize("check", ["made", "read", "calls", "errors", "functions", "large", "compressed"])
def test_qpython(python: str, server: Server, check: str) -> None:
    assert wrong(python, server, check) == []
