"""The command, in real processes: options, scripts, pipes, exit codes, interrupts, a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

KSHELL = [sys.executable, "-m", "kshell"]


def run(*args: str, stdin: str | None = None, cwd: Path | None = None, timeout: float = 120) -> \
        subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    return subprocess.run([*KSHELL, *args], input=stdin, capture_output=True, text=True, cwd=cwd, timeout=timeout,
                          env=env, stdin=None if stdin is not None else subprocess.DEVNULL)


def test_version_and_help() -> None:
    assert re.fullmatch(r"kshell \d+\.\d+\.\d+\n", run("--version").stdout)
    assert "usage: kshell" in run("--help").stdout


def test_expressions_print_as_the_prompt_would() -> None:
    done = run("-e", "a:til 3", "-e", "a", "-e", "([]a;b:2*a)", "-e", "::")
    assert done.stdout == "0 1 2\na b\n---\n0 0\n1 2\n2 4\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_in_an_expression() -> None:
    done = run("-e", "1+`a", "-e", "2")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "'type\n  [0]  1+`a\n        ^\n"


def test_script_with_arguments(tmp_path: Path) -> None:
    text = "/ a script\nf:{\n  x+1\n  }\n-1 string f 1;\n-1 \" \"sv .z.x;\n-1 string .z.f;\n1+1\n"
    (tmp_path / "s.q").write_text(text)
    done = run("s.q", "a", "-b", "3", cwd=tmp_path)
    assert done.stdout == "2\na -b 3\ns.q\n"
    assert done.returncode == 0


def test_a_script_that_is_not_there() -> None:
    done = run("nosuch.q")
    assert done.returncode == 1
    assert "nosuch.q" in done.stderr


def test_a_script_error_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text("a:1\n\nf:{x+`a}\ng:{\n  f x\n  }\ng 1\n-1 \"not reached\";\n")
    done = run("s.q", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0] == "'type"
    assert "s.q:3: f:{x+`a}" in lines[1] and lines[2].index("^") == lines[1].index("+`a")
    assert any("s.q:7: g 1" in line for line in lines)


def test_exit_codes(tmp_path: Path) -> None:
    assert run("-e", "exit 7").returncode == 7
    assert run("--nosuch").returncode == 2
    assert run("-q", stdin="exit 3\n1\n").returncode == 3
    (tmp_path / "s.q").write_text("exit 4\n")
    assert run("s.q", cwd=tmp_path).returncode == 4


def test_pipe_is_read_line_by_line() -> None:
    p = subprocess.Popen([*KSHELL, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True)
    assert p.stdin and p.stdout
    try:
        for text, expected in (("1+1", "2"), ("a:5;a*2", "10"), ("`a+1", "'type"), ('-1"x";', "x")):
            p.stdin.write(text + "\n")
            p.stdin.flush()
            lines = [p.stdout.readline().rstrip()]
            while lines[-1] != expected:
                assert len(lines) < 6, lines
                lines.append(p.stdout.readline().rstrip())
    finally:
        p.stdin.close()
        p.wait(10)


def test_nothing_imports_torch_before_it_is_needed() -> None:
    code = "import sys;from kshell.session import Session;s=Session();s.run('sum til 10');" \
           "s.names.load_builtins();assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_closed_pipe_is_silent() -> None:
    p = subprocess.Popen([*KSHELL, "-e", "do[100000;-1\"line\"]"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout and p.stderr
    p.stdout.readline()
    p.stdout.close()
    assert p.stderr.read() == b""
    p.stderr.close()
    p.wait(30)


@pytest.mark.parametrize("loop", ["while[1b;]", "while[1b;a:1]", "do[0W;a:1]", "{while[1b;x+:1]}1",
                                  "{x}each 100000000#0", "{x+1}/[0W;0]", "@[{while[1b;]};1;{2}]"])
def test_interrupt_stops_the_line_not_the_session(loop: str) -> None:
    p = subprocess.Popen([*KSHELL, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True)
    assert p.stdin and p.stdout
    try:
        p.stdin.write('-1"ready";\n' + loop + "\n-1\"alive\";\n")
        p.stdin.flush()
        assert p.stdout.readline() == "ready\n"
        time.sleep(0.3)
        p.send_signal(signal.SIGINT)
        lines = []
        while not lines or lines[-1] != "alive\n":
            lines.append(p.stdout.readline())
            assert lines[-1], "the session died"
        assert "'stop\n" in lines or loop.startswith("@")
    finally:
        p.kill()
        p.wait()


def test_stack_overflow_is_an_error() -> None:
    done = run("-q", stdin="{.z.s x}1\n{.z.s[x]+1}1\nf:{g x};g:{f x};f 1\n{x,.z.s each x}1 2\n1+1\n")
    assert [line for line in done.stdout.splitlines() if line == "2"] == ["2"]
    assert done.stderr.count("'stack") == 4


class Terminal:
    """A kshell on a pseudo-terminal."""

    def __init__(self, *args: str, term: str = "xterm") -> None:
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ["TERM"] = term
            os.execv(KSHELL[0], [*KSHELL, *args])
        self.seen = ""

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def until(self, text: str, timeout: float = 60) -> str:
        end = time.monotonic() + timeout
        while text not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    data = os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    data = ""
                if "\x1b[6n" in data:
                    self.send("\x1b[1;1R")
                self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data)
        before, _, self.seen = self.seen.partition(text)
        return before

    def close(self) -> int:
        try:
            _, status = os.waitpid(self.pid, 0)
        finally:
            os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_prompt_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    t = Terminal()
    t.until("kshell")
    t.until("q)")
    t.send("3+4\r")
    t.until("\n7")
    t.until("q)")
    t.send("\\d .a\r")
    t.until("q.a)")
    t.send("1+`b\r")
    t.until("'type")
    t.until("q.a)")
    t.send("\x03")
    t.until("q.a)")
    t.send("\x04")
    assert t.close() == 0
    assert "3+4" in (tmp_path / "kshell" / "history").read_text()


def test_a_warning_is_one_line() -> None:
    done = run("-e", "tensor mse(tensor 3 2#1e;tensor 3 1#1e)")
    assert (done.stdout, done.returncode) == ("0e\n", 0)
    assert done.stderr.startswith("warning: Using a target size") and done.stderr.count("\n") == 1


def test_a_python_file_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text("from kshell.registry import verb\n\n\n@verb('thrice')\ndef thrice(x):\n"
                                      '    """Three times x.\n\n    q)thrice 2\n    6\n    """\n    return x * 3\n')
    (tmp_path / "bad.py").write_text("1/0\n")
    done = run("-q", stdin="\\l more.py\nthrice 5\n\\l bad.py\n\\l none.py\nthrice 6\n", cwd=tmp_path)
    assert done.stdout == "15\n18\n"
    assert [s for s in done.stderr.splitlines() if s[:1] == "'"] == \
        ["'bad.py: division by zero", "'none.py. OS reports: No such file or directory"]


@pytest.mark.parametrize(("line", "column"), [("nosuch+1", 0), ("1+nosuch", 2), ("2*(1+nosuch)", 5), ("til nosuch", 4),
                                             ("{x+nosuch}1", 3), ("nosuch[1]+xnosuch", 10)])
def test_the_caret_is_under_a_missing_name(line: str, column: int) -> None:
    shown = run("-e", line).stderr.splitlines()
    assert shown[2] == " " * (7 + column) + "^", shown


def test_the_memory_limit_can_only_grow() -> None:
    done = run("-q", "-w", "100", stdin="\\w 50\n\\w 128\n\\w 1000000000\nsystem[\"w 1000000000000\"]~system\"w 0\"\n")
    assert done.stdout.split() == ["104857600", "134217728", "1048576000000000", "1b"]


@pytest.mark.parametrize("option", ["-p", "-b", "-E", "-u", "-U", "-r", "-l", "-L", "-m"])
def test_options_of_q_that_ask_for_what_is_not_there(option: str) -> None:
    done = run(option)
    assert done.returncode == 2
    assert done.stderr.startswith(f"kshell: {option}: ") and "unknown" not in done.stderr


def test_the_path_of_a_script_in_a_report_is_whole(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text("f:{x+`a}\n")
    done = run("-q", stdin="\\l s.q\nf 1\n", cwd=tmp_path)
    assert f"  [1]  {tmp_path}/s.q:1: f:{{x+`a}}" in done.stderr
