"""`kshell attach`: the list, expressions, a pipe, programs that cannot be reached, and the prompt on a pseudo-terminal."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.attach import place, remote
from kshell.shell.attached import Waiting, leaving, told
from tests.attach.program import Program
from tests.shell.test_cli import run, start
from tests.shell.test_prompt import Screen

TABLE = ["pid", "user", "program", "step", "since", "devices", "rank", "what"]


# ------------------------------------------------------------------ what listens


def test_programs_that_listen_are_listed(program: Program) -> None:
    done = run("attach")
    head, line = done.stdout.splitlines()
    assert (done.returncode, done.stderr, head.split()) == (0, "", TABLE)
    assert line.split("  ")[0] == str(program.pid) and "  train.py --lr .1  " in line and line.endswith("  before the first step")


def test_nothing_listens(folder: str) -> None:
    done = run("attach")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("nothing listens\n")
    assert all(how in done.stderr for how in ("kshell run train.py", "KSHELL_LISTEN=1", "kshell.listen()"))


def test_a_script_named_attach_still_runs(tmp_path: Path) -> None:
    (tmp_path / "attach").write_text('-1"a script";\n')
    assert run("attach", cwd=tmp_path).stdout == "a script\n"


def test_a_program_is_found_by_a_part_of_its_text() -> None:
    with Program("train.py --seed 1") as one, Program("train.py --seed 2") as two:
        assert run("attach", "seed 2", "-e", "a:5", "-e", "a").stdout == "5\n"
        assert run("attach", str(two.pid), "-e", "a").stdout == "5\n"
        assert run("attach", str(one.pid), "-e", "a").returncode == 1
        done = run("attach", "train.py", "-e", "1")
        assert (done.returncode, done.stdout) == (2, "")
        first, head, *lines = done.stderr.splitlines()
        assert first == "kshell: 2 programs have train.py in their text" and head.split() == TABLE and len(lines) == 2
        done = run("attach", "other.py")
        assert done.returncode == 3 and done.stderr.startswith("kshell: no program that listens has other.py in its text\npid ")


def test_a_process_that_does_not_listen(program: Program) -> None:
    done = run("attach", str(2 ** 22 + 1), "-e", "1")  # above the highest of Linux
    assert done.returncode == 3 and done.stderr.startswith(f"kshell: {2 ** 22 + 1} does not listen\npid ")
    with subprocess.Popen(["sleep", "60"]) as other:
        done = run("attach", str(other.pid), "-e", "1")
        other.kill()
    assert done.returncode == 3
    assert done.stderr.startswith(f"kshell: {other.pid} runs, but does not listen: start it by kshell run, or with KSHELL_LISTEN=1\n")
    assert remote.NEEDS in done.stderr.splitlines()[1]


@pytest.mark.parametrize("words", [["--nosuch"], ["-e", "1"], ["1", "2"], ["1", "-e"], ["1", "--timeout", "x"]])
def test_wrong_words(words: list[str]) -> None:
    done = run("attach", *words)
    assert done.returncode == 2 and done.stderr.startswith("kshell: ") and "--help" in done.stderr


def test_help_tells_of_it() -> None:
    assert run("attach", "--help").stdout == run("--help").stdout
    assert "kshell attach PID|TEXT" in run("--help").stdout


# ------------------------------------------------------------------ expressions, and lines of a pipe


def test_expressions_print_as_in_the_program(program: Program) -> None:
    done = start("attach", str(program.pid), "-e", "a:til 3", "-e", "a", "-e", "([]a;b:2*a)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 1 2\na b\n---\n0 0\n1 2\n2 4\n", "")


def test_an_error_ends_the_expressions(program: Program) -> None:
    done = run("attach", str(program.pid), "-e", "1+`a", "-e", "2")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "'type\n")


def test_an_answer_that_takes_too_long() -> None:
    with Program("slow.py", 30.0) as program:
        began = time.monotonic()
        done = run("attach", str(program.pid), "--timeout", ".5", "-e", "1")
        assert time.monotonic() - began < 10 and done.returncode == 3 and done.stdout == ""
        assert done.stderr == "kshell: no answer in 0.5 s: waiting for the first step: in train.py:88 loss.backward()\n"


def test_a_program_that_ends_before_it_answers(program: Program) -> None:
    threading.Timer(1.0, program.process.kill).start()
    done = run("attach", str(program.pid), "-e", 'system"sleep 20"')
    assert (done.returncode, done.stderr) == (3, "the program has ended\n")


def test_lines_of_a_pipe_run_one_by_one(program: Program) -> None:
    """A line that fails leaves no debugger open for the next one."""
    lines = "a:6\na*7\n1+`a\n.run.prompt\n.run.size\n"
    done = run("attach", str(program.pid), stdin=lines)
    assert (done.returncode, done.stdout, done.stderr) == (1, '42\n"q)"\n25 80\n', "'type\n")
    done = run("attach", str(program.pid), stdin="a\nexit 4\na\n")
    assert (done.returncode, done.stdout) == (4, "6\n") and "the program goes on" in done.stderr
    done = run("attach", str(program.pid), stdin="a\n\\\\\na\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "6\n", "")


@pytest.mark.parametrize(("text", "code"), [("\\\\", 0), ("exit 0", 0), ("exit 3;", 3), (" exit[2]", 2), ("exit(1i)", 1), ("exit -1", 255),
                                           ("exit", None), ("exits 1", None), ("\\", None), ("a:1;exit 0", None), ("exit x", None)])
def test_lines_that_leave(text: str, code: int | None) -> None:
    assert leaving(text) == code


# ------------------------------------------------------------------ where the program is


def state(what: str, since: float | None, *stack: str) -> place.State:
    return place.State(1, "ann", "train.py", 17, since, 0.0, [], 0, -1, what, list(stack))


@pytest.mark.parametrize(("told_of", "text"), [
    (state("training", 3.21, "train.py:88 loss.backward()", "/venv/lib/python3.11/site-packages/torch/_tensor.py:1 run()"),
     "waiting for a safe point: step 17, 3.2 s ago, in train.py:88 loss.backward()"),
    (state("training", 0.5, "run.py:1 main()", "  my_torch/train.py:2 step()"), "waiting for a safe point: step 17, 0.5 s ago, in my_torch/train.py:2 step()"),
    (state("before the first step", None), "waiting for the first step"),
    (state("busy", 1.0), "waiting, busy: step 17, 1.0 s ago"),
    (None, "waiting for the program, which does not tell where it is")])
def test_the_line_about_what_is_awaited(told_of: place.State | None, text: str) -> None:
    assert told(told_of) == text


# ------------------------------------------------------------------ on a terminal


@pytest.fixture
def screen(program: Program, tmp_path: Path) -> Iterator[Screen]:
    t = Screen(tmp_path, "attach", "train.py", size=(24, 100))
    t.until(f"attached to train.py --lr .1: pid {program.pid}, step 0, cpu. \\\\ leaves, the program goes on")
    t.until("q)")
    yield t
    t.kill()


def test_the_prompt_runs_lines_in_the_program(screen: Screen, program: Program) -> None:
    screen.result("6*7", "42")
    screen.result("a:5;a,.run.size", "5 24 100")  # the size is the terminal's
    screen.send("1+`a\r")
    screen.until("'type")
    screen.until("q))")  # the prompt is what the program says
    screen.send("\\\r")
    screen.until("q)")
    screen.send("f:{\rx+a}\r")
    screen.until("q)")
    screen.result("f 1", "6")
    screen.send("\x1b[200~a:1\n1+`x\na:2\n\x1b[201~")
    screen.until("'type")
    screen.send("\\\r")
    screen.until("q)")
    screen.result("a", "1")  # the error ended the block
    assert screen.leave() == 0
    assert run("attach", str(program.pid), "-e", "a").stdout == "1\n"  # the program goes on


@pytest.mark.parametrize(("text", "code"), [("\\\\", 0), ("exit 0", 0)])
def test_leaving_ends_the_client_alone(screen: Screen, program: Program, text: str, code: int) -> None:
    screen.send("half a li\x03")  # Ctrl-C empties the line
    screen.until("q)")
    screen.send(text + "\r")
    assert screen.close() == code
    assert program.process.poll() is None


def test_completion_asks_the_program(screen: Screen) -> None:
    screen.until("device 0")  # at the right of the toolbar
    screen.send("sum losse\t")  # only the program knows it
    time.sleep(0.5)
    screen.send("\r")
    screen.until("\n6")
    screen.until("q)")
    screen.until("device 10")  # it is 100, of which the last digit is there already
    screen.send("til ")
    screen.until("integers,")  # the signature, of q's own words
    screen.send("\x03")
    screen.until("q)")
    assert screen.leave() == 0


def test_completion_by_words_of_its_own_where_the_program_is_silent(tmp_path: Path) -> None:
    with Program("slow.py", 2.0) as program:
        t = Screen(tmp_path, "attach", str(program.pid), "-q")
        t.until("q)")
        t.send("revers\t")
        time.sleep(0.5)
        t.send(" 1 2 3\r")
        t.until("\r3 2 1")
        t.kill()


def test_an_interrupt_at_the_prompt(screen: Screen) -> None:
    screen.send("while[1b;]\r")
    screen.until("waiting for the first step: in train.py:88 loss.backward()")
    screen.send("\x03")
    screen.until("'stop")
    screen.until("q)")
    screen.send("\\\r")
    screen.until("q)")
    screen.result("7*8", "56")
    assert screen.leave() == 0


def test_the_line_is_drawn_after_half_a_second_and_erased(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    written.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    waiting = Waiting(program.pid)
    waiting(0.4)
    waiting.erase()
    assert written.getvalue() == ""
    waiting(0.6)
    waiting.erase()
    assert written.getvalue() == "\rwaiting for the fir\x1b[K\r\x1b[K"


def test_waiting_is_shown_until_the_answer_comes(tmp_path: Path) -> None:
    with Program("slow.py", 3.0) as program:
        t = Screen(tmp_path, "attach", "slow.py", "-q", size=(24, 60))
        t.until("q)")
        t.send("1+1\r")
        t.until("\r" + "waiting for the first step: in train.py:88 loss.backward()"[:59])
        t.until("\r2\r\n")
        t.until("q)")
        t.send("2+2\r")
        t.until("waiting for a safe point: step 1, ")
        t.send("\x03")  # nothing runs that could stop
        t.until("'stop", timeout=5)
        t.until("may still run")
        t.until("q)")
        assert t.leave() == 0
        assert program.process.poll() is None


def test_the_prompt_ends_with_the_program(screen: Screen, program: Program) -> None:
    program.kill()
    screen.until("the program has ended")
    assert screen.close() == 0


def test_a_program_that_ends_in_the_middle_of_a_line(screen: Screen, program: Program) -> None:
    screen.send('system"sleep 20"\r')
    screen.until("waiting")
    program.kill()
    screen.until("the program has ended")
    assert screen.close() == 3


def test_a_prompt_that_is_told_to_end(screen: Screen) -> None:
    screen.result("1", "1")
    time.sleep(0.2)
    screen.process.terminate()
    assert screen.close() == 143
