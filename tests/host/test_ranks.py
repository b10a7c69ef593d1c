"""Jobs of several processes: one prompt, and edits that all of them carry out after the same step."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from kshell.attach import place
from tests.host.programs import Client, Program, Refused, running

RANKS = """
import os, sys, time
import torch
import torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(3)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(.1), torch.nn.Linear(16, 1))
if sys.argv[1] == "ddp":
    net = torch.nn.parallel.DistributedDataParallel(net)
else:
    from torch.distributed.fsdp import fully_shard
    mesh = dist.device_mesh.init_device_mesh("cpu", (size,))
    fully_shard(net[0], mesh=mesh)
    fully_shard(net, mesh=mesh)
optimizer = torch.optim.AdamW(net.parameters(), lr=.01)
torch.manual_seed(rank)
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)
log = open(f"log{rank}.txt", "w", buffering=1)
def main():
    for step in range(1, int(os.environ["STEPS"]) + 1):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        print(step, optimizer.param_groups[0]["lr"], file=log)
        time.sleep(.01)
main()
parts = [p.detach() for p in net.parameters()]
parts = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in parts]
print("end", "%.17g" % sum(p.double().sum().item() * (i + 1) for i, p in enumerate(parts)), file=log)
dist.destroy_process_group()
"""


def torchrun(kind: str, *options: str) -> list[str]:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "--local-addr", "127.0.0.1"]
    return [sys.executable, "-m", "kshell", "run", *options, *launcher, "train.py", kind]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_RUN", str(tmp_path / "run"))


def ranks(program: Program, step: int = 3) -> list[place.State]:
    """The states of both processes, once they have made some steps."""

    def both() -> list[place.State] | None:
        states = [s for s in place.listening() if s.rank >= 0 and s.step >= step] if program.run.exists() else []
        return sorted(states, key=lambda state: state.rank) if len(states) == 2 else None

    found: list[place.State] = program.until(both)
    return found


def edited(program: Program, client: Client, number: int) -> dict[str, Any]:
    """The edits, once there are so many."""

    def done() -> Any:
        edits = client(".run.edits")
        return edits if len(set(edits["edit"])) == number else None

    found: dict[str, Any] = program.until(done)
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_an_edit_is_carried_out_by_all_after_the_same_step(tmp_path: Path, kind: str) -> None:
    layer = "module.0" if kind == "ddp" else "0"
    with running(tmp_path, RANKS, *torchrun(kind), STEPS="5000") as program:
        first, second = ranks(program)
        assert (first.rank, second.rank) == (0, 1) and first.job == second.job != ""
        client = Client(place.socket_of(first.pid))
        gradients = client("select name,norm from gradtable optimizer")
        assert len(gradients["name"]) == 4 and all(gradients["norm"] > 0)
        _, warned, _ = client.typed("lr(optimizer;.002)")
        assert "in all processes" in warned
        edits = edited(program, client, 1)
        step = edits["step"][0]
        assert f"after step {step}," in warned
        client(f"freeze(net;`{layer})")
        edited(program, client, 2)
        if kind == "ddp":
            client("child(net;`module.3;(`linear;16;1))")
            edited(program, client, 3)
        else:
            with pytest.raises(Refused, match="nyi"):
                client("child(net;`3;(`linear;16;1))")
            with pytest.raises(Refused, match="would wait"):
                client("forward(net;x)")
        table = program.until(lambda: (t := client(".run.ranks")) and all(t["alike"]) and t)
        assert list(table["rank"]) == [0, 1] and list(table["pid"]) == [first.pid, second.pid]
        assert abs(table["step"][0] - table["step"][1]) <= 1
        ranks(program, client(".run.step") + 3)
        for rank in (0, 1):  # the programs' own logs
            lines = [line.split() for line in (tmp_path / f"log{rank}.txt").read_text().splitlines()]
            rates = {int(words[0]): float(words[1]) for words in lines}
            assert rates[step - 1] == 0.01 and rates[step] == 0.002  # the line is written after the step


@pytest.mark.slow
def test_the_action_of_a_watch_is_carried_out_by_all(tmp_path: Path) -> None:
    with running(tmp_path, RANKS, *torchrun("ddp"), STEPS="5000") as program:
        first, second = ranks(program)
        client = Client(place.socket_of(first.pid))
        client('watch[`late;"1b";"lr(optimizer;.5)"]')
        edits = edited(program, client, 1)
        assert list(edits["user"]) == ["late"]
        other = Client(place.socket_of(second.pid))
        assert program.until(lambda: other("first lr optimizer") == 0.5 or None)
        assert program.until(lambda: all(client(".run.ranks")["alike"]) or None)


@pytest.mark.slow
def test_edits_of_a_job_are_replayed(tmp_path: Path) -> None:
    with running(tmp_path, RANKS, *torchrun("ddp"), STEPS="250") as program:
        first, _ = ranks(program)
        client = Client(place.socket_of(first.pid))
        client("lr(optimizer;.05)")
        edited(program, client, 1)
        client("child(net;`module.3;(`linear;16;1))")
        edited(program, client, 2)
        client.close()
        program.output()
        logs = sorted(tmp_path.glob("kshell-edits-*.q"))
        assert len(logs) == 2
    ends = [(tmp_path / f"log{rank}.txt").read_text().splitlines()[-1] for rank in (0, 1)]
    assert ends[0] == ends[1]
    with running(tmp_path, RANKS, *torchrun("ddp", "--replay", str(logs[0])), STEPS="250") as program:
        program.output()
    assert [(tmp_path / f"log{rank}.txt").read_text().splitlines()[-1] for rank in (0, 1)] == ends


@pytest.mark.slow
def test_a_rank_that_died_and_one_that_waits_are_named(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = [sys.executable, "-m", "kshell", "run", "train.py", "ddp"]
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "STEPS": "5000"}
    with (
        running(tmp_path, RANKS, *words, RANK="1", **job) as other,
        running(tmp_path, RANKS, *words, RANK="0", **job) as program,
    ):
        first, second = ranks(program)
        client = Client(place.socket_of(first.pid))
        os.kill(second.pid, signal.SIGSTOP)
        try:
            waits = program.until(lambda: (s := place.asked(first.pid)) and s.since and s.since > 1 and s)
            assert "train.py" in " ".join(waits.stack) and waits.what == "training"
            stopped = next(s for s in place.listening(0.5) if s.pid == second.pid)
            assert stopped.what == place.NOT_ANSWERING
        finally:
            os.kill(second.pid, signal.SIGCONT)
        client("pause[]")
        other.kill()
        table = program.until(lambda: (t := client(".run.ranks")) and list(t["what"]) == ["paused", "not here"] and t)
        assert list(table["rank"]) == [0, 1]
        with pytest.raises(Refused, match="rank 1 does not listen"):
            client("lr(optimizer;.5)")
        assert client("first lr optimizer") == 0.01
