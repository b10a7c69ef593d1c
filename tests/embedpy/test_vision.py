"""Models of timm and torchvision in q: as handles of what Python made, trained to the bits of a loop in plain PyTorch,
and as types by name, gone on with in a fresh process. They need a torchvision that fits torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell.python.session import Session
from tests import ROOT

pytestmark = pytest.mark.extra
for library in ("torchvision", "timm"):
    try:
        __import__(library)
    except Exception as e:  # a torchvision that does not fit torch fails with a RuntimeError
        pytest.skip(f"{library}: {e}", allow_module_level=True)

# what makes a model, its last layer, and the side of its images
VIT = ("timm", ".p.import[`timm;`:create_model;`test_vit;`pretrained pykw 0b;`num_classes pykw 4]`", "head", 160)
RESNET = ("torchvision", ".p.import[`torchvision.models;`:resnet18;`num_classes pykw 4]`", "fc", 32)


def plain(name: str) -> torch.nn.Module:
    import timm
    import torchvision

    if name == "timm":
        return timm.create_model("test_vit", pretrained=False, num_classes=4)
    return torchvision.models.resnet18(num_classes=4)


def made(make: str, head: str, size: int) -> tuple[Session, Any]:
    """A session with a model m of two parameter groups in k, 8 images x and their kinds y; and the model itself."""
    s = Session()
    s.run(f"seed 7;m:{make};x:tensor(`randn;8 3 {size} {size});y:tensor 8#til 4;.p.set[`taken;(m;x;y)]")
    s.run(f"top:(exec distinct`$first each\".\"vs/:string name from parmtable m)except`{head}")
    s.run(f"o:opt(`adamw;0;(m;top);.001;`decay,.05);opt(o;1;(m;`{head});.01;`decay,0.)")
    s.run("k:model(m;loss`ce;o);train(k;`batchsize`shuffle!(4;0b));train(k;x;y)")
    import __main__

    taken = __main__.taken
    del __main__.taken
    return s, taken


@pytest.mark.parametrize(("name", "make", "head", "size"), [VIT, RESNET])
def test_a_made_model_trains_to_the_same_bits(name: str, make: str, head: str, size: int, tmp_path: Path) -> None:
    s, (mine, x, y) = made(make, head, size)
    other = plain(name)
    assert type(mine) is type(other)
    other.load_state_dict(mine.state_dict())
    x, y = x.clone(), y.clone()
    last = list(getattr(other, head).parameters())
    rest = [p for p in other.parameters() if not any(p is q for q in last)]
    groups = [{"params": rest, "lr": 0.001, "weight_decay": 0.05}, {"params": last, "lr": 0.01, "weight_decay": 0.0}]
    optimizer, loss = torch.optim.AdamW(groups, fused=True), torch.nn.CrossEntropyLoss()
    for _ in range(3):
        losses = []
        for i in (0, 4):
            optimizer.zero_grad()
            value = loss(other(x[i:i + 4]), y[i:i + 4])
            value.backward()
            optimizer.step()
            losses.append(value.item())
        assert s("run k") == pytest.approx(sum(losses) / 2, rel=1e-6)
    expected = other.state_dict()
    assert list(expected) == list(mine.state_dict())
    assert all(torch.equal(mine.state_dict()[key], value) for key, value in expected.items())
    assert s("(`0`1!.001 .01)~exec first lr by`$string parmgroup from parmtable o")
    assert s("(exec sum elements from parmtable m)") == sum(p.numel() for p in other.parameters())
    assert s(f"(last exec elements from summary m where name=`{head})>0")
    assert s("(exec distinct depth from state m)~asc exec distinct depth from state m")
    # frozen parameters stay, the others go on
    s.run(f"freeze(m;`{head})")
    before = {key: value.clone() for key, value in mine.state_dict().items()}
    s.run("run k")
    now = mine.state_dict()
    assert torch.equal(now[f"{head}.weight"], before[f"{head}.weight"])
    assert any(not torch.equal(now[key], value) for key, value in before.items())
    # what `ckpt` writes, Python reads
    for file in ("m.safetensors", "m.pt"):
        s.run(f"ckpt(`$\":{tmp_path / file}\";m)")
    from safetensors.torch import load_file

    for values in (load_file(tmp_path / "m.safetensors"), torch.load(tmp_path / "m.pt", weights_only=True)):
        other.load_state_dict(values)
        assert all(torch.equal(other.state_dict()[key], value) for key, value in now.items())
    if name == "timm":
        import timm

        read = timm.create_model("test_vit", num_classes=4, checkpoint_path=str(tmp_path / "m.safetensors"))
        assert all(torch.equal(read.state_dict()[key], value) for key, value in now.items())


NAMED = {
    "timm": ".p.type[`net;.p.import[`timm;`:create_model]];make:{module(`net;`;`test_vit;`num_classes`pretrained!(4;0b))};",
    "torchvision": ".p.type[`net;.p.import[`torchvision.models;`:resnet18]];make:{module enlist(`net;`num_classes`weights!(4;::))};",
}
MORE = "do[2;run k];-1 .Q.s1 md5`char$-8!(state m;state o);-1 .Q.s1 raze evaluate(m;x);"


@pytest.mark.parametrize(("name", "size"), [("timm", 160), ("torchvision", 32)])
def test_a_named_model_goes_on_in_a_fresh_process(name: str, size: int, tmp_path: Path) -> None:
    data = (f"seed 7;x:tensor(`randn;8 3 {size} {size});y:tensor 8#til 4;m:make[];o:opt(`sgd;m;.01;`momentum,.9);"
            "parmtable(m;update gradflag:0b from parmtable[m]where name like\"*bias\");"
            "k:model(m;loss`ce;o);train(k;`batchsize`shuffle!(4;1b));train(k;x;y);do[2;run k];")
    whole = run(tmp_path, NAMED[name] + data, MORE)
    assert len(whole) == 2
    run(tmp_path, NAMED[name] + data, "snapshot`:run.ks;")
    assert run(tmp_path, NAMED[name], "resume`:run.ks;", MORE) == whole
    failed = kshell(tmp_path, "resume`:run.ks")
    assert "no type net here: define it first" in failed.stderr


def run(folder: Path, *lines: str) -> list[str]:
    done = kshell(folder, *lines)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def kshell(folder: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "kshell", "-q"], input="\n".join(lines) + "\n", capture_output=True, text=True,
                          cwd=folder, timeout=200, env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin"})
