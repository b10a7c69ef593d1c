"""A value that is not finite, planted in a layer at a step in rows of the batch, in programs of every kind; and what a
client does about it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.host.programs import PROGRAMS, Client, Refused, running
from tests.host.test_ranks import RANKS, edited, ranks, torchrun
from tests.host.trainers import TRAINERS

STEP, ROW = 60, 3
# what the text of a program has before it trains
PLANT = f"""
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
made = {{}}
register_optimizer_step_post_hook(lambda o, *_: made.update({{id(o): made.get(id(o), 0) + 1}}))
def plant(m, given, out):
    if min(made.values(), default=0) == {STEP - 1} and torch.is_grad_enabled():
        out = out.clone()
        out[{ROW}] = float("nan")
        return out
"""
BEFORE = {"transformers": "settings = ", "accelerate": "net, optimizer, data = ", "lightning": "trainer.fit"}
LAYER = {"transformers": "transformer.h.1.mlp.c_fc", "accelerate": "0", "lightning": "net.0", "two optimizers": "", "averaged": "0"}
ALL = {**PROGRAMS, **TRAINERS}


def planted(name: str, plant: str = PLANT) -> tuple[str, str]:
    """The text of a program with something planted, and the layer where it is."""
    layer = LAYER.get(name, "3")
    module = "other" if name == "two optimizers" else "net"
    line = BEFORE.get(name, "Trainer().fit" if name == "a class" else "main()\n")
    at = ALL[name].rindex("\n" + line) + 1
    hook = f"{module}.get_submodule({layer!r}).register_forward_hook(plant)\n"
    return ALL[name][:at] + plant + hook + ALL[name][at:], layer


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.extra] * (n in TRAINERS)) for n in ALL]
)
def test_the_step_the_layer_and_the_rows_are_named(tmp_path: Path, name: str) -> None:
    if name in TRAINERS and importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    text, layer = planted(name)
    with running(tmp_path, text, PAUSE="0.01", STEPS="2000", HF_HUB_OFFLINE="1") as program:
        client = program.client()
        client('watch[`nan;"finite";"pause"]')
        assert client(".run.step") < STEP - 3, "the watch came too late"
        client.close()  # it is looked for though nobody is there
        program.wait_for(STEP - 1)
        client = program.client()
        found = program.until(lambda: (t := client(".run.found")) and len(t["step"]) and t)
        assert (found["step"][0], found["layer"][0]) == (STEP, layer), found
        assert list(found["rows"][0]) == [ROW] and found["what"][0] == b"the loss is"
        assert client("first .run.watches`fired") == 1
        if name != "scaled and accumulated":  # its scaler leaves out the step
            assert client(".run.step") == STEP - (name != "two optimizers")
            client("skip[]")
        client("go[]")
        at = client(".run.step")
        program.until(lambda: client(".run.step") > at + 5)
        assert not client("any null exec norm from parmtable " + ("other" if name == "two optimizers" else "net"))
        assert len(client(".run.found")["step"]) == 1


def scenario(client: Any, program: Any) -> None:
    """A client goes back to a state that it kept, with another rate."""

    def step(n: int) -> None:
        at = client(".run.step")
        client(f"step {n}")
        program.until(lambda: client(".run.step") == at + n)

    client("pause[]")
    client("keep[]")
    step(20)
    client("keep[]")
    kept = client(".run.step")
    step(10)
    norms = client("exec norm from parmtable net")
    assert client("rollback[]; lr(optimizer;.001)") is None
    assert list(client("exec norm from parmtable net")) != list(norms)
    step(5)
    assert client(f"rollback {kept - 20}") == kept - 20
    client("undo 1")
    step(1)
    client("skip[]")
    client("go[]")


def test_a_run_goes_back_and_is_replayed(tmp_path: Path) -> None:
    with running(tmp_path / "a", PROGRAMS["plain"], PAUSE="0.001", STEPS="150") as program:
        client = program.client()
        scenario(client, program)
        client.close()
        end = program.ended()
        log = next(program.folder.glob("kshell-edits-*.q"))
        assert [log.read_text().count(f"{word}[]") for word in ("keep", "rollback", "skip")] == [2, 1, 1]
    words = ("kshell", "run", "--replay", str(log), "train.py")
    with running(tmp_path / "b", PROGRAMS["plain"], sys.executable, "-m", *words, PAUSE="0", STEPS="150") as program:
        assert program.ended() == end


@pytest.mark.slow
def test_a_state_that_is_not_there(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], PAUSE="0.01", STEPS="2000") as program:
        client = program.client()
        with pytest.raises(Refused, match="no copy of the state is there"):
            client("rollback[]")
        client("keep[]")
        with pytest.raises(Refused, match="no copy of the state after step 1000000 is there"):
            client("rollback 1000000")  # not one that could be the copy's
        for text, problem in {
            "rollback`x": "rollback: expected the number of a step, given symbol", "skip 3": r"skip: expected nothing, as in skip\[\], given",
            "keep 3": "keep: expected nothing", "undo`x": "undo: expected a number of edits", "at[`x;\"1\"]": "at: expected the number of a step",
        }.items():
            with pytest.raises(Refused, match=problem):
                client(text)
        assert client("count .run.edits") == 0


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_a_job_of_which_one_process_is_not_finite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("KSHELL_RUN", str(tmp_path / "run"))
    layer, hooked = ("module.3", "net.module[3]") if kind == "ddp" else ("3", "net[3]")
    plant = PLANT.replace("if min", "if rank == 0 and min") + f"{hooked}.register_forward_hook(plant)\n"
    text = RANKS.replace("\nmain()\n", f"\n{plant}main()\n")
    with running(tmp_path, text, *torchrun(kind), STEPS="5000") as program:
        first = Client(str(program.run / str(ranks(program)[0].pid)))
        first('watch[`nan;"finite";"log"]')
        first("keep[]")  # in both, a few steps ahead
        found = program.until(lambda: (t := first(".run.found")) and len(t["step"]) and t)
        assert (found["step"][0], found["layer"][0], list(found["rows"][0])) == (STEP, layer, [ROW])
        with pytest.raises(Refused, match="skip in a job"):
            first("skip[]")
        first("rollback[]")
        assert edited(program, first, 1) > STEP
        program.until(lambda: all(first(".run.ranks")["alike"]))
