"""Python's parts in training: losses, data, transforms, metrics and callbacks give what arrays and kshell's own losses
give, bit for bit, and what the loop in PyTorch gives."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from kshell.errors import QError
from kshell.session import Session
from kshell.values.session.restrict import confinement
from tests import ROOT

PYTHON = """
import torch, dataclasses, numpy as np, collections
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 6), torch.nn.Linear(6, 3)
    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
class Named(Net):
    def forward(self, x, labels=None, scale=1.):
        out = super().forward(x) * scale
        loss = None if labels is None else torch.nn.functional.cross_entropy(out, labels)
        return {'loss': loss, 'logits': out}
class Rows(Dataset):
    def __len__(self): return len(x)
    def __getitem__(self, i): return x[i], y[i]
class Plain:
    def __len__(self): return len(x)
    def __getitem__(self, i): return x[i].numpy(), y[i].item()
class Endless(IterableDataset):
    def __iter__(self): return pairs()
class Loss(torch.nn.Module):
    def forward(self, out, target): return torch.nn.functional.cross_entropy(out, target)
class Mse(torch.nn.MSELoss):
    def forward(self, out, target): return torch.nn.functional.cross_entropy(out, target)
def ce(out, target): return torch.nn.functional.cross_entropy(out, target)
def pairs():
    for i in range(0, len(x), 8): yield x[i:i+8], y[i:i+8]
def arrays():
    for a, b in pairs(): yield a.numpy(), b.numpy()
def readonly():
    for a, b in arrays(): a.setflags(write=False); yield a, b
def named(*names):
    for a, b in pairs(): yield dict(zip(names, (a, b)))
"""
DATA = "seed 5;x:tensor(`randn;50 4);y:tensor(`randint;3;50;`long);.p.set[`x;x];.p.set[`y;y];net:.p.eval[\"Net()\"]`"


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session(out=io.StringIO(), err=io.StringIO())
    made.run(".p.e" + json.dumps(PYTHON))
    made.run(DATA)
    made.run("start:copyparms net")
    made.run("weights:{dict copyparms net}")
    made.run(
        "fresh:{[l]copyparms(net;start);m::model(net;l;opt(`adamw;net;.01));train(m;`batchsize`metrics;(8;`batchloss));}"
    )
    yield made


def two_runs(session: Session, data: str = "m") -> list[float]:
    """The losses of the batches of two runs, one after the other."""
    return floats(session, f"a:run {data};a,run {data}")


def floats(session: Session, text: str) -> list[float]:
    return np.asarray(session.run(text).a).tolist()  # type: ignore[union-attr]


@pytest.fixture
def expected(session: Session) -> list[float]:
    session.run("fresh loss`ce;train(m;x;y)")
    return two_runs(session)


LOSSES = ["{[x;y]ce(x;y)}", ".p.pyget`ce", ".p.get`ce", ".p.get[`ce;<]", ".p.eval\"Loss()\"", ".p.eval[\"Loss()\"]`", ".p.eval\"Mse()\"",
          "ce", ".p.eval\"torch.nn.CrossEntropyLoss()\"", ".p.eval\"lambda out, target: torch.nn.CrossEntropyLoss()(out, target)\""]


@pytest.mark.parametrize("given", LOSSES)
def test_any_function_or_module_is_a_loss(session: Session, expected: list[float], given: str) -> None:
    session.run(f"fresh {given};train(m;x;y)")
    assert two_runs(session) == expected
    assert session.run("(return loss(m;evaluate(net;x);y))~return loss(loss`ce;evaluate(net;x);y)") is True
    assert session.run("a:acttable(m;x;y);model(m;loss`ce);a~acttable(m;x;y)") is True


def test_a_loss_is_told_as_it_was_given(session: Session) -> None:
    session.run("f:{ce(x;y)};fresh f")
    assert session.run("((loss m)~f)&(f~(model m)`loss)") is True
    session.run("p:.p.pyget`ce;model(m;p)")
    assert session.run("(p~loss m)&p~(model m)`loss") is True
    session.run("model(m;::)")
    assert session.run("((::)~loss m)&(::)~(model m)`loss") is True
    session.run("model(m;loss`mse)")
    assert session.run("`mse~(loss loss m)`module") is True
    session.run("fresh .p.eval\"Loss()\"")
    assert session.run("(class loss m;(model m)[`loss;`module])~`module`Loss") is True


DATASETS = [
    "DataLoader(TensorDataset(x, y), 8)", "DataLoader(Rows(), 8)", "DataLoader(Plain(), 8)", "DataLoader(Endless(), None)", "Endless()",
    "DataLoader(Rows(), 8, num_workers=2)", "DataLoader(Plain(), 8, num_workers=1, persistent_workers=True)", "Rows()", "Plain()",
    "TensorDataset(x, y)", "list(pairs())", "tuple(pairs())", "collections.deque(arrays())", "pairs", "arrays", "readonly",
    "lambda: [[a, b] for a, b in pairs()]", "lambda: named('x', 'labels')", "lambda: named('x', 'target')",
    "lambda: (({'x': a}, b) for a, b in pairs())", "lambda: (((a,), (b,)) for a, b in pairs())",
    "lambda: (collections.UserDict(d) for d in named('x', 'labels'))",
]
UNKNOWN = ("Endless", "pairs", "arrays", "readonly", "lambda")


@pytest.mark.parametrize("given", DATASETS)
@pytest.mark.parametrize("form", [".p.pyeval", ".p.eval"])
def test_data_of_python(session: Session, expected: list[float], given: str, form: str) -> None:
    session.run(f"fresh loss`ce;n:train(m;{form}{json.dumps(given)})")
    assert session.run("0N~n" if given.startswith(UNKNOWN) or "Endless" in given else "7~n") is True
    assert two_runs(session) == expected
    assert session.run("test(m;`batchsize`metrics;(8;`batchloss));test(m;data m);r:testrun m;test(m;x;y);r~testrun m") is True


def test_data_that_is_given_to_run(session: Session, expected: list[float]) -> None:
    session.run("fresh loss`ce;l:.p.eval\"DataLoader(Rows(), 8)\"")
    assert two_runs(session, "(m;l)") == expected and session.run("l~data m") is True


@pytest.mark.parametrize("more", ["(`shuffle;1b)", "(`droplast;1b)", "(`task`tasks;1 3)", "(`batchsize;0)"])
def test_a_dataset_is_batched_as_arrays_are(session: Session, more: str) -> None:
    found = []
    for data in ("x;y", ".p.eval\"Rows()\"", ".p.eval\"Plain()\""):
        session.run(f"fresh loss`ce;train(m;{more[1:-1]});n:train(m;{data});seed 3")
        found.append((session.run("n"), two_runs(session)))
        session.run("shuffle m;unshuffle m")
        found[-1] += (floats(session, "run m"),) if "shuffle" not in more else ()
    assert found[0] == found[1] == found[2]


def test_tasks_share_a_loader(session: Session) -> None:
    session.run("fresh loss`ce;train(m;`task`tasks;1 3);train(m;x;y);r:run m")
    session.run("fresh loss`ce;train(m;`task`tasks;1 3);train(m;.p.get`pairs);s:run m")
    assert session.run("r~s") is True and session.run("count r") == 2


Q_DATA = ["(X i;Y i)", "(tensor X i;tensor Y i)", "vector(tensor X i;tensor Y i)", "`x`labels!(X i;Y i)",
          "`x`target!(tensor X i;Y i)", "dict(`x`labels;(tensor X i;tensor Y i))"]


@pytest.mark.parametrize("given", [*Q_DATA, ".p.eval[\"lambda i: (x[8*i:8*i+8], y[8*i:8*i+8])\"]i"])
def test_data_of_q_functions(session: Session, expected: list[float], given: str) -> None:
    session.run("i:-1;X:8 cut tensor x;Y:8 cut tensor y;fresh loss`ce")
    assert session.run(f"0N~train(m;{{[]i::i+1;$[7=i;[i::-1;::];{given}]}})") is True
    assert two_runs(session) == expected


def test_the_loop_in_pytorch(session: Session) -> None:
    """The losses of Python's function over a loader are those of the loop that most people write."""
    session.run("fresh .p.get`ce;train(m;.p.eval\"DataLoader(Rows(), 8)\")")
    found = two_runs(session)
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    for p, name in zip(net.parameters(), ("a.weight", "a.bias", "b.weight", "b.bias"), strict=True):
        p.data = session.run("start").obj[name].clone()
    o = torch.optim.AdamW(net.parameters(), 0.01, fused=True)
    x, y = session["x"].obj, session["y"].obj
    losses = []
    for _ in range(2):
        for a, b in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 8):
            o.zero_grad()
            loss = nn.functional.cross_entropy(net(a), b)
            loss.backward()
            o.step()
            losses.append(loss.item())
    assert found == losses


@pytest.mark.parametrize("options", [
    "`clipnorm`accumulate!(.1;3)", "`clipvalue`accumulate!(.01;2)", "`autocast`metrics!(`bfloat16;`loss`batchloss`accuracy`matches)",
    "`gradscale`autocast`stopnan!(512;`bfloat16;1b)", "`metrics`dictionary`tensor!(`loss`accuracy`predict`output;1b;0b)",
])  # fmt: skip
def test_options_do_with_a_loader_what_they_do_with_arrays(session: Session, tmp_path: Path, options: str) -> None:
    for name, loss, data in (("a", "loss`ce", "x;y"), ("b", ".p.get`ce", ".p.eval\"DataLoader(Rows(), 8)\"")):
        session.run(f"logto`$\":{tmp_path}/{name}.jsonl\";fresh {loss};train(m;{options});train(m;{data});{name}:(run m;run m);logto 0b")
        session.run(f"{name}w:weights[]")
    assert session.run("(a~b)&aw~bw") is True
    logs = [[{k: v for k, v in json.loads(line).items() if k != "time"} for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
            for name in "ab"]
    assert logs[0] == logs[1] and len(logs[0]) == 2


def test_an_optimizer_that_calls_back_for_the_loss(session: Session) -> None:
    for name, loss, data in (("a", "loss`ce", "x;y"), ("b", ".p.get`ce", ".p.eval\"DataLoader(Rows(), 8)\"")):
        session.run(f"fresh {loss};model(m;opt(`lbfgs;net));train(m;{data});{name}:run m")
    assert session.run("a~b") is True


def test_outputs_with_names_and_a_loss_of_their_own(session: Session) -> None:
    session.run("net:.p.eval[\"Named()\"]`;copyparms(net;start);fresh loss`ce;train(m;x;y);a:run m")
    session.run("fresh[::];train(m;`metrics`batchsize!(`batchloss`accuracy;8));train(m;.p.eval\"lambda: named('x','labels')\");b:run m")
    assert session.run("(a~b 0)&b[1]within 0 100") is True
    session.run("fresh {[o;y]o`loss};train(m;.p.eval\"lambda: named('x','labels')\");c:run m")
    session.run("fresh .p.eval\"lambda o, y: ce(o['logits'], y)\";train(m;x;y);d:run m")
    assert session.run("(a~c)&a~d") is True
    session.run("e:evaluate(net;`x`labels`scale!(x;y;2.));f:evaluate(net;dict(`x`labels;(x;y)))")
    assert session.run("(key e)~`loss`logits") is True and session.run("e[`logits]~2*f`logits") is True
    session.run("fresh[::];train(m;x;y)")
    with pytest.raises(QError, match="the output has no loss, only loss logits"):
        session.run("run m")


OUTPUTS = """
@dataclasses.dataclass
class Out:
    value: torch.Tensor
    state: object = None
class Steps(torch.nn.Module):
    def forward(self, x, state=None, again=1):
        return Out(x * again, (state or 0) if isinstance(state, int) else State(0 if state is None else state.n + 1))
class State:
    def __init__(self, n): self.n = n
"""


def test_what_is_no_tensor_in_an_output_goes_back_as_it_came(session: Session) -> None:
    session.run(".p.e" + json.dumps(OUTPUTS))
    session.run("m:.p.eval\"Steps()\";r:forward(m;x);r:forward(m;`x`state`again!(x;r`state;2))")
    assert session.run(".p.wrap[r`state][`:n;`]") == 1 and session.run("(tensor r`value)~2*tensor x") is True


def test_functions_that_take_handles_take_objects_of_python(session: Session) -> None:
    session.run("w:.p.eval\"Net()\";t:.p.eval\"torch.ones(2,4)\"")
    assert session.run("(evaluate(w;t))~evaluate(w`;2 4#1e)") is True
    session.run("o:opt(`adamw;w;.01);m:model(w;.p.eval\"torch.nn.MSELoss()\";.p.eval[\"lambda n: torch.optim.SGD(n.parameters(), .1)\"]w)")
    assert session.run("class each(loss m;w`)") is not None and session.run("-9h=type run(m;t;.p.eval\"torch.zeros(2,3)\")") is True
    assert session.run("-9h=type run(m;.p.eval\"np.ones((2,4),'f4')\";.p.eval\"np.zeros((2,3),'f4')\")") is True


# ------------------------------------------------------------------ transform, metric, callback


@pytest.mark.parametrize("transform", ["{(2*x 0;x 1)}", ".p.eval\"lambda b: (2 * b[0], b[1])\"", ".p.eval\"lambda b: {'x': 2 * b[0], 'labels': b[1]}\"",
                                       ".p.eval\"lambda b: ((2 * b[0]).numpy(), b[1].numpy())\""])
@pytest.mark.parametrize("data", ["x;y", ".p.eval\"DataLoader(Rows(), 8)\"", ".p.get`pairs"])
def test_a_transform(session: Session, transform: str, data: str) -> None:
    session.run("fresh loss`ce;train(m;2*x;y);a:run m")
    session.run(f"fresh loss`ce;train(m;`transform;{transform});train(m;{data});b:run m;test(m;`transform`batchsize;({transform};8));test(m;{data})")
    assert session.run("a~b") is True
    session.run("c:testrun m;test(m;`transform;[]);test(m;2*x;y)")
    assert session.run("c~testrun m") is True


METRICS = ["{[x;y]avg avg abs x-y}", ".p.eval\"lambda x, y: (x - y).abs().mean()\"", ".p.eval\"lambda x, y: float(np.abs((x - y).numpy()).mean())\"",
           "{[x;y]tensor avg avg abs x-y}"]


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric(session: Session, metric: str) -> None:
    session.run("fresh loss`mse;z:tensor(`randn;50 3);train(m;x;z);train(m;`dictionary`metrics!(1b;`loss));test(m;`dictionary`batchsize!(1b;8));test(m;x;z)")
    session.run("e:avg{[i]avg raze abs(tensor z)[i]-evaluate(net;(tensor x)i)}each 8 cut til 50")
    session.run(f"train(m;`metric;{metric});test(m;`metric;`mae`twice!({metric};{{[x;y]2f}}));r:testrun m")
    assert session.run("(key r)~`loss`mae`twice") is True and session.run("1e-6>abs e-r`mae") is True and session.run("r`twice") == 2
    assert session.run("(key run m)~`loss`metric") is True
    session.run("train(m;`dictionary;0b)")
    assert session.run("9h=type run m") is True


def test_metrics_of_the_user_are_logged(session: Session, tmp_path: Path) -> None:
    session.run(f"logto`$\":{tmp_path}/l.jsonl\";fresh loss`ce;train(m;x;y);train(m;`metric;`one`two!({{[x;y]1}};.p.eval\"lambda x, y: True\"));run m;logto 0b")
    line = json.loads((tmp_path / "l.jsonl").read_text())
    assert line["one"] == 1 and line["two"] == 1 and len(line["batchloss"]) == 7


def test_a_callback_is_told_of_each_step(session: Session) -> None:
    session.run("fresh loss`ce;train(m;`metric;{[x;y]3.});train(m;x;y);told:();train(m;`callback;{told,:enlist x});r:run m")
    assert session.run("(til[7]+1)~exec batch from told") is True and session.run("r[0]~exec loss from told") is True
    assert session.run("(7#7)~exec batches from told") is True and session.run("(7#3f)~(exec metrics from told)`metric") is True
    session.run("p:.p.eval\"[]\";train(m;`callback`accumulate!(p`:append;3));r:run m")
    state = session.run("p").obj
    assert [d["batch"] for d in state] == [3, 6, 7] and [d["batches"] for d in state] == [7, 7, 7]
    assert all(isinstance(d["loss"], torch.Tensor) and not d["loss"].requires_grad for d in state)
    assert state[2]["loss"].item() == floats(session, "r 0")[6]
    session.run("told:();train(m;.p.get`pairs);train(m;`callback`accumulate!({told,:enlist x};1));run m")
    assert session.run("all 0N~/:exec batches from told") is True
    session.run("test(m;`callback;{told,:enlist x});told:();test(m;x;y);testrun m")
    assert session.run("1=count told") is True


@pytest.mark.parametrize("callback", ["{if[3=x`batch;'enough]}", ".p.get`stop"])
def test_an_error_of_a_callback_ends_the_run_between_two_steps(session: Session, callback: str) -> None:
    session.run(".p.e\"def stop(d):\\n if d['batch'] == 3: raise StopIteration('enough')\"")
    session.run("fresh loss`ce;train(m;x;y);train(m;`callback;{if[4=x`batch;'old]})")
    session.run("fresh loss`ce;train(m;24#x;24#y);run m;w:weights[]")
    session.run(f"fresh loss`ce;train(m;x;y);train(m;`callback;{callback})")
    with pytest.raises(QError, match=r"^(callback: StopIteration: )?enough$"):
        session.run("run m")
    assert session.run("w~weights[]") is True
    session.run("train(m;`callback;[])")
    assert session.run("7=count run m") is True


# ------------------------------------------------------------------ errors


BAD = """
def broken():
    yield x[:8], y[:8]
    yield x[8:16], y[8:16]
    raise KeyError('row 16')
class Broken(Dataset):
    def __len__(self): return 50
    def __getitem__(self, i):
        if i == 20: raise LookupError('row 20')
        return x[i], y[i]
"""


@pytest.mark.parametrize(("data", "text"), [
    ("broken", r"^run: batch 3 of the function broken: KeyError: 'row 16'$"),
    ("broken()", r"^run: batch 3 of the generator: KeyError: 'row 16'$"),
    ("Broken()", r"^run: batch 3 of the Broken: LookupError: row 20$"),
    ("DataLoader(Broken(), 8)", r"^run: batch 3 of the DataLoader: LookupError: row 20$"),
    ("DataLoader(Broken(), 8, num_workers=2)", r"^run: batch 3 of the DataLoader, DataLoader worker process 0: LookupError: row 20$"),
])  # fmt: skip
def test_an_exception_of_a_loader(session: Session, data: str, text: str) -> None:
    session.run(".p.e" + json.dumps(BAD))
    session.run("fresh loss`ce;train(m;16#x;16#y);run m;w:weights[]")
    session.run(f"fresh loss`ce;train(m;.p.eval{json.dumps(data)})")
    with pytest.raises(QError, match=text):
        session.run("run m")
    assert session.run("w~weights[]") is True
    session.run("fresh loss`ce;train(m;`accumulate;3);train(m;.p.eval\"broken\")")
    with pytest.raises(QError, match="batch 3"):
        session.run("run m")
    assert session.run("(dict start)~weights[]") is True


STEPPED = [".p.eval\"DataLoader(Rows(),8)\"", ".p.eval\"Rows()\"", ".p.eval\"Plain()\"", ".p.get`pairs", ".p.get`arrays", ".p.eval\"list(pairs())\"",
           ".p.eval\"lambda: named('x','target')\""]


@pytest.mark.parametrize("data", STEPPED)
@pytest.mark.parametrize("more", ["(`clipnorm;.1)", "(`transform;{(2*x 0;x 1)})"])
def test_steps_by_hand_are_those_of_a_run(session: Session, data: str, more: str) -> None:
    """Two passes, batch by batch: the losses and weights are those of `run`, and of arrays."""
    if "named" in data and "transform" in more:
        more = "(`transform;{x[`x]:2*x`x;x})"
    session.run(f"fresh loss`ce;train(m;{more[1:-1]});train(m;{data});a:run m;a,:run m;w:weights[]")
    session.run(f"fresh loss`ce;train(m;{more[1:-1]});train(m;{data})")
    session.run('b:0#0e;do[2;while[batch m;b,:"e"$backstep m]]')
    assert session.run("(a~b)&w~weights[]") is True
    if "clipnorm" in more:
        session.run(f'fresh loss`ce;train(m;{more[1:-1]});train(m;x;y);c:0#0e;do[2;while[batch m;c,:"e"$backstep m]]')
        assert session.run("(c~b)&w~weights[]") is True


def test_a_shown_batch_of_a_loader_is_like_one_of_arrays(session: Session) -> None:
    """What is shown, whole again at the end, begun anew by `batchinit`, `run` and `restore`; in testing too."""
    look = ('{[]r:();while[batch m;r,:enlist(return input m;return target m;datasize m;return forward m;data m;backward m);'
            'zerograd m];r,enlist datasize m}')
    session.run(f"look:{look};fresh loss`ce;train(m;x;y);a:look[];train(m;.p.eval\"DataLoader(Rows(),8)\");b:look[];c:look[]")
    assert session.run("((-1_a)~-1_b)&(b~c)&(0N~last b)&50~last a") is True
    assert session.run("(-1_b)[;2]~8 8 8 8 8 8 2") is True
    session.run("batch m;batch m;first1:return input m;n:restore m;batch m;again:return input m;k:batchinit m;batch m")
    assert session.run("(8 cut tensor x)[1 0 0]~(first1;again;return input m)") is True
    assert session.run("(0N~n)&7~k") is True
    session.run("batch m;w:weights[];a:run m")
    assert session.run("batch m;(8#tensor x)~return input m") is True
    assert session.run("restore m;(input m)~target m") is True
    session.run("test(m;`batchsize;8);test(m;x;y);g:{[]r:();while[testbatch m;r,:enlist(return testinput m;evaluate m)];r};"
                "a:count g[];test(m;.p.eval\"Rows()\");b:g[]")
    assert session.run("(a~count b)&(8 cut tensor x)~b[;0]") is True


def test_shuffled_steps_are_those_of_a_shuffled_run(session: Session) -> None:
    for data in ("m;x;y", 'm;.p.eval"Rows()"'):
        session.run("fresh loss`ce;train(m;`shuffle;1b);train(" + data + ");seed 3;a:run m;a,:run m;w:weights[]")
        session.run("fresh loss`ce;train(m;`shuffle;1b);train(" + data + ');seed 3;b:0#0e;do[2;while[batch m;b,:"e"$backstep m]]')
        assert session.run("(a~b)&w~weights[]") is True


def test_the_end_of_a_generator_and_of_a_q_function(session: Session) -> None:
    """A generator gives one pass and says so at the second; a function begins anew; an error ends the pass."""
    session.run("fresh loss`ce;train(m;.p.eval\"pairs()\")")
    assert session.run("n:0;while[batch m;n+:1];n").__index__() == 7
    with pytest.raises(QError, match="batch: the generator has ended: it gives its batches once"):
        session.run("batch m")
    session.run("i:-1;z:8 cut tensor x;u:8 cut tensor y;train(m;{[]i::$[i>=7;0;i+1];$[i<7;(z i;u i);::]})")
    assert session.run("n:0;do[2;while[batch m;n+:1]];n").__index__() == 14
    session.run(".p.e\"def some():\\n  for i in range(9):\\n    if i==2: raise KeyError('row')\\n    yield x[:8],y[:8]\"")
    session.run("train(m;.p.get`some);batch m;batch m")
    for _ in range(2):
        with pytest.raises(QError, match="batch: batch 3 of the function some: KeyError: 'row'"):
            session.run("batch m")
        with pytest.raises(QError, match="the data comes batch by batch"):
            session.run("backstep m")
        session.run("batch m;batch m")


@pytest.mark.parametrize(("text", "error"), [
    ("train(m;.p.eval\"'abc'\")", "train: expected batches, from a loader, dataset, iterable or function, given the str"),
    ("train(m;.p.eval\"{}\")", "train: expected batches, from a loader, dataset, iterable or function, given the dict"),
    ("train(m;.p.eval\"object()\")", "train: expected batches, .* given an object of class object"),
    ("train(m;.p.eval\"Rows\")", "train: expected batches, .* given the type"),
    ("run(m;.p.eval\"lambda: 3\")", "run: the function <lambda>: TypeError: 'int' object is not iterable"),
    ("run(m;.p.eval\"[3]\")", r"run: a batch is of class int, expected \(input;target\) or a dictionary of inputs by name"),
    ("run(m;.p.eval\"[[]]\")", "run: a batch is an empty list"),
    ("run(m;.p.eval\"iter([])\")", "run: the list_iterator has ended: it gives its batches once"),
    ("run(m;.p.eval\"[(x,)]\")", "ce: loss calculation expects 2 tensors, 1 given"),
    ("run(m;.p.eval\"[{'z': x, 'labels': y}]\")", "run: .*unexpected keyword argument 'z'"),
    ("run(m;{[]'oops})", "^oops$"),
    ("run(m;{[]`abc})", "run: a batch is of class str, expected"),
    ("train(m;.p.get`pairs);train(m;`batchsize;3)", "train: batchsize has no meaning while the function pairs makes the batches"),
    ("train(m;.p.get`pairs);train(m;`shuffle;1b)", "train: shuffle has no meaning while"),
    ("train(m;`shuffle;1b);train(m;.p.get`pairs)", "train: the function pairs has an order of its own"),
    ("train(m;.p.get`pairs);shuffle m", "shuffle: the function pairs has an order of its own"),
    ("train(m;.p.get`pairs);backstep m", "backstep: the data comes batch by batch from the function pairs: give inputs, show a batch by batch"),
    ("test(m;.p.get`pairs);k:.p.eval\"pairs()\";test(m;k);while[testbatch m;];testbatch m",
     "testbatch: the generator has ended: it gives its batches once"),
    ("train(m;.p.eval\"[3]\");batch m", r"batch: a batch is of class int, expected \(input;target\)"),
    ("train(m;.p.eval\"lambda: 3\");batch m", "batch: the function <lambda>: TypeError: 'int' object is not iterable"),
    ("train(m;`transform;3)", "transform: expected a function, given long scalar"),
    ("train(m;`callback;`f)", "callback: expected a function, given symbol scalar"),
    ("train(m;`metric;`a`b!({x};3))", "metric: expected a function, or functions by name, given a dictionary"),
    ("train(m;`metric;`loss`b!({x};{x}))", "metric: `loss is a metric of kshell: another name is needed"),
    ("train(m;`metric;{[x;y]1 2});run(m;x;y)", "metric: expected a number, given 2 numbers"),
    ("train(m;`metric;.p.eval\"lambda x, y: 'a'\");run(m;x;y)", "metric: expected a number, given a str"),
    ("train(m;`metric;(enlist`mine)!enlist .p.eval\"lambda x, y: 1/0\");run(m;x;y)", "mine: ZeroDivisionError"),
    ("train(m;`transform;.p.eval\"lambda b: b[5]\");run(m;x;y)", "transform: IndexError: tuple index out of range"),
    ("model(m;{[x;y]3f});run(m;x;y)", "loss: expected a tensor of one number, given a float"),
    ("model(m;{[x;y]x});run(m;x;y)", "loss: expected a tensor of one number, given one of size 32 3"),
    ("model(m;.p.eval\"lambda a: a\");run(m;x;y)", "loss: TypeError: .*takes 1 positional argument but 2 were given"),
    ("model(m;::);run(m;x;y)", "run: the output is a Tensor without a loss, but the model has no other loss"),
    ("model(net;3;opt`sgd)", "model"),
])  # fmt: skip
def test_errors(session: Session, text: str, error: str) -> None:
    session.run("fresh loss`ce;train(m;`batchsize;32)")
    with pytest.raises(QError, match=error):
        session.run(text)


def test_errors_have_the_frames_of_both(session: Session) -> None:
    session.run("fresh .p.eval\"lambda a, b: 1/0\";train(m;x;y)")
    with pytest.raises(QError) as caught:
        session.run("f:{[]run m};f[]")
    assert [frame.source.is_python for frame in caught.value.frames] == [True, False, False] and not caught.value.hint


def test_restricted_code_runs_no_loss_of_python(session: Session) -> None:
    session.run("fresh .p.get`ce;h:evaluate(net;x)")
    with pytest.raises(QError, match=r"^noupdate: loss"):
        session.run("reval parse\"loss(m;h;y)\"")


def test_users_who_may_run_no_python_run_none_in_training(session: Session) -> None:
    session.run("fresh .p.get`ce;train(m;x;y);k:model(net;loss`ce;opt(`adamw;net;.01));i:0")
    with confinement():
        for text in ("run m", "run(k;.p.pyget`pairs)"):
            with pytest.raises(QError, match=r"^access"):
                session.run(text)
        assert session.run("-9h=type run(k;{[]i+:1;$[4=i;::;(8#tensor x;8#tensor y)]})") is True


# ------------------------------------------------------------------ snapshots


@pytest.mark.parametrize("given", ["{ce(x;y)}", "::", ".p.get`ce"])
def test_a_snapshot_keeps_a_loss_of_q_and_says_what_it_leaves_out(session: Session, tmp_path: Path, given: str) -> None:
    net = "net:module seq(`sequential;(`linear;`a;4;6);`relu;(`linear;`b;6;3));start:copyparms net"
    session.run(f"{net};fresh loss`ce;model(m;{given});train(m;.p.get`pairs);snapshot`$\":{tmp_path}/s.ks\"")
    left_out = session.errors.getvalue()  # type: ignore[attr-defined]
    assert "the data of a model, which comes from the function pairs" in left_out
    assert ("the loss of a model, which is a function of Python" in left_out) is given.startswith(".p")
    again = Session(out=io.StringIO(), err=io.StringIO())
    again.run(f"resume`$\":{tmp_path}/s.ks\"")
    if given.startswith("{"):
        assert again.run("(loss m)~{ce(x;y)}") is True
        assert floats(again, "run(m;x;y)") == floats(session, "run(m;x;y)")
    elif given == "::":
        assert again.run("(::)~loss m") is True
    else:
        with pytest.raises(QError, match=r"^loss: the model has none: its file does not hold the function of Python"):
            again.run("run(m;x;y)")
        again.run("model(m;loss`ce)")
        assert again.run("7=count run(m;x;y)") is True


# ------------------------------------------------------------------ processes

PROGRAM = """
p)import torch, time, sys
p)from torch.utils.data import DataLoader, TensorDataset
seed 5; x:tensor(`randn;50 4); y:tensor(`randint;3;50)
q:module seq(`sequential;(`linear;4;6);`relu;(`linear;6;3)); start:copyparms q
m:model(q;loss`ce;opt(`adamw;q;.01)); train(m;`batchsize`metrics;(8;`batchloss)); train(m;x;y)
a:run m
copyparms(q;start)
k:model(q;loss`ce;opt(`adamw;q;.01)); train(k;`metrics;`batchloss)
w:.p.import[`torch.utils.data;`:DataLoader][.p.import[`torch.utils.data;`:TensorDataset][x;y];`batch_size pykw 8;`num_workers pykw 2]
-1 string train(k;w)
-1 string a~run k
p)def slow():
    for i in range(1000):
        print("batch", i, flush=True); time.sleep(.1); yield x[:8], y[:8]
.p.set[`x;x]; .p.set[`y;y];
@[run;(k;.p.get`slow);{-1"got ",x}]
-1"after"
run(k;.p.get`slow)
"""


def test_workers_and_an_interrupt_in_a_process(tmp_path: Path) -> None:
    """Two worker processes give what arrays give; Ctrl-C ends a pass over an endless generator, also while it waits."""
    (tmp_path / "s.q").write_text(PROGRAM)
    with subprocess.Popen([sys.executable, "-m", "kshell", "-q", "s.q"], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)}) as running:
        assert running.stdout is not None and running.stderr is not None
        lines: list[str] = []
        for line in running.stdout:
            lines.append(line.strip())
            if line == "batch 5\n":
                running.send_signal(signal.SIGINT)
        assert lines == ["7", "1", *(step := [f"batch {i}" for i in range(6)]), "got stop", "after", *step]
        assert "'stop\n" in running.stderr.read()
        assert running.wait(60) == 130
