"""Random training loops compute the same bits with and without somebody who listens, asks and edits."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.host.programs import Client, running

LAYERS = ["torch.nn.Linear(8, 8)", "torch.nn.ReLU()", "torch.nn.Tanh()", "torch.nn.Dropout(.2)", "torch.nn.BatchNorm1d(8)", "torch.nn.LayerNorm(8)",
          "torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.GELU(), torch.nn.Linear(12, 8))", "torch.nn.Unflatten(1, (2, 4)), torch.nn.Conv1d(2, 2, 3, padding=1), torch.nn.Flatten()"]
OPTIMIZERS = ["SGD(net.parameters(), lr=.05, momentum=.9)", "AdamW(net.parameters(), lr=.01)", "Adam(net.parameters(), lr=.01, amsgrad=True)",
              "RMSprop(net.parameters(), lr=.01)", "Adagrad(net.parameters(), lr=.05)", "NAdam(net.parameters())",
              "SGD([{'params': [p], 'lr': .01 * (i + 1)} for i, p in enumerate(net.parameters())])", "LBFGS(net.parameters(), lr=.1, max_iter=3)"]
SCHEDULERS = ["None", "S.StepLR(optimizer, 4)", "S.CosineAnnealingLR(optimizer, 10)", "S.LambdaLR(optimizer, lambda n: 1 / (n + 1))",
              "S.OneCycleLR(optimizer, .1, 30, cycle_momentum=False)", "S.SequentialLR(optimizer, [S.ConstantLR(optimizer), S.ExponentialLR(optimizer, .9)], [5])"]
LOSSES = ["F.mse_loss(out, y)", "F.smooth_l1_loss(out, y)", "(out - y).abs().mean()"]
BEGIN = """
import os, time
import torch
import torch.nn.functional as F
import torch.optim.lr_scheduler as S
torch.set_num_threads(1)
log = open("log.txt", "w", buffering=1)
pause = float(os.environ["PAUSE"])
"""
END = """
print("end", "0", file=log)
"""


def script(draw: random.Random, number: int) -> str:
    """A training loop of its own kind, which prints what it came to."""
    layers = ", ".join(draw.choice(LAYERS) for _ in range(draw.randint(1, 5)))
    optimizer = draw.choice(OPTIMIZERS)
    closed = optimizer.startswith("LBFGS")
    scheduler = "None" if closed else draw.choice(SCHEDULERS)
    accumulate = 1 if closed else draw.choice([1, 1, 3])
    clip = "torch.nn.utils.clip_grad_norm_(net.parameters(), .5)" if draw.random() < 0.4 else "pass"
    evaluate = "net.eval(); net(x); net.train()" if draw.random() < 0.4 else "pass"
    cast = "torch.autocast('cpu', torch.bfloat16)" if draw.random() < 0.3 and not closed else "torch.enable_grad()"
    return f"""
def train_{number}():
    torch.manual_seed({number})
    net = torch.nn.Sequential({layers}, torch.nn.Linear(8, 1))
    optimizer = torch.optim.{optimizer}
    scheduler = {scheduler}
    x = torch.randn(16, 8)
    y = x.sum(1, keepdim=True)
    for step in range(12):
        def closure():
            optimizer.zero_grad(set_to_none={draw.random() < 0.5})
            for _ in range({accumulate}):
                with {cast}:
                    out = net(x + .1 * torch.randn_like(x))
                loss = {draw.choice(LOSSES).replace("out", "out.float()")} / {accumulate}
                loss.backward()
            {clip}
            return loss
        if {closed}:
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
        if scheduler is not None:
            scheduler.step()
        {evaluate}
        time.sleep(pause)
    total = sum(t.double().sum().item() * (i + 1) for i, t in enumerate(net.state_dict().values()))
    print({number}, "%.17g" % total, "%.17g" % torch.rand(1).item(), file=log)
train_{number}()
"""


@pytest.mark.slow
def test_fifty_random_programs(tmp_path: Path) -> None:
    draw = random.Random(17)
    text = BEGIN + "".join(script(draw, number) for number in range(1, 51)) + END
    with running(tmp_path / "alone", text, sys.executable, "train.py", PAUSE="0") as program:
        program.ended()
        expected = program.log
    assert len(expected) == 51 and len({words[1] for words in expected}) > 45
    with running(tmp_path / "idle", text, PAUSE="0") as program:
        program.ended()
        assert program.log == expected
    with running(tmp_path / "asked", text, PAUSE="0.002") as program:
        client = program.client()
        client('watch[`nan;"finite"]')
        _ask(client)
        program.ended()
        assert program.log == expected
        assert not list(program.folder.glob("kshell-edits*"))


def _ask(client: Client) -> None:
    """Ask this and that until the program ends."""
    questions = ["gradtable optimizer", "parmtable net", "evaluate(net;x)", "tensor(`randn;3 3)", "10?1f", "statetable optimizer", "-3#.run.steps"]
    try:
        for i in range(100_000):
            client.typed(questions[i % len(questions)])
    except (ConnectionError, TimeoutError):
        pass
