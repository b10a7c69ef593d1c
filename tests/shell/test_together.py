"""The console of several processes: lines of a pipe and of a real terminal, run by all; errors, Ctrl-C, ways to leave.

Jobs use the loopback interface, and end by themselves.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kshell.shell.together import spans
from tests.parallel.test_ranks import ROOT, start
from tests.shell.test_cli import Terminal
from tests.support import warm

KSHELL = [sys.executable, "-m", "kshell"]


def lines(n: int, *text: str, words: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """`kshell -n` with lines from a pipe."""
    return start([*KSHELL, "-n", str(n), "-q", *words], stdin="\n".join(text) + "\n", timeout=100)


def test_lines_of_a_pipe_are_run_by_all() -> None:
    done = lines(2, "1+1", "a:10*rank[]", "say a", "say allreduce 1+a", "show world[]", "-1\"once\";")
    assert done.stdout == "2\n[0] 0\n[1] 10\n[0] 12\n[1] 12\n2\nonce\n"
    assert (done.stderr, done.returncode) == ("", 0)


def test_an_error_is_shown_once_with_its_ranks() -> None:
    done = lines(3, "1+`a", "if[0<rank[];'bad]", "if[rank[];f:{x+y};f[1;`a]]", "say 1+rank[]", "'`$string rank[]")
    assert done.stdout == "[0] 1\n[1] 2\n[2] 3\n" and done.returncode == 1
    found = [s for s in done.stderr.splitlines() if s.split("] ")[1][0] == "'"]
    assert found == ["[0-2] 'type", "[1-2] 'bad", "[1-2] 'type", "[0] '0", "[1] '1", "[2] '2"]
    shown = done.stderr.splitlines()
    at = shown.index("[1-2]   [0]  if[0<rank[];'bad]")
    assert shown[at + 1] == "[1-2]".ljust(shown[at].index("bad]")) + "^"


WAITING = ("if[1=rank[];'bad];allreduce 1", "if[0=rank[];'bad];allreduce 1", "$[rank[];'bad;recv 1]",
           "$[rank[];backward Sum forward(m;1 2#1e);'bad]")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_who_waits_for_one_that_failed_waits_no_longer(n: int) -> None:
    """Calls that the others are in end; only the failure is shown; collectives and ddp work again."""
    begun = time.monotonic()
    after = "say(allreduce 1;grad parm(m;`weight))"
    text = ["m:module enlist(`linear;2;1;0b)", "ddp m"]
    for line in WAITING:
        text += [line, "nograd m", "backward Sum forward(m;1 2#1e+rank[])", after]
    done = lines(n, *text, words=("--timeout", "60"))
    mean = f"{(n + 1) / 2:g} {(n + 1) / 2:g}"
    want = [s for _ in WAITING for r in range(n) for s in (f"[{r}] {n}", f"[{r}] ,{mean}e")]
    assert done.stdout.splitlines() == want, done.stderr
    assert [s for s in done.stderr.splitlines() if "] '" in s] == \
        [f"[{who}] 'bad" for who in ("1", "0", "1" if n == 2 else "1-2", "0")]
    assert done.returncode == 1 and time.monotonic() - begun < 60


@pytest.mark.sampled(2)
def test_messages_that_nobody_took_are_gone() -> None:
    done = lines(2, "a:module enlist(`linear;2;1);fsdp a", "$[rank[];'bad;send(`old;1)]",
                 "r:$[rank[];recv 0;[send(`new;1);`]]", "say r", "say @[{forward x;`};(a;1 2#1e);{33#x}]")
    assert done.stdout == "[0] `\n[1] `new\n" + "".join(
        f'[{r}] "forward: the processes have lost "\n' for r in range(2)), done.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("last", "code"), [
    ("exit 3", 3), ("if[rank[];exit 4]", 4), ("1", 0), ("'x", 1),
    pytest.param("exit 0", 0, marks=pytest.mark.slow),
    ("$[rank[];exit 5;allreduce 1]", 5)])
def test_ways_to_leave(last: str, code: int, tmp_path: Path) -> None:
    done = lines(2, f".z.exit:{{(hsym`$\"{tmp_path}/\",string rank[])set x}}", last)
    assert done.returncode == code and "failed with" not in done.stderr, done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0", "1"]


def test_after_a_script(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text("v:5*1+rank[]\n")
    done = lines(2, "say v", words=("-i", str(tmp_path / "s.q")))
    assert done.stdout == "[0] 5\n[1] 10\n" and done.returncode == 0


def test_the_timer_ticks_on_all() -> None:
    done = lines(2, "n:0", ".z.ts:{n+:1;if[n=3;say n;system\"t 0\"]}", "\\t 1", *['system"sleep .1"'] * 6,
                 "say n=3")
    assert done.stdout == "[0] 3\n[1] 3\n[0] 1b\n[1] 1b\n", done.stderr


def test_one_process_is_a_session() -> None:
    done = lines(1, "1+1", "1+`a", "say(rank[];world[])")
    assert done.stdout == "2\n[0] 0 1\n" and done.stderr.startswith("'type\n")


def test_a_rank_that_is_killed_ends_the_session() -> None:
    done = lines(2, 'if[rank[];system"kill -9 ",string .z.i]', "say allreduce 1")
    assert done.returncode == 137 and done.stderr.endswith("kshell: rank 1 was killed by SIGKILL\n")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("loop", "who"), [
    ("while[1b;]", "0-1"), pytest.param("if[0=rank[];while[1b;]];barrier[]", "0", marks=pytest.mark.slow),
    ("if[1=rank[];while[1b;]];barrier[]", "1"), pytest.param("if[rank[];barrier[]]", "1", marks=pytest.mark.slow)])
def test_an_interrupt_stops_the_line_on_all(loop: str, who: str) -> None:
    """Whether a process calculates or waits for another."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    p = warm.Process([*KSHELL, "-n", "2", "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, env=env, start_new_session=True)
    assert p.stdin and p.stdout
    try:
        p.stdin.write(f'-1"ready";\n{loop}\nsay allreduce 1\n')
        p.stdin.flush()
        assert p.stdout.readline() == "ready\n"
        time.sleep(1)
        os.killpg(p.pid, signal.SIGINT)
        out, _ = p.communicate(timeout=40)
        assert f"[{who}] 'stop\n" in out and out.endswith("[0] 2\n[1] 2\n"), out
        assert p.returncode == 1
    finally:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()


@pytest.mark.sampled(3)
def test_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    t = Terminal("-n", "2")
    t.until("kshell")
    t.until("q)")
    t.send("say 3+rank[]\r")
    t.until("[0] 3")
    t.until("[1] 4")
    t.until("q)")
    t.send("f:{\rx+rank[]}\r")
    t.until("q)")
    t.send("say f 5\r")
    t.until("[0] 5")
    t.until("[1] 6")
    t.until("q)")
    t.send("g:{if[rank[];'bad];x}\r")
    t.until("q)")
    t.send("g 1\r")
    assert "[0]" not in t.until("[1] 'bad")
    t.until("q)")
    t.send("while[1b;]\r")
    time.sleep(1)
    t.send("\x03")
    t.until("[0-1] 'stop")
    t.until("q)")
    t.send("if[rank[];barrier[]]\r")
    time.sleep(1)
    t.send("\x03")
    t.until("[1] 'stop")
    t.until("q)")
    t.send("1+")
    t.send("\x03")
    t.until("q)")
    t.send("say allreduce 1\r")
    t.until("[1] 2")
    t.until("q)")
    assert t.leave() == 0
    assert "say allreduce 1" in (tmp_path / "kshell" / "history").read_text()


@pytest.mark.parametrize(("text", "code"), [("\\\\\r", 0), ("if[rank[];exit 6]\r", 6),
                                            pytest.param("exit 7\r", 7, marks=pytest.mark.slow)])
def test_leaving_a_terminal(text: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    t = Terminal("-n", "2", "-q")
    t.until("q)")
    t.send(text)
    assert t.close() == code


@pytest.mark.sampled(4)
def test_torchrun_reads_lines_too() -> None:
    done = start([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "kshell", "-q"],
                 by=subprocess.run, stdin="say allreduce 1\nif[rank[];'bad];barrier[]\nsay allreduce 2\n")
    assert done.stdout == "[0] 2\n[1] 2\n[0] 4\n[1] 4\n"
    assert re.search(r"^\[1\] 'bad$", done.stderr, re.M)


def test_spans() -> None:
    assert [spans(r) for r in ([0], [0, 1, 2], [0, 2, 3, 5])] == ["0", "0-2", "0 2-3 5"]


@pytest.mark.sampled(3)
def test_the_sessions_of_the_page() -> None:
    """What docs/distributed.md shows of a console of several processes."""
    page = (ROOT / "docs" / "distributed.md").read_text()
    found = re.findall(r"^`kshell -n (\d) -q`, line by line:\n+```session\n(.*?)```", page, re.M | re.S)
    assert found
    for n, text in found:
        typed = [line[2:] for line in text.splitlines() if line.startswith("q)")]
        done = start([*KSHELL, "-n", n, "-q"], stdin="\n".join(typed) + "\n", timeout=100, by=subprocess.run)
        shown = [line for line in text.splitlines() if not line.startswith("q)")]
        errors = done.stderr.splitlines()
        assert done.stdout.splitlines() == [line for line in shown if line not in errors], done.stderr
        assert errors == [line for line in shown if line in errors] and errors
