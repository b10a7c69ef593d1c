"""Modules, losses and optimizers of Python's own classes, gone on with in fresh processes: the bits are those of one that
was not stopped."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.support import warm

NET = '''
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, c: int):
        super().__init__()
        self.one, self.two, self.norm = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c)

    def forward(self, x):
        return torch.relu(x + self.two(torch.relu(self.norm(self.one(x)))))


class ResNet(nn.Module):
    """A residual network of two blocks."""

    def __init__(self, width: int, classes: int, drop: float = 0.1):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.ModuleList([Block(width), Block(width)])
        self.drop, self.head = nn.Dropout(drop), nn.Linear(width * 4, classes)
        self.tied = nn.ParameterList([self.head.bias])

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.drop(nn.functional.adaptive_avg_pool2d(x, 2).flatten(1)))


class Smooth(nn.modules.loss._Loss):
    def __init__(self, amount: float = 0.1):
        super().__init__()
        self.amount, self.scale = amount, nn.Parameter(torch.ones(1))

    def forward(self, x, y):
        return self.scale.sum() * nn.functional.cross_entropy(x, y, label_smoothing=self.amount)


class Signed(torch.optim.Optimizer):
    def __init__(self, params, lr: float, boost: float = 1.0):
        super().__init__(params, {"lr": lr})
        self.boost = boost

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    kept = self.state[p]
                    kept["steps"] = kept.get("steps", 0) + 1
                    kept["mean"] = kept.get("mean", torch.zeros_like(p)).lerp(p.grad, 0.1)
                    p -= group["lr"] * self.boost * kept["mean"] / (1 + kept["steps"]) ** 0.1
'''
FUNCTIONS = '''
from torch import nn


def stack(*sizes, bias=True, **more):
    """Layers of these sizes."""
    layers = [nn.Linear(n, m, bias=bias) for n, m in zip(sizes, sizes[1:])]
    return nn.Sequential(*layers, nn.Softplus(**more))
'''
# images of four kinds: a bar at a place that their number tells, with noise
DATA = ('system"S 7";seed 7;y:128#til 4;z:tensor(`randn;128 1 8 8);x:return(z*.3)+'
        'tensor{enlist 8 8#raze 8#enlist"e"$2*x=(til 8)div 2}each y;')
MAKE = ("m:module enlist(`ResNet;6;`classes,4);l:loss enlist(`Smooth;.05);o:opt(`Signed;m;.3;`boost,2.);"
        "opt(o;1;();.1);k:model(m;l;o);train(k;`batchsize`shuffle!(16;1b));train(k;x;y);do[6;run k];")
MORE = "do[4;run k];-1 .Q.s1 md5 `char$-8!(state m;state o;state l);-1 .Q.s1 avg y={x?max x}each evaluate(m;x);"


def run(folder: Path, *lines: str) -> tuple[list[str], str]:
    done = warm.run([sys.executable, "-m", "kshell", "-q"], input="\n".join(lines) + "\n", capture_output=True, text=True,
                    cwd=folder, check=False, timeout=100)
    return done.stdout.splitlines(), done.stderr


def good(folder: Path, *lines: str) -> list[str]:
    out, err = run(folder, *lines)
    assert not err, err
    return out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET)
    return tmp_path


def test_a_users_own_network_loss_and_optimizer_go_on(folder: Path) -> None:
    whole = good(folder, "\\l net.py", DATA, MAKE, MORE)
    assert float(whole[1].rstrip("f")) > 0.9
    good(folder, "\\l net.py", DATA, MAKE, "snapshot`:run.ks;")
    assert good(folder, "\\l net.py", "resume`:run.ks;", MORE) == whole
    out, err = run(folder, "m:7", "resume`:run.ks", "m", "@[value;\"o\";{x}]")
    assert "'resume: no class ResNet here: load its file first (\\l net.py when it was saved)" in err
    assert out == ["7", ",\"o\""]
    (folder / "net.py").write_text(NET + "\n# another line\n")
    out, err = run(folder, "\\l net.py", "resume`:run.ks;", MORE)
    assert out == whole and re.fullmatch(r"resume: net.py is not as it was when (\w+ ?){3} were saved\n", err)


@pytest.mark.parametrize(("old", "new", "text"), [
    ("width: int, classes", "wide: int, classes", "unrecognized option `width"),
    ("nn.Linear(width * 4, classes)", "nn.Linear(width * 4, classes + 1)", "is no type"),
    ("super().__init__()\n        self.stem", "raise KeyError('no')\n        self.stem", "KeyError"),
    ("[Block(width), Block(width)]", "[Block(width)]", ""), ("class ResNet", "class Other", "no class ResNet here")])
def test_a_class_that_has_changed_is_an_error_and_nothing_changes(folder: Path, old: str, new: str, text: str) -> None:
    good(folder, "\\l net.py", DATA, MAKE, "snapshot`:run.ks;")
    assert old in NET
    (folder / "net.py").write_text(NET.replace(old, new).replace("width * 4", "wide * 4" if "wide:" in new else "width * 4"))
    out, err = run(folder, "\\l net.py", "m:7", "resume`:run.ks", "m")
    assert out == ["7"] and "'resume: " in err and text in err and "damaged" not in err and "Traceback" not in err


def test_a_function_that_p_type_named_goes_on(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(FUNCTIONS)
    named = ".p.type[`stack;.p.import[`made;`:stack]];"
    make = ("seed 3;m:module enlist(`stack;3;5;1;`bias`beta!(0b;2));o:opt(`adamw;m;.01);x:tensor(`randn;9 3);"
            "f:{[i]zerograd o;backward mean forward(m;x);step o};f each til 3;")
    more = "f each til 3;-1 .Q.s1 md5 `char$-8!(state m;state o);show options m;-1 string objtype m;"
    whole = good(tmp_path, named, make, more)
    good(tmp_path, named, make, "snapshot`:run.ks;")
    assert good(tmp_path, named, "resume`:run.ks;", more) == whole
    _, err = run(tmp_path, "resume`:run.ks")
    assert "'resume: no type stack here: load its file first (\\l made.py when it was saved)" in err
    good(tmp_path, named, make, "`:m set state m;")
    assert good(tmp_path, named, "m:module get`:m;-1 .Q.s1 md5 `char$-8!state m;") == good(
        tmp_path, named, make, "-1 .Q.s1 md5 `char$-8!state m;")


def test_edits_and_parts_go_on(folder: Path) -> None:
    make = ("seed 3;m:module seq(`sequential;(`ResNet;`net;4;3);`relu);child(m;`net.head;(`linear;16;5));"
            "child(m;`$\"net.blocks.1.one\";`relu);n:child(m;`net);training(n;0b);")
    more = "-1 .Q.s1 md5 `char$-8!state m;-1 .Q.s1(n~child(m;`net);training n;options n);-1 .Q.s1 count names m;"
    whole = good(folder, "\\l net.py", make, more)
    good(folder, "\\l net.py", make, "snapshot`:run.ks;")
    assert good(folder, "\\l net.py", "resume`:run.ks;", more) == whole


def test_an_autosave_goes_on(folder: Path) -> None:
    whole = good(folder, "\\l net.py", DATA, MAKE, MORE)
    good(folder, "\\l net.py", DATA, MAKE.replace("do[6;run k];", "autosave(`:auto.ks;8;`steps);do[6;run k];"))
    assert good(folder, "\\l net.py", "resume`:auto.ks;", MORE) == whole


def test_a_scheduler_of_torch_is_a_handle(folder: Path) -> None:
    out = good(folder, "\\l net.py", "o:opt(`Signed;module enlist(`ResNet;4;3);.5)",
               "s:.p.import[`torch.optim.lr_scheduler;`:StepLR;o;2]`", "class s", "do[2;step o;step s]", "lr o")
    assert out == ["`scheduler", ",0.05"]
