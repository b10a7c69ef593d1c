"""Files and folders that other programs write, besides those of the corpus."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from kshell.errors import QError
from kshell.session import Session
from kshell.values.base.core import text_of

WEIGHTS = {"emb.weight": torch.arange(6.0).reshape(3, 2), "b": torch.ones(2)}


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session()


def test_arrays_that_no_tensor_holds_are_values(session: Session) -> None:
    np.savez("a.npz", n=np.arange(3.0), u=np.array(["x", "yy"]), d=np.array(["2024-01-02", "NaT"], "M8[D]"),
             o=np.array([1, None], object), s=np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]))  # fmt: skip
    session.run("d:ckpt`:a.npz")
    assert session.run("(d`u)~`x`yy") is True
    assert session.run("(d`d)~2024.01.02 0Nd") is True
    assert session.run("(d`o)~(1;::)") is True
    assert session.run("(d`s)~([]a:enlist 1;b:enlist 2.5)") is True
    assert session.run("exec name from ckpttable`:a.npz").items[0].s == "n"
    np.savez_compressed("c.npz", o=np.array([1, None], object), u=np.array(["x"]))
    with pytest.raises(QError, match=r"ckpt: .*c\.npz: o\.npy is an array of object in a compressed file"):
        session.run("ckpt`:c.npz")
    np.save("u.npy", np.asfortranarray(np.array([["a", "b"], ["c", "d"]])))
    assert session.run("(ckpt`:u.npy)~(`a`b;`c`d)") is True


@pytest.mark.parametrize("protocol", range(1, 6))
def test_files_of_before_1_6_in_any_protocol(protocol: int, session: Session) -> None:
    torch.save(WEIGHTS, "a.pt", pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    assert session.run("(tensor ckpt[`:a.pt]`b)~1 1e") is True


def _shards(folder: Path, variant: str, factor: float) -> None:
    folder.mkdir(exist_ok=True)
    begin = f"model{variant}"
    files = {name: f"{begin}-0000{i + 1}-of-00002.safetensors" for i, name in enumerate(WEIGHTS)}
    for name, file in files.items():
        save_file({name: WEIGHTS[name] * factor}, folder / file)
    text = json.dumps({"metadata": {"total_size": 32}, "weight_map": files})
    (folder / f"model.safetensors.index{variant}.json").write_text(text)


def test_an_index_of_a_variant(session: Session) -> None:
    _shards(Path("m"), ".fp16", 2)
    assert session.run("d:ckpt`:m;(asc key d;tensor d`b)~(`b`emb.weight;2 2e)") is True
    _shards(Path("m"), "", 1)
    assert session.run("(tensor ckpt[`:m]`b)~1 1e") is True


def test_folders_in_folders(session: Session) -> None:
    for name in ("unet", "vae", "snapshots/abc"):
        os.makedirs(name)
        save_file(WEIGHTS, f"{name}/model.safetensors")
    os.makedirs("scheduler/deeper/deepest")
    save_file(WEIGHTS, "scheduler/deeper/deepest/model.safetensors")
    os.symlink("unet", "again")
    assert session.run("d:ckpt`:.;(key d)~`snapshots`unet`vae") is True
    assert session.run("(tensor d[`snapshots;`abc;`b])~1 1e") is True
    os.makedirs("empty/one")
    with pytest.raises(QError, match=r"ckpt: .*empty has no checkpoint in it"):
        session.run("ckpt`:empty")


def test_a_vocabulary_in_the_settings(session: Session) -> None:
    os.makedirs("m")
    save_file(WEIGHTS, "m/model.safetensors")
    Path("m/config.json").write_text('{"b": 1, "vocab_size": 3, "a": {"vocab_size": 3}, "c": {"vocab_size": 7}}')
    session.run("ckptvocab(`:m;`emb.weight;5;(`to;`:m))")
    assert Path("m/config.json").read_text().split() == (
        ['{', '"b":', '1,', '"vocab_size":', '5,', '"a":', '{', '"vocab_size":', '5', '},', '"c":', '{', '"vocab_size":', '7', '}', '}']
    )
    found: dict[str, torch.Tensor] = {}
    for file in Path("m").glob("*.safetensors"):
        found |= load_file(file)
    assert found["emb.weight"].shape == (5, 2) and found["emb.weight"][:3].equal(WEIGHTS["emb.weight"])


def test_help_of_an_object_shows_what_it_has(session: Session) -> None:
    torch.save({"net": torch.nn.Linear(2, 1)}, "a.pt")
    shown = text_of(session.run(".j.j help ckpt[`:a.pt]`net"))
    assert json.loads(shown)[:2] == [{"attribute": "weight", "value": "tensor"}, {"attribute": "bias", "value": "tensor"}]
