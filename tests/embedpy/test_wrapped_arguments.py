"""A torch object that is wrapped or bare is taken wherever its handle is: by every k-api function, in lists and dictionaries too."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from kshell.errors import QError
from kshell.session import Session

OBJECTS = {"tensor": "tensor(2 3#1 2 3 4 5 6e)", "module": "module enlist(`linear;3;2)", "loss": "loss`mse",
           "optimizer": "opt(`sgd;module enlist(`linear;3;2))"}
FORMS = ("{} h", "{}(h;h)", "{}(h;1)", "{}((h;h);0)", "{}(h;tensor(2 3#2e))", "{}(h;`weight)", "{}(module enlist(`linear;3;2);h)",
         "{}(`a`b!(h;h))")
# what ends handles, changes the process, writes files or draws; histc into its own input is not defined
ASIDE = {"free", "return", "snapshot", "resume", "autosave", "plot", "curves", "spread", "ckptsave", "profile", "histc"}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run('.p.e"import torch"')
    s.names.load_builtins()
    yield s


def outcome(s: Session, make: str, text: str) -> str:
    try:
        s.run(f"system\"S 3\";seed 1;h:{make}")
        return type(s.run(text)).__name__
    except QError as e:
        return "error " + e.text.partition(" (given")[0]


def names() -> list[str]:
    from kshell import registry

    s = Session(out=io.StringIO(), err=io.StringIO())
    s.names.load_builtins()
    return sorted(e.name for e in registry.entries("api") if e.name.isidentifier() and e.name not in ASIDE)


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("form", FORMS)
def test_every_function_takes_it(session: Session, kind: str, form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.chdir(str(tmp_path))
    wrong = []
    for name in names():
        text = form.format(name)
        own = outcome(session, OBJECTS[kind], text)
        if own.startswith("error"):
            continue
        wrapped = outcome(session, "{.p.wrap x}" + OBJECTS[kind], text)
        if wrapped != own:
            wrong.append(f"{text}: {own}, wrapped {wrapped}")
    assert not wrong


def test_values(session: Session) -> None:
    """Beside each other, in lists and in dictionaries."""
    session.run("a:.p.eval\"torch.ones(2)\";b:.p.pyeval\"torch.ones(2)\";m:.p.eval\"torch.nn.Linear(2,1)\"")
    assert session.run("1 1 1 1e~tensor cat((a;b);0)") is True
    assert session.run("(1 1e;2 2e)~tensor stack(a;tensor 2 2e)") is True
    assert session.run("2 2e~tensor add(a;b)") is True
    assert session.run("1 1e~tensor Sqrt a") is True
    assert session.run("(asc key ckptavg enlist(m;m))~asc exec name from parmtable m") is True
    assert session.run("`a`b~key dict`a`b!(a;b)") is True
    for text in ('sin .p.eval"3"', 'cat((.p.eval"[1]";a);0)', 'size .p.eval"{}"'):
        with pytest.raises(QError):
            session.run(text)


def test_modules_of_python_are_metrics_and_transforms(session: Session) -> None:
    """A module is called as a function where one is asked for."""
    session.run(".p.e\"class Mae(torch.nn.Module):\\n def forward(s,a,b): return (a-b).abs().mean()\\n"
                "class Twice(torch.nn.Module):\\n def forward(s,b): return (b[0]*2,b[1])\"")
    session.run("q:module enlist(`linear;2;1);k:model(q;loss`mse;opt(`sgd;q;0.));train(k;4 2#1e;4 1#1e)")
    session.run("train(k;`metric`transform`dictionary;(.p.eval\"Mae()\";.p.eval\"Twice()\";1b))")
    assert session.run("r:run k;w:avg abs 1-first each evaluate(q;4 2#2e);1e-6>abs w-r`metric") is True
