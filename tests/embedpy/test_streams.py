"""What Python code prints and reads: the streams of the session, in one order with what q writes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

from kshell.python.session import Session
from tests import ROOT


def kshell(text: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "kshell", "-q", *words], input=text, capture_output=True, text=True, timeout=60,
                          cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)})


def test_one_order(tmp_path: Path) -> None:
    lines = 'p)print(1)\n-1"2";\np)print(3)\n1"4\\n";\np)import sys; n = sys.stdout.write("five\\n")\n.p.qeval"n"\n'
    assert kshell(lines, tmp_path).stdout.splitlines() == ["1", "2", "3", "4", "five", "5"]
    (tmp_path / "s.q").write_text(lines.replace('.p.qeval"n"', '-1 string .p.qeval"n";'))
    assert kshell("", tmp_path, "s.q").stdout.splitlines() == ["1", "2", "3", "4", "five", "5"]


def test_input_takes_the_next_line(tmp_path: Path) -> None:
    lines = '.p.eval["input()";`]\nhello\nread0 0\nab\n.p.eval["input(\'? \')";`]\nwx\n7\n.p.eval["__import__(\\"sys\\").stdin.read()";`]\nx\ny\n'
    assert kshell(lines, tmp_path).stdout.splitlines() == ['"hello"', '"ab"', '? "wx"', "7", '"x\\ny\\n"']
    assert "EOFError: EOF when reading a line" in kshell('.p.eval["input()";`]', tmp_path).stderr


def test_streams_of_a_session_of_its_own() -> None:
    s = Session()
    s.out, s.err = io.StringIO(), io.StringIO()
    before = sys.stdout, sys.stderr
    s.run("p)print('in')")
    s.run("-1\"two\";")
    s.run("p)import sys; sys.stderr.write('e\\n')")
    s.run("@[.p.e;\"raise ValueError(print(3))\";{x}];")
    s.run(".p.set[`f;{.p.e\"print(4)\";x}];")
    s.run(".p.qeval\"f(1)\";")
    assert s.out.getvalue() == "in\ntwo\n3\n4\n" and s.err.getvalue() == "e\n"
    assert (sys.stdout, sys.stderr) == before


def test_other_threads_keep_theirs(capsys: object) -> None:
    s = Session()
    s.out = io.StringIO()
    started, printed = threading.Event(), threading.Event()

    def work() -> None:
        started.wait(10)
        print("of the thread")
        printed.set()

    thread = threading.Thread(target=work)
    thread.start()
    s["wait"] = lambda: (started.set(), printed.wait(10), print("of the line"))[1]
    s.run("wait[];")
    thread.join()
    assert s.out.getvalue() == "of the line\n"
    assert "of the thread" in capsys.readouterr().out  # type: ignore[attr-defined]


def test_a_stream_that_prints() -> None:
    class Told:
        def __init__(self) -> None:
            self.texts: list[str] = []

        def write(self, text: str) -> None:
            print("told", end="")
            self.texts.append(text)

        def flush(self) -> None:
            pass

    s, told = Session(), Told()
    s.out = told
    s.run("-1\"two\";")
    assert "".join(told.texts) == "two\n"
