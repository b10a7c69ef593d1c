"""The timer and the input of the console: in a pipe, after a script, and on a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kshell.lang.console.standard_input import Input
from kshell.lang.session.timer import Timer
from tests.shell.test_cli import Terminal, run
from tests.support import warm

KSHELL = [sys.executable, "-m", "kshell"]


class Pipe:
    """A kshell that reads from a pipe."""

    def __init__(self, *args: str) -> None:
        self.p = warm.Process([*KSHELL, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    def send(self, *lines: str) -> None:
        assert self.p.stdin
        self.p.stdin.write("".join(line + "\n" for line in lines))
        self.p.stdin.flush()

    def line(self) -> str:
        assert self.p.stdout
        return self.p.stdout.readline().rstrip("\n")

    def close(self) -> int:
        assert self.p.stdin
        self.p.stdin.close()
        return self.p.wait(30)


def test_ticks_come_while_a_pipe_is_silent() -> None:
    s = Pipe("-q")
    s.send("n:0", ".z.ts:{-1 string n+:1;if[n=3;system\"t 0\";-1\"end\"]}", "\\t 20")
    assert [s.line() for _ in range(4)] == ["1", "2", "3", "end"]
    s.send("\\t", "n")
    assert [s.line(), s.line()] == ["0i", "3"]
    assert s.close() == 0


def test_ticks_come_between_lines() -> None:
    done = run("-q", stdin=".z.ts:{-1\"tick\"}\n\\t 100000\n1\n2\n\\t 0\n3\n")
    assert done.stdout.split() == ["tick", "1", "2", "3"]


def test_the_argument_is_the_time_and_errors_do_not_stop_the_timer() -> None:
    s = Pipe("-q")
    s.send("n:0", ".z.ts:{n+:1;if[n<3;'`oops];-1 string[type x],string 0D00:00:10>abs x-.z.p;system\"t 0\"}", "\\t 10")
    lines = [s.line()]
    while lines[-1] != "-121":
        assert len(lines) < 20, lines
        lines.append(s.line())
    assert lines.count("'oops") == 2
    assert s.close() == 1


def test_a_tick_may_leave() -> None:
    s = Pipe("-q")
    s.send(".z.ts:{exit 5}", "\\t 10")
    assert s.p.wait(30) == 5


def test_a_timer_without_a_function_does_nothing() -> None:
    assert run("-q", stdin="\\t 1\n1+1\n").stdout == "2\n"


def test_a_script_that_stays_and_one_that_does_not(tmp_path: Path) -> None:
    path = tmp_path / "s.q"
    path.write_text("n:0\n.z.ts:{n+:1;if[n=2;exit 7]}\n\\t 10\n")
    assert run(str(path)).returncode == 0
    s = Pipe("-i", "-q", str(path))
    assert s.p.wait(30) == 7


def test_ticks_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    t = Terminal("-q")
    t.until("q)")
    t.send(".z.ts:{-1\"tick\",string n+:1};n:0\r")
    t.until("q)")
    t.send("\\t 100\r")
    t.until("tick3")
    t.send("\\t 0\r")
    time.sleep(0.5)
    t.send("3*n>2\r")
    t.until("\n3")
    t.send(".z.ts:{n+:1;-1 upper\"go\";if[n>99;system\"t 0\"];while[n<100;]}\r")
    t.until("q)")
    t.send("n:98;system\"t 100\"\r")
    t.until("GO")
    t.send("\x03")
    t.until("'stop")
    t.until("GO")  # the next tick, the last
    t.until("q)")
    assert t.leave() == 0


def test_a_tick_leaves_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    t = Terminal("-q")
    t.until("q)")
    t.send(".z.ts:{exit 4};system\"t 50\"\r")
    assert t.close() == 4


def test_lines_go_to_the_input_handler() -> None:
    text = ".z.pi:{\">\",.Q.s value x}\n2+3\n1+`a\n.z.pi:{0N!x;value x}\n6*7\n\\x .z.pi\n2+2\n"
    done = run("-q", stdin=text)
    assert done.stdout == '>5\n>"6*7\\n"\n42\n"\\\\x .z.pi\\n"\n4\n'
    assert done.stderr.startswith("'type")
    assert done.returncode == 1


def test_read0_and_the_console_share_the_input() -> None:
    done = run("-q", stdin="a:read0 0\nfirst line\na\nread1(0;3)\nxyz2+2\n")
    assert done.stdout == '"first line"\n0x78797a\n4\n'


def test_lines_of_an_input() -> None:
    r, w = os.pipe()
    source = Input(r)
    assert source.line(0) is None
    os.write(w, b"one\ntw")
    assert source.line(0) == b"one\n"
    assert source.line(0.01) is None
    os.write(w, b"o\nthree")
    assert source.take(1) == b"t"
    os.close(w)
    assert [source.line(), source.line(), source.line(), source.take(2)] == [b"wo\n", b"three", b"", b""]
    os.close(r)


def test_missed_ticks_are_dropped() -> None:
    t = Timer()
    assert t.wait() is None
    t.set(50)
    assert t.wait() == 0
    t.due -= 1  # a second ago
    t.next()
    wait = t.wait()
    assert wait is not None and 0.04 < wait <= 0.05
