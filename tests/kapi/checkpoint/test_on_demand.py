"""Tensors of files are read when their numbers are asked for, share memory as in the file, and never change it."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from kshell.errors import QError
from kshell.kapi.checkpoint import measured
from kshell.session import Session
from tests.checkpoints.kinds import KINDS, write_dcp

LARGE = (300, 512)  # more bytes than are copied rather than mapped


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The bytes that each read of a file asks for."""
    found: list[int] = []
    pread, preadv = os.pread, os.preadv

    def counted(fd: int, length: int, offset: int) -> bytes:
        found.append(length)
        return pread(fd, length, offset)

    def counted_into(fd: int, parts: list[memoryview], offset: int) -> int:
        found.extend(map(len, parts))
        return preadv(fd, parts, offset)

    monkeypatch.setattr(os, "pread", counted)
    monkeypatch.setattr(os, "preadv", counted_into)
    yield found


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def write(kind: str) -> str:
    """A file or folder of a kind with large tensors, two of which share memory where it can have such."""
    whole = numbers(*LARGE)
    given = {"a": whole, "b": whole[1:3], "c": numbers(4), "d": whole * 2}
    if kind == "pt":
        torch.save(given, "x.pt")
        return "x.pt"
    if kind == "legacy":
        torch.save(given, "x.bin", _use_new_zipfile_serialization=False)
        return "x.bin"
    if kind == "safetensors":
        save_file({name: t.clone() for name, t in given.items()}, "x.safetensors")
        return "x.safetensors"
    os.mkdir("x")
    write_dcp(Path("x"), {name: (tuple(t.shape), [((0,) * t.ndim, t)]) for name, t in given.items()}, {})
    return "x"


KIND = ["pt", "legacy", "safetensors", "dcp"]


@pytest.mark.parametrize("kind", KIND)
def test_nothing_is_read_before_it_is_asked_for(kind: str, session: Session, reads: list[int]) -> None:
    path = write(kind)
    session.run(f"d:ckpt`:{path}")
    assert sum(reads) < 200_000
    opening = len(reads)
    session.run("key d;count d;e:d;f:`x`y!(d`a;d`d);n:d`a;type d;string d;t:ckpttable(d;0b)")
    session.run(f"t:ckpttable`:{path};cols t;select name,size,bytes,dtype from t")
    assert sum(reads) < 400_000 and max(reads) < 100_000
    reads.clear()
    session.run("x:tensor d`c")
    assert sum(reads) < 100_000 and opening
    assert torch.equal(session.run("d`c").obj, numbers(4))
    assert torch.equal(session.run("d`a").obj, numbers(*LARGE))


@pytest.mark.parametrize("kind", ["pt", "legacy"])
def test_shared_memory(kind: str, session: Session) -> None:
    path = write(kind)
    before = Path(path).read_bytes()
    session.run(f"d:ckpt`:{path};d[`b;0;0]:9e")
    assert session.run("9e~first first 1_tensor d`a") is True
    assert session.run("d`a").obj.untyped_storage().data_ptr() == session.run("d`b").obj.untyped_storage().data_ptr()
    assert session.run("d`d").obj.untyped_storage().data_ptr() != session.run("d`a").obj.untyped_storage().data_ptr()
    assert Path(path).read_bytes() == before
    assert session.run(f"(tensor(ckpt`:{path})`b)~tensor(ckpt`:{path})[`a][1 2]") is True  # a second opening has its own


@pytest.mark.parametrize("kind", KIND)
def test_a_change_in_memory_is_not_one_of_the_file(kind: str, session: Session) -> None:
    path = write(kind)
    files = [Path(path)] if Path(path).is_file() else sorted(Path(path).iterdir())
    before = [p.read_bytes() for p in files]
    session.run(f"d:ckpt`:{path};d[`a;0]:7e;d[`c;1]:8e;d[`d]*:2")
    session.run("d[`a]:d`a;x:d`a")
    session.run("x").obj.zero_()
    assert session.run("d`a").obj.abs().sum() == 0
    assert [p.read_bytes() for p in files] == before
    assert torch.equal(session.run(f"(ckpt`:{path})`a").obj, numbers(*LARGE))


# ------------------------------------------------------------------ files that change


@pytest.mark.parametrize("kind", KIND)
def test_a_file_that_is_replaced_stays_readable(kind: str, session: Session) -> None:
    path = write(kind)
    session.run(f"d:ckpt`:{path};a:d`a;tensor a")
    os.rename(path, "old")
    if kind == "dcp":
        os.mkdir(path)
        write_dcp(Path(path), {"a": ((3,), [((0,), torch.zeros(3))])}, {})
    else:
        torch.save({"a": torch.zeros(3)}, path)
    assert torch.equal(session.run("d`d").obj, numbers(*LARGE) * 2) and torch.equal(session.run("a").obj, numbers(*LARGE))
    shutil.rmtree("old") if kind == "dcp" else os.unlink("old")
    assert torch.equal(session.run("d`c").obj, numbers(4))


@pytest.mark.parametrize("kind", KIND)
@pytest.mark.parametrize("how", ["cut", "longer", "rewritten", "touched"])
def test_a_file_that_is_changed_in_place(kind: str, how: str, session: Session) -> None:
    path = write(kind)
    session.run(f"d:ckpt`:{path};t:ckpttable`:{path}")
    file = path if kind != "dcp" else "x/__0_0.distcp"
    state = os.stat(file)
    data = Path(file).read_bytes()
    with open(file, "r+b") as f:
        if how == "cut":
            f.truncate(len(data) // 2)
        elif how == "longer":
            f.seek(0, os.SEEK_END)
            f.write(b"x")
        elif how == "rewritten":
            f.write(data[:100][::-1])
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1_000_000_000))
    for text in ("tensor d`a", "d[`a]+1", "d[`d;0]:1e", "select norm from t", "select digest from t", "ckpt(`:y.pt;d)", "ckpt(`:y.safetensors;d)"):
        with pytest.raises(QError, match=r"has changed since it was opened|is cut off|is damaged"):
            session.run(text)
    assert not Path("y.pt").exists() and not Path("y.safetensors").exists()
    assert session.run("count key d") == 4


def test_a_wrong_checksum_is_found_when_numbers_are_read(session: Session) -> None:
    write("pt")
    data = bytearray(Path("x.pt").read_bytes())
    at = data.index(numbers(*LARGE).numpy().tobytes()[:64])
    data[at + 1000] ^= 1
    Path("x.pt").write_bytes(data)
    session.run("d:ckpt`:x.pt")
    for text in ("tensor d`a", "select norm from ckpttable`:x.pt where name=`a"):
        with pytest.raises(QError, match=r"x\.pt is damaged: .* has a wrong checksum"):
            session.run(text)
    assert torch.equal(session.run("d`c").obj, numbers(4))


# ------------------------------------------------------------------ statistics


def test_only_what_is_asked_for_is_computed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    write("pt")
    asked: list[tuple[str, tuple[int, ...]]] = []
    for names, work in [(pair[0], pair[1]) for pair in measured._PASSES]:
        def counted(tensor: Any, maps: Any, names: Any = names, work: Any = work) -> Any:
            asked.append((names[0], tensor.shape))
            return work(tensor, maps)
        monkeypatch.setattr(measured, "_PASSES", [(n, counted if n == names else w) for n, w in measured._PASSES])
    session.run("t:ckpttable`:x.pt;select name,size from t;count t;cols t")
    assert not asked
    session.run("select norm from t where name=`c")
    assert asked == [("norm", (4,))]
    session.run("select norm,bad from t where name=`c;exec bad from t where name=`c")
    assert asked == [("norm", (4,))]  # once
    session.run("select lo,hi,mean from t where name in`b`c")
    assert asked[1:] == [("lo", (2, 512)), ("lo", (4,))]
    session.run("select[2] digest from t;digest:exec first digest from t where name=`a")
    assert [name for name, _ in asked].count("digest") <= 4
    asked.clear()
    session.run("exec norm from t")
    assert sorted(asked) == sorted(("norm", shape) for shape in (LARGE, (2, 512), LARGE))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64", "float8_e4m3fn"])
def test_statistics_are_numpys(dtype: str, session: Session) -> None:
    found = np.random.default_rng(3).standard_normal((700, 70)) * 9
    found[3, 5:9] = 0
    t = torch.from_numpy(found).to(getattr(torch, dtype)) if dtype != "bool" else torch.from_numpy(found) > 0
    if dtype in ("float32", "float64", "float16", "bfloat16"):
        t[0, 0], t[1, 1], t[2, 2] = torch.inf, -torch.inf, torch.nan
    torch.save({"t": t, "part": t[::3, 1::2], "none": t[:0]}, "x.pt")
    session.run("r:ckpttable`:x.pt")
    for name, part in (("t", t), ("part", t[::3, 1::2])):
        x = torch.view_as_real(part.contiguous()).numpy() if t.is_complex() else part.double().numpy()
        x = x.astype(np.float64)
        finite = x[np.isfinite(x)]
        norm, bad, low, high, mean, zeros = (session.run(f"first exec {column} from r where name=`{name}")
                                             for column in ("norm", "bad", "lo", "hi", "mean", "sparsity"))
        with np.errstate(all="ignore"):
            wanted = np.sqrt(np.square(x).sum())
        assert float(norm) == pytest.approx(wanted, rel=1e-7, nan_ok=True)
        assert bad == (~np.isfinite(x)).sum()
        assert (low, high) == (finite.min(), finite.max()) and mean == pytest.approx(finite.mean(), rel=1e-7)
        assert zeros == pytest.approx((x == 0).mean())
    session.run("n:select from r where name=`none;n:first each flip n")
    assert session.run("(0f~n`norm)and(0=n`bad)and null n`lo") is True


def test_norms_of_very_small_and_large_numbers(session: Session) -> None:
    """Squares that single precision does not hold, as moments of optimizers have."""
    whole = numbers(700)
    given = {"small": whole * 1e-22, "large": whole * 1e25, "mixed": torch.cat([whole, whole * 1e-22, torch.zeros(600)]), "one": whole.abs().ceil()}
    torch.save(given, "x.pt")
    session.run("r:ckpttable`:x.pt")
    for name, t in given.items():
        assert session.run(f"first exec norm from r where name=`{name}") == pytest.approx(float(np.linalg.norm(t.double().numpy())), rel=1e-7)


def test_a_digest_is_that_of_the_bytes(session: Session) -> None:
    import hashlib

    write("pt")
    assert session.run("exec first digest from ckpttable`:x.pt where name=`b").s == hashlib.sha256(numbers(*LARGE)[1:3].numpy().tobytes()).hexdigest()


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_every_kind(kind: str, session: Session, tmp_path: Path) -> None:
    """Of a file, and of the value that was read of it: the same names, sizes, norms."""
    folder = tmp_path / "in"
    folder.mkdir()
    path, wanted = KINDS[kind](folder)
    shutil.move(path, "x") if path != folder else os.rename(folder, "x")
    session.run("t:ckpttable`:x;d:ckpt`:x")
    assert session.run("count t") >= len(wanted)
    session.run("u:ckpttable d")
    if "full" not in next(iter(wanted), "") and kind not in ("npy", "bare"):
        assert session.run("(select name,dtype,size,bytes,norm,bad from t)~u") is True
    assert session.run("(count t)=count ckptdequant`:x") is True
    session.run("select norm,bad,lo,hi,mean,sparsity,digest from t;ckptwhy`:x")


@pytest.mark.parametrize("kind", KIND)
def test_a_file_is_closed_when_nothing_of_it_is_used(kind: str, session: Session) -> None:
    path = write(kind)
    session.run(f"d:ckpt`:{path};d:0")
    gc.collect()
    gc.disable()  # no cycle keeps it open until it is collected
    try:
        before = os.listdir("/proc/self/fd")
        session.run(f"d:ckpt`:{path};e:d`a;d:0;t:ckpttable`:{path};select norm from t;w:ckptwhy`:{path}")
        session.run("tensor e;e:t:w:0")
        assert os.listdir("/proc/self/fd") == before
    finally:
        gc.enable()
