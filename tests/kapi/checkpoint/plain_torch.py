"""A training script of plain PyTorch, which tests run in a process of its own: it knows nothing of kshell.

plain_torch.py train KIND OPTIMIZER FILE     trains three steps, saves a checkpoint, trains two more; prints a digest
plain_torch.py go KIND OPTIMIZER FILE [LR]   loads the checkpoint, trains two steps (at that rate), prints the digest
plain_torch.py load FILE OUT                 loads names and sums of a .pt or .safetensors file, as JSON
plain_torch.py both KIND OPTIMIZER           loads a.pt and a.safetensors, which hold the same model, trains two steps,
                                             saves b.pt and b.safetensors; prints a digest
plain_torch.py run FILE                      runs a Python program
plain_torch.py serve                         does the above for each line of JSON, words after a folder; answers in JSON
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import runpy
import sys
import traceback

import torch
from torch import nn
from torch.nn import functional as F


class Tied(nn.Module):
    """A small transformer whose output layer has the weight of its embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.out = nn.Linear(8, 11, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x):
        return self.out(self.layer(self.embed(x)))


def build(kind):
    torch.manual_seed(1)
    if kind == "cnn":
        m = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 11))
        return m, torch.randn(4, 1, 8, 8), torch.tensor([0, 3, 5, 1])
    if kind == "tied":
        x = torch.randint(11, (4, 6))
        return Tied(), x, x.roll(1, 1)
    m, x = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 11)), torch.randn(4, 4)
    if kind == "bf16":
        m, x = m.bfloat16(), x.bfloat16()
    return m, x, torch.tensor([0, 3, 5, 1])


def optimizer(name, m):
    if name == "sgd":
        return torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    cls = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    few = [p for p in m.parameters() if p.dim() < 2]
    return cls([{"params": [p for p in m.parameters() if p.dim() > 1]}, {"params": few, "weight_decay": 0.0}],
               lr=0.01, betas=(0.8, 0.99))


def steps(m, o, x, y, n):
    for _ in range(n):
        o.zero_grad()
        out = m(x)
        F.cross_entropy(out.reshape(-1, 11).float(), y.reshape(-1)).backward()
        o.step()


def digest(m):
    whole = hashlib.sha256()
    for k, t in m.state_dict().items():
        whole.update(k.encode() + t.contiguous().view(torch.uint8).numpy().tobytes() if t.dim() else k.encode())
    return whole.hexdigest()


def both(m, o, x, y):
    """Go on with what was saved in two forms, and save it in two forms."""
    from safetensors.torch import load_file, save_file

    found, flat = torch.load("a.pt", weights_only=True), load_file("a.safetensors")
    assert list(found["model"]) == list(m.state_dict()) and set(flat) == set(found["model"])
    for k, t in found["model"].items():
        assert flat[k].dtype == t.dtype and torch.equal(flat[k], t), k
    if isinstance(m, Tied):
        assert found["model"]["out.weight"].data_ptr() == found["model"]["embed.weight"].data_ptr()
    m.load_state_dict(flat)
    m.load_state_dict(found["model"])
    o.load_state_dict(found["optimizer"])
    steps(m, o, x, y, 2)
    torch.save({"model": m.state_dict(), "optimizer": o.state_dict()}, "b.pt")
    save_file({k: t.clone() for k, t in m.state_dict().items()}, "b.safetensors")
    print(digest(m))


def serve():
    for line in sys.stdin:
        folder, *words = json.loads(line)
        os.chdir(folder)
        out, problem = io.StringIO(), ""
        try:
            with contextlib.redirect_stdout(out):
                main(*words)
        except Exception:
            problem = traceback.format_exc()
        assert "kshell" not in sys.modules
        print(json.dumps([out.getvalue(), problem]), flush=True)


def main(mode, *words):
    if mode == "serve":
        serve()
        return
    torch.set_num_threads(1)
    if mode == "run":
        runpy.run_path(words[0])
        return
    if mode == "load":
        path, out = words
        if path.endswith(".safetensors"):
            from safetensors.torch import load_file

            found = load_file(path)
        else:
            found = torch.load(path, weights_only=True)
        with open(out, "w") as f:
            json.dump({k: [str(t.dtype), list(t.shape), t.double().sum().item()] for k, t in found.items()}, f)
        return
    kind, name, *more = words
    m, x, y = build(kind)
    o = optimizer(name, m)
    if mode == "both":
        both(m, o, x, y)
        return
    path, *rate = more
    if mode == "train":
        steps(m, o, x, y, 3)
        torch.save({"model": m.state_dict(), "optimizer": o.state_dict(), "epoch": 3, "best": 0.5, "done": False,
                    "note": None, "args": {"name": name, "sizes": [4, 8], "losses": [0.5, 0.25]}}, path)
    else:
        found = torch.load(path, weights_only=True)
        m.load_state_dict(found["model"])
        o.load_state_dict(found["optimizer"])
        assert found["epoch"] == 3 and found["best"] == 0.5 and found["done"] is False and found["note"] is None
        assert found["args"] == {"name": name, "sizes": [4, 8], "losses": [0.5, 0.25]}
        assert all(isinstance(g.get("betas", ()), tuple) for g in o.param_groups)
    if rate:
        for g in o.param_groups:
            assert g["lr"] == float(rate[0]), g["lr"]
    steps(m, o, x, y, 2)
    print(digest(m))


if __name__ == "__main__":
    main(*sys.argv[1:])
