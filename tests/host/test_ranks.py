"""Jobs of several processes: one prompt, and edits that all of them carry out after the same step."""

from __future__ import annotations

import itertools
import os
import re
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kshell.attach import place
from kshell.host.plans import Planned, Plans
from tests.host.logs import logged, shows_that_they_are_undone, shows_the_edits
from tests.host.programs import BEGIN, LINE, SEEN, Client, Program, Refused, running

RANKS = BEGIN.replace('"log.txt"', '"log" + os.environ["RANK"] + ".txt"') + SEEN + """
import torch.distributed as dist
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(.1), torch.nn.Linear(16, 2))
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
y = x[:, :2] * x.sum(1, keepdim=True)
def layer(i):
    return getattr(net, "module", net)[i]
def main():
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        say(step, optimizer, *seen(net, layer(0), layer(3)))
main()
whole = [p.detach().full_tensor() if hasattr(p, "full_tensor") else p.detach() for p in net.parameters()]
print("end", "%.17g" % sum(p.double().sum().item() * (i + 1) for i, p in enumerate(whole)), file=LOG)
dist.destroy_process_group()
"""
# what starts the launcher, its environment, and the lines before the program's own
WAYS: dict[str, tuple[list[str], dict[str, str], str]] = {
    "run": (["-m", "kshell", "run"], {}, ""),
    "variable": ([], {"KSHELL_LISTEN": "1"}, ""),
    "line": ([], {}, LINE),
}


def torchrun(kind: str, *options: str, way: str = "run") -> list[str]:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "--local-addr", "127.0.0.1"]
    return [sys.executable, *WAYS[way][0], *options, *launcher, "train.py", kind]


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


def edited(program: Program, client: Client, number: int) -> int:
    """The step after which the last edit was made, once there are so many."""

    def done() -> Any:
        edits = client(".run.edits")
        return edits["step"][-1] if len(set(edits["edit"])) == number else None

    return int(program.until(done))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("kind", "way"), [*itertools.product(["ddp", "fsdp"], WAYS)])
def test_an_edit_is_carried_out_by_all_after_the_same_step(tmp_path: Path, kind: str, way: str) -> None:
    inside = "module." if kind == "ddp" else ""
    _, environment, before = WAYS[way]
    with running(tmp_path, before + RANKS, *torchrun(kind, way=way), STEPS="5000", PAUSE="0.01", **environment) as program:
        first, second = ranks(program, 8)
        assert (first.rank, second.rank) == (0, 1) and first.job == second.job != ""
        client = Client(place.socket_of(first.pid))
        step, gradients = client("(.run.step;select name,norm from gradtable optimizer)")
        assert len(gradients["name"]) == 4 and all(gradients["norm"] > 0)
        _, warned, _ = client.typed("lr(optimizer;.003)")
        steps = [edited(program, client, 1)]
        assert f"edit: after step {steps[0]}, in all processes" in warned
        client(f"freeze(net;`{inside}0)")
        steps.append(edited(program, client, 2))
        if kind == "fsdp":
            with pytest.raises(Refused, match="would wait"):
                client("forward(net;x)")
        client(f"child(net;`{inside}3;(`linear;16;2;0b))")
        steps.append(edited(program, client, 3))
        ranks(program, steps[2] + 5)
        client("undo 3")
        steps.append(edited(program, client, 4))
        table = program.until(lambda: (t := client(".run.ranks")) and all(t["alike"]) and t)
        assert list(table["rank"]) == [0, 1] and list(table["pid"]) == [first.pid, second.pid]
        assert abs(table["step"][0] - table["step"][1]) <= 1
        ranks(program, steps[3] + 5)
        for rank in (0, 1):
            log = logged(tmp_path / f"log{rank}.txt")
            shows_the_edits(log, *steps[:3], 32)
            shows_that_they_are_undone(log, steps[3])
        norm = np.sqrt(np.square(gradients["norm"].astype(float)).sum())
        assert logged(tmp_path / "log0.txt")[step].norm == pytest.approx(norm, rel=1e-4)


def test_plans_of_one_step_have_an_order_of_their_own() -> None:
    given = [Planned(3, "me", "a", 0, 4), Planned(3, "me", "b", 0, 5), Planned(3, "me", "c", 1, 0), Planned(3, "me", "d", -1, 9), Planned(4, "me", "e", 0, 1)]
    number = [2]
    for order in itertools.permutations(given):
        number[0] = 2
        plans = Plans(lambda: number[0], lambda: None)
        assert all(plans.add(planned) for planned in order) and plans.due() == []
        number[0] = 3
        assert "".join(planned.text for planned in plans.due()) == "dabc"
        assert plans.next_step == 4


@pytest.mark.slow
def test_edits_of_one_step_are_made_in_the_same_order_everywhere(tmp_path: Path) -> None:
    """Both processes are asked: one after the other, the second rank first, and at the same time."""
    with running(tmp_path, RANKS, *torchrun("ddp"), STEPS="5000", PAUSE="0.005") as program:
        clients = [Client(place.socket_of(state.pid)) for state in ranks(program)]
        late = clients[0](".run.step") + 300

        def ask(rank: int, steps: range) -> None:
            for step in steps:
                for i in range(2):
                    clients[rank](f'at[{step};"lr(optimizer;{rank + 1}.{i})"]')

        for rank in (1, 0):
            ask(rank, range(late, late + 1))
        threads = [threading.Thread(target=ask, args=(rank, range(late + 1, late + 9))) for rank in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        expected = [(step, f"lr(optimizer;{rank + 1}.{i})") for step in range(late, late + 9) for rank in (0, 1) for i in (0, 1)]
        for client in clients:
            edits = program.until(lambda client=client: len((t := client(".run.edits"))["step"]) == len(expected) and t)
            assert [(step, text.decode()) for step, text in zip(edits["step"], edits["text"], strict=True)] == expected
        assert all(clients[0](".run.ranks")["alike"])


@pytest.mark.slow
def test_the_action_of_a_watch_is_carried_out_by_all(tmp_path: Path) -> None:
    with running(tmp_path, RANKS, *torchrun("ddp"), STEPS="5000") as program:
        first, second = ranks(program)
        client = Client(place.socket_of(first.pid))
        client('watch[`late;"1b";"lr(optimizer;.5)"]')
        edited(program, client, 1)
        assert list(client(".run.edits")["user"]) == ["late"]
        other = Client(place.socket_of(second.pid))
        assert program.until(lambda: other("first lr optimizer") == 0.5 or None)
        assert program.until(lambda: all(client(".run.ranks")["alike"]) or None)


@pytest.mark.slow
def test_a_layer_that_replaces_another_is_divided_as_that_was(tmp_path: Path) -> None:
    """By `fully_shard`, and computes what it computes undivided."""
    words = [word if word != "train.py" else "-m" for word in torchrun("tests.host.sharded", way="line")]
    with running(tmp_path, "", *words) as program:
        output = program.output()
        assert program.process is not None and program.process.returncode == 0, output
        assert re.search(r"^\d\d cases$", output, re.M), output


@pytest.mark.slow
def test_whole_values_are_gathered_by_all_after_the_same_step(tmp_path: Path) -> None:
    with running(tmp_path, RANKS, *torchrun("fsdp"), STEPS="5000", PAUSE="0.005") as program:
        clients = [Client(place.socket_of(state.pid)) for state in ranks(program)]
        clients[0]("lr(optimizer;0f)")  # nothing moves any more
        edited(program, clients[0], 1)
        ranks(program, clients[0](".run.step") + 3)
        norms = [client("exec norm from parmtable net") for client in clients]
        expected = np.sqrt(sum(np.square(n.astype(float)) for n in norms))
        for client in clients:
            assert client('whole"exec norm from parmtable net"') == pytest.approx(expected, rel=1e-5)
        whole = clients[1]('whole"tensor parm(net;`3.weight)"')
        assert whole.shape == (2, 16) and np.linalg.norm(whole) == pytest.approx(expected[2], rel=1e-5)
        assert [clients[r]("tensor parm(net;`3.weight)").tolist() for r in (0, 1)] == [whole[:1].tolist(), whole[1:].tolist()]
        assert clients[0]('a:3;b:whole"count tensor parm(net;`0.weight)";a*b') == 48
        shown, warned, prompt = clients[0].typed('whole"(count tensor parm(net;`0.weight)),.run.step-.run.step"')
        assert (shown.strip(), warned, prompt) == ("16 0", "", "q)")
        assert clients[0]('whole"exec sum elements from statetable optimizer"') == clients[0]("exec sum elements from statetable optimizer")
        with pytest.raises(Refused, match="only be read"):
            clients[0]('whole"t:parm(net;`0.weight);t[0;0]:9e"')
        with pytest.raises(Refused, match="foo"):
            clients[0]('whole"foo"')
        both_at_once(clients, 'whole"exec norm from parmtable net"', expected)
        clients[0]("pause[]")
        with pytest.raises(Refused, match="is paused"):
            clients[0]('whole"exec norm from parmtable net"')
        clients[0]("go[]")
        assert program.until(lambda: all(clients[0](".run.ranks")["alike"]) or None)


def both_at_once(clients: list[Client], text: str, expected: Any) -> None:
    """Clients of both processes ask at the same time, again and again."""

    def ask(client: Client) -> None:
        for _ in range(15):
            answers.append(client(text))

    answers: list[Any] = []
    threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 30 and all(answer == pytest.approx(expected, rel=1e-5) for answer in answers)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_edits_of_a_job_are_replayed(tmp_path: Path, kind: str) -> None:
    inside = "module." if kind == "ddp" else ""
    with running(tmp_path, RANKS, *torchrun(kind), STEPS="250") as program:
        first, _ = ranks(program)
        client = Client(place.socket_of(first.pid))
        client("lr(optimizer;.05)")
        edited(program, client, 1)
        client(f"child(net;`{inside}3;(`linear;16;2))")
        edited(program, client, 2)
        client.close()
        program.output()
        logs = sorted(tmp_path.glob("kshell-edits-*.q"))
        assert len(logs) == 2
    ends = [(tmp_path / f"log{rank}.txt").read_text().splitlines()[-1] for rank in (0, 1)]
    assert ends[0] == ends[1]
    with running(tmp_path, RANKS, *torchrun(kind, "--replay", str(logs[0])), STEPS="250") as program:
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
