"""The documentation says what is so: sessions run, Python loads, links lead somewhere, the reference is current.

In README.md, docs/*.md, docs/deviations/*.md and docs/families/*.md (run by test_families.py) every ```q block with
`q)` lines is a session. The blocks of a file are one session, in order, in a folder of its own; `<!-- fresh -->` on the
line before a block starts a new one. Numbers of handles and times in milliseconds are masked. A block whose first line
is a comment with the name of a file is that file, else a ```python block is a file that is loaded by `\\l`. In a
```console block lines after `$` are commands of the shell.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kshell import registry
from kshell.kapi.base.handle_kind import KINDS, forget
from kshell.session import Session
from tests import ROOT
from tests.support import warm
from tests.support.runner import clean, console, transcript
from tests.support.versions import has

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")),
         *sorted((ROOT / "docs" / "deviations").glob("*.md"))]
FAMILIES = sorted((ROOT / "docs" / "families").glob("*.md"))
LINKED = [ROOT / "README.md", ROOT / "CHANGELOG.md",
          *sorted(p for folder in ("docs", "examples", "grammar") for p in (ROOT / folder).rglob("*.md"))]
BLOCK = re.compile(r"(<!-- fresh -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)
NAMED = re.compile(r"(?:#|/) (\w+\.(?:py|q|p))\n")
TIMED = re.compile(r"\\ts?(:\d+)? ")


@dataclass
class Block:
    """A fenced block: its language, text, first line, and whether a new session starts with it."""

    language: str
    text: str
    line: int
    fresh: bool


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = path.read_text()
    return [Block(m[2], m[3], text.count("\n", 0, m.start(3)), bool(m[1])) for m in BLOCK.finditer(text)]


def masked(lines: list[str]) -> list[str]:
    """Lines without the numbers of handles and addresses, which count what was made before."""
    return [re.sub(r"\b[58]\d{7}\b", "########", line) for line in clean(lines)]


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


LONG = {"cookbook.md", "port.md", "distributed.md"}  # pages whose sessions take many seconds


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", [pytest.param(p, marks=pytest.mark.sampled(9)) if p.name in LONG else p for p in PAGES], ids=ids)
def test_sessions(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of a page's sessions prints what the page says."""
    check_page(path, tmp_path, monkeypatch)


def check_page(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a page's sessions and commands in a folder; assert that they print what the page says."""
    monkeypatch.chdir(tmp_path)
    Session().names.load_builtins()
    session, planted = Session(), set(registry.every())
    kinds, handles = set(registry.KINDS), set(KINDS)
    wrong = []
    try:
        for block in blocks(path):
            if block.language in ("python", "q") and (found := NAMED.match(block.text)):
                (tmp_path / found[1]).write_text(block.text)
            elif block.language == "console":
                wrong += _commands(block, tmp_path, path)
            elif block.language == "python" and "kshell" in block.text:
                (tmp_path / f"block{block.line}.py").write_text(block.text)
                session = Session()
                session.run(f"\\l block{block.line}.py")
            elif block.language == "q" and "q)" in block.text:
                session = Session() if block.fresh else session
                wrong += _differences(session, block, path)
    finally:
        for entry in set(registry.every()) - planted:
            registry.remove(entry.kind, entry.name)
        for kind in set(registry.KINDS) - kinds:
            registry.forget(kind)
        for kind in set(KINDS) - handles:
            forget(kind)
    assert not wrong, "\n".join(wrong)


def shell(command: str, folder: Path) -> list[str]:
    """What a command of the shell prints in a folder; python, kshell and torchrun are those that run the tests, and
    kshell is quiet: on a slow machine it would tell how far work is. By itself it starts at once."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name, words in (("python", ""), ("kshell", " -m kshell -q"), ("torchrun", " -m torch.distributed.run")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable}{words} "$@"\n')
        (programs / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    alone = command.startswith("kshell ") and not re.search(r"[|&;<>$`*]", command)
    words = [sys.executable, "-m", "kshell", "-q", *shlex.split(command)[1:]] if alone else ["bash", "-c", command]
    start: Any = warm.run if alone else subprocess.run
    done = start(words, cwd=folder, env=env, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.replace(str(folder), "").splitlines()


def _commands(block: Block, folder: Path, path: Path) -> list[str]:
    wrong = []
    for step in transcript(block.text, "$ "):
        got = shell(step.text, folder)
        if clean(got) != clean(step.output):
            wrong.append(f"{path.name}:{block.line + step.line}: $ {step.text}\n" + "\n".join(got))
    return wrong


def _differences(session: Session, block: Block, path: Path) -> list[str]:
    wrong = []
    for step in transcript(block.text):
        got = console(session, step.text).splitlines()
        if TIMED.match(step.text) and got and got[0][:1].isdigit():
            continue
        if masked(got) != masked(step.output):
            wrong.append(f"{path.name}:{block.line + step.line}: q){step.text}\n" + "\n".join(got))
    return wrong


@pytest.mark.parametrize("path", LINKED, ids=ids)
def test_links(path: Path) -> None:
    """Links within the project lead to files that are there, and to headings that are there."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = path.parent / name if name else path
        assert file.exists(), f"{path.name}: {target}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(), re.M)
            slugs = {re.sub(r"[^\w\- ]", "", t.lower()).strip().replace(" ", "-") for t in titles}
            assert heading in slugs, f"{path.name}: {target}"


def test_contents_list_every_page() -> None:
    """docs/README.md links to every other page of docs."""
    docs = ROOT / "docs"
    linked = set(re.findall(r"\]\(([^)#\s]+)", (docs / "README.md").read_text()))
    assert {str(p.relative_to(docs)) for p in docs.rglob("*.md")} - linked == {"README.md"}


@pytest.mark.parametrize("path", [*PAGES, *FAMILIES, ROOT / "CONTRIBUTING.md"], ids=ids)
def test_files_named(path: Path) -> None:
    """Files of the project that a page names in code are there."""
    for name in re.findall(r"`((?:kshell|docs|tests|examples|grammar)/[\w/.]+\.\w+)`", path.read_text()):
        assert (ROOT / name).exists(), f"{path.name}: {name}"


def builder() -> Any:
    """docs/build.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec and spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    return build


def test_documented_names() -> None:
    """The list of documented names has each once, and its notes speak of names in it, with a reason."""
    kinds, notes = builder().documented()
    names = [n for found in kinds.values() for n in found]
    assert len(names) == len(set(names)) > 400
    assert set(notes) <= set(names)
    assert all(word in ("done", "different", "impossible") and reason for word, reason in notes.values())


def test_names_of_ktorch() -> None:
    """The list of ktorch's names is whole, has each once, and its notes speak of names in it; what is not here is what
    the list of gaps says: nothing."""
    build = builder()
    build.Session().names.load_builtins()
    kinds, notes = build.documented("ktorch.txt")
    gaps = set(kinds.pop("Gaps", []))
    counts = {k: len(v) for k, v in kinds.items()}
    types = counts.pop("Module types"), counts.pop("Losses"), counts.pop("Optimizers")
    assert (sum(counts.values()), *types) == (429, 128, 21, 7)
    functions = [n for k, v in kinds.items() if k not in build.MARKS for n in v]
    assert len(set(functions)) == 429
    names = {build.MARKS.get(k, "") + n for k, v in kinds.items() for n in v}
    assert set(notes) | gaps <= names
    assert build.absent() == gaps == set()
    assert all(word in ("extended", "deviates") and reason for word, reason in notes.values())
    for kind, entry in (("Module types", "module"), ("Losses", "loss"), ("Optimizers", "optimizer")):
        known = {e.name for e in registry.entries(entry) if e.since == "ktorch"}
        assert set(kinds[kind]) - known == ({"interpolate", "normalize"} if entry == "module" else set())
        assert known <= set(kinds[kind])


def test_a_name_that_is_not_there_is_a_gap() -> None:
    """The comparison that finds gaps finds one."""
    build = builder()
    build.Session().names.load_builtins()
    for kind, name, mark in (("api", "fft", ""), ("module", "zscore", "`"), ("loss", "ctc", "loss`")):
        entry = registry.find(kind, name)
        assert entry is not None
        registry.remove(kind, name)
        try:
            assert {mark + name} <= build.absent() <= {mark + name, name}
        finally:
            registry.add(entry)


def test_names_of_torch() -> None:
    """Names of torch in the list are there in torch, what each is called here is an entry but for the gaps, of which
    there are none, and every function that says it is torch's is in the list, under the name that it says."""
    import torch

    build = builder()
    build.Session().names.load_builtins()
    rows = [row for found in build.of_torch().values() for row in found]
    assert len({name for name, _, _ in rows}) == len(rows) > 110
    gaps = set(build.documented("torch.txt")[0].get("Gaps", []))
    assert {name for name, _, text in rows if text is None} == gaps == set()
    for name, word, _ in rows:
        if not has(word.strip("`")):
            continue
        found: Any = torch
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    here = {word: name for name, word, _ in rows}
    listed = [e for e in registry.entries("api") if e.since == "torch"]
    assert {e.name for e in listed} <= set(here)
    assert not [e.name for e in listed if e.target and e.target != here[e.name]]
    assert {"`" + e.name for e in registry.entries("optimizer") if e.since == "torch"} <= set(here)


def test_options_have_words() -> None:
    """Every option of a module type, loss and optimizer says what it is."""
    builder().Session().names.load_builtins()
    assert [(e.name, o.name) for k in ("module", "loss", "optimizer") for e in registry.entries(k)
            if e.since in ("ktorch", "torch") for o in e.options if not o.doc] == []


@pytest.mark.sampled(3)
def test_reference_is_current() -> None:
    """docs/reference is what `make docs` writes now; writing it makes names of programs that listen known to no session."""
    of_programs = registry.find("name", ".run.step")
    stale = builder().stale()
    assert registry.find("name", ".run.step") is of_programs
    assert not stale, f"run `make docs` and commit: docs/reference/{', docs/reference/'.join(stale)}"
