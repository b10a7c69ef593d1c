"""Checkpoints against safetensors and torch: names of a folder, norms of all tensors, loading into a module, a cast."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from kshell.kapi.base.handles import module_handle
from kshell.session import Session
from tests.bench.timing import least, paired, row

SHARDS, LAYERS, WIDTH = 4, 72, 1024  # 288 tensors in all, 1.2 GB


def report() -> Iterator[str]:
    folder = tempfile.mkdtemp()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _written(folder)
        yield from (row for part in (_names, _norms, _loading, _cast) for row in part(folder))
    finally:
        torch.set_num_threads(threads)
        shutil.rmtree(folder)


def _written(folder: str) -> None:
    """A folder of several files, as transformers writes it."""
    torch.manual_seed(0)
    names: dict[str, str] = {}
    for shard in range(SHARDS):
        file = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
        tensors = {f"layers.{shard * LAYERS + i}.weight": torch.randn(WIDTH, WIDTH) for i in range(LAYERS)}
        save_file(tensors, os.path.join(folder, file))
        names |= dict.fromkeys(tensors, file)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {}, "weight_map": names}, f)


def _files(folder: str) -> list[str]:
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".safetensors"))


def _names(folder: str) -> list[str]:
    s = Session()

    def theirs() -> list[Any]:
        found = []
        for file in _files(folder):
            with safe_open(file, "pt") as f:
                for name in f.keys():  # noqa: SIM118  # it is no dictionary
                    part = f.get_slice(name)
                    found.append((name, part.get_dtype(), part.get_shape()))
        return found

    def parsed() -> list[Any]:
        """The headers and the index alone, by Python's parser."""
        found = []
        for file in [*_files(folder), os.path.join(folder, "model.safetensors.index.json")]:
            with open(file, "rb") as f:
                length = -1 if file.endswith(".json") else int.from_bytes(f.read(8), "little")
                found.append(json.loads(f.read(length)))
        return found

    # as functions, which are compiled once, as the peer is; json.loads of the headers and of the index, which the peer
    # does not read, takes two thirds of the peer's time
    s.run(f"folder:`$\":{folder}\";table:{{ckpttable(folder;0b)}};names:{{select name from ckpttable folder}}")
    table, names = (lambda: s.run("table[]")), (lambda: s.run("names[]"))
    return [row("names, types, sizes of a folder", *least(table, theirs, 60), 1.75, "safe_open"),
            row("names of a folder", *least(names, theirs, 60), 1.5, "safe_open"),
            row("json.loads of the same", *least(parsed, theirs, 60), 1, "safe_open")]


def _norms(folder: str) -> list[str]:
    s = Session()

    def theirs(dtype: torch.dtype | None = None) -> list[float]:
        found = []
        for file in _files(folder):
            with safe_open(file, "pt") as f:
                norms = (torch.linalg.vector_norm(f.get_tensor(name), dtype=dtype) for name in f.keys())  # noqa: SIM118
                found += [float(norm) for norm in norms]
        return found

    ours = lambda: s.run(f"exec norm from ckpttable`$\":{folder}\"")  # noqa: E731
    # sums in single precision lose five of seven digits where numbers are of one sign: kshell's are in double
    return [row("norms of all tensors of a folder", *paired(ours, theirs, 4), 1.3, "safe_open"),
            row("the same, both in double", *paired(ours, lambda: theirs(torch.float64), 4), 1.1, "safe_open")]


def _loading(folder: str) -> list[str]:
    net = torch.nn.Module()
    net.layers = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(SHARDS * LAYERS)])
    s = Session()
    s["m"] = module_handle(net)
    x = torch.randn(1, WIDTH)

    def used() -> None:
        """Read what was loaded, so that it counts when that happens."""
        with torch.no_grad():
            for layer in net.layers:
                layer(x)

    def theirs() -> None:
        state: dict[str, Any] = {}
        for file in _files(folder):
            state |= load_file(file)
        net.load_state_dict(state, assign=True)
        used()

    def ours() -> None:
        s.run(f"load(m;`$\":{folder}\");")
        used()

    return [row("a folder into a module, and its use", *paired(ours, theirs, 4), 1.1, "load_state_dict assign")]


def _cast(folder: str) -> list[str]:
    """Against reading the bytes and writing half as many, synced."""
    s, file, target = Session(), _files(folder)[0], os.path.join(folder, "cast.safetensors")

    def ours() -> None:
        s.run(f"ckptcast(`$\":{file}\";`bfloat16;(`to;`$\":{target}\"))")

    def theirs() -> None:
        piece = bytearray(1 << 22)
        with open(file, "rb", buffering=0) as f, open(target, "wb") as out:
            while count := f.readinto(piece):
                out.write(memoryview(piece)[: count // 2])
            out.flush()
            os.fsync(out.fileno())

    # the conversion takes one of two processors, checksums and writing the other
    return [row("a file cast to bfloat16", *paired(ours, theirs, 5), 1.4, "the bytes alone")]
