"""Checkpoints of all kinds into live modules, and folders of torch.distributed.checkpoint that torch reads."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from kshell.errors import QError
from kshell.session import Session
from tests import ROOT
from tests.checkpoints.kinds import write_dcp
from tests.kapi.checkpoint.test_written_over import state, trained

pytestmark = pytest.mark.filterwarnings("ignore")
MODULE = "m:module seq(`sequential;(`linear;3;4);`relu;(`linear;4;2))"
NAMES = ["0.weight", "0.bias", "2.weight", "2.bias"]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run(MODULE)
    return s


def weights(seed: int = 1) -> OrderedDict[str, torch.Tensor]:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).state_dict()  # type: ignore[return-value]


def held(session: Session, name: str = "m") -> dict[str, torch.Tensor]:
    """What a module has."""
    return {k: t.clone() for k, t in session[name].obj.state_dict().items()}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def statuses(session: Session, text: str) -> dict[str, str]:
    session.run(f"r:{text}")
    names, found = (session.run(f"string exec {column} from r") for column in ("name", "status"))
    return dict(zip(map(str, words(names)), map(str, words(found)), strict=True))


def words(x: Any) -> list[str]:
    return [bytes(item.a).decode() if hasattr(item, "a") else str(item) for item in x.items]


def put(kind: str, given: Any) -> str:
    """Weights in a file or folder of a kind."""
    if kind == "safetensors":
        save_file({k: t.contiguous() for k, t in given.items()}, "x.safetensors")
    elif kind == "npz":
        np.savez("x.npz", **{k: t.numpy() for k, t in given.items()})
    elif kind == "dcp":
        os.makedirs("x.dcp", exist_ok=True)
        write_dcp(Path("x.dcp"), {k: (tuple(t.shape), [((0,) * t.ndim, t)]) for k, t in given.items()}, {})
    else:
        torch.save(given, "x." + kind, _use_new_zipfile_serialization=kind != "bin")
    return "x." + kind


@pytest.mark.parametrize("kind", ["pt", "bin", "safetensors", "npz", "dcp"])
def test_what_fitted_is_told(kind: str, session: Session) -> None:
    given = weights()
    del given["0.bias"]
    given["2.bias"], given["extra"] = torch.zeros(3), torch.ones(1)
    before = held(session)
    path = put(kind, given)
    assert statuses(session, f"load(m;`:{path})") == {
        "0.weight": "loaded", "0.bias": "missing", "2.weight": "loaded", "2.bias": "size", "extra": "unexpected"}
    assert session.run("(cols r)~`name`status`dtype`size`given") is True
    assert session.run("(enlist enlist 2;enlist enlist 3)~(exec size from r where status=`size;exec given from r where status=`size)") is True
    after = held(session)
    assert torch.equal(after["0.weight"], given["0.weight"]) and torch.equal(after["2.weight"], given["2.weight"])
    assert torch.equal(after["0.bias"], before["0.bias"]) and torch.equal(after["2.bias"], before["2.bias"])


@pytest.mark.parametrize("before", ["module.", "model.", "state_dict.", "_orig_mod.", "model.module."])
def test_names_with_what_programs_put_before_them(before: str, session: Session) -> None:
    given = {before + name: t for name, t in weights().items()}
    torch.save({**given, "epoch": 3}, "x.pt")
    assert {*statuses(session, "load(m;`:x.pt)").values()} == {"loaded"}
    assert same(held(session), weights())


@pytest.mark.parametrize("key", ["model", "module", "state_dict"])
def test_a_checkpoint_of_a_script(key: str, session: Session) -> None:
    torch.save({key: weights(), "epoch": 3, "optimizer": {"state": {}, "param_groups": []}}, "x.pt")
    assert {*statuses(session, "load(m;`:x.pt)").values()} == {"loaded"}
    assert same(held(session), weights())


def test_nothing_changes_on_an_error(session: Session) -> None:
    before = held(session)
    torch.save({k + ".other": t for k, t in weights().items()}, "x.pt")
    with pytest.raises(QError, match=r"load: nothing in x\.pt fits the module"):
        session.run("load(m;`:x.pt)")
    torch.save(weights(), "x.pt")
    data = bytearray(Path("x.pt").read_bytes())
    at = data.rindex(weights()["2.bias"].numpy().tobytes())  # the last is damaged
    data[at] ^= 1
    Path("x.pt").write_bytes(data)
    with pytest.raises(QError, match="wrong checksum"):
        session.run("load(m;`:x.pt)")
    os.mkdir("d")
    write_dcp(Path("d"), {k: (tuple(t.shape), [((0,) * t.ndim, t)] if k != "2.bias" else [((0,), t[:1])]) for k, t in weights().items()}, {})
    with pytest.raises(QError, match=r"a part of 2\.bias is missing"):
        session.run("load(m;`:d)")
    for text, why in [("load(m;`:none.pt)", "none.pt"), ("load(m;5)", "a file or folder"), ("load(`m;`:x.pt)", None), ("load(m;`:x.pt;1)", None)]:
        with pytest.raises(QError, match=why):
            session.run(text)
    assert same(held(session), before)


def test_large_parameters_are_maps_of_their_own(session: Session) -> None:
    session.run("m:module enlist(`linear;400;300);n:module enlist(`linear;400;300)")
    torch.manual_seed(5)
    given = {"weight": torch.randn(300, 400), "bias": torch.randn(300)}
    torch.save(given, "x.pt")
    before = Path("x.pt").read_bytes()
    parameter = session["m"].obj.weight
    session.run("load(m;`:x.pt);load(n;`:x.pt)")
    assert session["m"].obj.weight is parameter and torch.equal(parameter, given["weight"]) and parameter.requires_grad
    with torch.no_grad():
        parameter.add_(1)
    assert Path("x.pt").read_bytes() == before and torch.equal(session["n"].obj.weight, given["weight"])
    session["m"].obj(torch.ones(1, 400)).sum().backward()
    assert torch.equal(parameter.grad[0], torch.ones(400))
    os.unlink("x.pt")
    assert torch.equal(parameter, given["weight"] + 1) and torch.equal(session["n"].obj.bias, given["bias"])


def test_types_are_those_of_the_module(session: Session) -> None:
    given = {k: t.double() for k, t in weights().items()}
    torch.save(given, "x.pt")
    session.run("load(m;`:x.pt)")
    assert held(session)["0.weight"].dtype == torch.float32 and same(held(session), weights())
    torch.save({k: t.half() for k, t in weights().items()}, "x.pt")
    session.run("load(m;`:x.pt)")
    assert same(held(session), {k: t.half().float() for k, t in weights().items()})


@pytest.mark.parametrize("size", [3, 600])  # mapped ones too
def test_tied_parameters_stay_tied(size: int, session: Session) -> None:
    net = torch.nn.Sequential(OrderedDict(a=torch.nn.Linear(size, size), b=torch.nn.Linear(size, size)))
    net.b.weight = net.a.weight  # type: ignore[union-attr, assignment]
    given = {k: torch.full_like(t, i + 1.0) for i, (k, t) in enumerate(net.state_dict().items())}
    given["b.weight"] = given["a.weight"]
    torch.save(given, "x.pt")
    save_file({k: t.clone() for k, t in given.items()}, "x.safetensors")
    from kshell.kapi.base.handles import ModuleHandle

    session["t"] = ModuleHandle(net)
    for path in ("x.pt", "x.safetensors"):
        with torch.no_grad():
            net.a.weight.zero_()  # type: ignore[operator, union-attr]
        session.run(f"load(t;`:{path})")
        assert net.a.weight is net.b.weight and net.a.weight.data_ptr() == net.b.weight.data_ptr()  # type: ignore[union-attr, operator]
        assert same(dict(net.state_dict()), given)


# ------------------------------------------------------------------ folders of torch.distributed.checkpoint


def read_by_torch(folder: str, want: dict[str, Any]) -> dict[str, Any]:
    import torch.distributed.checkpoint as dcp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.load(want, checkpoint_id=folder, no_dist=True)
    return want


def test_torch_reads_what_is_written(session: Session) -> None:
    given = state()
    torch.save(given, "x.pt")
    session.run("d:ckpt`:x.pt;ckptdcp(`:x;d);ckptdcp(`:y;`model`step!(m;7))")
    blank = {k: torch.zeros_like(t) for k, t in given["model"].items()}
    moments = {k: torch.zeros_like(t) for k, t in given["optimizer"]["state"][0].items()}
    got = read_by_torch("x", {"model": blank, "epoch": 0, "name": "", "row": torch.zeros(3),
                              "optimizer": {"state": {0: moments, 1: {}, 2: {}}, "param_groups": given["optimizer"]["param_groups"]}})
    assert got["epoch"] == 3 and got["name"] == "a run" and torch.equal(got["row"], given["row"])
    assert same(got["model"], given["model"])
    got = read_by_torch("y", {"model": {k: torch.zeros_like(t) for k, t in weights().items()}, "step": 0})
    assert same(got["model"], held(session)) and got["step"] == 7


def test_torch_makes_a_file_of_it(session: Session) -> None:
    torch.save({"model": trained()[0].state_dict(), "n": 5, "list": [1, 2], "deep": {"a": {"b": torch.arange(3)}}}, "x.pt")
    session.run("d:ckpt`:x.pt;ckptdcp(`:x;d)")
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp_to_torch_save("x", "y.pt")
    a, b = (torch.load(path, weights_only=False) for path in ("x.pt", "y.pt"))
    assert same(a["model"], b["model"]) and b["n"] == 5 and b["list"] == [1, 2] and torch.equal(b["deep"]["a"]["b"], torch.arange(3))
    session.run("e:ckpt`:x")
    assert same(a["model"], {k: session.run(f"e[`model;`$\"{k}\"]").obj for k in a["model"]}) and session.run("e`n") == 5


def test_what_torch_writes_is_read(session: Session) -> None:
    import torch.distributed.checkpoint as dcp

    net, optimizer = trained()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({"model": net.state_dict(), "optim": optimizer.state_dict(), "n": 5, "where": (1, "x")}, checkpoint_id="x", no_dist=True)
    session.run("d:ckpt`:x")
    assert same(net.state_dict(), {k: session.run(f"d[`model;`$\"{k}\"]").obj for k in net.state_dict()})
    assert session.run("(5;(1;`x))~d`n`where") is True
    session.run("ckptdcp(`:y;d);e:ckpt`:y")
    assert session.run("(key d)~key e") is True and session.run("(ckpttable d)~ckpttable e") is True


def test_a_folder_is_replaced_at_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in the middle leaves what was there."""
    session.run("ckptdcp(`:x;`w`n!(tensor 1 2e;1))")
    before = {p.name: p.read_bytes() for p in Path("x").iterdir()}
    torch.save({"w": torch.arange(100_000.0), "v": torch.arange(100_000.0)}, "y.pt")
    session.run("d:ckpt`:y.pt")
    with open("y.pt", "r+b") as f:
        f.truncate(500_000)
    with pytest.raises(QError, match="has changed"):
        session.run("ckptdcp(`:x;d)")
    assert {p.name: p.read_bytes() for p in Path("x").iterdir()} == before
    for value, why in [("tensor 1 2e", "expecting a dictionary"), ("`a`b!(1;{x})", None), ("`a`b!(tensor 1e;sparse tensor 2 2#1e)", None)]:
        with pytest.raises(QError, match=why):
            session.run(f"ckptdcp(`:x;{value})")
    assert {p.name: p.read_bytes() for p in Path("x").iterdir()} == before
    session.run("old:ckpt`:x;ckptdcp(`:x;`w`more!(tensor 3 4e;tensor 5e))")
    assert session.run("(3 4e;5e)~tensor each(ckpt`:x)`w`more") is True
    assert sorted(p.name for p in Path("x").iterdir()) == [".metadata", "__0_0.distcp"]
    assert session.run("(1 2e;1)~(tensor old`w;old`n)") is True  # the file that was opened


KILLED = """
import os, sys
from kshell.session import Session
s = Session()
s.run("ckptdcp(`:x;`w`n!(tensor 1 2e;1))")
import kshell.store.atomic as atomic
real, count = os.replace, [0]
def replace(*a, **k):
    count[0] += 1
    if count[0] == int(sys.argv[1]):
        os._exit(9)
    return real(*a, **k)
os.replace = os.rename = replace
s.run("ckptdcp(`:x;`w`n!(tensor 3 4 5e;2))")
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 2])
def test_killed_in_between(after: int, session: Session, tmp_path: Path) -> None:
    """The folder is the old checkpoint or the new one."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(after)], cwd=tmp_path, timeout=200, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 9
    assert session.run("{any x~/:((1 2e;1);(3 4 5e;2))}(tensor d`w;(d:ckpt`:x)`n)") is True
