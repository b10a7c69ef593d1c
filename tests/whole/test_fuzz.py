"""Any text is a value or one q error: never another exception, never a dead session."""

from __future__ import annotations

import io
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.errors import QError, QExit
from kshell.session import Session
from kshell.values.session import memory
from tests import ROOT
from tests.support.runner import cases

TOKENS = ["1", "-1", "0N", "0n", "0W", "2.5", "1 2 3", "`a", "`a`b", "\"abc\"", "\"", "x", "y", "t", "f", "(", ")",
          "[", "]", "{", "}", ";", ":", "::", "+", "-", "*", "%", "&", "|", "^", "=", "<", ">", "<=", "<>", "~", ",",
          "#", "_", "!", "?", "@", ".", "$", "'", "/", "\\", "/:", "\\:", "':", " ", "  ", "\t", "\n", "til", "count",
          "each", "over", "select", "from", "where", "by", "update", "exec", "delete", "if[", "while[0b;", "$[",
          "do[2;", "in", "within", "0x1f", "0101b", "2000.01.01", "12:30", "0Ng", "\\t", "`:a", ".z.p", ".a.b",
          "\x00", "\ufeff", "\u202e", "é", "🙂", "0:", "1e", "1h", "([]a:1 2)", "([a:1]b:2)", "value", "string",
          "\\ts", "/ c", "'`e", ":1"]  # fmt: skip
# text that would leave the process, write files or wait
UNSAFE = ("exit", "system", "\\", "hopen", "read", "set", "save", "hdel", "0:", "1:", "setenv", "load", "dsave",
          "/tmp")


@pytest.fixture(autouse=True)
def _confined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In a folder of its own (``:a?x` writes a file), and with 1.5 GB beside what the tests before hold: a text may ask
    for any amount."""
    monkeypatch.chdir(tmp_path)
    memory.limit(1500 + max(0, memory.status("VmData") - memory.OWN >> 20))
    yield
    memory.limit()  # what the machine has: the session would go back to the limit that it knows


def quiet() -> Session:
    return Session(out=io.StringIO(), err=io.StringIO())


def safe(text: str) -> bool:
    return not any(u in text for u in UNSAFE)


def attempt(session: Session, text: str, show: bool = True, seconds: float = 3) -> None:
    start = time.monotonic()
    signal.signal(signal.SIGALRM, session.interrupt)  # a loop that never converges is valid q: Ctrl-C ends it
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        session.run(text, show=show)
    except QError as e:
        report = session.error_lines(e)
        assert report[0].startswith("'") and len(report[0]) <= 1000
        assert all(c.isprintable() or c == "\t" for line in report for c in line)
    except QExit:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert time.monotonic() - start < 20, text[:200]


def random_text(rng: random.Random) -> str:
    return "".join(rng.choice(TOKENS) for _ in range(rng.randint(1, 14)))


def mutated(rng: random.Random, lines: list[str]) -> str:
    text = list(rng.choice(lines))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        kind = rng.random()
        if kind < 0.4 and text:
            del text[min(at, len(text) - 1)]
        elif kind < 0.8:
            text.insert(at, rng.choice(TOKENS))
        elif text:
            text[min(at, len(text) - 1)] = chr(rng.randrange(1, 0x250))
    return "".join(text)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(4))
def test_random_and_mutated_lines(part: int) -> None:
    """20,000 lines in four parts, from a fixed seed a part."""
    rng = random.Random(part)
    known = [c.text for p in sorted((ROOT / "tests" / "cases").glob("*.q")) for c in cases(p)]
    lines = [text for text in known if safe(text) and len(text) < 200]
    session = quiet()
    for n in range(5000):
        text = random_text(rng) if n % 2 else mutated(rng, lines)
        if safe(text):
            try:
                attempt(session, text)
            except AssertionError:
                raise
            except BaseException as e:
                raise AssertionError(f"{text!r} gave {e!r}") from e
        if n % 500 == 0:
            session = quiet()
    assert session.run("1+1") == 2


@pytest.mark.sampled(8)
@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("form", ["1+", "neg ", "x:", "1,", "a.", "-", "'", "f[1]", "{x}", "`a", "1 ", "`a ", "a b "])
def test_rows(form: str, n: int) -> None:
    session = quiet()
    attempt(session, form * n + "1", show=False, seconds=20)
    assert session.run("1+1") == 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["neg ", "`a", "1 ", ";", "/", "\n"])
def test_long_rows(form: str) -> None:
    attempt(quiet(), form * 100_000 + "1", show=False, seconds=20)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("n", [10, 100, 199, 1000, 100_000])
@pytest.mark.parametrize("head, tail", [("(", ")"), ("[", "]"), ("{", "}"), ("(;", ")"), ("$[1b;", "]"), ("f[", "]"),
                                        ("enlist(", ")"), ("select from ", ""), ("([]a:", ")"), ("if[1b;", "]")])
def test_nesting(head: str, tail: str, n: int) -> None:
    session = quiet()
    attempt(session, head * n + "1" + tail * n, show=False, seconds=20)
    attempt(session, head * n, show=False)
    attempt(session, tail * n, show=False)
    assert session.run("1+1") == 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["{x,x}/[60;1 2]", "10000{enlist x}/1", "10000{(x;x)}/1", "10000{x!enlist y}[`a]/1",
                                  "1000000{enlist x}/1", "{(`a`b!(x;x))}/[7;1]", "5000{'[neg;x]}/neg", "5000{x'}/neg",
                                  "value each 2000{enlist x}/1", "(5000{enlist x}/1)~5000{enlist x}/1",
                                  "-9!-8!5000{enlist x}/1", "string 5000{enlist x}/1", "neg 5000{enlist x}/1",
                                  "1+5000{enlist x}/1", "raze/[5000{enlist x}/1]", ".j.j 5000{enlist x}/1",
                                  "group 5000{enlist x}/1", "value\"\\\"enlist 1\"\"", "parse 5000#\"(\"",
                                  "distinct 3#enlist 5000{enlist x}/1", "12{(enlist`a)!enlist x}/1",
                                  "iasc(5000{enlist x}/1;5000{enlist x}/2)"])
def test_deep_values(form: str) -> None:
    session = quiet()
    attempt(session, form)
    assert session.run("1+1") == 2


ABSURD = [
    "til 1000000000000", "til 0W", "til 100000000000000000", "10000000000#0", "0W#1 2",
    "1000000000000?10", "1000000000000?`3", "-1000000000000?10000000000000",
    "1000000 1000000#0", "0W 0W#1", "(100000000 100000000)#til 10",
    "1000000000000$\"abc\"", "(til 1000000)cross til 1000000", "where 1000000000000 2",
    "1000000000000#enlist 1 2", "10000000000000#([]a:1 2)", "where 0W 0W",
    "tensor(`zeros;10000000000000)", "tensor(`zeros;1000000 1000000)",
    "tensor(`zeros;3#0W)", "tensor(`arange;0;1000000000000)", "tensor(`eye;10000000)",
    "tensor(`randn;1000000000000)", "tensor(`linspace;0;1;1000000000000)",
    "module enlist(`linear;1000000;1000000)", "module enlist(`linear;0W;2)",
    "resize(tensor 1 2 3;1000000000000)", "tensor(`randperm;1000000000000)",
    "module enlist(`embed;1000000000;1000000)",
    "module enlist(`conv2d;1000000;1000000;9)",
]
ASK = """
import io, json, sys, time
from kshell.errors import QError
from kshell.session import Session
from kshell.values.session import memory
memory.limit(1500)
session = Session(out=io.StringIO(), err=io.StringIO())
session.run("tensor 1")  # what follows is not the import of torch
found = {}
for text in json.load(sys.stdin):
    start, said = time.monotonic(), "a value"
    try:
        session.run(text)
    except QError as e:
        said = e.text
    found[text] = said, time.monotonic() - start, session.run("1+1") == 2
print(json.dumps(found))
"""


@pytest.mark.sampled(3)
def test_absurd_sizes_are_refused_at_once() -> None:
    """In a process of its own, which has 1.5 GB."""
    done = subprocess.run([sys.executable, "-c", ASK], input=json.dumps(ABSURD), capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for text, (said, seconds, goes_on) in json.loads(done.stdout).items():
        assert said in ("limit", "wsfull", "type", "domain") or ": " in said, (text, said)
        assert seconds < 5 and goes_on, text


@pytest.mark.parametrize("text", ["9" * 5000, "x" * 1_000_000 + ":1", '"' + "a" * 10_000_000 + '"',
                                  " ".join(map(str, range(1_000_000))), "`" * 100_000, "(" * 100_000, "{" * 100_000,
                                  "1" + " " * 1_000_000 + "2", "0x" + "f" * 1_000_001, "\\" * 1000])
def test_sizes(text: str) -> None:
    attempt(quiet(), text + ";", seconds=20)
