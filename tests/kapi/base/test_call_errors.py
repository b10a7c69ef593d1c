"""An error of a call is its parts from where it is raised; its text is made of them once, and never read for them."""

from __future__ import annotations

import ast
import io
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell import registry
from kshell.errors import SAID, UNSAID, CallError, QError, said
from kshell.k_api import load_kapi
from kshell.kapi.base import call, errors
from kshell.kapi.base.args import name_of, need, read_option
from kshell.registry import Option
from kshell.session import Session
from kshell.values.base.symbols import sym

ROOT = Path(errors.__file__).parents[2]
SOURCE = ast.parse(Path(errors.__file__).read_text())


# ------------------------------------------------------------------ the parts and the text


def test_the_text_is_made_of_the_parts() -> None:
    assert CallError("f", "no names").text == "f: no names"
    assert CallError("f", "no names", at="x").text == "f x: no names"
    assert CallError(UNSAID, "no names").text == "no names"
    assert CallError("f", expected="a long", given="`a").text == "f: expected a long, given `a"
    assert CallError("f", at="x", expecting="a long", given="`a").text == "f x: expecting a long, given `a"
    assert CallError("f", "bad", given="`a", expected="f x").text == "f: bad (given `a; expected f x)"
    assert CallError("f", "bad", below="\nframe").text == "f: bad\nframe"


def test_readers_say_what_they_expect() -> None:
    with pytest.raises(CallError) as e:
        need(name_of(1), "f x", "a symbol", 1)
    assert (e.value.call, e.value.at, e.value.expected, e.value.given) == ("f", "x", "a symbol", "long scalar")
    with pytest.raises(CallError) as e:
        read_option("linear", Option("in", "long"), sym("a"))
    assert (e.value.call, e.value.at, e.value.expected, e.value.given) == ("linear", "in", "long scalar", "symbol scalar")
    assert e.value.text == "linear in: expected long scalar, given symbol scalar"


def test_the_door_completes_what_is_unsaid() -> None:
    def told(error: QError, name: str = "cat") -> str:
        return errors.told(name, error, (1, sym("a"))).text

    load_kapi()
    form = errors._form("cat", 2)
    assert form
    assert told(CallError("cat", "bad")) == "cat: bad (given long 1, `a)"
    assert told(CallError(UNSAID, "bad")) == "cat: bad (given long 1, `a)"
    assert told(CallError("cat", "bad", given=SAID)) == "cat: bad"
    assert told(CallError("cat", "bad", expected=UNSAID)) == f"cat: bad (given long 1, `a; expected {form})"
    assert told(CallError("cat", "bad", given=SAID, expected=UNSAID)) == f"cat: bad (expected {form})"
    assert told(CallError("cat", "bad", below="\nframe")) == "cat: bad (given long 1, `a)\nframe"
    assert told(QError("type")) == f"cat: wrong type of argument (given long 1, `a; expected {form})"
    # of another call, whole, or of the call that documents it without a name
    for error in (CallError("stack", "bad"), QError("cat: bad"), CallError(UNSAID, "bad", home="cat")):
        assert errors.told("cat", error, (1, sym("a"))) is error
    # once is enough
    assert told(errors.told("cat", CallError("cat", "bad"), (1, sym("a")))) == "cat: bad (given long 1, `a)"
    assert errors.told("cat", CallError("cat", "bad", hint="do"), (1,)).hint == "do"


def test_a_reason_may_say_what_was_given() -> None:
    """What a reason says of names, numbers and kinds is compared with the arguments; its text is not."""
    def told(*says: object) -> str:
        return errors.told("cat", CallError("cat", "bad", says=says), (7, sym("ab"), sym("c"))).text

    assert told(7) == told("ab") == told("`ab") == told("`c") == told("x", 7) == "cat: bad"
    # another number, another name; a name of one letter without a backtick
    assert told(8) == told("b") == told("c") == told() == "cat: bad (given long 7, `ab, `c)"


def test_an_error_passes_to_other_processes_by_its_parts() -> None:
    for error in (CallError("cat", "bad", at="x", says=(7,)), CallError("cat", "bad", given=SAID, expected=UNSAID),
                  errors.Foreign("cat", "bad"), CallError("cat", expected="a long", given="`a")):
        there = errors.of_bytes(errors.as_bytes(error))
        assert type(there) is type(error) and there.text == error.text
        assert errors.told("cat", there, (7,)).text == errors.told("cat", error, (7,)).text
    assert type(errors.of_bytes(errors.as_bytes(QError("wsfull")))) is QError


# ------------------------------------------------------------------ whose messages are read


def failed(f: Any) -> BaseException:
    try:
        f()
    except Exception as e:
        return e
    raise AssertionError


def test_own_exceptions_are_known_from_foreign_ones() -> None:
    from kshell.nn.seq import SeqJoin

    assert errors.raised_here(failed(lambda: SeqJoin().forward(torch.ones(2))).__traceback__)
    assert not errors.raised_here(failed(lambda: torch.ones(2) @ torch.ones(3)).__traceback__)
    assert not errors.raised_here(failed(lambda: name_of()).__traceback__)  # type: ignore[call-arg]
    assert not errors.raised_here(None)
    own = errors.reported("f", failed(lambda: SeqJoin().forward(torch.ones(2))), "why")
    assert type(own) is CallError and own.given == UNSAID
    assert said(ValueError("x")).given is SAID  # type: ignore[attr-defined]
    assert said(ValueError("x"), 5).given == UNSAID  # type: ignore[attr-defined]
    assert type(errors.reported("f", ValueError("x"), "x")) is errors.Foreign


def test_patterns_stand_in_one_table() -> None:
    """Every use of `re` in the file is an entry of FOREIGN, and FOREIGN is used where a foreign message is read."""
    table = next(n for n in SOURCE.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "FOREIGN")
    inside = {id(n) for n in ast.walk(table)}
    uses = [n for n in ast.walk(SOURCE) if isinstance(n, ast.Name) and n.id == "re"]
    assert uses and all(id(n) in inside for n in uses)
    readers = [f for f in ast.walk(SOURCE) if isinstance(f, ast.FunctionDef)
               and f.name in ("read", "refused", "_says_given")]
    inside |= {id(n) for f in readers for n in ast.walk(f)}
    uses = [n for n in ast.walk(SOURCE) if isinstance(n, ast.Name) and n.id == "FOREIGN"]
    assert len(readers) == 3 and len(uses) > 4 and all(id(n) in inside for n in uses)
    calls = [n for n in ast.walk(SOURCE) if isinstance(n, ast.Call) and ast.unparse(n.func) == "_says_given"]
    assert len(calls) == 1 and id(calls[0]) in inside


MATCHES = {"match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split"}


@pytest.mark.parametrize("room", ["kapi", "families", "optim", "nn", "parallel"])
def test_no_pattern_is_applied_to_the_text_of_an_error(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        for n in ast.walk(ast.parse(path.read_text())):
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in MATCHES:
                given = " ".join(map(ast.unparse, n.args))
                assert not re.search(r"\b(e|exc|error|problem)\.(text|reason)\b", given), (path.name, n.lineno)


class Spy:
    """A pattern that keeps what it is asked about."""

    def __init__(self, pattern: re.Pattern[str], seen: set[str]) -> None:
        self.pattern, self.seen = pattern, seen

    def search(self, text: str) -> Any:
        self.seen.add(text.removeprefix(": "))
        return self.pattern.search(text)

    def findall(self, text: str) -> Any:
        self.seen.add(text)
        return self.pattern.findall(text)


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
def test_only_foreign_messages_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function with wrong arguments: what the patterns are asked about came from torch, numpy or Python."""
    monkeypatch.chdir(tmp_path)
    seen: set[str] = set()
    foreign: set[str] = set()
    own: set[str] = set()
    monkeypatch.setattr(errors, "FOREIGN", {k: Spy(p, seen) for k, p in errors.FOREIGN.items()})

    def reported(name: str, exc: BaseException, message: str, *more: str) -> CallError:
        (own if isinstance(exc, QError) or errors.raised_here(exc.__traceback__) else foreign).add(message)
        return errors.reported(name, exc, message, *more)

    monkeypatch.setattr(call, "reported", reported)
    raised = QError.__init__

    def init(self: QError, text: str, *a: Any, **k: Any) -> None:
        raised(self, text, *a, **k)
        if not isinstance(self, errors.Foreign):
            own.add(text.partition(": ")[2])

    session = Session(out=io.StringIO(), err=io.StringIO())
    session.names.load_builtins()
    session.run("t:tensor 2 3#1 2 3 4 5 6f;relu1:module`relu")
    monkeypatch.setattr(QError, "__init__", init)
    left = {"exit", "free", "rsave", "dsave", "rload"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for e in registry.entries("api"):
            for x in ("`a", "0N", "()", "(t;2 2 2#1e)", "(relu1;`a)", "(t;::)"):
                if e.name not in left:
                    try:
                        session.run(f"{e.name}[{';'.join([x] * (2 if 2 in e.fns else 1))}];")
                    except QError:
                        pass
    assert len(foreign) > 50 and len(own) > 200
    assert seen and seen <= foreign
