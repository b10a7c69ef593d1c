"""A new kind of handle is one class in one file: whatever asks for the kind of an object is answered by the class."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from kshell import registry
from kshell.errors import QError
from kshell.kapi.base.handle_kind import KINDS, forget
from kshell.kapi.base.handles import KHandle, behaviour
from kshell.notebook import inspection
from kshell.python.session import Session as PythonSession
from kshell.session import Session
from kshell.shell.complete import candidates
from kshell.shell.notes import annotator
from tests import ROOT
from tests.support import warm
from tests.support.runner import console

FILE = '''
"""A reservoir: some of the numbers that went by, each as likely as any other."""

from __future__ import annotations

from kshell.extend import (
    CallError, TensorsHandle, Value, api, as_tensor, items, kind_of, kname, long_of, many, symdict, tensor_handle, to_q,
    torch)


class Reservoir:
    """`kept` are the numbers, `seen` is how many went by."""

    def __init__(self, kept, seen=0):
        self.kept, self.seen = kept, seen

    def add(self, numbers):
        for number in numbers.flatten():
            place = self.seen if self.seen < len(self.kept) else int(torch.randint(self.seen + 1, ()))
            if place < len(self.kept):
                self.kept[place] = number
            self.seen += 1


class ReservoirHandle(TensorsHandle):
    """A reservoir."""

    __slots__ = ()
    kind, usage, values = "reservoir", "kept r gives its numbers", "kept"

    def named(self):
        return {"kept": self.obj.kept}

    def counts(self):
        return [many(len(self.obj.kept), "number")]

    def described(self) -> str:
        return f"reservoir of {len(self.obj.kept)}"

    def options(self) -> Value:
        return symdict(["places"], [len(self.obj.kept)])

    help = options

    def state(self, every: bool) -> Value:
        return symdict(["kept", "seen"], [to_q(self.obj.kept), self.obj.seen])

    def to_q(self) -> Value:
        return to_q(self.obj.kept)

    def do_index(self, args) -> Value:
        return tensor_handle(self.obj.kept[args[0]])

    def do_reached(self, name: str) -> str:
        return "kept r gives its numbers" if name == "kept" else ""

    @classmethod
    def record(cls, saver, obj):
        return {"kept": saver.tensor(obj.kept), "seen": obj.seen}

    @classmethod
    def from_record(cls, loader, number, record):
        return Reservoir(loader.tensor(record["kept"]), int(record["seen"]))


def _reservoir(x: Value, call: str):
    h = kind_of(x, ReservoirHandle)
    if h is None:
        raise CallError(call, expecting="a reservoir", given=kname(x))
    return h.obj


@api("reservoir", "reservoir places", effect="none")
def reservoir(x: Value) -> Value:
    """A reservoir with places for so many numbers.

    q)class reservoir 3
    `reservoir
    """
    places = long_of(x)
    if places is None or places < 1:
        raise CallError("reservoir", expecting="the number of places", given=kname(x))
    return ReservoirHandle(Reservoir(torch.zeros(places)))


@api("pour", "pour(r;t)", effect="changes")
def pour(x: Value) -> Value:
    """Let numbers go by a reservoir, which keeps some of them; the result is how many went by so far.

    q)pour(reservoir 3;1 2e)
    2
    """
    args = items(x)
    if len(args) != 2:
        raise CallError("pour", expecting="a reservoir and numbers", given=kname(x))
    obj = _reservoir(args[0], "pour")
    obj.add(as_tensor(args[1]))
    return obj.seen


@api("kept", "kept r", effect="none")
def kept(x: Value) -> Value:
    """The numbers that a reservoir keeps.

    q)kept reservoir 2
    0 0e
    """
    return to_q(_reservoir(x, "kept").kept)
'''


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file, and what it brings taken away afterwards: tests of other files list all that there is."""
    path = tmp_path_factory.mktemp("planted") / "reservoir.py"
    path.write_text(FILE)
    Session().names.load_builtins()
    before = {(e.kind, e.name) for e in registry.every()}
    Session().run(f"\\l {path}")
    yield path
    for kind, name in {(e.kind, e.name) for e in registry.every()} - before:
        registry.remove(kind, name)
    forget("reservoir")
    assert {(e.kind, e.name) for e in registry.every()} == before and "reservoir" not in KINDS


@pytest.fixture
def s(file: Path) -> Session:
    session = Session()
    session.run("r:reservoir 3")
    session.run("pour(r;1 2e)")
    return session


def said(s: Session, text: str) -> str:
    """What the console shows, without the numbers of handles."""
    return re.sub(r"\b5\d{7}\b", "#", console(s, text)).rstrip()


def test_it_is_shown_with_its_note(s: Session) -> None:
    show = annotator(s, False)
    r = s.run("r")
    assert re.sub(r"\d{8}", "#", show(s.show(r), r)) == "#  reservoir 1 tensor cpu".replace("1 tensor", "3 numbers")
    s.run("free f:reservoir 1")
    assert "freed reservoir" in show(s.show(s.run("f")), s.run("f"))


SHOWN = {
    "class r": "`reservoir",
    "select class,device,size,elements,bytes from obj[]": "class     device size elements bytes\n"
    "------------------------------------\nreservoir cpu    1    3        12",
    "first exec names from obj`names": ",`r",
    "size r": "1",
    "elements r": "3",
    "bytes r": "12",
    "tensorcount r": "1",
    "device r": "`cpu",
    "mapped r": "1b",
    "options r": "places| 3",
    "help r": "places| 3",
    "state r": "kept| 1 2 0e\nseen| 2",
    "kept r": "1 2 0e",
    "tensor r 1": "2e",
    "sync r": "",
    "q:addref r;pour(q;5e);kept r": "1 2 5e",
    "q:addref r;(ref r;ptr[q]=ptr r)": "2\n1b",
    "return reservoir 1": ",0e",
    "count r": "1",
    "t:addref tensor 1 2;v:vector(t;3);ref r": "1",
}


@pytest.mark.parametrize("line", SHOWN)
def test_it_answers_what_every_kind_does(s: Session, line: str) -> None:
    assert said(s, line) == SHOWN[line]


def test_it_is_moved(s: Session) -> None:
    s.run("to(r;`double)")
    assert said(s, "kept r") == "1 2 0f"
    assert said(s, "(bytes r;pour(r;3e))") == "24 3"
    if torch.accelerator.is_available():
        s.run("to(r;first 1_cudadevices())")
        assert said(s, "device r") != "`cpu"


ERRORS = {
    "step r": "step: expects model or optimizer, given reservoir",
    "backward r": "backward: not implemented for reservoirs",
    "neg r": "neg: not implemented for reservoirs",
    "r+1": "+: not implemented for reservoirs",
    "r[0]:1": "amend: not implemented for reservoirs",
    "zerograd r": "zerograd: not implemented for reservoirs",
    "str r": "str: not implemented for reservoirs",
    "clone r": "clone: not implemented for reservoir",
    "opt(`sgd;r)": "cannot derive parameters from reservoir",
    "vector(r;r)": "reservoir",
    "tensor r": "reservoir",
    "-8!r": "given a reservoir (kept x is one",
    "stack(r;tensor 1)": "no torch type found for k: reservoir",
    "kept module`relu": "kept: expecting a reservoir, given module",
    "pour r": "pour: expecting a reservoir and numbers, given reservoir",
    "parms r": "parms: not implemented for reservoir",
    "linear(1 2f;r)": "reservoir",
    "pour(r;1;2)": "pour: expecting a reservoir and numbers, given general list",
    "free r;kept r": "stale pointer",
    "free r;r 0": "stale pointer",
}


@pytest.mark.parametrize("line", ERRORS)
def test_an_error_names_its_kind(s: Session, line: str) -> None:
    with pytest.raises(QError, match=re.escape(ERRORS[line])):
        s.run(line)


def test_a_freed_one_says_what_freed_it(s: Session) -> None:
    s.run("free r")
    with pytest.raises(QError) as e:
        s.run("kept r")
    assert e.value.hint == "the reservoir was freed by: free r"


def test_help_completion_and_notebooks_know_its_functions(s: Session) -> None:
    assert "keeps some of them" in console(s, 'help"pour"')
    assert [candidates(s, text) for text in ("reserv", "pou", "r[`", "kept(r;`")] == [
        ["reservoir"], ["pour"], ["kept"], ["kept"]]
    assert "kept r" in inspection(PythonSession(), "kept", 1)["text/plain"]


def test_python_has_the_handle(s: Session) -> None:
    program = PythonSession()
    program("r:reservoir 2")
    program["again"] = program["r"]
    assert list(program("class each(r;again)")) == ["reservoir", "reservoir"]
    assert program("ptr[r]=ptr again")


def test_a_checkpoint_has_its_tensors(s: Session, tmp_path: Path) -> None:
    s.run(f'ckpt(`$":{tmp_path}/r.pt";r)')
    assert torch.load(tmp_path / "r.pt", weights_only=True)["kept"].tolist() == [1, 2, 0]


def resumed(path: Path, *lines: str) -> str:
    """What a fresh process prints."""
    text = "\n".join(lines)
    done = warm.run([sys.executable, "-m", "kshell", "-q"], input=text, capture_output=True,
                    cwd=path.parent, timeout=120, env={"PYTHONPATH": str(ROOT), "PATH": "/bin"})
    return done.stdout + done.stderr


@pytest.mark.sampled(3)
def test_a_fresh_process_resumes_it(s: Session, file: Path, tmp_path: Path) -> None:
    s.run("q:addref r")
    s.run("free f:reservoir 1")
    s.run("plain:7")
    s.run(f'snapshot`$":{file.parent}/all.ks"')
    out = resumed(file, "\\l reservoir.py", "resume`:all.ks", "kept r", "pour(q;5e)", "kept r", "mapped each(r;f)", "class r")
    assert out.splitlines() == ["`f`plain`q`r", "1 2 0e", "3", "1 2 5e", "10b", "`reservoir"]
    lacking = resumed(file, "resume`:all.ks", "resume(`:all.ks;`plain)", "plain")
    assert ("'resume: there is no kind of handle `reservoir here, of class ReservoirHandle; "
            "first load the file that registers it, with \\l\n") in lacking
    assert lacking.startswith(",`plain\n7")


def test_files_without_one_are_resumed_beside_it(s: Session, tmp_path: Path) -> None:
    """Whether the file has been loaded or not: a snapshot without a reservoir is the same."""
    s.run("t:tensor 1 2")
    s.run(f'snapshot(`$":{tmp_path}/t.ks";`t)')
    kind = KINDS.pop("reservoir")
    try:
        other = Session()
        other.run(f'resume`$":{tmp_path}/t.ks"')
        other.run(f'snapshot`$":{tmp_path}/t.ks"')
    finally:
        KINDS["reservoir"] = kind
    s.run(f'resume`$":{tmp_path}/t.ks"')
    assert said(s, "tensor t") == "1 2"


def test_a_word_is_taken_once(s: Session) -> None:
    for word in ("reservoir", "tensor", "storage"):
        with pytest.raises(ValueError, match=f"handle {word} is registered twice"):
            type("Again", (KHandle,), {"kind": word})
    kind = KINDS["reservoir"]
    with pytest.raises(ValueError, match="handles have no method colour"):
        behaviour("colour", kind)
    with pytest.raises(ValueError, match="described of ReservoirHandle is registered twice"):
        behaviour("described", kind)(lambda h: "")


def test_a_kind_without_records_cannot_be_saved(tmp_path: Path) -> None:
    bare = type("BareHandle", (KHandle,), {"kind": "echo"})
    session = Session()
    try:
        session.names.spaces["."]["e"] = bare([])
        assert said(session, "(class e;e)") == "`echo\n,#" and bare.plural == "echos"
        with pytest.raises(QError, match="snapshot: e: an echo cannot be saved"):
            session.run(f'snapshot`$":{tmp_path}/e.ks"')
        with pytest.raises(QError, match="size: not implemented for echos"):
            session.run("size e")
    finally:
        forget("echo")
