"""Checkpoints: plain PyTorch goes on with what kshell saved, and the reverse; hostile files are refused."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session

CHILD = Path(__file__).parent / "plain_torch.py"
PAIRS = [(k, o) for k in ("mlp", "cnn", "tied", "bf16") for o in ("sgd", "adam", "adamw")]
SERVER: list[subprocess.Popen[str]] = []
pytestmark = pytest.mark.xdist_group("plain torch")  # which starts once


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    """Ends the process that does not know kshell."""
    yield
    while SERVER:
        p = SERVER.pop()
        p.kill()
        p.wait()


def plain(*words: str) -> str:
    """What a process prints that does not know kshell, in this folder."""
    if not SERVER:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        SERVER.append(subprocess.Popen([sys.executable, "-P", str(CHILD), "serve"], env=env, text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    p = SERVER[0]
    assert p.stdin and p.stdout
    p.stdin.write(json.dumps([os.getcwd(), *words]) + "\n")
    p.stdin.flush()
    out, problem = json.loads(p.stdout.readline())
    assert not problem, problem
    return out


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("kind", "optimizer"), PAIRS)
def test_a_script_goes_on_with_what_was_saved_here(kind: str, optimizer: str, session: Session) -> None:
    end = plain("train", kind, optimizer, "a.pt")
    session.run("d:ckpt`:a.pt;ckpt(`:b.pt;d)")
    assert plain("go", kind, optimizer, "b.pt") == end
    assert session.run("d`epoch`best`done`note") is not None
    assert session.run("(d[`epoch];d[`best];d[`done];d[`args;`losses])~(3;.5;0b;.5 .25)")
    if kind == "tied":  # still one tensor under two names
        assert session.run("t:d[`model;`embed.weight];t[0;0]:9e;9e~first first tensor d[`model;`out.weight]")


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("kind", "optimizer"), PAIRS)
def test_both_forms_go_there_and_back(kind: str, optimizer: str, session: Session) -> None:
    """A live model that was trained here goes on in plain PyTorch, from .pt and .safetensors, as it does here; what is
    saved there in both forms is what was here."""
    import torch

    import kshell
    from tests.kapi.checkpoint import plain_torch

    m, x, y = plain_torch.build(kind)
    o = plain_torch.optimizer(optimizer, m)
    s = kshell.Session()
    s["q"], s["o"], s["tx"], s["ty"] = m, o, x, y.reshape(-1)
    s.run("""one:{zerograd o;backward ce(reshape(forward(q;tx);-1 11);ty);step o}""")
    s.run("do[3;one[]];ckpt(`:a.pt;`model`optimizer!(q;o));ckpt(`:a.safetensors;q)")
    end = plain("both", kind, optimizer)
    plain_torch.steps(m, o, x, y, 2)  # the live objects go on as what was saved of them does
    assert end == plain_torch.digest(m) + "\n"
    there = torch.load("b.pt", weights_only=True)
    session.run("b:ckpt`:b.pt;c:ckpt`:b.safetensors")
    for k, t in there["model"].items():
        for d in ("b`model", "c"):
            assert torch.equal(session.run(f"({d})`$\"{k}\"").obj, t), (d, k)
    session["n"] = session.run("count b[`optimizer;`state]")
    assert session.run("n") == len(there["optimizer"]["state"])
    assert session.run("count b[`optimizer;`param_groups]") == len(there["optimizer"]["param_groups"])


def test_groups_are_a_table_that_can_be_edited(session: Session) -> None:
    plain("train", "mlp", "adam", "a.pt")
    session.run("d:ckpt`:a.pt")
    session.run("g:d[`optimizer;`param_groups]")
    assert session.run("98h~type g") and session.run("(g`lr)~.01 .01")
    assert session.run("99h~type d[`optimizer;`state]")
    assert session.run("(cols d[`optimizer;`state])~`parm`step`exp_avg`exp_avg_sq")
    session.run("d[`optimizer;`param_groups]:update lr:.5,weight_decay:.1 .2 from g")
    session.run("ckpt(`:b.pt;d)")
    plain("go", "mlp", "adam", "b.pt", "0.5")
    with pytest.raises(AssertionError):
        plain("go", "mlp", "adam", "b.pt", "0.01")


def test_moments_can_be_transplanted(session: Session) -> None:
    plain("train", "mlp", "adam", "a.pt")
    plain("go", "mlp", "adam", "a.pt")
    session.run("d:ckpt`:a.pt")
    session.run("s:d[`optimizer;`state]")
    session.run("e:ckpt`:a.pt;e[`optimizer;`state]:update exp_avg:{x*0e}each exp_avg from s;ckpt(`:b.pt;e)")
    assert session.run("0f~`float$sum{sum(raze/)tensor x}each exec exp_avg from(ckpt`:b.pt)[`optimizer;`state]")
    assert session.run("(tensor each exec exp_avg_sq from s)~tensor each exec exp_avg_sq from "
                       "(ckpt`:b.pt)[`optimizer;`state]")
    plain("go", "mlp", "adam", "b.pt")


def test_names_types_and_parts_can_be_changed(session: Session) -> None:
    plain("train", "cnn", "sgd", "a.pt")
    session.run("w:(ckpt`:a.pt)`model")
    session.run("w:(`$\"net.\",/:string key w)!value w")  # rename
    session.run("w:`net.1.num_batches_tracked _ w")  # drop
    session.run("w:{if[`float~dtype x;to(x;`bfloat16)];x}each w")  # cast
    session.run("ckpt(`:b.pt;w);ckpt(`:b.safetensors;w)")
    for name in ("b.pt", "b.safetensors"):
        plain("load", name, "out.json")
        found = json.loads(Path("out.json").read_text())
        assert next(iter(found)) == "net.0.weight" if name == "b.pt" else "net.0.weight" in found
        assert "net.1.num_batches_tracked" not in found
        assert {v[0] for v in found.values()} == {"torch.bfloat16"}


OURS = {
    "sgd": ("o:opt(`sgd;q;.1;.9)", "torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)"),
    "adam": ("o:opt(`adam;q;.1)", "torch.optim.Adam(m.parameters(), lr=0.1)"),
    "adamw": ("o:opt(`adamw;q;.1)", "torch.optim.AdamW(m.parameters(), lr=0.1)"),
}
GOES_ON = """
import json, sys, torch
torch.set_num_threads(1)
assert "kshell" not in sys.modules
m = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
o = {o}
d = torch.load("a.pt", weights_only=True)
m.load_state_dict(d["module"])
o.load_state_dict(d["optimizer"])
x = torch.arange(12.).reshape(4, 3) / 10
for _ in range(3):
    o.zero_grad()
    torch.nn.functional.mse_loss(m(x), torch.ones(4, 1)).backward()
    o.step()
torch.save(dict(model=m.state_dict(), optimizer=o.state_dict()), "b.pt")
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", OURS)
def test_training_here_goes_on_in_plain_torch_and_back(kind: str, session: Session) -> None:
    session.run("q:module seq(`sequential;(`linear;3;4);`relu;(`linear;4;1))\n" + OURS[kind][0])
    session.run("m:model(q;loss`mse;o);xs:tensor`real$(4 3#til 12)%10;ys:tensor 4 1#1e;t:{do[3;backstep(m;xs;ys)]}")
    session.run("t[];ckpt(`:a.pt;m);t[]")
    Path("go.py").write_text(GOES_ON.replace("{o}", OURS[kind][1]))
    plain("run", "go.py")
    session.run("b:ckpt`:b.pt")
    session.run("ckpt(`:c.pt;m);c:ckpt`:c.pt")
    # (a step here may sum in another order: equal to a unit in the last place)
    assert session.run("1e-6>max{max abs(raze/)x-y}'[value tensor each b`model;value tensor each c`module]")
    assert session.run("(b[`optimizer;`param_groups])~c[`optimizer;`param_groups]")
    # and a fresh module and optimizer take over here
    session.run("q2:module seq(`sequential;(`linear;3;4);`relu;(`linear;4;1));p:opt(`" + kind + ";q2)")
    session.run("putstate(q2;c`module);putstate(p;c`optimizer);m2:model(q2;loss`mse;p)")
    session.run("backstep(m;xs;ys);backstep(m2;xs;ys);ckpt(`:e.pt;m);ckpt(`:f.pt;m2)")
    assert session.run("(tensor each(ckpt`:e.pt)`module)~tensor each(ckpt`:f.pt)`module")


def test_a_state_that_was_put_is_the_optimizers_own(session: Session) -> None:
    session.run("w:tensor(1 2e;`grad);o:opt(`adam;w);backward Sum w;step o;ckpt(`:a.pt;o);d:ckpt`:a.pt")
    session.run("before:tensor m:first exec exp_avg from value d`state")
    session.run("a:tensor(1 2e;`grad);p:opt(`adam;a);b:tensor(1 2e;`grad);q:opt(`adam;b);putstate(p;d);putstate(q;d)")
    session.run("backward Sum mul(a;9e);step p")
    assert session.run("before~tensor m")
    assert session.run("{x[`buffers]}[first state[o]`parms]~{x[`buffers]}first state[q]`parms")


def test_a_state_that_does_not_fit_changes_nothing(session: Session) -> None:
    session.run("w:tensor(1 2e;`half`grad);o:fp16(w;`adam;8);backward(o;Sum w);step o;ckpt(`:a.pt;o);d:ckpt`:a.pt")
    session.run("backward(o;Sum w);step o;s:state o;e:d[`extra];e[`inner]:5;d[`extra]:e")
    with pytest.raises(QError):
        session.run("putstate(o;d)")
    assert session.run("s~state o")


def test_what_torch_saves_is_read(session: Session) -> None:
    """Every kind of value that torch's own reader of weights takes, as it takes it."""
    import torch
    from torch.optim.lr_scheduler import MultiStepLR

    base = torch.arange(24.0)
    p = torch.nn.Parameter(torch.ones(2))
    p.note = "mine"
    given = {
        "view": base[2:14].reshape(3, 4).t(), "shared": base[::2], "grad": torch.ones(2, requires_grad=True), "p": p,
        "none": torch.zeros(0, 3), "one": torch.tensor(5.0), "conj": torch.tensor([1 + 2j, 3j]).conj(),
        "neg": torch._neg_view(torch.ones(2)), "bool": torch.tensor([True, False]),
        "coo": torch.eye(3).to_sparse(), "csr": torch.eye(3).to_sparse_csr(), "long": 2**62, "bytes": b"ab\0\xff",
        "wide": torch.ones(2, 1).expand(2, 5),
        "complex": 1 + 2j, "set": {3, 1}, "dtype": torch.bfloat16, "device": torch.device("cuda:1"), "none_": None,
        "size": torch.ones(2, 3).shape, "nested": [1, (2.5, "é"), {"a": [None]}], "ints": {1: "x", 2: "y"},
        "sched": MultiStepLR(torch.optim.SGD([p], 0.1), [3, 5]).state_dict(), "untrue": False, "big": [0.5] * 2000,
        **{d: torch.arange(6).to(getattr(torch, d)) for d in ("uint8", "int8", "int16", "int32", "int64", "float16",
           "bfloat16", "float64", "complex64", "complex128", "uint16", "float8_e4m3fn", "float8_e5m2")}}
    torch.save(given, "a.pt")
    theirs = torch.load("a.pt", weights_only=True)
    session.run("d:ckpt`:a.pt")
    for k, t in theirs.items():
        if not isinstance(t, torch.Tensor):
            continue
        mine = session.run(f"d`{k}" if k != "none_" else "::").obj
        assert type(mine) is type(t) and (mine.dtype, mine.shape, mine.layout, mine.requires_grad) == (
            t.dtype, t.shape, t.layout, t.requires_grad), k
        if t.layout is torch.strided:
            assert mine.stride() == t.stride() and (mine.is_conj(), mine.is_neg()) == (t.is_conj(), t.is_neg())
            assert mine.untyped_storage().tolist() == t.untyped_storage().tolist() and (
                mine.storage_offset() == t.storage_offset()), k
        else:
            assert torch.equal(mine.to_dense(), t.to_dense())
    assert session.run("d`p").obj.note == "mine"
    assert session.run("(d`long;d`bytes;d`set;d`dtype;d`device;d`size;d`untrue)~"
                       "(4611686018427387904;0x616200ff;1 3;`torch.bfloat16;`$\"cuda:1\";2 3;0b)")
    assert session.run("(d`nested;d`ints)~((1;(2.5;`$\"é\");(enlist`a)!enlist enlist(::));1 2!`x`y)")
    assert session.run("(d`complex;count d`big;d[`sched;`milestones])~(`$\"(1+2j)\";2000;3 5!1 1)")
    assert session.run("v:d`shared;v[1]:9e;9e~first first tensor d`view")  # what shared its memory shares it still


def test_safetensors_of_every_type_both_ways(session: Session) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    given = {d: torch.arange(6).reshape(2, 3).to(getattr(torch, d)) for d in (
        "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "uint16",
        "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
        "complex64")}
    given["none"], given["one"] = torch.zeros(0, 3), torch.tensor(5.0)
    save_file(given, "a.safetensors", {"by": "me"})
    session.run("d:ckpt`:a.safetensors;ckpt(`:b.safetensors;d)")
    assert session.run("(d[`$\"__metadata__\"]`by)~`me")
    back = load_file("b.safetensors")
    assert set(back) == set(given)
    for k, t in given.items():
        assert back[k].dtype == t.dtype and back[k].shape == t.shape
        assert back[k].view(-1).view(torch.uint8).equal(t.view(-1).view(torch.uint8)) if t.numel() else True


def test_folders_with_an_index(session: Session) -> None:
    from safetensors.torch import load_file

    session.run("w:`a`b`c!tensor each(10#1e;20#2e;5#3e);ckpt(`:dir;w;90)")
    index = json.loads(Path("dir/model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 140
    assert len(set(index["weight_map"].values())) == 3
    for k, name in index["weight_map"].items():
        assert k in load_file("dir/" + name)
    assert session.run("(tensor each w)~tensor each ckpt`:dir")
    Path("dir/config.json").write_text("{}")
    Path("dir/diffusion.safetensors.index.json").write_text("{}")
    with pytest.raises(QError, match="has 2 indexes"):
        session.run("ckpt(`:dir;w;90)")
    os.unlink("dir/diffusion.safetensors.index.json")
    session.run("ckpt(`:dir;w;90);ckpt(`:dir;`d`e!(2*w`a;w`b);50)")  # over what is there; other files stay
    assert session.run("(tensor each ckpt`:dir)~tensor each`d`e!(2*w`a;w`b)")
    assert sorted(os.listdir("dir")) == ["config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                         "model.safetensors.index.json"]
    session.run("ckpt(`:dir;w;90)")
    index = json.loads(Path("dir/model.safetensors.index.json").read_text())
    Path("file").write_text("")
    with pytest.raises(QError, match="file is there already, and not a folder"):
        session.run("ckpt(`:file;w;90)")
    index["weight_map"]["a"] = "../secret.safetensors"
    Path("dir/model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(QError, match="outside the folder"):
        session.run("ckpt`:dir")
    index["weight_map"]["a"] = index["weight_map"]["c"]
    Path("dir/model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(QError, match="has no a"):
        session.run("ckpt`:dir")
    os.unlink("dir/model.safetensors.index.json")
    assert session.run("all(key ckpt`:dir)like\"model-*.safetensors\"")  # without an index each is for itself


def test_what_torch_did_not_make_is_a_value_or_an_object(session: Session) -> None:
    import argparse
    import datetime
    import pathlib

    import numpy
    import torch

    settings = argparse.Namespace(lr=0.5, layers=[2, 3])
    given = {"model": {"w": torch.ones(2)}, "loss": numpy.float64(1.5), "args": settings, "path": pathlib.PurePosixPath("a/b"),
             "day": datetime.date(2020, 1, 2), "at": datetime.datetime(2020, 1, 2, 3, 4, 5, 6), "counts": numpy.arange(3),
             "shape": numpy.ones((2, 2), "f4"), "text": numpy.array(["a", "bc"]), "own": torch.optim.SGD([torch.ones(1)], 0.25)}
    torch.save(given, "n.pt")
    session.run("d:ckpt`:n.pt")
    assert session.run("(d`loss;d`path;d`day;d`at;d`counts;d`shape;d`text)~"
                       "(1.5;`$\"a/b\";2020.01.02;2020.01.02D03:04:05.000006;0 1 2;(1 1e;1 1e);`a`bc)")
    assert session.run("(d[`args;`lr];d[`args;`layers])~(.5;2 3)")
    assert session.run("(class d`own;objtype d`own;key d`own)~(`object;`torch.optim.sgd.SGD;`defaults`state`param_groups)") or \
        session.run("(class d`own;objtype d`own)~`object`torch.optim.sgd.SGD")
    assert session.run("first exec lr from d[`own;`param_groups]") == 0.25
    Path("text.pt").write_text("no checkpoint at all")
    with pytest.raises(QError, match="PyTorch writes no such file"):
        session.run("ckpt`:text.pt")


# ------------------------------------------------------------------ hostile files


class Run:
    """What a pickle runs when it is loaded."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch ran",)


def test_pickles_are_shown_and_never_run(session: Session) -> None:
    import pickle

    import torch

    torch.save({"a": Run(), "b": 1}, "a.pt")
    session.run("d:ckpt`:a.pt;ckpt(`:b.pt;d)")
    assert session.run("(class d`a;objtype d`a;d`b)~(`object;`posix.system;1)")
    assert session.run("d[`a;`args]~enlist`$\"touch ran\"")
    torch.save(torch.nn.Linear(1, 1), "m.pt")
    assert session.run("m:ckpt`:m.pt;`weight`bias~2#key m")
    assert session.run("exec name from ckpttable m") is not None
    Path("b.pt").write_bytes(pickle.dumps(Run()))
    assert session.run("objtype ckpt`:b.pt").s == "posix.system"
    torch.save({"a": Run()}, "old.pt", _use_new_zipfile_serialization=False)
    assert session.run("objtype(ckpt`:old.pt)`a").s == "posix.system"
    assert not Path("ran").exists()


def test_files_of_other_programs_are_named(session: Session) -> None:
    """What a file is that is no checkpoint, and what to do with it."""
    Path("e.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(40))
    Path("f.parquet").write_bytes(b"PAR1" + bytes(40))
    Path("g.bin").write_bytes(b"some text that is nothing else")
    Path("empty").write_bytes(b"")
    session.run("`:list set(1;`a);`:vector set til 3;`:table set([]a:1 2);x:1;snapshot`:s.ks")
    for name, what, hint in (
            ("e.h5", "it is an HDF5 file", ""), ("f.parquet", "it is a Parquet file", "get`:f.parquet"),
            ("g.bin", "PyTorch writes no such file", ""),
            ("empty", "PyTorch writes no such file", ""),
            ("list", "it is a file of q", "get`:list reads it"), ("vector", "it is a file of q", "get`:vector reads it"),
            ("table", "it is a file of q", "get`:table reads it"), ("s.ks", "it is a snapshot", "resume`:s.ks brings")):
        with pytest.raises(QError) as caught:
            session.run(f"ckpt`:{name}")
        assert caught.value.text.startswith(f"ckpt: {name} is not a checkpoint: {what}")
        assert hint in caught.value.hint and bool(hint) == bool(caught.value.hint)


def test_a_symbol_in_the_place_of_a_variable_is_told(session: Session) -> None:
    session.err = io.StringIO()
    session.run("w:tensor 1 2e; ckpt(`:a.pt;`w)")
    assert session.err.getvalue() == ("ckpt: the symbol `w is written, not the variable w: ckpt(`:a.pt;w) writes what "
                                      "the variable holds\n")
    assert session.show(session.run("ckpt`:a.pt")) == "`w"
    session.err = io.StringIO()
    session.run("ckpt(`:a.pt;w);ckpt(`:a.pt;`nosuch);ckpt(`:a.pt;`w`w);ckpt(`:a.pt;`w`v!(w;`w))")
    assert session.err.getvalue() == ""


@pytest.mark.parametrize(("value", "why"), [
    ("2020.01m", "month"), ("{x}", "lambda"), ("(enlist`a)!enlist(1;0Np)", "a.1 is a timestamp"),
    ("([a:1 2;b:1 2]c:1 2)", "2 keys"), ("(1 1)!2 3", "key twice")])
def test_what_a_checkpoint_cannot_hold(value: str, why: str, session: Session) -> None:
    with pytest.raises(QError, match=why):
        session.run(f"ckpt(`:a.pt;{value})")
    assert not Path("a.pt").exists()


def _header(text: str, data: bytes = b"\0" * 8) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode() + data


ONE = '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
HEADERS = [
    b"", b"\0" * 7, b"\0" * 8, b"\xff" * 8, struct.pack("<Q", 1 << 60) + b"{}", _header("[]"), _header("{"),
    _header("{}"), _header(ONE, b"\0" * 7), _header(ONE, b"\0" * 9), _header(ONE.replace("[2]", "[3]")),
    _header(ONE.replace("[2]", "[-2]")), _header(ONE.replace("[2]", "[2.0]")), _header(ONE.replace("F32", "X32")),
    _header(ONE.replace("[0,8]", "[8,0]")), _header(ONE.replace("[0,8]", "[-8,0]")),
    _header(ONE.replace("[0,8]", "[0,8,8]")), _header(ONE.replace("[2]", "[1048576,1048576,1048576]")),
    _header(ONE[:-1] + "," + ONE[1:]), _header(ONE[:-1] + "," + ONE[1:].replace('"a"', '"b"')),
    _header('{"__metadata__":{"a":1}}', b""), _header("[" * 100000, b""),
    _header('{"a":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}}', b"\2" * 8),
]


@pytest.mark.parametrize("data", HEADERS, ids=range(len(HEADERS)))
def test_hostile_safetensors_headers(data: bytes, session: Session) -> None:
    Path("a.safetensors").write_bytes(data)
    with pytest.raises(QError, match=r"ckpt: (a\.safetensors is|a tensor of the file is) damaged"):
        session.run("tensor(ckpt`:a.safetensors)`a")


def test_a_torchscript_program_and_wide_integers_are_read(tmp_path: Path) -> None:
    import torch

    torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "program.pt"))
    torch.save({"seed": 2**64 - 1, "w": torch.ones(2)}, tmp_path / "seed.pt")
    folder = tmp_path / "a_folder_of_a_long_name"
    folder.mkdir()
    (folder / "rng_state.pth").write_bytes(b"junk")
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run(f"p:ckpt`$\":{tmp_path}/program.pt\"")
    assert s.run("(objtype p)like\"__torch__*\"") and s.run("`weight`bias in key p").a.all()
    assert s.run(f"(ckpt`$\":{tmp_path}/seed.pt\")`seed").s == "18446744073709551615"
    with pytest.raises(QError) as caught:
        s.run(f"ckpt`$\":{folder}/rng_state.pth\"")
    assert caught.value.text.count("rng_state") == 1


MODELS = """
mk:{module seq(`sequential;(`linear;`a;2;3);`relu;(`linear;`b;3;1))}
m:mk[];k:model(m;loss(`ce;1 2e);opt(`adam;m;.1));x:tensor(1 2e;3 4e)
backward Sum forward(k;x);step k
n:mk[];j:model(n;loss(`ce;1 2e);opt(`adam;n;.5))
e:{[a;b](evaluate[(a;x)]~evaluate(b;x))and(state[a]`optimizer)[`parms][`buffers]~(state[b]`optimizer)[`parms]`buffers}
"""


@pytest.mark.parametrize("given", ["ckpt`:k.pt", "`model`optimizer!(ckpt`:k.pt)`module`optimizer", "state k",
                                   "`epoch`model`optimizer!(3;m;(ckpt`:k.pt)`optimizer)"])
def test_what_a_model_wrote_goes_back_into_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.chdir(tmp_path)
    s = Session()
    s.run(MODELS.strip().replace("\n", ";"))
    s.run("ckpt(`:k.pt;k)")
    assert s.run("(key ckpt`:k.pt)~`module`loss`optimizer") is True
    s.run(f"putstate(j;{given})")
    assert s.run("e[j;k]") is True
    assert s.run("(lr j)~lr k") is True
    s.run("zerograd k;backward Sum forward(k;x);step k;backward Sum forward(j;x);step j")
    assert s.run("e[j;k]") is True


@pytest.mark.parametrize(("given", "text"), [
    ("n;d`loss", "putstate: no a.weight given"), ("n;d`nosuch", r"expecting a tensor of size \[3, 2\] for a.weight, given null"),
    ("n;d", "no a.weight given, it is in `module of the dictionary"), ("j;`module`optimizer!(d`module;1)", "a dictionary of its state, given long scalar"),
    ("j;`module`optimizer!(`a`b!1 2;d`optimizer)", "no a.weight given"), ("j;1", "expecting"),
    ("j;`module`optimizer!(d`module;`a`b!1 2)", "expecting state and param_groups")])
def test_what_is_not_of_a_model_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str,
                                                text: str) -> None:
    monkeypatch.chdir(tmp_path)
    s = Session()
    s.run(MODELS.strip().replace("\n", ";"))
    s.run("ckpt(`:k.pt;k);d:ckpt`:k.pt;was:(state j)")
    with pytest.raises(QError, match=text):
        s.run(f"putstate({given})")
    assert s.run("(was`module)~state[j]`module") is True
    assert s.run("(lr j)~enlist .5") is True
