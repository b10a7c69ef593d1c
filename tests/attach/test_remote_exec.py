"""`kshell attach` to programs that know nothing of kshell and do not listen, by Python's own sys.remote_exec."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import ROOT
from tests.host.programs import PROGRAMS, Program, alone, running
from tests.host.test_ranks import RANKS

pytestmark = pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="sys.remote_exec is there from Python 3.14 on")

PYTHON = sys.executable, "train.py"
QUERY = "-e", "first lr optimizer", "-e", "count parmtable net"
IDLE = "import sys\nsys.stdout.write('ready\\n')\nsys.stdout.flush()\nimport time\nwhile True:\n    time.sleep(.01)\n"
Done = subprocess.CompletedProcess[str]


def attach(program: Program | int, *words: str, user: int | None = None, **variables: str) -> Done:
    """What `kshell attach` prints."""
    pid, run = (program, os.environ["KSHELL_RUN"]) if isinstance(program, int) else (program.pid, str(program.run))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "KSHELL_RUN": run, **variables}
    command = [sys.executable, "-m", "kshell", "attach", str(pid), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, user=user)


@pytest.fixture
def idle() -> Iterator[Callable[..., int]]:
    """Starts programs without torch; their process ids."""
    started = []

    def start(*options: str, user: int | None = None, **variables: str) -> int:
        env = {**os.environ, **variables}
        program = subprocess.Popen([sys.executable, *options, "-c", IDLE], env=env, user=user, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        started.append(program)
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        return program.pid

    yield start
    for program in started:
        assert program.poll() is None
        program.kill()
        assert program.communicate(timeout=20)[0] == ""  # nothing of ours is printed there


def refused(pid: int, *words: str, user: int | None = None, **variables: str) -> str:
    """Why a program cannot be attached to."""
    done = attach(pid, "--timeout", "2", "-e", "1", *words, user=user, **variables)
    assert (done.returncode, done.stdout) == (3, "") and done.stderr.startswith(f"kshell: {pid} "), done.stderr
    return done.stderr


# ------------------------------------------------------------------ training programs


def test_a_program_in_the_middle_of_its_training(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], *PYTHON, STEPS="3000") as program:
        program.wait_for(5)
        done = attach(program, "-e", ".run.step", "-e", "lr optimizer", "-e", "lr(optimizer;.5)", "-e", "exec name from parmtable net")
        step, rate, names = done.stdout.splitlines()
        assert (done.returncode, done.stderr) == (0, "") and 0 < int(step) < 3000 and rate == ",0.01"
        assert names == "`0.weight`0.bias`3.weight`3.bias"
        program.until(lambda: float(program.log[-1][1]) == 0.5)
        assert sorted(os.listdir(program.run)) == [str(program.pid), f"{program.pid}.where"]  # the script is gone
        client = subprocess.run([sys.executable, "-m", "kshell", "attach", "train.py", "-e", "first lr optimizer"],
                                env=program.environment, capture_output=True, text=True, timeout=60)
        assert (client.returncode, client.stdout, client.stderr) == (0, "0.5\n", "")
        assert program.process is not None
        program.process.terminate()
        assert program.output() == ""


def test_queries_change_no_bit(tmp_path: Path) -> None:
    steps = {"STEPS": "150", "PAUSE": "0.015"}
    found: list[str] = []
    by_itself = threading.Thread(target=lambda: found.append(alone(tmp_path / "alone", PROGRAMS["plain"], by=subprocess.Popen, **steps)))
    by_itself.start()
    with running(tmp_path / "asked", PROGRAMS["plain"], *PYTHON, **steps) as program:
        program.wait_for(2)
        assert attach(program, *QUERY).stdout == "0.01\n4\n"
        digest = program.ended()
    by_itself.join()
    assert found == [digest]


def test_a_program_that_has_not_imported_torch(tmp_path: Path) -> None:
    """Nor does it run a line of Python at first."""
    with running(tmp_path, "import time\ntime.sleep(.9)\n" + PROGRAMS["plain"], *PYTHON, STEPS="3000") as program:
        done = attach(program, "--timeout", "60", *QUERY)
        assert (done.returncode, done.stdout, done.stderr) == (0, "0.01\n4\n", "")


def test_a_program_that_waits_for_input(tmp_path: Path) -> None:
    """It listens by itself as soon as it has its line."""
    text = PROGRAMS["plain"].replace("main()\n", "LOG.write('0 0\\n')\nopen(sys.argv[1]).readline()\nmain()\n")
    os.mkfifo(tmp_path / "fifo")
    with running(tmp_path, text, *PYTHON, "fifo", STEPS="3000") as program:
        program.wait_for(0)
        time.sleep(0.1)
        done = attach(program, "--timeout", "1", "-e", "1")
        assert done.returncode == 3 and "it listens as soon as its main thread runs a line of Python again" in done.stderr
        assert os.listdir(program.run) == [f"{program.pid}.py"]
        with open(tmp_path / "fifo", "w") as fifo:
            fifo.write("\n")
        assert program.client()("first lr optimizer") == 0.01
        assert sorted(os.listdir(program.run)) == [str(program.pid), f"{program.pid}.where"]


@pytest.fixture
def foreign_python(tmp_path: Path) -> str:
    """The Python of an environment that has torch, and nothing of what only kshell needs."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    there = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not re.match(r"prompt_toolkit|pyparsing|wcwidth|safetensors|kshell|__editable__|.*\.pth|.*\.egg-link", path.name):
            (there / path.name).symlink_to(path)
    return str(tmp_path / "venv" / "bin" / "python")


def test_a_program_whose_python_has_no_kshell(foreign_python: str, tmp_path: Path) -> None:
    """It trains in a second thread, and would listen in another folder by itself."""
    text = PROGRAMS["plain"].replace("main()\n", "import threading\nthread = threading.Thread(target=main)\nthread.start()\n"
                                     "while thread.is_alive():\n    time.sleep(.1)\n")
    there = {"PYTHONPATH": "", "KSHELL_RUN": "/nonexistent", "STEPS": "3000"}
    with running(tmp_path, text, foreign_python, "train.py", **there) as program:
        program.wait_for(5)
        done = attach(program, "-e", "first lr optimizer", "-e", "lr(optimizer;.25)", "-e", "count parmtable net")
        assert (done.returncode, done.stdout, done.stderr) == (0, "0.01\n4\n", "")
        program.until(lambda: float(program.log[-1][1]) == 0.25)
        assert program.process is not None
        program.process.terminate()
        assert program.output() == ""


@pytest.mark.slow
def test_the_processes_of_a_job(tmp_path: Path) -> None:
    """All of them listen; the one that started them names them."""
    launcher = "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "--local-addr", "127.0.0.1"
    with running(tmp_path, RANKS, sys.executable, *launcher, "train.py", "ddp", STEPS="100000") as program:
        logs = [tmp_path / f"log{rank}.txt" for rank in (0, 1)]
        program.until(lambda: all(log.exists() and log.read_text() for log in logs))
        done = attach(program, "-e", "1")
        assert done.returncode == 3
        pids = re.search(r"makes no steps itself, but the processes that it has started: (\d+) (\d+)\n", done.stderr)
        assert pids is not None
        done = attach(int(pids[1]), "-e", "exec pid from .run.ranks where not null pid", "-e", "lr(optimizer;.5)", KSHELL_RUN=str(program.run))
        assert done.stdout == f"{pids[1]} {pids[2]}\n" and "processes that began to listen while they trained count different steps" in done.stderr


# ------------------------------------------------------------------ programs that cannot be attached to


def test_remote_debugging_that_is_off(idle: Callable[..., int]) -> None:
    off = "was started with PYTHON_DISABLE_REMOTE_DEBUG or -X disable-remote-debug"
    for pid in (idle(PYTHON_DISABLE_REMOTE_DEBUG="1"), idle("-X", "disable-remote-debug")):
        assert f"{pid}: the program {off}" in refused(pid)
    assert f": this Python {off}" in refused(idle(), PYTHON_DISABLE_REMOTE_DEBUG="1")
    assert os.listdir(os.environ["KSHELL_RUN"]) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has processes of other users")
def test_a_process_of_another_user(idle: Callable[..., int], tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir(0o700)
    os.chown(folder, 65534, 65534)
    for path in [*tmp_path.parents, tmp_path]:
        if str(path).startswith(os.path.realpath("/tmp/pytest")):
            path.chmod(0o755)
    own = {"KSHELL_RUN": str(folder), "HOME": str(folder)}
    pid = idle()
    assert f"it is a process of user root, who alone can: sudo -u root kshell attach {pid}" in refused(pid, user=65534, **own)
    pid = idle(user=65534)
    assert f"who alone can: sudo -u nobody kshell attach {pid}" in refused(pid)
    assert "it listens as soon as it has imported torch" in refused(pid, user=65534, **own)
    assert os.listdir(folder) == []


def test_another_version_or_no_python(tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    shutil.copy(sleep, tmp_path / "python3.9")
    for program, there in ((sleep, "no Python that is known"), (str(tmp_path / "python3.9"), "3.9")):
        with subprocess.Popen([program, "60"]) as process:
            assert refused(process.pid).endswith(f"the same Python on both sides, 3.14 or later: here it is 3.{sys.version_info[1]}, there {there}\n")
            process.kill()


def test_a_process_that_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(20)
    assert refused(process.pid) == f"kshell: {process.pid} does not listen\n"
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(2)"])
    done = attach(process.pid, "--timeout", "60", "-e", "1")  # of which nobody has been told
    assert (done.returncode, done.stderr) == (3, f"kshell: {process.pid} has ended\n")
    process.wait(20)


def test_modules_that_are_missing_are_named(foreign_python: str, tmp_path: Path) -> None:
    """The one who attaches lacks one too."""
    from kshell.attach import remote

    text = "import sys\nsys.path.append(sys.argv[1])\nimport time, torch\nopen('log.txt', 'w').write('1')\nwhile True:\n    time.sleep(.01)\n"
    with running(tmp_path, text, foreign_python, "train.py", str(ROOT), PYTHONPATH="") as program:
        program.wait_for(1)
        lent, remote.LENT = remote.LENT, ()
        try:
            assert remote.attach(program.pid) == f"{program.pid}: kshell needs prompt_toolkit, pyparsing, which the program cannot import"
        finally:
            remote.LENT = lent
        assert os.listdir(os.environ["KSHELL_RUN"]) == []
        assert program.process is not None
        program.process.terminate()
        assert program.output() == ""
