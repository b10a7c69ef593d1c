"""Devices: what is made on one, moved there and trained there, for the CPU and for each accelerator that is here.

Where there is none, its tests are skipped and say so; the CPU's run the same lines everywhere. `sim` is a second
device that needs no hardware (tests/kapi/second_device.py); a process of its own has it (test_on_a_second_device).
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import torch

from kshell.errors import QError
from kshell.kapi.base.handles import TensorHandle
from kshell.session import Session
from tests import ROOT
from tests.kapi.math import test_kmath
from tests.kapi.module import test_module_oracle
from tests.kapi.optim import test_stacks

NET = "q:module seq(`sequential;(`linear;4;6);`relu;(`linear;6;3));"
DATA = "seed 5;x:tensor(`randn;40,4);y:tensor(`randint;3;40);"
OPTIMIZERS = ("(`sgd;q;.1;`momentum,.9)", "(`adam;q;.01)", "(`adamw;q;.01)", "(`rmsprop;q;.01)", "(`adagrad;q;.1)",
              "(`lamb;q;.01)", "(`radam;q;.01)", "(`adadelta;q;.5)")  # fmt: skip


def _present(device: str) -> bool:
    return {"cpu": lambda: True, "cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available,
            "sim": lambda: hasattr(torch, "sim")}[device]()


DEVICES = [pytest.param(d, marks=pytest.mark.skipif(not _present(d), reason=f"there is no {d} device here"))
           for d in ("cpu", "cuda", "mps", "sim")]  # fmt: skip
everywhere = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture
def session(device: str, record_property: Any) -> Session:
    name = torch.cuda.get_device_name() if device == "cuda" else device
    record_property("device", name)  # in a report of the tests: what ran on which
    return Session(out=io.StringIO(), err=io.StringIO())


def train(session: Session, text: str) -> None:
    session.run(text)
    session.run("l:loss`ce;m:model(q;l;o);train(m;x;y);train(m;`batchsize;10);")


@everywhere
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


@everywhere
def test_made_there(session: Session, device: str) -> None:
    on = f"`{device}"
    for text in (f"tensor(1 2 3e;{on})", f"tensor(`zeros;2 3;{on})", f"tensor(`randn;2 3;`float,{on})",
                 f"tensor(`arange;5;{on})", f"t:tensor 1 2e;to(t;{on});t"):
        assert session.run(text).obj.device.type == device, text
    session.run(f"m:module enlist(`linear;2;3);to(m;{on})")
    assert {p.device.type for p in session["m"].obj.parameters()} == {device}
    session.run(f"v:vector(1 2e;3 4e);to(v;{on});d:dict`a`b!(1 2e;3 4e);to(d;{on})")
    assert {t.device.type for t in session["v"].obj} == {t.device.type for t in session["d"].obj.values()} == {device}


@everywhere
def test_operators_stay_there(session: Session, device: str) -> None:
    session.run(f"t:tensor(2 3#1e+til 6;`{device});u:tensor(1 2 3e;`{device})")
    for text, result in (("t+1", "2 3#2e+til 6"), ("t*u", "(1 4 9e;4 10 18e)"), ("t+1 2 3e", "(2 4 6e;5 7 9e)"),
                         ("neg u", "-1 -2 -3e"), ("sum t", "5 7 9e"), ("t 0", "1 2 3e"), ("t[;1]", "2 5e"),
                         ("add(t;1e)", "2 3#2e+til 6"), ("mm(t;transpose t)", "(14 32e;32 77e)"), ("u>2", "001b"),
                         ("max u", "3e"), ("cat(u;u)", "1 2 3 1 2 3e"), ("2 mavg u", "1 1.5 2.5e"), ("prev u", "0n 1 2e"),
                         ("1 2 3e ema u", "1 3 3e"), ("fills u", "1 2 3e"), ("2 mdev u", "0 .5 .5e"),
                         ("2 3e bin u", "-1 0 1"), ("2 xbar u", "0 2 2e"), ("avgs u", "1 1.5 2e"), ("desc u", "3 2 1e"),
                         ("distinct u", "1 2 3e"), ("where u>1", "1 2"), ("differ u", "111b")):
        session.run(f"r:{text}")
        assert session["r"].obj.device.type == device, text
        assert session.run(f"(tensor r)~{result}"), text
    session.run("t[0]:7 8 9e;t[1;2]:0e")
    assert session.run("(tensor t)~(7 8 9e;4 5 0e)") and session["t"].obj.device.type == device


@everywhere
def test_gradients_there(session: Session, device: str) -> None:
    session.run(f"w:tensor(1 2 3e;`grad,`{device});backward sum w*w")
    assert session.run("(grad w)~2 4 6e") and session["w"].obj.grad.device.type == device


@everywhere
def test_saved_there_and_restored(session: Session, device: str, tmp_path: Any) -> None:
    if device == "sim":
        pytest.skip("its tensors have no storage of their own")
    session.run(f"t:tensor(1 2 3e;`{device});u:t 1;snapshot`$\":{tmp_path}/s.ks\"")
    other = Session(out=io.StringIO(), err=io.StringIO())
    other.run(f"resume`$\":{tmp_path}/s.ks\"")
    assert other["t"].obj.device.type == device and other.run("(tensor t)~1 2 3e")
    other.run("t[1]:5e")
    assert other.run("5e~tensor u"), "still a view of the same storage"


@everywhere
def test_random_numbers_there(session: Session, device: str) -> None:
    text = f"tensor tensor(`randn;5;`{device})"
    session.run(f"seed(`{device};7);a:{text};b:{text};seed(`{device};7);c:{text}")
    assert session.run("(a~c)&not a~b")
    if device != "sim":  # it has no streams
        session.run(f"sync`{device}")


@everywhere
def test_two_devices_do_not_mix(session: Session, device: str) -> None:
    other = "meta" if device == "cpu" else "cpu"
    session.run(f"t:tensor(1 2 3e;`{device});u:tensor(1 2 3e;`{other});before:tensor t")
    with pytest.raises(QError, match=r"add: .*(device|meta)"):
        session.run("tensor add(t;u)")
    assert session.run("before~tensor t") and session["t"].obj.device.type == device


@everywhere
def test_moments_go_along_to_meta(session: Session, device: str) -> None:
    """What has no data shows what is moved, on any machine."""
    train(session, f"{NET}{DATA}o:opt(`adam;q;.01);")
    session.run(f"to(m;`{device});run m;to(m;`meta)")
    found = session["m"].obj
    states = found.optimizer.torch.state
    assert [id(p) for p in states] == [id(p) for p in found.module.parameters()], "the optimizer's parameters are those of the module"
    assert {t.device.type for s in states.values() for k, t in s.items() if k != "step"} == {"meta"}


@everywhere
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


@pytest.mark.parametrize("device", DEVICES[3:])
@pytest.mark.parametrize("text", OPTIMIZERS)
def test_a_pass_reads_nothing_before_its_end(session: Session, device: str, text: str) -> None:
    """What is read from a device waits for it: as often in a pass of 4 batches as in one of 40."""
    from tests.kapi import second_device

    found = []
    for n in (40, 400):
        session.run(f"{NET}{DATA.replace('40', str(n))}o:opt{text};")
        session.run("l:loss`ce;m:model(q;l;o);train(m;x;y);train(m;`batchsize;10);train(m;`metrics;`loss`accuracy)")
        session.run(f"train(m;`clipnorm;1.);to(m;`{device});run m")
        before = second_device.reads()
        session.run("run m")
        found.append(second_device.reads() - before)
    assert found[0] == found[1] <= 3


@pytest.mark.parametrize("device", DEVICES[1:2])
@pytest.mark.parametrize("text", OPTIMIZERS)
def test_a_pass_waits_for_the_gpu_as_often_whatever_its_length(session: Session, device: str, text: str) -> None:
    """As torch counts it: what makes the CPU wait is warned about."""
    waits = []
    for n in (40, 400):
        session.run(f"{NET}{DATA.replace('40', str(n))}to(x;`{device});to(y;`{device});o:opt{text};")
        session.run("l:loss`ce;m:model(q;l;o);train(m;x;y);train(m;`batchsize;10);train(m;`metrics;`loss`accuracy)")
        session.run(f"train(m;`clipnorm;1.);to(m;`{device});run m")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                session.run("run m")
        finally:
            torch.cuda.set_sync_debug_mode("default")
        waits.append([str(w.message) for w in seen if "synchronizing" in str(w.message)])
    assert len(waits[0]) == len(waits[1]) <= 3, waits


@everywhere
def test_targets_are_refused_before_a_device_is_asked(session: Session, device: str) -> None:
    """A GPU that calculates with a class that is not there can be used no more."""
    session.run(f"x:tensor(4 3#1e;`grad,`{device});y:tensor(0 1 2 7;`{device});l:loss`ce;n:loss`nll;p:loss`multimargin")
    for text in ("loss(l;x;y)", "loss(n;logsoftmax(x;1);y)", "loss(p;x;y)"):
        with pytest.raises(QError, match=r"loss: .*[Tt]arget.*out of"):
            session.run(text)
    session.run(f"y:tensor(0 1 2 -100;`{device})")
    assert session.run("0<tensor loss(l;x;y)")
    session.run(f"b:loss`bce;z:tensor(.5 2;`{device})")
    with pytest.raises(QError, match="loss: all elements of input should be between 0 and 1"):
        session.run(f"loss(b;z;tensor(0 1f;`{device}))")
    session.run(f"r:tensor loss(b;tensor(.5 .25;`{device});tensor(0 2f;`{device}))")
    assert session["r"] == pytest.approx(1.58902691), "targets may be any"


@pytest.mark.parametrize("device", DEVICES[3:])
def test_targets_are_looked_at_once(session: Session, device: str) -> None:
    """Not at each step, as long as nobody writes them; batches are parts of one tensor."""
    from tests.kapi import second_device

    session.run(f"x:tensor(40 3#1e;`{device});y:tensor(40#0 1 2;`{device});l:loss`ce")
    session.run("k:{[x0]loss(l;narrow(x;0;x0;10);narrow(y;0;x0;10))};k 0")
    before = second_device.reads()
    session.run("k each 10 20 30")
    assert second_device.reads() == before
    session.run("fill(y;9)")
    with pytest.raises(QError, match="loss: Target 9 is out of bounds"):
        session.run("k 0")
    session.run(f"y:tensor(40#0 1 2 -100;`{device});k 0")  # so are those that are ignored
    before = second_device.reads()
    session.run("k each 10 20 30")
    assert second_device.reads() == before
    session.run("fill(narrow(y;0;20;1);9);k each 0 10 30")
    with pytest.raises(QError, match="loss: Target 9 is out of bounds"):
        session.run("k 20")
    session.run("q:module enlist(`linear;3;3);m:model(q;l;opt(`sgd;q));train(m;40 3#1e;40#0 1 2 -100)")
    session.run(f"train(m;`batchsize;10);to(m;`{device});run m")
    before = second_device.reads()
    session.run("run m")
    assert second_device.reads() - before <= 1, "brought there batch by batch"


@everywhere
def test_indices_are_refused_before_a_device_is_asked(session: Session, device: str) -> None:
    """As targets are, by layers wherever they stand in a module, and by functions."""
    t = f"{{[v]tensor(v;`{device})}}"
    session.run(f"t:{t};e:module enlist(`embed;5;3);b:module enlist(`embedbag;5;3);s:module enlist(`embedseq;5;3;9)")
    session.run("q:module seq(`sequential;(`reshape;-1);(`embed;5;3);(`linear;3;1));i:module enlist(`indexselect;0;0 7)")
    session.run(f"{{to(x;`{device})}}each(e;b;s;q;i);v:t 1 2 3")
    session.run("w:t 5 3#1e;good:t 2 2#0 4;bad:t 2 2#0 9;low:t 2 2#0 -1;multi:loss`multilabel;one:loss`multimargin")
    session.run("o:module enlist(`onehot;5)")
    for text in ("forward(e;{})", "forward(b;{})", "forward(s;{})", "forward(q;{})", "forward(o;{})", "onehot({};5)",
                 "embedding({};w)", "gather(w;0;{})", "take(narrow(w;1;0;1);{})"):
        assert session.run("class " + text.format("good")).s == "tensor", text
        bad = "low" if text.startswith("gather") else "bad"  # the sizes fit
        with pytest.raises(QError, match="." if device == "cpu" else r"index -?\d is (out of bounds for|below 0)"):
            session.run(text.format(bad))
        assert session.run("class " + text.format("good")).s == "tensor", text
    for text in ("forward(i;v)", "forward(b;v;t 0 9)", "forward(b;v;t 0 -9)", "scatter(v;0;t 0 9;t 7 8)",
                 "scatter(v;0;t 0 -9;t 7 8;[])", "loss(one;t 2 3#1e;t 0 -1)", "loss(multi;t 2 3#1e;t 2 3#0 9 -1)",
                 "maskedscatter(v;t 111b;t 1 2)"):
        with pytest.raises(QError, match="." if device == "cpu" else "is out of bounds|is below 0|element.s. for 3 pl"):
            session.run(text)
    assert session.run("1 2 3~tensor v")
    with pytest.raises(QError, match="forward: embed: index 9 is out of bounds for 5 rows"):
        session.run("forward(q;bad)")


@pytest.mark.parametrize("device", DEVICES[3:])
def test_indices_are_looked_at_once(session: Session, device: str) -> None:
    """By all the layers of a module, for as long as nobody writes them; and not again for what is brought there."""
    from tests.kapi import second_device

    session.run(f"q:module(`seqlist;seq(`sequential;(`embed;9;4)));to(q;`{device});x:tensor(40 2#til 9;`{device})")
    session.run("k:{[x0]forward(q;narrow(x;0;x0;10))};k 0")
    before = second_device.reads()
    session.run("k each 10 20 30")
    assert second_device.reads() == before
    session.run("m:module seq(`sequential;(`embed;9;4);(`flatten;1);(`linear;8;3));y:40#0 1 2;x:40 2#til 9")
    session.run(f"m:model(m;loss`ce;opt(`sgd;m));train(m;x;y);train(m;`batchsize;10);to(m;`{device});run m")
    before = second_device.reads()
    session.run("run m")
    assert second_device.reads() - before <= 1, "the losses, at the end"


AROUND = {
    "fp16": "fp16(o;`init`window!8 2);", "scale": "sc:scale(o;`adascale);", "agg": "agg(o;`before,1b);",
    "powersgd": "", "sparsifiedsgd": "", "centralizedadam": "",
}


@everywhere
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


@everywhere
def test_a_move_that_fails_changes_nothing(session: Session, device: str) -> None:
    session.run(f"{NET}to(q;`{device});to(q;`double)" if device != "mps" else f"{NET}to(q;`{device})")
    module = session["q"].obj
    before = [(p, p.dtype, p.device, p.data_ptr()) for p in module.parameters()]

    def fails(t: torch.Tensor) -> torch.Tensor:
        if t.dim() == 1 and len(t) == 3:  # the last one
            raise RuntimeError("out of memory")
        return t.float()

    from kshell.kapi.module.api import move

    with pytest.raises(RuntimeError):
        move(module, lambda m: m._apply(fails))
    assert [(p, p.dtype, p.device, p.data_ptr()) for p in module.parameters()] == before


@everywhere
def test_arrays_go_where_the_tensors_beside_them_are(session: Session, device: str) -> None:
    session.run(f"c:tensor(1 2e;`{device})")
    for text, result in (("tensor(`complex;c;3 4e)", "(1 2e;3 4e)"), ("tensor(`complex;3 4e;c)", "(3 4e;1 2e)"),
                         ("0<similar(1 2#c;1 2#1 2e)", "enlist 1b"), ("vjp[({x*y};c;3 4e;1 1e)]1", "3 4e"),
                         (f"zscore(tensor(3 1 1#1 2 3e;`{device});1 1 1e;1 1 2e)", "3 1 1#0 1 1e")):
        session.run(f"r:{text}")
        assert session["r"].obj.device.type == device and session.run(f"(tensor r)~{result}"), text


# ------------------------------------------------------------------ everything there is, there and on the CPU


@pytest.fixture
def exact(device: str) -> Iterator[None]:
    """Convolutions of a GPU in whole single precision, as those of the CPU."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


def close(what: str, a: torch.Tensor, b: torch.Tensor, rtol: float, atol: float) -> None:
    torch.testing.assert_close(a.detach().cpu(), b.detach().cpu(), rtol=rtol, atol=atol, equal_nan=True,
                               msg=lambda t: f"{what}: {t}")


def values(v: Any) -> list[torch.Tensor]:
    found = v.get()
    return [found] if isinstance(found, torch.Tensor) else list(found)


@pytest.mark.slow
@everywhere
@pytest.mark.parametrize("name", test_stacks.NAMES)
def test_every_optimizer_there_and_moved_half_way(device: str, name: str) -> None:
    """Five steps with all that can be put around it, made there, and moved there after two: as on the CPU."""
    if device == "mps":
        pytest.skip("mps has no float64, and half precision of its own")
    stacks = [s for s in test_stacks.STACKS if s[0] == name]
    for _, around in stacks:
        found = {}
        for way in ("cpu", "made there", "moved"):
            s = Session(out=io.StringIO(), err=io.StringIO())
            for line in test_stacks.DEFINE:
                s.run(line)
            if way == "made there":
                s.run(f"net0:net;net:{{m:net0 x;to(m;`{device});m}}")
            s.run(test_stacks.maker(name, around))
            bring = f"to(X;`{device});to(Z;`{device})"
            s.run(f"{bring if way == 'made there' else ''};r:one each 0 1")
            s.run(f"{f'to(m;`{device});{bring}' if way == 'moved' else ''};r:one each 2 3 4")
            found[way] = list(s["m"].obj.parameters())
            assert {p.device.type for p in found[way]} == {"cpu" if way == "cpu" else device}
        for way in ("made there", "moved"):
            for a, b in zip(found["cpu"], found[way], strict=True):
                if a.dtype == torch.half or name == "lbfgs":  # they round to 1 in 2,000; it divides by small differences
                    assert (a.cpu() - b.cpu()).norm() < .01 * a.norm(), f"{around}, {way}"
                else:
                    close(f"{around}, {way}", a, b, 2e-4, 2e-5)


DRAWN = {"droppath", "randomcrop", "randomflip", "rrelu", "fmaxpool2d", "fmaxpool3d"}


def draws(name: str, m: torch.nn.Module) -> bool:
    """Does a module draw random numbers in training? They differ from device to device."""
    return name in DRAWN or any(getattr(part, "dropout", 0.) or getattr(part, "p", 0.) for part in m.modules())


def there(session: Session, verb: str, letters: str, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    for letter, t in zip(letters, leaves, strict=True):
        session[letter] = TensorHandle(t * 1 if t.requires_grad else t)  # modules may work in place
    return values(session.run(f"{verb}(m;{';'.join(letters)})"))


@pytest.mark.slow
@everywhere
def test_every_module_type_there(session: Session, device: str, exact: None) -> None:
    """Outputs and gradients of modules that were moved, as on the CPU."""
    for name, args, _, given in test_module_oracle.CASES + test_module_oracle.OWNS:
        if device == "sim" and name in ("gru", "lstm"):
            continue  # torch asks other devices for kernels of their own for these
        inputs = test_module_oracle.inputs(given)
        letters = "xyz"[:len(inputs)]
        found = []
        for place in ("cpu", device):
            session.run(f"seed 7;m:module {test_module_oracle.spec(name, args)};to(m;`{place})")
            leaves = test_module_oracle.leaves([t.to(place) for t in inputs])
            both, made = (there(session, verb, letters, leaves) for verb in ("eforward", "forward"))
            own = [t for t in (*leaves, *session["m"].obj.parameters()) if t.requires_grad]
            total = sum((t * t).sum() for t in made if t.requires_grad)
            grads = [] if total.__class__ is int else torch.autograd.grad(total, own, allow_unused=True)
            both += [*made, *(t for t in grads if t is not None)]
            assert {t.device.type for t in both} == {place}, name
            found.append([] if draws(name, session["m"].obj) else both)
        for a, b in zip(*found, strict=True):
            close(f"{name} {args}", a, b, 1e-3, 1e-4)


@pytest.mark.slow
@everywhere
def test_every_math_function_there(session: Session, device: str) -> None:
    """Results of tensors there are there, and are those of the CPU; into outputs there, too."""
    if device == "mps":
        pytest.skip("mps has no float64")
    session.names.load_builtins()
    wrong = []
    for _, name, kinds, opts, _ in test_kmath.CASES:
        text = test_kmath.named(test_kmath.options(opts)) if opts else ""
        if kinds and not (device == "cuda" and "gelsd" in text):  # LAPACK's driver
            try:
                compare_there(session, device, name, kinds, text)
            except (AssertionError, QError, RuntimeError) as e:
                wrong.append(f"{name} {text}: {str(e)[:200]}")
    assert not wrong, wrong


def compare_there(session: Session, device: str, name: str, kinds: str, text: str) -> None:
    """The results of one function with options there and on the CPU."""
    row = test_kmath.ROWS[name]
    found = []
    for place in ("cpu", device):
        found.append(test_kmath.run(session, name, [t.to(place) for t in test_kmath.inputs(kinds)], False, text))
    if isinstance(found[0], bool):
        assert found[0] is found[1]
        return
    outputs = zip(values(found[0]), values(found[1]), strict=True)
    for a, b in islice(outputs, 1 if name == "lstsq" else None):  # the other three are as its driver there has them
        assert b.device.type == device
        if name not in ("eig", "eigh", "svd", "qr"):  # vectors of either sign
            close(name, a, b, *((1e-8, 1e-10) if a.dtype in (torch.double, torch.cdouble) else (1e-5, 1e-6)))
    if row.out and row.outputs == 1 and (device, name) != ("sim", "mrank"):  # sim does not see torch write there
        session["out"] = TensorHandle(torch.empty_like(values(found[1])[0]))
        test_kmath.run(session, name, [t.to(device) for t in test_kmath.inputs(kinds)], False, text, "out")
        close(name, values(session["out"])[0], values(found[1])[0], 1e-8, 1e-10)


# ------------------------------------------------------------------ without hardware


def on_a_second_device(marked: str) -> int:
    """The tests of sim in a process that has it; the number of those that passed."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.kapi.second_device", "-p", "no:xdist", "-o", "addopts=", "-m", marked,
         "-k", "sim and not second_device", __file__], capture_output=True, text=True, timeout=600,
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1", "KSHELL_SLOW": "1", "KSHELL_BUDGET": "0"})
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return int(re.search(r"(\d+) passed", done.stdout)[1])  # type: ignore[index]


@pytest.mark.sampled(3)
def test_on_a_second_device() -> None:
    assert on_a_second_device("not slow") > 30


@pytest.mark.slow
def test_everything_on_a_second_device() -> None:
    assert on_a_second_device("slow") == len(test_stacks.NAMES) + 2
