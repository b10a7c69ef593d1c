"""A program that trains on a GPU, looked into and changed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tests.host.programs import BEGIN, END, NET, alone, running

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no cuda here")

# its log has the step, the rate and the loss
TEXT = BEGIN + NET + """
net, x, y = net.cuda(), x.cuda(), y.cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=.01, fused=True)
def main():
    for step in range(1, STEPS + 1):
        if step == 60 and os.environ.get("SPOIL"):
            x[5] = float("nan")
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_fn(net(x), y)
        loss.backward()
        optimizer.step()
        say(step, optimizer, loss.item())
main()
net.cpu()
""" + END


def test_listening_changes_no_bit(tmp_path: Path) -> None:
    without = alone(tmp_path / "a", TEXT, STEPS="60", PAUSE="0", by=None)
    with running(tmp_path / "b", TEXT, STEPS="60", PAUSE="0") as program:
        assert program.ended() == without


def test_its_losses_and_its_memory(tmp_path: Path) -> None:
    with running(tmp_path, TEXT, STEPS="3000") as program:
        client = program.client()
        program.wait_for(20)
        steps, losses, norms, memory = (client(f"exec {c} from .run.steps where step<20") for c in
                                        ("step", "loss", "gradnorm", "memory"))
        logged = {int(line[0]): float(line[2]) for line in program.log}
        assert len(steps) >= 10 and all(math.isclose(loss, logged[s], rel_tol=1e-6)
                                        for s, loss in zip(steps, losses, strict=True))
        assert any(x > 0 for x in norms) and any(0 < x < 1 << 30 for x in memory)
        assert program.state()["devices"] == ["cuda:0"]
        assert client("device net") == "cuda:0"
        client("lr(optimizer;.5)")
        at = client(".run.step")
        program.wait_for(at + 2)
        assert float(program.log[-1][1]) == 0.5
        client("undo 1")
        at = client(".run.step")
        program.wait_for(at + 2)
        assert float(program.log[-1][1]) == 0.01


def test_the_first_row_that_is_not_finite(tmp_path: Path) -> None:
    with running(tmp_path, TEXT, STEPS="3000", PAUSE=".02", SPOIL="1") as program:
        client = program.client()
        client('watch[`nan;"finite";"log"]')
        program.wait_for(80)
        found = program.until(lambda: (t := client(".run.found")) and len(t["step"]) and t)
        assert found["step"].tolist() == [60] and found["rows"][0].tolist() == [5], found
