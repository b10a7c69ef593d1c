"""Devices: what is made on one, moved there and trained there, for the CPU and for each accelerator that is here.

Where there is none, its tests are skipped and say so; the CPU's run the same lines everywhere.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest
import torch

from kshell.errors import QError
from kshell.session import Session

NET = "q:module seq(`sequential;(`linear;4;6);`relu;(`linear;6;3));"
DATA = "seed 5;x:tensor(`randn;40,4);y:tensor(`randint;3;40);"
OPTIMIZERS = ("(`sgd;q;.1;`momentum,.9)", "(`adam;q;.01)", "(`adamw;q;.01)", "(`rmsprop;q;.01)", "(`adagrad;q;.1)",
              "(`lamb;q;.01)", "(`radam;q;.01)", "(`adadelta;q;.5)")  # fmt: skip


def _present(device: str) -> bool:
    return {"cpu": lambda: True, "cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}[device]()


DEVICES = [pytest.param(d, marks=pytest.mark.skipif(not _present(d), reason=f"there is no {d} device here"))
           for d in ("cpu", "cuda", "mps")]  # fmt: skip
pytestmark = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture
def session(device: str, record_property: Any) -> Session:
    name = torch.cuda.get_device_name() if device == "cuda" else device
    record_property("device", name)  # in a report of the tests: what ran on which
    return Session(out=io.StringIO(), err=io.StringIO())


def train(session: Session, text: str) -> None:
    session.run(text)
    session.run("l:loss`ce;m:model(q;l;o);train(m;x;y);train(m;`batchsize;10);")


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_moved_after_some_steps_training_goes_on(session: Session, device: str, text: str) -> None:
    """A run moved to the device half-way ends where one that stayed on the CPU ends: moments moved too."""
    other = Session(out=io.StringIO(), err=io.StringIO())
    for s in (session, other):
        train(s, f"{NET}{DATA}o:opt{text};")
    for p, given in zip(session["m"].obj.module.parameters(), other["m"].obj.module.parameters(), strict=True):
        given.data.copy_(p.data)
    for s in (session, other):
        s.run("run m;")
    session.run(f"to(m;`{device})")
    for s in (session, other):
        s.run("r:run m;")
    assert str(session.run("device m").s).startswith(device)
    for p, given in zip(session["m"].obj.module.parameters(), other["m"].obj.module.parameters(), strict=True):
        assert p.device.type == device and p.grad.device.type == device
        torch.testing.assert_close(p.detach().cpu(), given.detach(), rtol=1e-4, atol=1e-5)
    assert session.run("r") == pytest.approx(other.run("r"), rel=1e-4)
    for state in session["m"].obj.optimizer.torch.state.values():
        assert all(t.device.type == device for k, t in state.items() if isinstance(t, torch.Tensor) and t.dim())


def test_made_there(session: Session, device: str) -> None:
    on = f"`{device}"
    for text in (f"tensor(1 2 3e;{on})", f"tensor(`zeros;2 3;{on})", f"tensor(`randn;2 3;`float,{on})",
                 f"tensor(`arange;5;{on})", f"t:tensor 1 2e;to(t;{on});t"):
        assert session.run(text).obj.device.type == device, text
    session.run(f"m:module enlist(`linear;2;3);to(m;{on})")
    assert {p.device.type for p in session["m"].obj.parameters()} == {device}
    session.run(f"v:vector(1 2e;3 4e);to(v;{on});d:dict`a`b!(1 2e;3 4e);to(d;{on})")
    assert {t.device.type for t in session["v"].obj} == {t.device.type for t in session["d"].obj.values()} == {device}


def test_operators_stay_there(session: Session, device: str) -> None:
    session.run(f"t:tensor(2 3#1e+til 6;`{device});u:tensor(1 2 3e;`{device})")
    for text, result in (("t+1", "2 3#2e+til 6"), ("t*u", "(1 4 9e;4 10 18e)"), ("t+1 2 3e", "(2 4 6e;5 7 9e)"),
                         ("neg u", "-1 -2 -3e"), ("sum t", "5 7 9e"), ("t 0", "1 2 3e"), ("t[;1]", "2 5e"),
                         ("add(t;1e)", "2 3#2e+til 6"), ("mm(t;transpose t)", "(14 32e;32 77e)"), ("u>2", "001b"),
                         ("max u", "3e"), ("cat(u;u)", "1 2 3 1 2 3e")):
        session.run(f"r:{text}")
        assert session["r"].obj.device.type == device, text
        assert session.run(f"(tensor r)~{result}"), text
    session.run("t[0]:7 8 9e;t[1;2]:0e")
    assert session.run("(tensor t)~(7 8 9e;4 5 0e)") and session["t"].obj.device.type == device


def test_gradients_there(session: Session, device: str) -> None:
    session.run(f"w:tensor(1 2 3e;`grad,`{device});backward sum w*w")
    assert session.run("(grad w)~2 4 6e") and session["w"].obj.grad.device.type == device


def test_saved_there_and_restored(session: Session, device: str, tmp_path: Any) -> None:
    session.run(f"t:tensor(1 2 3e;`{device});u:t 1;snapshot`$\":{tmp_path}/s.ks\"")
    other = Session(out=io.StringIO(), err=io.StringIO())
    other.run(f"resume`$\":{tmp_path}/s.ks\"")
    assert other["t"].obj.device.type == device and other.run("(tensor t)~1 2 3e")
    other.run("t[1]:5e")
    assert other.run("5e~tensor u"), "still a view of the same storage"


def test_random_numbers_there(session: Session, device: str) -> None:
    text = f"tensor tensor(`randn;5;`{device})"
    session.run(f"seed(`{device};7);a:{text};b:{text};seed(`{device};7);c:{text}")
    assert session.run("(a~c)&not a~b")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.run(f"sync`{device}")


def test_two_devices_do_not_mix(session: Session, device: str) -> None:
    other = "meta" if device == "cpu" else "cpu"
    session.run(f"t:tensor(1 2 3e;`{device});u:tensor(1 2 3e;`{other});before:tensor t")
    with pytest.raises(QError, match=r"add: .*(device|meta)"):
        session.run("tensor add(t;u)")
    assert session.run("before~tensor t") and session["t"].obj.device.type == device


def test_moments_go_along_to_meta(session: Session, device: str) -> None:
    """What has no data shows what is moved, on any machine."""
    train(session, f"{NET}{DATA}o:opt(`adam;q;.01);")
    session.run(f"to(m;`{device});run m;to(m;`meta)")
    found = session["m"].obj
    states = found.optimizer.torch.state
    assert [id(p) for p in states] == [id(p) for p in found.module.parameters()], "the optimizer's parameters are those of the module"
    assert {t.device.type for s in states.values() for k, t in s.items() if k != "step"} == {"meta"}


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_moments_change_type_with_the_parameters(session: Session, device: str, text: str) -> None:
    if device == "mps":
        pytest.skip("mps has no float64")
    train(session, f"{NET}{DATA}o:opt{text};")
    session.run(f"to(m;`{device});run m;")
    before = {k: v for p in session["m"].obj.optimizer.torch.state.values() for k, v in p.items()}
    session.run("to(m;`double);to(x;`double);train(m;x;y);train(m;`batchsize;10);r:run m")
    found = session["m"].obj
    for p in found.module.parameters():
        assert p.dtype == torch.float64
        kept = found.optimizer.torch.state[p]
        assert {v.dtype for v in kept.values() if isinstance(v, torch.Tensor) and v.dim()} <= {torch.float64}
        assert set(kept) == set(before)
    assert session.run("all r within 0 10")


AROUND = {
    "fp16": "fp16(o;`init`window!8 2);", "scale": "sc:scale(o;`adascale);", "agg": "agg(o;`before,1b);",
    "powersgd": "", "sparsifiedsgd": "", "centralizedadam": "",
}


@pytest.mark.parametrize("name", AROUND)
def test_what_stands_around_goes_along(session: Session, device: str, name: str) -> None:
    """Copies in single precision, gradients that a rule has in mind, errors of compression: a step after the move uses
    them where the parameters now are."""
    kind = f"`{name}" if not AROUND[name] else "`sgd"
    session.run(f"{NET}{DATA}o:opt({kind};q;.1);{AROUND[name]}")
    step = f"nograd o;backward({'o;' if name == 'fp16' else 'sc;' if name == 'scale' else ''}ce(forward(q;x);y));step o;"
    session.run(step + step + f"to(q;`{device})")
    for kind in ("double", "float"):
        session.run(f"to(q;`{kind});to(x;`{device},`{kind});to(y;`{device});{step}")
    assert {(p.device.type, p.dtype) for p in session["q"].obj.parameters()} == {(device, torch.float32)}
    assert all(torch.isfinite(p).all() for p in session["q"].obj.parameters())


def test_a_move_that_fails_changes_nothing(session: Session, device: str) -> None:
    session.run(f"{NET}to(q;`{device});to(q;`double)" if device != "mps" else f"{NET}to(q;`{device})")
    module = session["q"].obj
    before = [(p, p.dtype, p.device, p.data_ptr()) for p in module.parameters()]

    def fails(t: torch.Tensor) -> torch.Tensor:
        if t.dim() == 1 and len(t) == 3:  # the last one
            raise RuntimeError("out of memory")
        return t.float()

    from kshell.kapi.moduleapi import move

    with pytest.raises(RuntimeError):
        move(module, lambda m: m._apply(fails))
    assert [(p, p.dtype, p.device, p.data_ptr()) for p in module.parameters()] == before
