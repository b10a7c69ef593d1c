"""The command: options, scripts, pipes, exit codes, interrupts, a terminal. `start` has processes of its own, `run` those
of tests/support/warm.py."""

from __future__ import annotations

import fcntl
import functools
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.support import warm

KSHELL = [sys.executable, "-m", "kshell"]


Done = subprocess.CompletedProcess[str]


def start(*args: str, stdin: str = "", cwd: Path | None = None, by: Callable[..., Done] = subprocess.run) -> Done:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return by([*KSHELL, *args], input=stdin, capture_output=True, text=True, cwd=cwd, timeout=120, env=env)


def run(*args: str, stdin: str = "", cwd: Path | None = None) -> Done:
    return start(*args, stdin=stdin, cwd=cwd, by=warm.run)


def test_version_and_help() -> None:
    assert re.fullmatch(r"kshell \d+\.\d+\.\d+\n", start("--version").stdout)
    usage = run("--help").stdout
    assert usage.startswith("usage: kshell") and max(map(len, usage.splitlines())) <= 120
    for option in "bcCeEglLmopPqrsStTuUwWz":  # all of q's are told of
        assert re.search(rf"(^  | )-{option}\b", usage, re.MULTILINE), option


def test_expressions_print_as_the_prompt_would() -> None:
    done = start("-e", "a:til 3", "-e", "a", "-e", "([]a;b:2*a)", "-e", "::")
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
    done = start("s.q", "a", "-b", "3", cwd=tmp_path)
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


def test_an_interrupted_script_says_so_though_z_exit_fails(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text(".z.exit:{'broken}\n-1\"go\";\nwhile[1b;]\n")
    with subprocess.Popen([*KSHELL, "-q", "s.q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as p:
        assert p.stdout and p.stdout.readline() == "go\n"
        p.send_signal(signal.SIGINT)
        assert p.wait(timeout=60) == 130


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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loop", ["while[1b;]", "while[1b;a:1]", "do[0W;a:1]", "{while[1b;x+:1]}1",
                                  "{x}each 100000000#0", "{x+1}/[0W;0]", "@[{while[1b;]};1;{2}]"])
def test_interrupt_stops_the_line_not_the_session(loop: str) -> None:
    p = warm.Process([*KSHELL, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
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
        self.open([*KSHELL, *args], term)

    def open(self, command: list[str], term: str = "xterm", new: bool = False) -> None:
        """Run a command, in a process that starts as any other if it shall be `new`."""
        self.fd, inner = pty.openpty()
        made: Any = functools.partial(subprocess.Popen, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) \
            if new else functools.partial(warm.Process, terminal=True)
        self.process = made(command, stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
                            env={**os.environ, "TERM": term})
        os.close(inner)
        self.pid = self.process.pid
        self.seen = ""

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def read(self) -> None:
        """Take what the shell has written, waiting a tenth of a second for it."""
        if select.select([self.fd], [], [], 0.1)[0]:
            try:
                data = os.read(self.fd, 65536).decode(errors="replace")
            except OSError:  # the shell has ended
                data = ""
                time.sleep(0.01)
            if "\x1b[6n" in data:
                self.send("\x1b[1;1R")
            self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data)

    def until(self, text: str, timeout: float = 60) -> str:
        end = time.monotonic() + timeout
        while text not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            self.read()
        before, _, self.seen = self.seen.partition(text)
        return before

    def close(self, timeout: float = 60, key: str = "") -> int:
        """The exit status of the shell, which has been told to end; one that has not ended in time is killed.

        A `key` is pressed now, and twice a second until the shell has ended: between two prompts the terminal reads
        whole lines, and what ends one is lost.
        """
        start = time.monotonic()
        pressed = 0
        try:
            while (code := self.process.poll()) is None:
                waited = time.monotonic() - start
                if key and waited >= pressed / 2:
                    self.send(key)
                    pressed += 1
                if waited > timeout:
                    self.kill()
                    raise AssertionError(f"the shell did not end; it showed {self.seen[-1000:]!r}")
                self.read()
        finally:
            os.close(self.fd)
        return int(code)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def leave(self) -> int:
        return self.close(key="\x04")


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
    assert t.leave() == 0
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


@pytest.mark.parametrize("option", ["-r", "-l", "-L"])
def test_options_of_q_that_ask_for_what_is_not_there(option: str) -> None:
    done = run(option)
    assert done.returncode == 2
    assert done.stderr.startswith(f"kshell: {option}: ") and "unknown" not in done.stderr


def test_the_path_of_a_script_in_a_report_is_whole(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text("f:{x+`a}\n")
    done = run("-q", stdin="\\l s.q\nf 1\n", cwd=tmp_path)
    assert f"  [1]  {tmp_path}/s.q:1: f:{{x+`a}}" in done.stderr


@pytest.mark.parametrize(("words", "line", "shown"), [
    ("-P 4", "acos -1", "3.142"), ("-S 42", "\\S", "42i"), ("-s 2", "\\s", "2i"), ("-c 30 100", "\\c", "30 100i"),
    ("-C 40 200", "\\C", "40 200i"), ("-T 5", "\\T", "5i"), ("-t 60000", "\\t", "60000i"), ("-o 3", "\\o", "3i"),
    ("-W 1", "\\W", "1i"), ("-z 1", "\"D\"$\"04/03/2024\"", "2024.03.04"), ("-g 1", "\\g", "1i"), ("-q", ".z.q", "1b"),
    ("-w 200", "system[\"w\"]3", "209715200")])
def test_options_of_q(words: str, line: str, shown: str) -> None:
    """Each does what q's does, and is no word of the user's where it stands first."""
    done = run(*words.split(), "-e", line, "-e", "count .z.x")
    assert (done.stdout, done.stderr, done.returncode) == (f"{shown}\n0\n", "", 0)


@pytest.mark.parametrize(("words", "said"), [
    ("-P x -e 1", "-P x: 'type; expected -P N, digits shown for floats"), ("-z 7", "-z 7: 'domain; expected -z 0|1"), ("-P", "-P needs 1 number"), ("-c 3", "-c needs 2 numbers"), ("-w few", "-w"),
    ("-e", "-e needs an expression"), ("-resume", "-resume needs a file"), ("--nosuch", "unknown option --nosuch"),
    ("s.q -p", "-p needs 1 number")])
def test_a_command_line_that_is_wrong(words: str, said: str) -> None:
    done = run(*words.split())
    assert done.returncode == 2 and said in done.stderr.splitlines()[0] and not done.stdout


def test_a_script_with_a_mark_of_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_bytes(b"\xef\xbb\xbf#!/usr/bin/env kshell\n-1\"ok\";\n")
    done = run("s.q", cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("ok\n", "", 0)


def test_words_of_the_user_stay(tmp_path: Path) -> None:
    """Options that q does not know, and all words after a script, are in .z.x; those of q work there too."""
    (tmp_path / "s.q").write_text("-1 .Q.s1 .z.x;\n-1 .Q.s1 .z.q;\n-1 string acos -1;\n")
    done = run("s.q", "a", "-lr", ".1", "-P", "3", "-q", "-l", "-b", cwd=tmp_path)
    assert done.stdout.splitlines() == ['(,"a";"-lr";".1";"-P";,"3";"-q";"-l";"-b")', "1b", "3.14"]
    assert run("-lr", ".1", "-e", ".Q.opt .z.x").stdout == 'lr| ".1"\n'


def test_several_expressions_stop_at_the_first_error() -> None:
    done = run("-e", "a:1", "-e", "a+1", "-e", "a+`b", "-e", "a+2")
    assert (done.stdout, done.returncode) == ("2\n", 1) and done.stderr.startswith("'type\n")


def test_a_script_names_its_interpreter(tmp_path: Path) -> None:
    """#!/usr/bin/env kshell, with arguments; the line does not count as q, and lines keep their numbers."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "kshell"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m kshell "$@"\n')
    command.chmod(0o755)
    script = tmp_path / "s.q"
    script.write_text("#!/usr/bin/env kshell\n-1 first .z.x;\n1+`a\n")
    script.chmod(0o755)
    env = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([script, "word"], capture_output=True, text=True, env=env)
    assert (done.stdout, done.returncode) == ("word\n", 1)
    assert f"{script}:3: 1+`a" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("line", ["while[1b;a:1]", "@[{while[1b;a::1]};1;{2}];while[1b;a:1]"])
def test_a_script_that_a_signal_ends(tmp_path: Path, number: signal.Signals, code: int, line: str) -> None:
    """What it printed is not lost."""
    (tmp_path / "s.q").write_text(f'-1"printed";\nh:hopen`:ready;\n{line}\n-1"not reached";\n')
    p = warm.Process([*KSHELL, "s.q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
                         env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        end = time.monotonic() + 30
        while not (tmp_path / "ready").exists():
            assert time.monotonic() < end and p.poll() is None
            time.sleep(0.02)
        time.sleep(0.2)
        p.send_signal(number)
        if number == signal.SIGINT and line[0] == "@":
            time.sleep(0.3)
            p.send_signal(number)
        out, err = p.communicate(timeout=30)
    finally:
        p.kill()
    assert (out, p.returncode) == ("printed\n", code)
    assert ("'stop" in err) == (code == 130)


def test_a_closed_pipe_is_silent_for_every_way_of_running(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text('do[100000;-1"line"]\n')
    for words in (["s.q"], ["-q", "-e", 'do[100000;-1"line"]'], ["-q"]):
        done = subprocess.run(f"echo 'do[100000;-1\"line\"]' | {sys.executable} -m kshell {shlex.join(words)} | head -1",
                              shell=True, capture_output=True, text=True, cwd=tmp_path,
                              env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert (done.stdout, done.stderr) == ("line\n", "")


# ------------------------------------------------------------------ the code of scripts, kept

LONG = "".join(f"f{i}:{{[a;b] c:a+b*{i}; $[c>{i}; c-1; c+`x]}}\n" for i in range(200)) + "-1 string f7[1;2];\nf3[0;0]\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "s.q").write_text(LONG)
    return tmp_path / "cache" / "kshell" / "scripts"


def kept(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def test_the_code_of_a_script_is_kept(cache: Path, tmp_path: Path) -> None:
    """The second run reads what the first wrote, compiles nothing, prints the same and fails at the same place."""
    first = run("s.q", cwd=tmp_path)
    (file,) = kept(cache)
    before = file.stat().st_mtime_ns
    assert cache.stat().st_mode & 0o077 == 0
    probe = tmp_path / "probe.py"
    probe.write_text("import builtins, sys\nfrom kshell.lang.compiler import code_objects\ncode_objects.assemble = None\n"
                     "from kshell.session import Session\ns = Session(); s.keeps_code = True\n"
                     "try:\n    s.run_script('s.q')\nexcept Exception as e:\n    print(*s.error_lines(e), sep='\\n')\n")
    second = run("s.q", cwd=tmp_path)
    assert first.stdout == second.stdout == "14\n"
    assert first.stderr == second.stderr and f"{tmp_path}/s.q:4: f3:" in first.stderr
    assert kept(cache) == [file] and file.stat().st_mtime_ns == before
    alone = warm.run([sys.executable, probe], capture_output=True, text=True, cwd=tmp_path,
                           env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert alone.stdout == first.stdout + first.stderr and not alone.stderr


def test_another_content_has_another_file(cache: Path, tmp_path: Path) -> None:
    run("s.q", cwd=tmp_path)
    (tmp_path / "s.q").write_text(LONG.replace("f7[1;2]", "f7[1;3]"))
    assert run("s.q", cwd=tmp_path).stdout == "21\n"
    assert len(kept(cache)) == 2


def test_names_are_looked_up_anew(cache: Path, tmp_path: Path) -> None:
    """What is kept does not fix what a name stands for when the script is loaded."""
    (tmp_path / "s.q").write_text(LONG[:LONG.index("-1 string")] + "g:{x plus y}\n-1 string g[2;3];\n")
    for body, shown in (("x+y", "5"), ("x*y", "6")):
        (tmp_path / "a.q").write_text(f".q.plus:{{{body}}}\n\\l s.q\n")
        assert run("a.q", cwd=tmp_path).stdout == f"{shown}\n"
    assert len(kept(cache)) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ["cut", "bit", "empty", "head", "other", "shared"])
def test_a_damaged_file_is_made_again(cache: Path, tmp_path: Path, how: str) -> None:
    run("s.q", cwd=tmp_path)
    (file,) = kept(cache)
    data = file.read_bytes()
    spoilt = {"cut": data[:len(data) // 2], "bit": data[:99] + bytes([data[99] ^ 1]) + data[100:], "empty": b"",
              "head": b"kshell code 9" + data[13:], "other": b"no code at all", "shared": data}[how]
    file.write_bytes(spoilt)
    if how == "shared":  # others could have written it
        cache.chmod(0o777)
    done = run("s.q", cwd=tmp_path)
    assert done.stdout == "14\n" and done.stderr.startswith("'type\n")
    assert kept(cache)[0].read_bytes()[:14] == b"kshell code 1\n"


def test_a_folder_that_cannot_be_written(cache: Path, tmp_path: Path) -> None:
    cache.parent.parent.mkdir()
    cache.parent.write_text("a file where the folder should be")
    done = run("s.q", cwd=tmp_path)
    assert done.stdout == "14\n" and done.stderr.startswith("'type\n")


@pytest.mark.sampled(3)
def test_nothing_is_kept(cache: Path, tmp_path: Path) -> None:
    """With --no-cache, of small scripts, of locked ones, in a session of Python's."""
    (tmp_path / "small.q").write_text("-1\"small\";\n")
    assert run("--no-cache", "s.q", cwd=tmp_path).stdout == "14\n"
    assert run("small.q", cwd=tmp_path).stdout == "small\n"
    run("-e", "\\_ s.q", cwd=tmp_path)
    assert run("s.q_", cwd=tmp_path).stdout == "14\n"
    code = "from kshell.session import Session\ntry: Session().run_script('s.q')\nexcept Exception: pass"
    assert warm.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}).stdout == "14\n"
    assert kept(cache) == []


def test_old_files_go(cache: Path, tmp_path: Path) -> None:
    cache.mkdir(parents=True, mode=0o700)
    for i in range(120):
        (cache / f"{i:064x}").write_bytes(b"old")
        os.utime(cache / f"{i:064x}", (i, i))
    run("s.q", cwd=tmp_path)
    left = kept(cache)
    assert len(left) == 100 and not (cache / f"{20:064x}").exists() and (cache / f"{21:064x}").exists()


def test_a_read_only_prompt(tmp_path: Path) -> None:
    """What the script defines can be asked, and nothing changed; the script may write."""
    (tmp_path / "s.q").write_text("a:1\n`:out set a;\n")
    done = warm.run([sys.executable, "-m", "kshell", "--read-only", "-i", "-q", "s.q"], cwd=tmp_path, text=True,
                          input="a+1\na:2\n`:new set 1\nsystem\"ls\"\nget`:out\na\nexit 3\n", capture_output=True)
    assert (done.stdout, done.returncode) == ("2\n1\n1\n", 3)
    said = [line for line in done.stderr.splitlines() if line[:1] == "'"]
    assert said == ["'noupdate: `. `a", "'noupdate: set", "'access: \\ls"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "s.q"]
