"""The schedulers of a Python program as handles: read, stepped and set from q, the very objects."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler as lrs

from kshell import QError, Session

pytestmark = pytest.mark.filterwarnings("ignore:Detected call of")


@pytest.fixture(scope="module")
def s() -> Session:
    return Session()


class Plain:
    """Something that has no q value."""


class Slow(lrs.LRScheduler):
    """A scheduler of a class that nobody registered."""

    def __init__(self, optimizer: Any, power: float = 2.0) -> None:
        self.power, self.notes = power, {"a": Plain()}
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        return [r / (1 + self.last_epoch) ** self.power for r in self.base_lrs]


def parts(o: Any) -> list[Any]:
    return [lrs.ConstantLR(o, 0.5, 2), lrs.ExponentialLR(o, 0.5)]


MADE = {
    "steplr": lambda o: lrs.StepLR(o, 2, 0.5), "multisteplr": lambda o: lrs.MultiStepLR(o, [1, 3, 3], 0.5),
    "constantlr": lambda o: lrs.ConstantLR(o, 0.5, 3), "linearlr": lambda o: lrs.LinearLR(o, 0.5, 1, 4),
    "exponentiallr": lambda o: lrs.ExponentialLR(o, 0.9), "polynomiallr": lambda o: lrs.PolynomialLR(o, 6, 2.0),
    "cosineannealinglr": lambda o: lrs.CosineAnnealingLR(o, 5, 0.1),
    "cosineannealingwarmrestarts": lambda o: lrs.CosineAnnealingWarmRestarts(o, 2, 2, 0.1),
    "cycliclr": lambda o: lrs.CyclicLR(o, 0.1, 0.4, 2, 3), "onecyclelr": lambda o: lrs.OneCycleLR(o, 2.0, 12, pct_start=0.4),
    "swalr": lambda o: torch.optim.swa_utils.SWALR(o, 0.2, 4, "linear"),
    "sequentiallr": lambda o: lrs.SequentialLR(o, parts(o), [2]), "chainedscheduler": lambda o: lrs.ChainedScheduler(parts(o)),
    "lambdalr": lambda o: lrs.LambdaLR(o, lambda n: 0.5**n), "multiplicativelr": lambda o: lrs.MultiplicativeLR(o, lambda n: 0.5),
    "slow": Slow}


def optimizer() -> Any:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=1.0, momentum=0.5)


@pytest.mark.parametrize("name", MADE)
def test_schedulers_of_the_program(name: str, s: Session, tmp_path: pathlib.Path) -> None:
    """The rates of the next steps, those that torch has; steps, state and definition of the very object."""
    twin_o, o = optimizer(), optimizer()
    twin, x = MADE[name](twin_o), MADE[name](o)
    want = [twin_o.param_groups[0]["lr"]]
    for _ in range(9):
        twin.step()
        want.append(twin_o.param_groups[0]["lr"])
    s["o"], s["sch"] = o, x
    assert s["sch"] is x and s("class sch") == "scheduler" and s("objtype sch") == name
    np.testing.assert_allclose(s("exec lr from lrs(sch;til 8)"), want[:8], rtol=1e-12)
    s("step sch;step(sch;2)")
    assert o.param_groups[0]["lr"] == pytest.approx(want[3]) and s("sched[sch]`steps") == 3
    np.testing.assert_allclose(s("exec lr from lrs(sch;3+til 6)"), want[3:9], rtol=1e-12)
    assert o.param_groups[0]["lr"] == pytest.approx(want[3]) and x.optimizer is o
    s("st:state sch;step(sch;4);sched(sch;st)")
    x.step()
    assert o.param_groups[0]["lr"] == pytest.approx(want[4])
    again = "first(sched(sch;state sch);1)"
    assert s(again) is None
    known = name not in ("lambdalr", "multiplicativelr", "slow")
    if known:
        np.testing.assert_allclose(s("exec lr from lrs(sch;til 10)"), want, rtol=1e-12)
        s(f"snapshot(`:{tmp_path}/s.ks;`sch);resume(`:{tmp_path}/s.ks;`sch)")
        np.testing.assert_allclose(s("exec lr from lrs(sch;til 10)"), want, rtol=1e-12)
    else:
        with pytest.raises(QError, match="the rates before step 4 cannot be told"):
            s("lrs(sch;0 5)")
        with pytest.raises(QError, match=r"snapshot: sch: a scheduler of class .* that Python made cannot be saved"):
            s(f"snapshot(`:{tmp_path}/s.ks;`sch)")


def test_measured_schedulers_and_options(s: Session) -> None:
    o = optimizer()
    s["o"] = o
    s["sch"] = x = lrs.ReduceLROnPlateau(o, factor=0.5, patience=0)
    s("step(sch;3.);step(sch;3.)")
    assert s("lr o").tolist() == [0.5] and x.num_bad_epochs == 0 and s("options[sch]`factor`patience") == [0.5, 0]
    with pytest.raises(QError, match="the rates of reducelronplateau depend on the metric passed to each step"):
        s("lrs(sch;til 3)")
    s["sch"] = Slow(o, 3.0)
    assert s("options[sch]`power") == 3.0 and s["sch"] is not None
    s["other"] = s["sch"]
    s("step sch")
    assert s("sched[other]`steps") == 1 and s("class sched o") == "scheduler"


def test_wrapped_schedulers(s: Session) -> None:
    """A wrapper steps its own way, and comes back as itself."""

    class Wrapper:
        def __init__(self, scheduler: Any) -> None:
            self.scheduler, self.calls = scheduler, 0

        def step(self, *args: Any) -> None:
            self.calls += 1
            self.scheduler.step()
            self.scheduler.step()

        def state_dict(self) -> Any:
            return self.scheduler.state_dict()

        def get_last_lr(self) -> Any:
            return self.scheduler.get_last_lr()

    o = optimizer()
    s["w"] = w = Wrapper(lrs.ExponentialLR(o, 0.5))
    s("step w")
    assert s["w"] is w and w.calls == 1 and o.param_groups[0]["lr"] == 0.25 and s("objtype w") == "exponentiallr"


def test_a_failing_scheduler_changes_nothing(s: Session) -> None:
    def falls(n: int) -> float:
        if n > 1:
            raise OSError("no")
        return 0.5**n

    o = optimizer()
    s["sch"] = x = lrs.LambdaLR(o, falls)
    with pytest.raises(QError):
        s("step(sch;3)")
    assert x.last_epoch == 0 and o.param_groups[0]["lr"] == 1.0
