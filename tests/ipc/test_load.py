"""Many clients at once, some of which end in the middle of a message, read slowly or send garbage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.ipc.processes import Client, Server, eventually
from tests.ipc.test_port import shown, text
from tests.support import warm


@pytest.mark.parametrize(("clients", "count"), [(40, 50), pytest.param(200, 1000, marks=pytest.mark.slow)])
def test_every_answer_is_right_and_nothing_stays(tmp_path: Path, clients: int, count: int) -> None:
    with Server(tmp_path, "", ("--log", "log"), by=subprocess.Popen) as server:
        status = Path(f"/proc/{server.process.pid}/status")

        def resident() -> int:
            return next(int(line.split()[1]) >> 10 for line in status.read_text().splitlines() if line.startswith("VmRSS"))

        def run(several: int, each: int) -> list[str]:
            done = warm.run([sys.executable, "-m", "tests.ipc.load", str(server.port), str(several), str(each)], cwd=ROOT,
                            capture_output=True, timeout=550)
            assert done.returncode == 0, done.stderr[-2000:]
            return json.loads(done.stdout)

        assert run(20, 20) == []
        before, files = resident(), len(os.listdir(f"/proc/{server.process.pid}/fd"))
        assert run(clients, count) == []
        client = Client(server.port)
        assert eventually(lambda: client.ask(text("1=count .z.H")) is True)
        assert shown(client.ask(text("1+1"))) == "2"
        server.say('-1"alive"')
        while server.line() != "alive":  # messages about garbage come before
            pass
        grown = resident() - before
        print(f"{clients} clients x {count}: {grown} MB more")
        # the symbols stay, at about 150 bytes each
        assert grown < 20 + clients * count // 5 * 200 // 1_000_000
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) <= files + 1
        client.close()
