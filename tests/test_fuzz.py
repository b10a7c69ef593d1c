"""Any text is a value or one q error: never another exception, never a dead session."""

from __future__ import annotations

import io
import random
import time

import pytest

from kshell.errors import QError, QExit
from kshell.session import Session
from tests.runner import HERE, cases

TOKENS = ["1", "-1", "0N", "0n", "0W", "2.5", "1 2 3", "`a", "`a`b", '"abc"', '"', "x", "y", "t", "f", "(", ")", "[", "]",
          "{", "}", ";", ":", "::", "+", "-", "*", "%", "&", "|", "^", "=", "<", ">", "<=", "<>", "~", ",", "#", "_", "!",
          "?", "@", ".", "$", "'", "/", "\\", "/:", "\\:", "':", " ", "  ", "\t", "\n", "til", "count", "each", "over",
          "select", "from", "where", "by", "update", "exec", "delete", "if[", "while[0b;", "$[", "do[2;", "in", "within",
          "0x1f", "0101b", "2000.01.01", "12:30", "0Ng", "\\t", "`:a", ".z.p", ".a.b", "\x00", "\ufeff", "\u202e", "é",
          "🙂", "0:", "1e", "1h", "([]a:1 2)", "([a:1]b:2)", "value", "string", "\\ts", "/ c", "'`e", ":1"]  # fmt: skip
# text that would leave the process, write files or wait
UNSAFE = ("exit", "system", "\\", "hopen", "read", "set", "save", "hdel", "0:", "1:", "setenv", "load", "dsave")


def safe(text: str) -> bool:
    return not any(u in text for u in UNSAFE)


def attempt(session: Session, text: str) -> None:
    start = time.monotonic()
    try:
        session.run(text, show=True)
    except QError as e:
        report = session.error_lines(e)
        assert report[0].startswith("'") and len(report[0]) <= 1000
        assert all(c.isprintable() or c == "\t" for line in report for c in line)
    except QExit:
        pass
    assert time.monotonic() - start < 20, text


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


@pytest.mark.parametrize("part", range(4))
def test_random_and_mutated_lines(part: int) -> None:
    """20,000 lines in four parts, from a fixed seed a part."""
    rng = random.Random(part)
    lines = [c.text for p in sorted((HERE / "cases").glob("*.q")) for c in cases(p) if safe(c.text) and len(c.text) < 200]
    session = Session(out=io.StringIO(), err=io.StringIO())
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
            session = Session(out=io.StringIO(), err=io.StringIO())
    assert session.run("1+1") == 2


@pytest.mark.parametrize("n", [10, 100, 1000, 10_000, 100_000])
@pytest.mark.parametrize("form", ["1+", "neg ", "x:", "1,"])
def test_long_rows(form: str, n: int) -> None:
    session = Session(out=io.StringIO(), err=io.StringIO())
    try:
        session.run(form * n + "1")
    except QError as e:
        assert e.text in ("limit", "stack", "wsfull")


@pytest.mark.parametrize("n", [10, 100, 199, 1000, 100_000])
@pytest.mark.parametrize("pair", ["()", "[]", "{}", "(;)", "$[1b;0]"])
def test_nesting(pair: str, n: int) -> None:
    session = Session(out=io.StringIO(), err=io.StringIO())
    head, tail = pair[:-1] if len(pair) < 4 else pair[: pair.index("0")], pair[-1]
    try:
        session.run(head * n + "1" + tail * n)
    except QError as e:
        assert e.frames or e.text
    assert session.run("1+1") == 2


@pytest.mark.parametrize("text", ["9" * 5000, "x" * 1_000_000 + ":1", '"' + "a" * 10_000_000 + '"',
                                  " ".join(map(str, range(1_000_000))), "`" * 100_000, "(" * 100_000, "{" * 100_000,
                                  "1" + " " * 1_000_000 + "2", "0x" + "f" * 1_000_001, "\\" * 1000])
def test_sizes(text: str) -> None:
    attempt(Session(out=io.StringIO(), err=io.StringIO()), text + ";")
