"""Damaged files and folders of all kinds: an error that names them, or values; nothing else, and nothing is written."""

from __future__ import annotations

import io
import os
import random
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from tests.checkpoints.kinds import KINDS
from tests.support.damage import damaged, memory, peak_from_here

# what looks at a checkpoint in all ways, as far as it has something to show
LOOKING = ("got:ckpt`:bad;t:ckpttable`:bad;select lo,hi,mean,norm,bad,digest from t;ckptwhy`:bad;", "got:ckptdequant`:bad;",
           "got:ckpt`:bad;ckpt(`:out;got);ckpt`:out;hdel`:out;")
WRITTEN = ["bad", "good"]
SAID = r"^ckpt\w*: bad|^bad|: bad|a part of \w+ is missing|whose numbers kshell does not compute|, which a checkpoint cannot hold$"  # what an error names


def inside(data: bytes, draw: random.Random) -> bytes:
    """A file with something wrong in one member, whose checksum is right, or in its header, whose length is."""
    if data[:4] == b"PK\3\4":
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            members = {name: z.read(name) for name in z.namelist()}
        name = draw.choice([n for n, content in members.items() if content and (n.endswith((".pkl", ".json")) or draw.random() < 0.2)] or list(members))
        members[name] = damaged(members[name], draw) if members[name] else b"x"
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            for name, content in members.items():
                z.writestr(name, content)
        return out.getvalue()
    length = int.from_bytes(data[:8], "little")
    if data[8:9] == b"{" and length < len(data):
        text = damaged(data[8:8 + length], draw)
        return len(text).to_bytes(8, "little") + text + data[8 + length:]
    return damaged(data, draw)


class Bench:
    """A good checkpoint of a kind, of which one file at a time is damaged."""

    def __init__(self, kind: str, folder: Path) -> None:
        (folder / "good").mkdir()
        self.path, _ = KINDS[kind](folder / "good")
        self.files = [self.path] if self.path.is_file() else sorted(p for p in self.path.rglob("*") if p.is_file())
        self.contents = [p.read_bytes() for p in self.files]
        self.session = Session(out=io.StringIO(), err=io.StringIO())
        self.bad = folder / "bad"
        self.tried = self.refused = 0

    def make(self, draw: random.Random) -> None:
        """Put a damaged copy in the place of the last one."""
        if self.path.is_dir() and not self.bad.exists():
            shutil.copytree(self.path, self.bad)
        number = draw.randrange(len(self.files))
        change = draw.choice((damaged, inside))
        data = change(self.contents[number], draw) if self.contents[number] else bytes(draw.randrange(1, 50))
        name = self.bad if self.path.is_file() else self.bad / self.files[number].relative_to(self.path)
        self.last = name, self.contents[number]
        name.unlink(missing_ok=True)
        name.write_bytes(data)

    def mend(self) -> None:
        name, data = self.last
        name.unlink()
        name.write_bytes(data)

    def read(self) -> None:
        for text in LOOKING:
            self.tried += 1
            try:
                self.session.run(text)
            except QError as e:
                self.refused += 1
                assert re.search(SAID, e.text) and "\n" not in e.text and len(e.text) < 300, e.text
            self.session.run("got:t:0")


def run(kind: str, times: int, folder: Path, seed: int) -> Bench:
    """Damage a kind so many times."""
    bench, draw = Bench(kind, folder), random.Random(f"{kind} {seed}")
    shutil.copytree(bench.path, bench.bad) if bench.path.is_dir() else shutil.copy(bench.path, bench.bad)
    bench.session.run(LOOKING[0])  # the good one
    bench.session.run("got:t:0")
    start = peak_from_here()
    for _ in range(times):
        bench.make(draw)
        bench.read()
        if bench.path.is_dir():
            bench.mend()
    assert len(bench.session.handles) == 0
    assert memory("VmHWM") - start < 250 << 20
    assert sorted(os.listdir(folder)) == WRITTEN
    return bench


@pytest.mark.sampled(4)
@pytest.mark.parametrize("times", [25, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_kinds(kind: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bench = run(kind, times, tmp_path, random.randrange(1 << 30))
    assert bench.refused > bench.tried // 20
