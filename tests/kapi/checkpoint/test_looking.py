"""What loading a file in Python would run, as a table; whole modules as state_dicts; tensors as what they stand for."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch

from kshell.errors import QError
from kshell.session import Session
from tests.checkpoints.kinds import KINDS, zipped
from tests.checkpoints.making import Made, Name, save

pytestmark = pytest.mark.filterwarnings("ignore")


def rows(session: Session, path: str) -> set[tuple[str, ...]]:
    """name, how, known, times of each row."""
    session.run(f"w:ckptwhy`:{path}")
    columns = [session.run(f"string each exec {name} from w") for name in ("name", "how", "known", "times")]
    return {tuple(bytes(item.a).decode() if hasattr(item, "a") else str(item) for item in row)
            for row in zip(*(column.items for column in columns), strict=True)}


def test_what_a_file_would_run(session: Session) -> None:
    save({"run": Made("os.system", ("touch ran",), call=True), "again": Made("os.system", ("x",), call=True), "cls": Name("a_program.Net"),
          "o": Made("a_program.Net", (), {"x": np.float64(1)}), "t": torch.ones(2), "d": OrderedDict(a=1)}, "x.pt")
    session.run("w:ckptwhy`:x.pt")
    assert session.run("(cols w)~`name`how`known`times`file") is True
    for name, how, known, times in [("os.system", "call", 0, 2), ("a_program.Net", "new", 0, 1), ("torch._utils._rebuild_tensor_v2", "call", 1, 1),
                                    ("torch.FloatStorage", "name", 1, 1), ("numpy._core.multiarray.scalar", "call", 1, 1),
                                    ("collections.OrderedDict", "call", 1, 2)]:
        got = session.run(f"exec (how;known;times) from w where name=`$\"{name}\"")
        assert session.run(f"{{((enlist`{how};enlist {known}b;enlist {times})~x)}}exec (how;known;times) from w where name=`$\"{name}\"") is True, (name, got)
    assert not Path("ran").exists()
    assert session.run("exec all file=`x.pt from w") is True


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_asked(kind: str, session: Session) -> None:
    path, _ = KINDS[kind](Path("."))
    session.run(f"w:ckptwhy`$\":{path}\"")
    if kind in ("safetensors", "npy", "npz", "gguf", "sharded", "hf_shards"):
        assert session.run("count w") == 0
    else:
        assert session.run("count w") > 0


def test_what_a_folder_would_run(session: Session) -> None:
    """Also what its tensors do not need: in a file of shards, in the metadata of torch.distributed.checkpoint, in a tar."""
    called = b"cos\nsystem\n(S'touch ran'\ntR0"
    for kind, file in (("sharded_bin", "pytorch_model-00001-of-00002.bin"), ("dcp", ".metadata"), ("tar", "a.tar")):
        os.mkdir(kind)
        path, _ = KINDS[kind](Path(kind))
        changed = path / file if path.is_dir() else path
        data = changed.read_bytes()
        if kind == "sharded_bin":
            with zipfile.ZipFile(io.BytesIO(data)) as z:
                members = {name: z.read(name) for name in z.namelist()}
            name = next(name for name in members if name.endswith("data.pkl"))
            members[name] = members[name][:2] + called + members[name][2:]
            zipped(changed, members)
        elif kind == "dcp":
            changed.write_bytes(data[:2] + called + data[2:])
        else:
            with tarfile.open(path) as old:
                parts = {member.name: old.extractfile(member).read() for member in old}  # type: ignore[union-attr]
            parts["storages"] = parts["storages"][:2] + called + parts["storages"][2:]
            with tarfile.open(path, "w") as new:
                for name, content in parts.items():
                    info = tarfile.TarInfo(name)
                    info.size = len(content)
                    new.addfile(info, io.BytesIO(content))
        assert session.run(f"exec (how;times) from ckptwhy`$\":{path}\" where name in`os.system`posix.system").items[1].a.tolist() == [1], kind
    assert not Path("ran").exists()


def test_a_whole_module(session: Session) -> None:
    """Its tensors by name, for those who take a state_dict."""
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    torch.save(net, "net.pt")
    torch.save({"net": net, "epoch": 3}, "more.pt")
    session.run("m:module seq(`sequential;(`linear;3;4);`relu;(`linear;4;2))")
    blank = {k: torch.zeros_like(t) for k, t in net.state_dict().items()}
    for text in ("load(m;`:net.pt)", "putstate(m;ckpt`:net.pt)", "putstate(m;(ckpt`:more.pt)`net)"):
        session["m"].obj.load_state_dict(blank)
        session.run(text)
        assert all(torch.equal(a, b) for a, b in zip(session["m"].obj.state_dict().values(), net.state_dict().values(), strict=True)), text
    session.run("n:(ckpt`:more.pt)`net")
    assert session.run("exec name from ckpttable n").items[0].s == "0.weight"


def test_what_cannot_be_asked(session: Session) -> None:
    for text in ("ckptwhy 5", "ckptwhy`:none.pt", "ckptdequant`x`y", "ckptdequant`:none.pt", "ckpttable(`:none.pt;2)", "ckpttable`:none.pt",
                 "ckpt`:none.pt", "ckpt()", "ckpt(`:a;1;2;3)", "ckpt(`:a.pt;tensor 1e;0)", "ckptdcp`:x", "ckptdcp(`:x;1;2)"):
        try:
            session.run(text)
        except QError as e:
            assert e.text.startswith(("ckpt", "none")), (text, e.text)
        else:
            pytest.fail(text)
    assert os.listdir() == []


def test_quantised_blocks(session: Session) -> None:
    path, wanted = KINDS["gguf"](Path("."))
    session.run(f"d:ckptdequant`$\":{path}\"")
    assert torch.equal(session.run("d`q").obj, wanted["q"])
    assert session.run(f"exec scheme from ckpttable`$\":{path}\" where name=`q").items[0].s == "Q8_0"
