"""Help on everything that has a name: its forms, its options with defaults, an example, and the search."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kshell import registry
from kshell.entry_kinds import TOPICS
from kshell.kapi.console.help import default_text, forms_of, named, options_of
from kshell.kapi.module.functional import FUNCTIONS
from kshell.kapi.module.options import options_dict as module_options
from kshell.registry import Entry
from kshell.session import Session
from tests.support.runner import console

KINDS = [k for k in registry.KINDS if k != "handler"]
TYPES = ("module", "loss", "optimizer", "scheduler", "rule")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    s = Session()
    s.names.load_builtins()
    yield s


def spelled(e: Entry) -> str:
    """The name as help takes it."""
    if e.kind == "internal":
        return "0N!" if e.name == str(-1 << 63) else e.name + "!"
    return "\\" + e.name if e.kind == "command" and e.name != "\\" else e.name


def asked(session: Session, name: str) -> str:
    """What help prints on a name."""
    text = name.replace("\\", "\\\\").replace('"', '\\"')
    return console(session, f'help"{text}"')


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_has_help(session: Session, kind: str) -> None:
    """The help of a name has its forms, what it is, each option with its type and default, and its example."""
    wrong = []
    for e in registry.entries(kind):
        out = asked(session, spelled(e))
        lines = [line.split() for line in out.splitlines()]
        missing = [f for f in forms_of(e) if f not in out] + [e.summary] * (e.summary not in out)
        missing += [f"q){line}" for inputs, _ in e.examples[:1] for line in inputs if f"q){line}\n" not in out]
        missing += [line for _, output in e.examples[:1] for line in output if line not in out]
        for o in options_of(e):
            words = [o.name, o.type, *default_text(o.default).split()]
            missing += [] if any(line[:len(words)] == words for line in lines) else [o.name]
        if missing or not forms_of(e) or not e.examples:
            wrong.append(f"{e.name}: {missing}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in (*TYPES, "command", "internal")])
def test_a_symbol_asks_as_a_string_does(session: Session, kind: str) -> None:
    """But where the name is that of a topic or a type, whose table or dictionary it gives."""
    for e in registry.entries(kind):
        if e.name not in TOPICS and not any(x.kind in TYPES[:3] for x in named(e.name)) and \
                e.name not in {f.name for f in FUNCTIONS}:
            assert console(session, f'help`$"{e.name}"'.replace("\\", "\\\\")) == asked(session, e.name), e.name


@pytest.mark.parametrize("kind", TYPES)
def test_a_symbol_gives_the_options_of_a_type(session: Session, kind: str) -> None:
    for e in registry.entries(kind):
        kinds = {x.kind for x in named(e.name)}
        if (kind in TYPES[:3] and not (kind == "loss" and "module" in kinds)) or kinds == {kind}:
            if kind == "module" and not len(module_options(e)):  # none to show: the text is printed too
                assert console(session, f"help`{e.name}").strip() == asked(session, e.name).strip(), e.name
                continue
            found = f"help[`{e.name}]`options" if kind == "loss" else f"help`{e.name}"
            given = [s.s for s in session.run(f"key {found}").items]
            names = [o.name for o in options_of(e)]
            assert [n for n in names if n in given] == given and bool(given) == bool(names), e.name


def test_several_meanings_are_told_apart(session: Session) -> None:
    """A name of several kinds shows each under its kind; one with a backslash is a command's."""
    out = asked(session, "linear")
    assert [line for line in out.splitlines() if line.startswith("/ linear: ")] == [
        "/ linear: k-api function", "/ linear: module type", "/ linear: scheduler", "/ linear: scaling rule"]
    assert asked(session, "\\_").startswith("\\_\n") and "/ _: function" in asked(session, "_")


def test_wrong_names(session: Session) -> None:
    assert console(session, "help`nosuchname").startswith("'help: unrecognized help topic, `nosuchname\n")
    assert console(session, 'help""').startswith("'help: unrecognized help topic, `\n")
    assert console(session, "help 1.5").startswith("'help: expecting a name, function, torch or Python object")


def test_search(session: Session) -> None:
    """By name, by summary, else by what else is told; each line has name, kind and summary."""
    first, *_ = console(session, "\\?batchsize").split("\n")
    assert first.split(None, 2) == ["batchsize", "option", "Rows of data per batch; 0 means all."]
    assert console(session, "\\?xbar").startswith("xbar ")
    assert "adamw" in console(session, "\\?Weight Decay")
    for text, name in (("cross_entropy", "ce"), ("nn.CrossEntropyLoss", "ce"), ("zero_grad", "zerograd"),
                       ("F.log_softmax", "logsoftmax"), ("randn_like", "randnlike"), ("torch.where", "Where")):
        assert name in [line.split()[0] for line in console(session, f"\\?{text}").splitlines()], text
    assert console(session, "\\?xyzzy in a text") == "no help entry mentions xyzzy in a text\n"
    assert console(session, "\\?").startswith("'")


def test_a_terminal_has_lines_that_fit(session: Session) -> None:
    """Paragraphs, options and what a search finds are as wide as the console; all words are there, but in the search."""
    session.settings.c = 30, 70
    plain = {name: asked(session, name) for name in ("module", "adam", "\\ts", "train", "spread", "quantile", "sched")}
    try:
        session.interactive = True
        for name, text in plain.items():
            shown = asked(session, name)
            told, _, example = text.partition("\nq)")
            fitted = shown.partition("\nq)")[0]
            words = ["".join(x.replace("`", "").split()) for x in (fitted, told)]
            assert shown.partition("\nq)")[2] == example and words[0] == words[1] and "``" not in fitted, name
            rest = fitted.split("\n")[told.split("\n\n")[0].count("\n") + 1:]  # after the forms
            assert max(map(len, rest), default=0) < 70, fitted
        found = console(session, "\\?cosine").splitlines()
    finally:
        session.interactive, session.settings.c = False, (25, 80)
    assert max(map(len, found)) == 69 and any(line.endswith("..") for line in found)


def test_topics(session: Session) -> None:
    """help[] lists topics, and each gives a table or dictionary."""
    for topic in console(session, "-1 string key help[];").split():
        assert console(session, f"type[help`{topic}]in 98 99h") == "1b\n", topic
