"""Damaged and hostile files: an error that changes nothing, or just what was saved; never code, never much memory."""

from __future__ import annotations

import copy
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kshell.errors import QError
from kshell.kapi.checkpoint.state_dicts import from_q
from kshell.session import Session
from tests import ROOT
from tests.kapi.checkpoint.hostile import CASES, OPENS, snapshot, stored
from tests.support import warm
from tests.support.damage import STATE, WHOLE, damaged, memory, peak_from_here, reading, size_of

BEYOND = 64 << 20  # bytes of memory that reading a file may need beside twice its size


# ------------------------------------------------------------------ made by hand


class Reader:
    """Asks a process that reads hostile files; another one, if it has died."""

    def __init__(self) -> None:
        self.process: warm.Process | None = None

    def ask(self, name: str, folder: Path) -> dict[str, Any]:
        if self.process is None:
            env = {**os.environ, "OMP_NUM_THREADS": "1"}
            self.process = warm.Process([sys.executable, "-m", "tests.kapi.checkpoint.hostile"], stdin=subprocess.PIPE,
                                        text=True, stdout=subprocess.PIPE, env=env, cwd=ROOT)
        p = self.process
        assert p.stdin and p.stdout
        p.stdin.write(json.dumps([name, str(folder)]) + "\n")
        p.stdin.flush()
        found = p.stdout.readline()
        if found:
            return json.loads(found)  # type: ignore[no-any-return]
        self.process = None
        return {"error": f"the process ended with {p.wait()}", "whole": False, "beyond": 0}

    def close(self) -> None:
        if self.process is not None:
            self.process.communicate()


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    made = Reader()
    yield made
    made.close()


@pytest.mark.sampled(6)
@pytest.mark.xdist_group("hostile files")  # one process reads them all
@pytest.mark.parametrize("name", CASES)
def test_hostile_files(name: str, reader: Reader, tmp_path: Path) -> None:
    found = reader.ask(name, tmp_path)
    if CASES[name].error != OPENS:
        assert found["error"] is not None and re.search(CASES[name].error, found["error"]), found
    assert found["whole"], found
    assert found["beyond"] <= BEYOND, found
    assert not list(tmp_path.rglob("ran")) and not (ROOT / "ran").exists()
    shutil.rmtree(tmp_path)  # some are large


def test_there_are_enough() -> None:
    assert len(CASES) >= 36


# ------------------------------------------------------------------ at random

MADE = {
    "ks": "snapshot`:good.ks",
    "pt": "ckpt(`:good.pt;m)",
    "safetensors": "ckpt(`:good.safetensors;mine)",
    "folder": "ckpt(`:good;mine;200)",
}
PARTS = "mine:(`w`h`i,key s)!(w;tensor(1 2e;`bfloat16);tensor til 9),value s:(ckpt`:good.pt)`module;"


def equal(a: Any, b: Any) -> bool:
    """Are two Python values of checkpoints the same, tensors in all bits?"""
    import torch

    if isinstance(a, torch.Tensor):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and torch.equal(
            a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and bool(a == b)


def same(session: Session) -> bool:
    return session.run("before~" + STATE) is True


class Bench:
    """A good file, and a session that reads damaged copies of it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        s = Session(out=io.StringIO(), err=io.StringIO())
        s.run(WHOLE)
        s.run("ckpt(`:good.pt;m);" + PARTS + MADE[kind])
        self.saved = s.run(STATE)
        self.good = Path("good" if kind == "folder" else f"good.{kind}")
        self.bad = Path("bad" if kind == "folder" else f"bad.{kind}")
        self.fresh()
        self.peak = 0

    def fresh(self) -> None:
        """Another session, which has other values under the same names."""
        self.session = Session(out=io.StringIO(), err=io.StringIO())
        self.session.run(WHOLE.replace("50", "60").replace(".1", ".2"))
        self.session["before"] = self.session.run(STATE)
        self.session["saved"] = self.saved
        if self.kind != "ks":
            self.session.run(f"good:{reading(self.good)}")
            self.held = from_q(self.session["good"])

    def damage(self, rng: random.Random) -> None:
        if self.kind != "folder":
            self.bad.write_bytes(damaged(self.good.read_bytes(), rng))
            return
        shutil.rmtree(self.bad, ignore_errors=True)
        shutil.copytree(self.good, self.bad)
        files = sorted(self.bad.iterdir())
        victim = rng.choice(files)
        what = rng.random()
        if what < 0.05:
            victim.unlink()
        elif what < 0.1:
            other = rng.choice([f for f in files if f != victim])
            a, b = victim.read_bytes(), other.read_bytes()
            victim.write_bytes(b)
            other.write_bytes(a)
        else:
            victim.write_bytes(damaged(victim.read_bytes(), rng))

    def read(self) -> bool:
        """Read the damaged copy; was it refused?"""
        s = self.session
        handles = len(s.handles)
        start = peak_from_here()
        error = None
        try:
            s.run(("" if self.kind == "ks" else "got:") + reading(self.bad))
        except QError as e:
            error = e
        self.peak = max(self.peak, memory("VmHWM") - start - 2 * size_of(self.bad))
        if error is not None:
            assert self.bad.name in error.text and "\n" not in error.text and len(error.text) < 256, error.text
            assert len(s.handles) == handles and same(s)
            return True
        if self.kind == "ks":
            assert s.run("saved~" + STATE)
            self.fresh()
        else:
            assert equal(self.held, from_q(s["got"]))
            s.run("got:0")
        return False


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "times"), [
    *((k, 75) for k in MADE),
    *(pytest.param(k, n, marks=pytest.mark.slow) for k, n in (("ks", 1000), ("pt", 800), ("safetensors", 600), ("folder", 600)))])
def test_files_damaged_at_random(kind: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bench, rng = Bench(kind), random.Random(times)
    refused = 0
    for _ in range(times):
        bench.damage(rng)
        refused += bench.read()
    assert refused > 0.6 * times
    assert bench.peak < BEYOND
    assert not Path("ran").exists()
    print(f"{kind}: {times} damaged, {refused} refused, {times - refused} as saved, at most {bench.peak >> 20} MB "
          "beside twice the file")


# ------------------------------------------------------------------ descriptions with other contents


def changed(m: Any, rng: random.Random) -> Any:
    """A manifest with one of its values another, gone, there again or exchanged; its checksum will be right."""
    found: list[tuple[Any, Any]] = []

    def walk(x: Any) -> None:
        for k, v in x.items() if isinstance(x, dict) else enumerate(x):
            found.append((x, k))
            if isinstance(v, dict | list):
                walk(v)

    walk(m)
    owner, key = rng.choice(found)
    kind = rng.randrange(6)
    if kind == 0:
        del owner[key]
    elif kind == 1:
        other, k = rng.choice(found)
        owner[key] = copy.deepcopy(other[k])
    elif kind == 2 and isinstance(owner, list):
        owner.insert(key, copy.deepcopy(owner[key]))
    elif kind == 3 and owner[key].__class__ is int:
        owner[key] += rng.choice((-1, 1, 1 << 31, -(1 << 63)))
    else:
        owner[key] = rng.choice((None, True, -1, 0, 10**9, 1.5, "", "x", "`x", [], {}, [[]], {"a": 1}, "..", 1 << 70))
    return m


@pytest.mark.sampled(3)
@pytest.mark.parametrize("times", [75, pytest.param(1500, marks=pytest.mark.slow)])
def test_manifests_with_other_contents(times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A q error that changes nothing, or a session that works; the checksums are right, so what is read may differ."""
    monkeypatch.chdir(tmp_path)
    bench, rng = Bench("ks"), random.Random(times)
    held = snapshot()
    refused = 0
    for _ in range(times):
        m = changed(json.loads(held["manifest.json"]), rng)
        bench.bad.write_bytes(stored([*{**held, "manifest.json": json.dumps(m).encode()}.items()]))
        s = bench.session
        handles, start = len(s.handles), peak_from_here()
        names = s.run("value`.")
        try:
            s.run(reading(bench.bad))
        except QError as e:
            assert "\n" not in e.text and len(e.text) < 256
            refused += 1
            assert len(s.handles) == handles and same(s), json.dumps(m)
            s["names"] = names
            assert s.run("names~`names _ value`."), json.dumps(m)
            s.run("delete names from `.")
        else:
            assert s.run("1+1") == 2
            for name in s.names.members("."):
                try:
                    s.show(s.run(name))
                except QError:
                    pass
            bench.fresh()
        assert memory("VmHWM") - start < BEYOND + 2 * size_of(bench.bad)
    assert refused > 0.3 * times
    print(f"{times} manifests, {refused} refused")


@pytest.mark.parametrize("times", [100, pytest.param(4000, marks=pytest.mark.slow)])
def test_pickles_with_other_contents(times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A q error that changes nothing, or a value that can be shown and saved; the checksums are right."""
    monkeypatch.chdir(tmp_path)
    bench, rng = Bench("pt"), random.Random(times)
    with zipfile.ZipFile(bench.good) as z:
        held = {i: z.read(i) for i in z.namelist()}
    (pickled,) = (k for k in held if k.endswith("data.pkl"))
    names = [b"cposix\nsystem\n", b"c__builtin__\neval\n", b"ctorch\nTensor\n", b"ctorch.storage\nUntypedStorage\n"]
    refused = 0
    s = bench.session
    for _ in range(times):
        data = damaged(held[pickled], rng)
        for _ in range(rng.randrange(3)):  # an operation in another's place
            at = rng.randrange(len(data) + 1)
            data = data[:at] + rng.choice([*names, *(bytes([b]) for b in b"()]}tRbQaseu0012NK")]) + data[at + 1 :]
        bench.bad.write_bytes(stored([*{**held, pickled: data}.items()]))
        handles, start = len(s.handles), peak_from_here()
        try:
            s.run("got:" + reading(bench.bad))
        except QError as e:
            assert "\n" not in e.text and len(e.text) < 256
            refused += 1
            assert len(s.handles) == handles
        else:
            s.show(s["got"])
            s.run("@[{ckpt(`:again.pt;x)};got;::];got:0")
        assert memory("VmHWM") - start < BEYOND + 2 * size_of(bench.bad)
    assert same(s) and not Path("ran").exists()
    assert refused > 0.5 * times
    print(f"{times} pickles, {refused} refused")
