"""One entry is all that a new thing needs: it is callable, in help, in completion and in the reference."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kshell import registry
from kshell.extend import api, command, module, optimizer, optimizer_row, scheduler_row, verb
from kshell.kapi.loss.losses import row as loss_row
from kshell.kapi.module.types import row as module_row
from kshell.session import Session
from tests import ROOT
from tests.support import warm
from tests.support.runner import console, private

PROBE = """
import sys
from kshell import registry
from kshell.session import Session
s = Session()
s.run("abs 1")
s.names.load_builtins()
registry.load_file(sys.argv[1])
"""


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    path = tmp_path / "planted.py"
    path.write_text((Path(__file__).parent / "planted.txt").read_text())
    return path


def run(planted: Path, code: str) -> str:
    done = warm.run([sys.executable, "-c", PROBE + code, str(planted)], capture_output=True, text=True,
                    cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_callable(planted: Path) -> None:
    out = run(planted, """
for line in ("zigzag 1 2 3", "plantfn 2", "m:module enlist(`twice;3f)", "evaluate(m;1 2 3e)",
             "q:module enlist(`linear;2;1);o:opt(`signed;q;.5)", "lr o", "first opt[o]`options", "w:dict parms q",
             "backward mse(forward(q;1 2#1e);1 1#100e);step o", "all .001>abs -.5+raze over abs value[w]-value dict parms q",
             "s:state o;o2:opt(s;q)", "exec buffers from state[o2]`parms", "lr(o2;.25);lr o2", "module m"):
    s.run(line, show=True)
""")
    assert "\n".join(line.rstrip() for line in out.splitlines()) + "\n" == """1 -2 3
4
3 6 9e
,0.5
lr    | 0.5
factor| 1
1b
count
-----
1
1
,0.25
depth  | 0
module | `twice
name   | `
options| (,`factor)!,3f
"""


@pytest.mark.sampled(2)
def test_in_help_completion_and_reference(planted: Path) -> None:
    out = run(planted, """
for line in ("help`zigzag", "help`plantfn", "help`twice", "help`signed", "exec optimizer from help`optimizer",
             "exec module from help`module"):
    s.run(line, show=True)
from kshell.shell.complete import candidates
print("completion", [candidates(s, t) for t in ("zigz", "plantf", "opt(`signe", "module(`twi")])
sys.path.insert(0, ".")
from docs.build import pages
text = "\\n".join(pages().values())
print("reference", [name in text for name in ("zigzag", "plantfn", "`twice", "`signed")])
""")
    assert "every second one negated" in out and "Twice its argument" in out
    assert "`signed" in out and "factor" in out
    assert "completion [['zigzag'], ['plantfn'], ['signed'], ['twice']]" in out
    assert "reference [True, True, True, True]" in out


def test_every_entry_is_documented() -> None:
    """A summary of one line, and an example."""
    Session().names.load_builtins()
    bare = [f"{e.kind} {e.name}" for e in registry.every() if not e.summary]
    assert not bare
    assert not [f"{e.kind} {e.name}" for e in registry.every() if not e.examples and e.kind != "handler"]


# what clocks, memory and machines say: only the digits may differ
MASKED = {*(f".z.{c}" for c in "pPnNtTdDzZ"), "t", "ts", "w", ".Q.ts", "-34"}


def shown(e: registry.Entry, lines: list[str]) -> list[str]:
    """Lines of an example without what may differ."""
    lines = [line.rstrip() for line in lines if not re.fullmatch(r"exit \d+", line)]
    digits = r"\d+N?" if e.name == "cudnnversion" else r"\d+"  # null without cuDNN
    return [re.sub(digits, "0", line) for line in lines] if e.name in MASKED or e.kind == "setting" else lines


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", [k for k in registry.KINDS if k != "handler"])
def test_examples_print_what_they_say(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in a session and a folder of its own."""
    session = Session()
    session.names.load_builtins()
    wrong = []
    for i, e in enumerate(registry.entries(kind)):
        (tmp_path / str(i)).mkdir()
        monkeypatch.chdir(tmp_path / str(i))
        session = Session()
        for inputs, output in e.examples:
            got = [line for text in inputs for line in console(session, private(text)).splitlines()]
            if shown(e, got) != shown(e, [private(line) for line in output]):
                wrong.append(f"{e.name}: {inputs}: {got} instead of {output}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("kind", "make"), [
    ("module", lambda **k: module("misspelt", **k)(torch.nn.Identity)),
    ("loss", lambda **k: module("misspelt", kind="loss", **k)(torch.nn.MSELoss)),
    ("module", lambda **k: module_row("misspelt", "Identity", "A type.", **k)),
    ("loss", lambda **k: loss_row("misspelt", "MSELoss", "A loss.", **k)),
    ("optimizer", lambda **k: optimizer("misspelt", **k)(torch.optim.SGD)),
    ("optimizer", lambda **k: optimizer_row("misspelt", "torch.optim.SGD", "An optimizer.", **k)),
    ("scheduler", lambda **k: scheduler_row("misspelt", "torch.optim.lr_scheduler.StepLR", "A scheduler.", **k)),
    ("api", lambda **k: api("misspelt", "misspelt x", **k)(lambda x: x)),
    ("verb", lambda **k: verb("misspelt", **k)(lambda x: x)),
    ("command", lambda **k: command("misspelt", **k)(lambda x: x))])
def test_unknown_keyword_is_refused(kind: str, make: Callable[..., object]) -> None:
    """Where the entry is written, and nothing is registered; without the keyword it is."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'colsure'"):
        make(colsure=True)
    assert registry.find(kind, "misspelt") is None
    try:
        make()
        assert registry.find(kind, "misspelt") is not None
    finally:
        registry.remove(kind, "misspelt")


def test_names_are_unique() -> None:
    """A k-api name hides no verb of q, save those that q's own keyword gives way to by spelling."""
    Session().names.load_builtins()
    verbs = {e.name for e in registry.entries("verb")}
    assert not verbs & {e.name for e in registry.entries("api")}
