"""Bytes that go from file to file as they are: copied by the system or, where it cannot, read and written; with their
checksums, if they have some."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from kshell.checkpoints.base import copying
from kshell.checkpoints.files import safetensors
from kshell.errors import QError
from kshell.session import Session
from kshell.values.session.interrupts import PENDING
from tests import ROOT

SUMS = "kshell_crc32"
# several turns of copying, small ones, and other types
TENSORS = {"a.w": torch.arange(300_000.0), "a.b": torch.ones(7), "b.w": torch.arange(200_000).bfloat16(),
           "n": torch.arange(50_000), "z": torch.zeros(0, 3), "one": torch.tensor(5.0)}
REAL = os.copy_file_range


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(copying, "_TURN", 1 << 18)
    save_file(TENSORS, "theirs.safetensors")
    torch.save({"model": TENSORS, "epoch": 3}, "theirs.pt")
    s = Session()
    s.run("ckpt(`:ours.safetensors;ckpt`:theirs.safetensors)")
    s.run("ckpt(`:summed.safetensors;clone each ckpt`:theirs.safetensors)")  # new tensors get checksums
    return s


def meta(path: str) -> dict[str, str]:
    data = Path(path).read_bytes()
    found: dict[str, str] = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    return found


def same(path: str, prefix: str = "") -> None:
    """It has the tensors, as others read them."""
    found = load_file(path) if path.endswith(".safetensors") else torch.load(path)["model"]
    assert {*found} == {prefix + name for name in TENSORS}
    for name, tensor in TENSORS.items():
        assert torch.equal(found[prefix + name], tensor), name


def calls(monkeypatch: pytest.MonkeyPatch, instead: Callable[..., int] = REAL) -> list[int]:
    """The bytes of each request to the system, for which another function may stand."""
    asked: list[int] = []

    def copy(source: int, target: int, count: int, *places: int) -> int:
        asked.append(count)
        return instead(source, target, count, *places)

    monkeypatch.setattr(os, "copy_file_range", copy)
    return asked


RENAME = "ckptrename(`:{0};\"^\";\"new.\";(`to;`:{1}))"


def test_checksums_go_with_the_bytes(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not computed again; where there is none, there is none; the digest is right."""
    asked = calls(monkeypatch)
    session.run(RENAME.format("summed.safetensors", "b.safetensors"))
    assert asked and meta("b.safetensors")[SUMS] == meta("summed.safetensors")[SUMS]
    assert "0" * 8 not in [meta("b.safetensors")[SUMS][8 * i:8 * i + 8] for i in range(3)]
    session.run(RENAME.format("theirs.safetensors", "c.safetensors"))
    assert meta("c.safetensors")[SUMS] == "0" * 8 * len(TENSORS)
    for path in ("b.safetensors", "c.safetensors"):
        same(path, "new.")
        assert session.run(f"exec sum bad from ckpttable`:{path}") == 0
        data = bytearray(Path(path).read_bytes())
        data[8:8 + int.from_bytes(data[:8], "little")] = data[8:8 + int.from_bytes(data[:8], "little")].replace(b"new.one", b"new.two")
        Path("d.safetensors").write_bytes(data)
        with pytest.raises(QError, match="the digest is another"):
            session.run("ckpt`:d.safetensors")


@pytest.mark.parametrize("source", ["summed.safetensors", "theirs.pt"])
def test_damage_is_found_in_the_copy(source: str, session: Session) -> None:
    data = bytearray(Path(source).read_bytes())
    at = data.index(TENSORS["a.w"].numpy().tobytes()[4:400])
    data[at + 1000] ^= 1
    Path("x" + source).write_bytes(data)
    for target in ("y.safetensors", "y.pt"):
        part = "`model " if source.endswith(".pt") else " "
        session.run(f"ckpt(`:{target};(ckpt`:x{source}){part.strip()})")
        session.run(f"d:ckpt`:{target}")
        with pytest.raises(QError, match="wrong checksum"):
            session.run("tensor d`a.w")
        assert session.run("count tensor d`n") == 50_000


def test_members_of_a_zip(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A .pt file is one for Python and torch, also into the other form."""
    asked = calls(monkeypatch)
    session.run("d:ckpt`:theirs.pt;d[`epoch]:4;ckpt(`:b.pt;d);ckpt(`:b.safetensors;d`model)")
    assert len(asked) > 6
    same("b.pt")
    same("b.safetensors")
    assert torch.load("b.pt")["epoch"] == 4
    with zipfile.ZipFile("b.pt") as new, zipfile.ZipFile("theirs.pt") as old:
        assert new.testzip() is None
        crcs = [{i.CRC for i in z.infolist() if "/data/" in i.filename} for z in (new, old)]
    assert crcs[0] == crcs[1]
    assert {int(meta("b.safetensors")[SUMS][8 * i:8 * i + 8], 16) for i in range(len(TENSORS))} == crcs[0]
    # where the zip has none, it is computed: other programs ask for one
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"model": TENSORS}, "none.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    session.run("ckpt(`:c.pt;ckpt`:none.pt)")
    with zipfile.ZipFile("c.pt") as new:
        assert new.testzip() is None


@pytest.mark.parametrize("how", [errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, 0])
@pytest.mark.parametrize("after", [0, 3])
def test_where_the_system_cannot(how: int, after: int, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes are read and written, also when it stops in the middle of some."""
    done: list[int] = []

    def refusing(source: int, target: int, count: int, *places: int) -> int:
        done.append(count)
        if len(done) % (after + 1) == 0:
            if how:
                raise OSError(how, os.strerror(how))
            return 0
        return REAL(source, target, min(count, 5000), *places)

    calls(monkeypatch, refusing)
    session.run(RENAME.format("summed.safetensors", "b.safetensors"))
    session.run("ckpt(`:b.pt;ckpt`:theirs.pt)")
    assert len(done) > 3
    same("b.safetensors", "new.")
    same("b.pt")
    assert session.run("exec sum bad from ckpttable`:b.safetensors") == 0


def test_another_file_system(session: Session) -> None:
    if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(".").st_dev:
        pytest.skip("there is one file system")
    folder = tempfile.mkdtemp(dir="/dev/shm")
    try:
        session.run(RENAME.format("summed.safetensors", f"{folder}/b.safetensors").replace(f"`:{folder}/b.safetensors", f'`$":{folder}/b.safetensors"'))
        same(f"{folder}/b.safetensors", "new.")
        session.run(f'ckpt(`:back.safetensors;ckpt`$":{folder}/b.safetensors")')
        same("back.safetensors", "new.")
        assert meta("back.safetensors")[SUMS] == meta("summed.safetensors")[SUMS]
    finally:
        shutil.rmtree(folder)


def test_other_errors_leave_the_old_file(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is an error; so is a source that changes meanwhile."""
    before = Path("ours.safetensors").read_bytes()

    def full(*_: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def changing(*given: int) -> int:
        os.utime("summed.safetensors", ns=(1, 1))
        return REAL(*given)

    for instead, text in ((full, "space"), (changing, "has changed since it was opened")):
        with monkeypatch.context() as patch:
            calls(patch, instead)
            with pytest.raises(QError, match=text):
                session.run(RENAME.format("summed.safetensors", "ours.safetensors"))
        assert Path("ours.safetensors").read_bytes() == before
        assert not [name for name in os.listdir() if name.startswith(".kshell")]


def test_an_interrupt_is_seen_between_turns(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Path("ours.safetensors").read_bytes()
    for source, target in (("summed.safetensors", "ours.safetensors"), ("theirs.pt", "b.pt")):
        asked: list[int] = []

        def stopping(*given: int, asked: list[int] = asked) -> int:
            asked.append(given[2])
            if len(asked) == 1:
                PENDING.append(signal.SIGINT)
            return REAL(*given)

        with monkeypatch.context() as patch:
            calls(patch, stopping)
            with pytest.raises(QError, match="stop"):
                session.run(f"ckpt(`:{target};ckpt`:{source})")
        assert 1 <= len(asked) <= 4 and not PENDING  # of more than ten
    assert Path("ours.safetensors").read_bytes() == before and not Path("b.pt").exists()


def test_killed_while_bytes_are_copied(session: Session) -> None:
    """The old file is whole, and what was begun is swept."""
    program = """
import os, signal, sys
from kshell.checkpoints.base import copying
from kshell.session import Session
copying._TURN = 1 << 18
real, count = os.copy_file_range, []
def copy(*given):
    count.append(1)
    if len(count) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given)
os.copy_file_range = copy
Session().run('ckptrename(`:summed.safetensors;"^";"new.";(`to;`:summed.safetensors))')
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert [name for name in os.listdir() if name.startswith(".kshell")]
    same("summed.safetensors")
    session.run("ckptrename(`:summed.safetensors;\"^\";\"new.\";(`to;`:summed.safetensors))")
    same("summed.safetensors", "new.")
    assert not [name for name in os.listdir() if name.startswith(".kshell")]


def test_neighbours_are_copied_at_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"t{i}": torch.full((256,), float(i)) for i in range(5000)}
    save_file(many, "many.safetensors")
    monkeypatch.setattr(copying, "_TURN", 1 << 25)
    asked = calls(monkeypatch)
    session.run(RENAME.format("many.safetensors", "b.safetensors"))
    assert asked == [5000 * 1024] or len(asked) < 300  # names are in another order than bytes
    found = load_file("b.safetensors")
    assert all(torch.equal(found[f"new.t{i}"], many[f"t{i}"]) for i in range(0, 5000, 37))


def test_copied_and_made_tensors(session: Session) -> None:
    """In one file: those that are cast, those that are not, and parts of memory that several tensors share."""
    session.run("ckptcast(`:summed.safetensors;`float16;`a.w`one;1;(`to;`:b.safetensors))")
    found = load_file("b.safetensors")
    for name, tensor in TENSORS.items():
        assert torch.equal(found[name], tensor.half() if name in ("a.w", "one") else tensor), name
    old, new = (dict(zip(sorted(load_file(p), key=lambda n, p=p: _place(p, n)), _sums(p), strict=True))
                for p in ("summed.safetensors", "b.safetensors"))
    assert old["n"] == new["n"] != "0" * 8 and old["a.w"] != new["a.w"] != "0" * 8
    shared = torch.arange(100_000.0)
    torch.save({"first": shared[:50_000], "last": shared[50_000:], "odd": shared[::2], "square": shared.reshape(100, 1000).T}, "s.pt")
    session.run("ckpt(`:s.safetensors;ckpt`:s.pt)")
    found = load_file("s.safetensors")
    assert torch.equal(found["last"], shared[50_000:]) and torch.equal(found["first"], shared[:50_000])
    assert torch.equal(found["odd"], shared[::2]) and torch.equal(found["square"], shared.reshape(100, 1000).T)
    assert session.run("exec sum bad from ckpttable`:s.safetensors") == 0


def _place(path: str, name: str) -> Any:
    data = Path(path).read_bytes()
    return json.loads(data[8:8 + int.from_bytes(data[:8], "little")])[name]["data_offsets"]


def _sums(path: str) -> list[str]:
    text = meta(path)[safetensors.SUMS]
    return [text[i:i + 8] for i in range(0, len(text), 8)]
