"""A real browser opens the pages of a kshell that trains: the curve moves, queries answer, nothing is refused or fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT
from tests.ipc.processes import Server

MODULES = ROOT / ".venv" / "node" / "node_modules"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SCRIPT = """
trade:([]sym:`a`b`a;size:100 200 300)
q:module seq(`sequential;(`linear;64;128);`relu;(`linear;128;10))
m:model(q;loss`ce;opt(`adam;q;.001))
train(m;`batchsize`metrics;(64;`loss))
train(m;tensor(`randn;20000 64);tensor(`randint;10;20000));
do[600;run m]
"""


@pytest.mark.extra
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
@pytest.mark.skipif(not (MODULES / "playwright-core").is_dir(), reason="playwright-core is not installed")
def test_pages_in_a_browser(tmp_path: Path) -> None:
    with Server(tmp_path, SCRIPT) as server:
        done = subprocess.run(["node", ROOT / "tests" / "ipc" / "node" / "browser.js", str(server.port), str(CHROMIUM), str(tmp_path)],
                              env={**os.environ, "NODE_PATH": str(MODULES)}, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        seen = json.loads(done.stdout)
        assert seen["problems"] == [] and seen["moved"] is True and seen["answer"] == "3"
        assert "trade" in seen["list"] and "400" in seen["list"]  # the sum of a's sizes
        assert "0.weight" in seen["models"] and "model" in seen["models"]
