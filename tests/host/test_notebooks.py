"""Programs with an event loop, such as the kernel of a notebook: clients are answered between the steps, too."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.host.programs import BEGIN, NET, Client, Refused, running

MISSING = [name for name in ("ipykernel", "jupyter_client") if importlib.util.find_spec(name) is None]
in_a_notebook = [pytest.mark.extra, pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")]

MODEL = BEGIN + NET + "optimizer = torch.optim.AdamW(net.parameters(), lr=.01)\n"
STEPS = """
def train(steps):
    for step in range(steps):
        optimizer.zero_grad()
        loss_fn(net(x), y).backward()
        optimizer.step()
        time.sleep(.01)
"""
# the program's own code runs only when it is called
LOOP = MODEL + STEPS + """
import asyncio, kshell
async def begin():
    kshell.listen()
loop = asyncio.new_event_loop()
loop.run_until_complete(begin())
WORK
loop.run_forever()
"""
NAMES = {"net", "optimizer", "x", "y", "loss_fn", "STEPS", "PAUSE"}
NO_STEPS = "the program makes no steps now"


@pytest.mark.slow
def test_a_program_that_is_no_file_has_its_own_variables_and_no_others(tmp_path: Path) -> None:
    """As python -c and a cell of IPython have; torch's and Python's frames around them are not asked."""
    text = (MODEL + STEPS).replace("sleep(.01)", "sleep(.01); width = 16") + "train(10**6)"
    runs = "import sys, kshell; kshell.listen(); exec(compile(sys.argv[1], '<text>', 'exec'))"
    with running(tmp_path, "", sys.executable, "-c", runs, text) as program:
        client = program.client()
        program.until(lambda: client(".run.step") > 2)
        assert set(client("system\"v\"")) == {*NAMES, "width", "steps"}


@pytest.mark.slow
def test_a_program_with_an_event_loop_answers_between_its_steps(tmp_path: Path) -> None:
    work = "loop.call_later(.5, train, 3)"
    with running(tmp_path, LOOP.replace("WORK", work), sys.executable, "train.py") as program:
        client = program.client()
        assert client("count parmtable net") == 4
        program.until(lambda: client(".run.step") == 3)
        start = time.monotonic()
        client("lr(optimizer;.5)")
        client("lr(optimizer;.25)")
        assert client("first lr optimizer") == 0.25 and time.monotonic() - start < 3
        assert list(client(".run.edits")["step"]) == [3, 3]
        client("undo 1")
        assert client("first lr optimizer") == 0.5
        for text, word in (("pause[]", "pause"), ("step 1", "step")):
            with pytest.raises(Refused, match=f"{word}: {NO_STEPS}"):
                client(text)
        client('watch[`always;"1b";"pause"]')  # it is looked at after steps
        assert client("1+1") == 2
        assert [row.decode() for row in client(".run.watches")["condition"]] == ["1b"]


@pytest.mark.slow
def test_a_coroutine_that_waits_midway_can_be_asked_and_not_edited(tmp_path: Path) -> None:
    """A step that it has begun would use what was edited in the middle of it."""
    work = """
async def midway():
    loss = loss_fn(net(x), y)
    while not os.path.exists("go"):
        await asyncio.sleep(.01)
    loss.backward()
    optimizer.step()
loop.run_until_complete(midway())
"""
    with running(tmp_path, LOOP.replace("WORK", work), sys.executable, "train.py") as program:
        client = program.client()
        assert client("first lr optimizer") == 0.01 and client(".run.step") == 0
        with pytest.raises(Refused, match="waits in the middle of something"):
            client("lr(optimizer;.5)")
        (tmp_path / "go").touch()
        program.until(lambda: client(".run.step") == 1)
        client("lr(optimizer;.5)")
        assert client("first lr optimizer") == 0.5


@pytest.mark.slow
def test_a_loop_does_not_answer_for_a_thread_that_trains(tmp_path: Path) -> None:
    """A query between two of its steps would see half of one."""
    work = "import threading\nthread = threading.Thread(target=train, args=(10**6,), daemon=True)\nthread.start()"
    with running(tmp_path, LOOP.replace("WORK", work), sys.executable, "train.py") as program:
        client = program.client()
        program.until(lambda: client(".run.step") > 5)
        for _ in range(20):
            assert any("optimizer.step()" in line.decode() for line in client(".run.where"))
        client("pause[]")  # as at the end of a step
        assert client(".run.step") == client(".run.step")
        client("go[]")


# ------------------------------------------------------------------ notebooks

Cell = Callable[..., str]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The manager of a kernel of Python, which knows nothing of kshell."""
    from jupyter_client.manager import KernelManager

    monkeypatch.setenv("KSHELL_RUN", str(tmp_path / "run"))
    monkeypatch.setenv("KSHELL_EDITS", str(tmp_path / "edits.q"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path))
    yield manager
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)


@pytest.fixture
def cell(kernel: Any) -> Iterator[Cell]:
    """Runs a cell; what it printed. With wait=False it only begins, and ends when another one is run."""
    client = kernel.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)

    def run(code: str, wait: bool = True) -> str:
        printed: list[str] = []
        if not wait:
            client.execute(code)
            return ""
        reply = client.execute_interactive(code, timeout=60, allow_stdin=False, output_hook=lambda message: printed.append(
            message["content"].get("text", "")))
        assert reply["content"]["status"] == "ok", reply
        return "".join(printed)

    yield run
    client.stop_channels()


def listening(cell: Cell) -> Client:
    """A client of a kernel that listens from now on."""
    return Client(cell("import kshell\nprint(kshell.listen())").strip())


def sockets(tmp_path: Path) -> list[str]:
    return sorted(os.listdir(tmp_path / "run"))


class TestNotebooks:
    pytestmark = in_a_notebook

    def test_between_the_cells_and_while_one_trains(self, cell: Cell, tmp_path: Path) -> None:
        client = listening(cell)
        assert client("1+1") == 2
        cell(MODEL + STEPS + "width = 16\n")
        assert client("count parmtable net") == 4 and client("width") == 16
        cell("train(200)", wait=False)
        while not 0 < client(".run.step") < 200:
            time.sleep(0.02)
        assert set(client("system\"v\"")) == {*NAMES, "width", "steps"}  # none of the kernel's own
        client("lr(optimizer;.5)")
        assert cell("print(optimizer.param_groups[0]['lr'])") == "0.5\n"  # after the one that trains
        assert client(".run.step") == 200 and set(client("system\"v\"")) == {*NAMES, "width"}
        client("lr(optimizer;.25)")
        shown = subprocess.run([sys.executable, "-m", "kshell", "attach", "ipykernel", "-e", "lr optimizer", "-e", "pause[]"],
                               capture_output=True, text=True, timeout=60)
        assert (shown.returncode, shown.stdout) == (1, ",0.25\n") and NO_STEPS in shown.stderr
        assert cell("print(optimizer.param_groups[0]['lr'], len(optimizer.state))") == "0.25 4\n"
        listed = subprocess.run([sys.executable, "-m", "kshell", "attach"], capture_output=True, text=True, timeout=60)
        assert listed.stdout.rstrip().endswith("idle")

    def test_cells_that_wait(self, cell: Cell, tmp_path: Path) -> None:
        client = listening(cell)
        cell(MODEL + "import asyncio")
        cell("loss = loss_fn(net(x), y)\nwhile not os.path.exists('go'):\n    await asyncio.sleep(.01)\nloss.backward()\noptimizer.step()", wait=False)
        while "loss" not in client("system\"v\""):
            time.sleep(0.02)
        assert client("first lr optimizer") == 0.01
        with pytest.raises(Refused, match="waits in the middle of something"):
            client("lr(optimizer;.5)")
        (tmp_path / "go").touch()
        cell("")
        assert client(".run.step") == 1
        client("lr(optimizer;.5)")

    def test_a_pause_in_a_cell_ends_with_its_client(self, cell: Cell) -> None:
        client = listening(cell)
        cell(MODEL + STEPS)
        cell("train(50)", wait=False)
        while not client(".run.step"):
            time.sleep(0.02)
        client("pause[]")
        assert client(".run.step") == client(".run.step") < 50
        client.close()
        assert cell("print('on')") == "on\n"

    def test_restarts_and_the_end_leave_no_socket(self, cell: Cell, kernel: Any, tmp_path: Path) -> None:
        client = listening(cell)
        assert client("1+1") == 2 and len(sockets(tmp_path)) == 2
        kernel.restart_kernel()
        with pytest.raises(ConnectionError):
            client("1")
        assert sockets(tmp_path) == []
        client = listening(cell)
        assert client("2+2") == 4 and len(sockets(tmp_path)) == 2
        kernel.shutdown_kernel()
        assert sockets(tmp_path) == []

    @pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="sys.remote_exec is there from Python 3.14 on")
    def test_a_kernel_that_is_made_to_listen(self, cell: Cell) -> None:
        pid = cell("import os\nprint(os.getpid())").strip()
        cell(MODEL + STEPS)
        cell("train(300)", wait=False)
        done = subprocess.run([sys.executable, "-m", "kshell", "attach", pid, "-e", "first lr optimizer"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (0, "0.01\n")
        cell("")
        done = subprocess.run([sys.executable, "-m", "kshell", "attach", pid, "-e", "lr(optimizer;.5)"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and cell("print(optimizer.param_groups[0]['lr'])") == "0.5\n"
