"""Saves of every kind, killed before each system call that changes a file and in the middle of each write: what is read
is what was before or what was saved, the same save works again, and then nothing is left of the one that was killed."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from tests import ROOT
from tests.store import killing
from tests.store.saves import KINDS
from tests.support import warm

# kinds that the short run tries at a few places; the others only all at once
SHORT = ("nested over nested", "splayed, longer", "splayed over a file", "columns amended", "rows appended",
         "a new partition", "over a partition", ".Q.chk")

counted = pytest.mark.skipif(not killing.CAN, reason="system calls are counted on Linux on x86-64 only")


class Server:
    """Asks a process to try kinds of saves."""

    def __init__(self) -> None:
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        self.process = warm.Process([sys.executable, "-m", "tests.store.killed_saves"], stdin=subprocess.PIPE,
                                    env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def tried(self, number: int, most: int) -> tuple[list[str], dict[str, int], int]:
        """Problems, how many were read as old and new, and the number of kills, of which there are at most so many; 0 for
        all that can be."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([number, most]) + "\n")
        self.process.stdin.flush()
        problems, counts, tries = json.loads(self.process.stdout.readline())
        return problems, counts, tries


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    assert made.process.stdin and made.process.stdout
    made.process.stdin.close()
    made.process.wait()
    made.process.stdout.close()


@pytest.mark.sampled(3)
@counted
@pytest.mark.parametrize(("number", "most"), [
    *(pytest.param(i, 4, id=k.name) for i, k in enumerate(KINDS) if k.name in SHORT),
    *(pytest.param(i, 0, id=f"{k.name}, everywhere", marks=pytest.mark.slow) for i, k in enumerate(KINDS))])
def test_old_or_new(number: int, most: int, server: Server) -> None:
    problems, counts, tries = server.tried(number, most)
    assert not problems, "\n".join(problems)
    assert tries == sum(counts.values()) and counts["old"]
    print(f"{tries} kills: {counts['old']} read as before, {counts['new']} as saved")


# ------------------------------------------------------------------ files that grow at their end


@pytest.mark.sampled(2)
def test_a_log_that_ends_in_a_part_of_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut anywhere: the whole messages are counted, and after the log is opened again what is added can be read."""
    monkeypatch.chdir(tmp_path)
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run('`:log set();h:hopen`:log;h enlist(`f;1;"abc");h enlist({x+y};`a`b!(1 2;([]c:`x`y)));'
          "h enlist(`g;1 2f;0Ng;1b);hclose h")
    s.run(".z.ps:{x}")
    data = (tmp_path / "log").read_bytes()
    ends = [8]
    for n in range(9, len(data) + 1):
        (tmp_path / "log").write_bytes(data[:n])
        whole = len(ends) - 1
        if s.run("-11!(-2;`:log)").__class__ is int:
            ends.append(n)
            whole += 1
        else:
            with pytest.raises(QError, match="badtail"):
                s.run("-11!`:log")
        assert s.run("first -11!(-2;`:log)") == whole
        s.run("h:hopen`:log;h enlist(`z;9);hclose h")
        assert s.run("-11!(-2;`:log)") == whole + 1, n
        assert (tmp_path / "log").read_bytes().startswith(data[: ends[whole]])
    assert len(ends) == 4 and ends[-1] == len(data)
    assert s.err.getvalue().count("the last message was incomplete") == len(data) - 8 - 3  # type: ignore[union-attr]


def test_a_log_that_is_damaged_or_in_use_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run("`:log set();h:hopen`:log;h enlist(`f;1);h enlist(`g;2)")
    data = (tmp_path / "log").read_bytes()
    (tmp_path / "log").write_bytes(data[:-3])
    s.run("g:hopen`:log;hclose g")  # h is still open: what is missing may be on its way
    assert (tmp_path / "log").read_bytes() == data[:-3]
    damaged = data[:8] + b"\x15" + data[9:-3]  # a type that is none
    (tmp_path / "log").write_bytes(damaged)
    s.run("hclose h;g:hopen`:log;hclose g")
    assert (tmp_path / "log").read_bytes() == damaged
    (tmp_path / "text").write_bytes(b"no end")
    s.run('h:hopen`:text;h"x";hclose h')
    assert (tmp_path / "text").read_bytes() == b"no endx"


def test_metrics_that_end_in_a_part_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut anywhere, and with zeros at the end, as a power cut may leave them: each line is a record when it goes on."""
    monkeypatch.chdir(tmp_path)
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run("logto`:m.jsonl;logto`a`b!1 2;logto`a`b!3 4;logto 0b")
    data = (tmp_path / "m.jsonl").read_bytes()
    first = data.index(b"\n") + 1
    for n in range(first, len(data) + 1):
        for more in (b"", b"\0\0\0"):
            (tmp_path / "m.jsonl").write_bytes(data[:n] + more)
            s.run("logto`:m.jsonl;logto`a`b!5 6;logto 0b")
            lines = (tmp_path / "m.jsonl").read_bytes().split(b"\n")
            found = [json.loads(line) for line in lines[:-1]]
            assert lines[-1] == b"" and [r["a"] for r in found] == ([1, 3, 5] if n >= len(data) - 1 else [1, 5])
    (tmp_path / "m.jsonl").write_bytes(b"a line of a user")
    s.run("logto`:m.jsonl;logto`a`b!5 6;logto 0b")
    assert (tmp_path / "m.jsonl").read_bytes().startswith(b'a line of a user\n{"step": 1')


def test_a_full_disk_while_a_message_is_added(tmp_path: Path) -> None:
    """A message of which only a part fits is not in the file; later ones can be read."""
    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    found = subprocess.run(
        [str(Path(sys.executable).parent / "kshell"), "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        input="`:log set()\nh:hopen`:log\nh enlist(`f;1);\nh enlist(`f;til 100000);\nh enlist(`f;2);\n-11!(-2;`:log)\n",
        preexec_fn=small, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert found.stdout.splitlines()[-1] == "2" and "File too large" in found.stderr
