"""A new kind of entry is one class in one file: help, completion, notebooks and the reference know its entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell import entry_kinds, registry
from kshell.notebook import inspection
from kshell.python.session import Session as PythonSession
from kshell.session import Session
from kshell.shell import toolbar
from kshell.shell.complete import candidates
from tests.docs.test_docs import builder
from tests.support.runner import console

FILE = '''
"""Measures of how far two lists are apart."""

from dataclasses import dataclass
from typing import Any

from kshell.extend import (
    REQUIRED, Entry, Kind, Option, Page, Table, add_entry, api, as_tensor, entry_named, items, name_of, options_q,
    parse_options, split, string, sym_vec, List)


@dataclass
class MeasureRecord:
    """The fields of a measure beside name and options."""

    fn: Any


class Measure(Kind):
    """Measures."""

    name, word, form, calls = "measure", "measure of two lists", "measure(`{};x;y", ("measure",)
    record = MeasureRecord
    about = "measures and their options"
    page = Page("measures.md", "Measures", "`` measure(`name;x;y;option;..) ``.")

    def table(self):
        found = sorted(self.entries(), key=lambda entry: entry.name)
        return Table(["measure", "options"], [sym_vec([e.name for e in found]), List([options_q(e.options) for e in found])])

    def values(self, name):
        entry = self.find(name)
        return None if entry is None else options_q(entry.options)


def measure_of(name, *options):
    def register(fn):
        add_entry(Entry(name, "measure", doc=fn.__doc__, options=options, file=__file__, record=MeasureRecord(fn)))
        return fn
    return register


@measure_of("mismatch", Option("average", "boolean", False, doc="over the places"))
def mismatch(x, y, average):
    """How many places differ.

    q)measure(`mismatch;1 2 3;1 5 3)
    1f
    """
    n = float((x != y).sum())
    return n / len(x) if average else n


@measure_of("minkowski", Option("power", "double", 2.0), Option("least", "double", 0.0))
def minkowski(x, y, power, least):
    """The root of the sum of the powers of the differences.

    q)measure(`minkowski;0 0f;3 4f)
    5f
    """
    return max(float(((x - y).abs() ** power).sum() ** (1 / power)), least)


@api("measure", "measure(`name;x;y;option;..)", effect="none")
def measure(x):
    """How far two lists are apart.

    q)measure(`mismatch;1 2 3;1 5 3)
    1f
    """
    args = items(x)
    entry = entry_named("measure", "unrecognized measure: ", name_of(args[0]) or "")
    positional, named = split(args[3:])
    values = parse_options(entry.name, entry.options, positional, named)
    return entry.record.fn(as_tensor(args[1]), as_tensor(args[2]), **{o.name: values.get(o.name, o.default) for o in entry.options})
'''


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file, and what it brings taken away afterwards: tests of other files list all that there is."""
    path = tmp_path_factory.mktemp("planted") / "measures.py"
    path.write_text(FILE)
    Session().names.load_builtins()
    kinds, topics, before = list(registry.KINDS), list(entry_kinds.TOPICS), {(e.kind, e.name) for e in registry.every()}
    Session().run(f"\\l {path}")
    assert list(registry.KINDS) == [*kinds, "measure"]
    yield path
    registry.remove("api", "measure")
    registry.forget("measure")
    assert (list(registry.KINDS), list(entry_kinds.TOPICS)) == (kinds, topics)
    assert {(e.kind, e.name) for e in registry.every()} == before


@pytest.fixture
def s(file: Path) -> Session:
    return Session()


SHOWN = {
    "measure(`mismatch;1 2 3;1 5 3;1b)": "0.3333333",
    "measure(`minkowski;0 0f;3 4f;(`power;1))": "7f",
    "help`mismatch": "average| 0",
    "options`minkowski": "power| 2\nleast| 0",
    "(help[])`measure": '"measures and their options"',
    "exec measure from help`measure": "`minkowski`mismatch",
}


@pytest.mark.parametrize("line", SHOWN)
def test_help_and_options(s: Session, line: str) -> None:
    assert console(s, line).rstrip() == SHOWN[line]


def test_help_text(s: Session) -> None:
    text = console(s, 'help"minkowski"')
    assert text.startswith("measure(`minkowski;x;y[;power;least])\n\nThe root of the sum")
    assert "power   double  2" in text
    assert console(s, "help`minkowsky").startswith("'help: unrecognized help topic, `minkowsky (near `minkowski)")
    assert "`mismach (near `mismatch" in console(s, "options`mismach")
    assert console(s, "measure(`mismach;1;2)").startswith("'measure: unrecognized measure: mismach (near `mismatch)")
    assert "minkowski  measure    The root of" in console(s, "\\?powers of the differences")


def test_a_name_of_several_kinds_has_each(s: Session) -> None:
    registry.add(registry.Entry("abs", "measure", doc="No measure.\n\nq)1\n1"))
    try:
        text = console(s, 'help"abs"')
    finally:
        registry.remove("measure", "abs")
    assert text.index("/ abs: function\n") < text.index("/ abs: measure of two lists\n")


COMPLETED = {
    "measure(`": ["mismatch", "minkowski"],
    "measure(`min": ["minkowski"],
    "measure(`minkowski;x;y;`": ["power", "least"],
    "help`mism": ["mismatch"],
    "help`meas": ["measure"],
    "options`mink": ["minkowski"],
}


@pytest.mark.parametrize("text", COMPLETED)
def test_completion(s: Session, text: str) -> None:
    assert candidates(s, text)[:2] == COMPLETED[text]


def test_toolbar_and_notebook(s: Session) -> None:
    assert "power" in toolbar.signature(s, "measure(`minkowski;1 2;3 4;")
    assert inspection(PythonSession(), "mismatch", 2)["text/plain"].startswith("measure(`mismatch;x;y[;average])\n\nHow many")


@pytest.mark.sampled(4)
def test_reference(file: Path) -> None:
    build = builder()
    page = build.pages()["measures.md"]
    assert page.startswith("# Measures\n") and "### `` `mismatch ``" in page
    assert "| average | boolean | `0b` | over the places |" in page
    assert "measures.md" in build.stale()


def test_what_is_refused() -> None:
    with pytest.raises(KeyError, match="mesure"):
        registry.add(registry.Entry("mismatch", "mesure"))
    with pytest.raises(ValueError, match="a kind of entry verb is registered twice"):
        type("Again", (entry_kinds.Kind,), {"name": "verb"})
    with pytest.raises(ValueError, match="kinds have no method colour"):
        entry_kinds.answers("colour", "verb")
