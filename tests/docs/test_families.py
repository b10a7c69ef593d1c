"""The pages of docs/families: their sessions and jobs run, and each says what a page of a family has to say.

Jobs use the loopback interface, and end by themselves. Every page has a folder of its own.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from kshell import registry
from kshell.session import Session
from tests.docs.test_docs import FAMILIES, ROOT, check_page

HEADINGS = ["When to use it", "Paper", "Formulas", "Options", "Session", "State", "What differs from the program"]
# what else pages of families have to speak of, in the reference of the k-api
CALLS = ("agg", "fp16", "lossscale", "masters", "estimated", "orthogonalize", "topo", "sched", "lrs", "override",
         "combine", "okey", "scale", "gns", "loss", "addlayer", "groups", "ddp", "fsdp", "ckptsave", "ckptload")
OVERVIEWS = ("distributed.md", "schedulers.md")


def page_ids(path: Path) -> str:
    return path.stem


@pytest.mark.sampled(6)
@pytest.mark.parametrize("path", FAMILIES, ids=page_ids)
def test_sessions(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of a page's sessions, and every command, prints what the page says."""
    check_page(path, tmp_path, monkeypatch)


@pytest.mark.parametrize("path", FAMILIES, ids=page_ids)
def test_what_a_page_has(path: Path) -> None:
    """A page has its parts in their order, a paper or program with a link, formulas and a session."""
    text = path.read_text()
    titles = re.findall(r"^## (.*)$", text, re.M)
    assert [t for t in titles if t in HEADINGS] == HEADINGS
    parts = dict(zip(titles, re.split(r"^## .*$", text, flags=re.M)[1:], strict=True))
    assert re.search(r"\]\(https://(arxiv\.org/abs/\d{4}\.\d{4,5}|openreview\.net|docs\.pytorch\.org)", parts["Paper"])
    assert "rogram" in parts["Paper"] and "```" in parts["Formulas"]
    assert not re.search(r"^\|.*\| (double|long|boolean) \|", text, re.M), "tables of options stand in the reference"
    assert "\nq)" in parts["Session"] and re.search(r"^(q\)|\$ kshell )", parts["State"], re.M)
    assert path.name in "".join((ROOT / "docs" / name).read_text() for name in OVERVIEWS)


def test_arxiv_numbers_agree() -> None:
    """The number in the text of a link is that of its address."""
    for path in FAMILIES:
        found = re.findall(r"\[arXiv ([\d.]+)\]\(https://arxiv\.org/abs/([\d.]+)\)", path.read_text())
        assert all(a == b for a, b in found), path.name


def test_every_entry_has_a_page() -> None:
    """Optimizers that are not torch's or ktorch's, schedulers, rules, and the calls beside them are linked from the
    page of their family, to their place in the reference."""
    Session().names.load_builtins()
    text = "".join(p.read_text() for p in FAMILIES)
    want = [("optimizers", e.name) for e in registry.entries("optimizer") if e.since not in ("ktorch", "torch")]
    want += [(f"{kind}s", e.name) for kind in ("scheduler", "rule") for e in registry.entries(kind)]
    want += [("kapi", name) for name in CALLS]
    assert len(want) > 50
    assert [name for file, name in want if f"[{name}](../reference/{file}.md#{name})" not in text] == []


def public_classes() -> list[tuple[str, type]]:
    """The classes of kshell/optim that compute something, without what all of them share."""
    out = []
    for path in sorted((ROOT / "kshell" / "optim").glob("*.py")):
        if path.stem not in ("__init__", "abilities", "comm", "state_tree"):
            module = importlib.import_module(f"kshell.optim.{path.stem}")
            out += [(name, x) for name, x in vars(module).items()
                    if isinstance(x, type) and x.__module__ == module.__name__ and name[0] != "_"]
    return out


@pytest.mark.parametrize(("name", "cls"), public_classes(), ids=[name for name, _ in public_classes()])
def test_a_class_says_where_it_is_from(name: str, cls: type) -> None:
    """The docstring of a class has its paper or program, and it or that of the class it extends says what is an
    error."""
    text = cls.__doc__ or ""
    assert re.search(r"arXiv \d{4}\.\d{4,5}|mlbench_core|Megatron-LM|AdaptDL|streamer-torch|those of Aggregation", text)
    assert any("Error" in (base.__doc__ or "") or "refused" in (base.__doc__ or "") for base in cls.__mro__
               if base.__module__.startswith("kshell."))
