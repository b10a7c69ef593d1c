"""Folders larger than memory may be: what an operation needs at most does not grow with the tensors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from kshell.session import Session
from tests.support.damage import memory, peak_from_here

LARGEST, SMALL = (40_000, 1024), (2048, 1024)  # float32: 164 MB and 8 MB
MOST = 150 << 20  # less than the largest tensor


def folder_of(folder: Path, files: list[dict[str, tuple[int, ...]]]) -> None:
    """A folder as transformers writes it, whose zeros take no room on the disk."""
    folder.mkdir()
    where = {}
    for number, shapes in enumerate(files):
        head, at, name = {}, 0, f"model-{number + 1:05}-of-{len(files):05}.safetensors"
        for key, shape in shapes.items():
            length = 4 * shape[0] * shape[1]
            head[key] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + length]}
            at, where[key] = at + length, name
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        with open(folder / name, "wb") as f:
            f.write(len(text).to_bytes(8, "little") + text)
            f.truncate(8 + len(text) + at)
    index = {"metadata": {}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    for name in ("a", "b"):
        folder_of(folder / name, [{"model.embed.weight": LARGEST}, {"model.q_proj.weight": SMALL}])
    (folder / "lora").mkdir()
    of = "base_model.model.model.q_proj.lora_"
    pair = {f"{of}A.weight": torch.ones(4, 1024), f"{of}B.weight": torch.ones(2048, 4)}
    save_file(pair, folder / "lora/adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": 4, "lora_alpha": 4, "target_modules": ["q_proj"]}
    (folder / "lora/adapter_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("text", [
    "exec norm,bad,lo,hi,mean,sparsity,digest from ckpttable`:a",
    "ckptrename(`:a;\"^model\";\"m\";(`to;`:to/))",
    "ckptcast(`:a;`bfloat16;(`to;`:to/))",
    "ckptavg((`:a;`:b);(`to;`:to/))",
    "ckpttask(`:a;(`:b;`:b);1 1;(`to;`:to/))",
    "ckptmerge(`:a;`:lora;(`to;`:to/))",
    "ckpt(`:to;ckpt`:a;100000000)",
    "ckptdiff(`:a;`:b)",
], ids=lambda text: text.split("(")[0].split("`")[0])  # fmt: skip
def test_pieces_of_tensors_are_in_memory(text: str, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in large.iterdir():
        (tmp_path / path.name).symlink_to(path)
    s = Session()
    s.run("ckptavg(`a`b!(tensor 1e;tensor 2e);`a`b!(tensor 1e;tensor 2e));ckpttable`:lora")  # loads what is loaded late
    start = peak_from_here()
    s.run(f"got:{text}")
    peak = memory("VmHWM") - start
    print(f"{text}: {peak >> 20} MB")
    assert peak < MOST
