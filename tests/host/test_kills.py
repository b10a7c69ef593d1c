"""Clients and programs that are killed at random moments: training goes on, and nothing is left but the log of edits."""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from kshell.attach import place, process
from kshell.attach.sweeper import Sweeper
from kshell.values.base.build import string
from tests import ROOT
from tests.host.programs import LINE, PROGRAMS, Client, Program, alone, running
from tests.support import warm

KILLS = int(os.environ.get("KSHELL_KILLS", "8"))  # of programs
WAITS = LINE + PROGRAMS["plain"].replace("\nmain()\n", "\ntime.sleep(float(os.environ.get('WAIT', 0)))\nmain()\n")
PYTHON = [sys.executable, "train.py"]


class Moment(NamedTuple):
    """What a program does when it is killed: the variables with which it is started, and what a client asks it."""

    environment: dict[str, str]
    asked: list[str]


MOMENTS = {
    "starting": Moment({}, ["gradtable optimizer"] * 2000),
    "before the first step": Moment({"WAIT": "30"}, [".run.step"]),
    "training": Moment({}, ["gradtable optimizer", "-3#.run.steps", "evaluate(net;x)"] * 700),
    "answering": Moment({}, ["1+1", "while[1b;1+1]"]),
    "editing": Moment({}, ["lr(optimizer;.002)", "lr(optimizer;.003)", "child(net;`3;(`linear;16;1))", "undo 1"] * 500),
    "paused": Moment({}, ["gradtable optimizer", "lr(optimizer;.002)", "lr(optimizer;.003)"] * 700),
}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KILLS))
def test_a_program_that_is_killed_leaves_nothing_but_its_log(tmp_path: Path, number: int) -> None:
    draw = random.Random(number)
    name = [*MOMENTS][number % len(MOMENTS)]
    environment, asked = MOMENTS[name]
    with running(tmp_path, WAITS, start=False, STEPS="100000", PAUSE="0.002", **environment) as program:
        if name == "starting":
            program.start(*PYTHON)
            time.sleep(draw.random() * 3)
        else:
            program.start(*PYTHON, by=warm.Process)
            program.until((program.run / str(program.pid)).exists)
        if name == "paused":
            client = program.client()
            client("pause[]")
        asking = attached(program, asked)
        time.sleep(draw.random())
        program.kill()
    told = asking.communicate(timeout=60)[1]
    assert asking.returncode == 3, (asking.returncode, told)
    assert told.startswith(("the program has ended\n", f"kshell: {program.pid} ")) and told.count("\n") <= 3
    removes_what_was_left(program, by_listing=bool(draw.randrange(2)))


@pytest.mark.slow
def test_a_log_whose_last_line_is_not_whole_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "edits.q").write_text('.run.at[3;"lr(optimizer;.5)"]\n.run.at[5;"lr(op')
    with running(tmp_path, WAITS, start=False, STEPS="8", PAUSE="0", KSHELL_REPLAY=str(tmp_path / "edits.q")) as program:
        program.start(*PYTHON, by=warm.Process)
        assert re.search(r"kshell: .*edits.q: '.*not replayed", program.output())
        assert [float(words[1]) for words in program.log[:-1]] == [0.01] * 2 + [0.5] * 6


def test_a_log_for_which_there_is_no_room_keeps_its_whole_lines(tmp_path: Path) -> None:
    text = """import resource, sys
from kshell.host.edits import _appended
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for n in (60, 60, 30, 30):
    print(_appended("log", (n - 1) * "x" + "\\n") or "written")
"""
    done = warm.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, check=True)
    full = os.strerror(errno.ENOSPC)
    assert done.stdout.splitlines() == ["written", full, "written", full]
    assert [len(line) for line in (tmp_path / "log").read_text().splitlines()] == [59, 29]


def attached(program: Program, asked: list[str]) -> warm.Process:
    """`kshell attach` with expressions."""
    words = [word for text in asked for word in ("-e", text)]
    return warm.Process([sys.executable, "-m", "kshell", "attach", str(program.pid), *words], env=program.environment,
                        stdout=warm.DEVNULL, stderr=warm.PIPE)


def removes_what_was_left(program: Program, by_listing: bool) -> None:
    """By a list of the programs, or by the next program, which replays the edits, all of them."""
    log = program.folder / f"kshell-edits-{program.pid}.q"
    edits = carried_out(log)
    if by_listing:
        listed = warm.run([sys.executable, "-m", "kshell", "attach"], env=program.environment, capture_output=True)
        assert listed.returncode == 1 and listed.stderr.startswith("nothing listens")
        assert not program.run.exists() or list(program.run.iterdir()) == []
    last = max([int(re.split(r"[\[;]", line)[1]) for line in edits], default=0)
    replay = {"KSHELL_REPLAY": str(log)} if edits else {}
    with running(program.folder, WAITS, start=False, STEPS=str(last + 300), PAUSE="0.001", **replay) as again:
        again.start(*PYTHON, by=warm.Process)
        again.client().close()
        assert sorted(path.name for path in again.run.iterdir()) == [str(again.pid), f"{again.pid}.where"]
        again.ended()
    assert carried_out(again.folder / f"kshell-edits-{again.pid}.q") == edits
    assert list(again.run.iterdir()) == []
    names = {path.name for path in program.folder.iterdir() if not path.name.startswith("kshell-edits-")}
    assert names == {"train.py", "log.txt", "run"}


def carried_out(log: Path) -> list[str]:
    """The edits in a log, each of them whole."""
    if not log.exists():
        return []
    text = log.read_text()
    assert text.endswith("]\n")
    lines = [line for line in text.splitlines() if not line.startswith("/ ")]
    assert all(re.fullmatch(r'\.run\.at\[\d+;".+"\]', line) for line in lines)
    return lines


def is_soon_empty(folder: Path) -> bool:
    """Is nothing left in a folder a moment after the end of the programs that had sockets there?"""
    end = time.monotonic() + 10
    while left := list(folder.iterdir()):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return not left


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_sockets_of_a_program_that_is_killed_are_gone_soon(tmp_path: Path, number: signal.Signals) -> None:
    """Nobody asks for a list, and no other program listens; a process that it has forked lives on, and has no part."""
    # Python 3.12 warns that a process with threads forks
    forks = "import warnings\nwarnings.simplefilter('ignore')\nworker = os.fork()\nif not worker: time.sleep(60); os._exit(0)\nprint(worker, flush=True)\n"
    text = PROGRAMS["plain"].replace("\nmain()\n", f"\n{forks}main()\n")
    with running(tmp_path, text, STEPS="100000") as program:
        program.wait_for(3)
        assert sorted(path.name for path in program.run.iterdir()) == [str(program.pid), f"{program.pid}.where"]
        os.kill(program.pid, number)
        assert is_soon_empty(program.run)
        assert program.process is not None and program.process.stdout is not None
        worker = int(program.process.stdout.readline())
        assert process.runs(worker)
        os.kill(worker, signal.SIGKILL)


def test_a_forked_child_that_listens_has_its_sockets_swept(tmp_path: Path) -> None:
    """And those of its parent stay."""
    forks = "if not os.fork(): kshell.listen()\n"
    text = PROGRAMS["plain"].replace("\nmain()\n", f"\n{forks}main()\n").replace('"log.txt"', "os.devnull")
    with running(tmp_path, text, STEPS="100000") as program:
        program.client().close()
        own = [str(program.pid), f"{program.pid}.where"]
        program.until(lambda: len(list(program.run.iterdir())) == 4)
        child = next(int(path.name) for path in program.run.iterdir() if path.suffix == "" and path.name != own[0])
        os.kill(child, signal.SIGKILL)
        program.until(lambda: len(list(program.run.iterdir())) == 2)
        assert sorted(path.name for path in program.run.iterdir()) == own and program.client()("1+1") == 2


def test_a_program_that_listens_has_no_child_and_may_wait_for_its_own(tmp_path: Path) -> None:
    text = """
import os, signal, sys
for name in (signal.SIG_DFL, signal.SIG_IGN):
    signal.signal(signal.SIGCHLD, name)
    from kshell.host import host
    host.listen()
    try:
        print(os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        print("none")
    print(len(os.listdir(os.environ["KSHELL_RUN"])), flush=True)
    host._HOST[0].end()
"""
    environment = {**os.environ, "KSHELL_RUN": str(tmp_path / "run"), "PYTHONPATH": str(ROOT)}
    done = warm.run([sys.executable, "-c", text], cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert done.stdout.split() == ["none", "2"] * 2
    assert is_soon_empty(tmp_path / "run")


def test_the_socket_of_another_program_of_the_same_number_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may come between the end of the first one and the removal. Without a shell nothing is removed."""
    path, sign = tmp_path / "7", tmp_path / "sign"
    with place.listen(str(path)):
        sign.touch()
        sweeper = Sweeper([str(path), str(sign)])
    path.unlink()
    with place.listen(str(path)):
        sweeper.let_go()
        end = time.monotonic() + 10
        while sign.exists() and time.monotonic() < end:
            time.sleep(0.01)
        assert not sign.exists() and path.is_socket()
        monkeypatch.setattr("kshell.attach.sweeper.SHELL", str(tmp_path / "none"))
        Sweeper([str(path)]).let_go()
        time.sleep(0.1)
        assert path.is_socket()


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["", "pause[]", "while[1b;1+1]"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_program_that_a_signal_ends(tmp_path: Path, number: signal.Signals, asked: str) -> None:
    """It ends as without kshell: after Ctrl-C nothing is left, and SIGTERM ends it at once, without Python's end."""
    with running(tmp_path, WAITS, start=False, STEPS="100000") as program:
        program.start(*PYTHON)
        program.wait_for(3)
        client = program.client()
        if asked:
            client.send(string(asked))
            program.until(lambda: program.state()["what"] in ("paused", "busy"))
        assert program.process is not None
        program.process.send_signal(number)
        output = program.output()
        assert program.process.returncode == -number
        assert is_soon_empty(program.run)
        assert ("KeyboardInterrupt" in output) == (number == signal.SIGINT) and "kshell:" not in output
    removes_what_was_left(program, by_listing=True)


@pytest.mark.parametrize("kills", [pytest.param(n, marks=pytest.mark.slow) for n in (12, 500)])
def test_the_death_of_clients_changes_nothing(tmp_path: Path, kills: int) -> None:
    steps = str(100 + 30 * kills)
    expected = alone(tmp_path / "alone", PROGRAMS["plain"], STEPS=steps, PAUSE="0")
    asking = "import sys; from tests.host.programs import Client; c = Client(sys.argv[1]); print(flush=True)\nwhile True: c('gradtable optimizer')"
    draw = random.Random(5)
    with running(tmp_path / "asked", PROGRAMS["plain"], STEPS=steps, PAUSE="0.004") as program:
        program.client().close()
        path = str(program.run / str(program.pid))
        for i in range(kills):
            if i % 6:  # most die without having been a process of their own, which takes long to start
                client = Client(path)
                for _ in range(draw.randrange(3)):
                    client.send(string("parmtable net"))
                time.sleep(draw.random() * 0.02)
                client.socket.close()
                continue
            child = subprocess.Popen([sys.executable, "-c", asking, path], stdout=subprocess.PIPE, env=program.environment)
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(draw.random() * 0.1)
            child.kill()
            child.communicate()
        assert program.ended() == expected
    assert list(program.run.iterdir()) == []
