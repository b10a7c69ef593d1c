"""Edits that were made before the first step, between the cells of a notebook, and are replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.programs import BEGIN, END, NET, alone, running

# an event loop runs before the steps, as between the cells of a notebook
WAITS = """
import asyncio
def wait():
    if "kshell" not in sys.modules:
        return
    import kshell
    loop = asyncio.new_event_loop()
    async def listen():
        kshell.listen()
    loop.run_until_complete(listen())
    def look():
        loop.stop() if os.path.exists("go") else loop.call_later(.01, look)
    loop.call_soon(look)
    loop.run_forever()
wait()
"""
MODEL = BEGIN + NET + "optimizer = torch.optim.SGD(net.parameters(), lr=.01, momentum=.9)\n"
# the program draws numbers after the edits, and evaluates
BETWEEN = """
order = torch.randperm(64)
x, y = x[order], y[order]
with torch.no_grad():
    net(x)
"""
STEPS = {
    "plain": """
def main():
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss_fn(net(x), y).backward()
        optimizer.step()
        say(step, optimizer)
main()
""",
    "closure": """
def closure():
    optimizer.zero_grad()
    loss = loss_fn(net[3](net[2](net[1](net[0](x)))), y)
    loss.backward()
    return loss
def main():
    for step in range(1, STEPS + 1):
        optimizer.step(closure)
        say(step, optimizer)
main()
""",
}
EDITS = ["lr(optimizer;.05)", "child(net;`3;(`linear;16;1))", "freeze(net;`0)", "undo 1", "t:parm(net;`0.bias);t[0]:.5e;0"]


def replayed(folder: Path, text: str, log: Path) -> tuple[str, str]:
    """The digest of a program that replays a log, and what it printed."""
    with running(folder, text, STEPS="20", PAUSE="0", KSHELL_REPLAY=str(log)) as program:
        (folder / "go").touch()
        output = program.output()
        assert program.process is not None and program.process.returncode == 0 and program.log[-1][0] == "end", output
        return program.log[-1][1], output


@pytest.mark.parametrize("kind", ["plain", pytest.param("closure", marks=pytest.mark.slow)])
def test_edits_of_before_the_first_step_are_replayed_to_the_same_bits(tmp_path: Path, kind: str) -> None:
    text = MODEL + WAITS + BETWEEN + STEPS[kind] + END
    with running(tmp_path / "edited", text, STEPS="20", PAUSE="0") as program:
        client = program.client()
        for line in EDITS:
            client(line)
        client("count tensor(`randn;3)")  # which changes nothing
        assert set(client(".run.edits")["step"]) == {0}
        client.close()
        (program.folder / "go").touch()
        edited = program.ended()
        log = program.folder / f"kshell-edits-{program.pid}.q"
    carried_out = [line for line in log.read_text().splitlines() if line[0] != "/"]
    assert len(carried_out) == len(EDITS) and all(line.startswith(".run.at[0;") for line in carried_out)
    for name, again in {"loop": text, "script": MODEL + BETWEEN + STEPS[kind] + END}.items():
        digest, output = replayed(tmp_path / name, again, log)
        assert (digest, output) == (edited, "")
        made = next((tmp_path / name).glob("kshell-edits-*.q")).read_text().splitlines()
        assert [line for line in made if line[0] != "/"] == carried_out
    assert edited != alone(tmp_path / "alone", MODEL + BETWEEN + STEPS[kind] + END, STEPS="20", PAUSE="0")


def test_they_wait_for_the_objects_that_they_name(tmp_path: Path) -> None:
    """A call of the model before the optimizer is made, as to find out its sizes."""
    log = tmp_path / "edits.q"
    log.write_text('.run.at[0;"child(net;`3;(`linear;16;1))"]\n.run.at[0;"lr(optimizer;.05)"]\n.run.at[2;"lr(optimizer;.02)"]\n')
    text = MODEL.replace("optimizer =", "net(x)\noptimizer =") + STEPS["plain"] + END
    digest, output = replayed(tmp_path / "again", text, log)
    assert output == "" and digest != alone(tmp_path / "alone", text, STEPS="20", PAUSE="0")
    lines = (tmp_path / "again" / "log.txt").read_text().splitlines()
    assert [float(line.split()[1]) for line in lines[:4]] == [0.05, 0.02, 0.02, 0.02]


def test_what_cannot_be_replayed_is_told(tmp_path: Path) -> None:
    log = tmp_path / "edits.q"
    log.write_text('.run.at[0;"lr(optimizer;.05)"]\n.run.at[0;"lr(other;.05)"]\n.run.at[0;"lr(optimizer;.02)"]\n.run.at[2;"lr(optimizer;.03)"]\n')
    _, output = replayed(tmp_path / "again", MODEL + STEPS["plain"] + END, log)
    assert output.splitlines() == ["kshell: step 0: lr(other;.05): 'other", "kshell: step 0: lr(optimizer;.02): 'other"]
    lines = (tmp_path / "again" / "log.txt").read_text().splitlines()
    assert [float(line.split()[1]) for line in lines[:3]] == [0.05, 0.03, 0.03]


def test_without_a_forward_call_they_are_not_replayed(tmp_path: Path) -> None:
    log = tmp_path / "edits.q"
    log.write_text('.run.at[0;"lr(optimizer;.05)"]\n')
    text = MODEL + STEPS["plain"].replace("net(x)", "torch.nn.functional.linear(x, net[0].weight).mean(1, keepdim=True)") + END
    digest, output = replayed(tmp_path / "again", text, log)
    assert output == "kshell: step 0: lr(optimizer;.05): 'not replayed: no forward call came before the first step\n"
    assert digest == alone(tmp_path / "alone", text, STEPS="20", PAUSE="0")


def test_a_module_that_was_replaced_as_it_is_called_is_told(tmp_path: Path) -> None:
    log = tmp_path / "edits.q"
    log.write_text('.run.at[0;"child(net;`0;(`linear;8;16))"]\n')
    text = MODEL + STEPS["plain"].replace("net(x)", "net[3](net[0](x))") + END
    _, output = replayed(tmp_path / "again", text, log)
    assert output == "kshell: step 0: the first forward call is of a module that was replaced, and uses it once more\n"
