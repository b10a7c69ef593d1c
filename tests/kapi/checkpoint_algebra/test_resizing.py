"""Another vocabulary for a model and its optimizer: a plain training script goes on with both."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kshell.errors import QError
from kshell.kapi.checkpoint.trees import tensors_in
from kshell.session import Session

OLD, NEW = 11, 14


class Language(torch.nn.Module):
    """An embedding, a layer, and a head with a bias, whose weight may be the embedding's."""

    def __init__(self, rows: int, tied: bool = False, width: int = 6) -> None:
        super().__init__()
        self.embed, self.layer = torch.nn.Embedding(rows, width), torch.nn.Linear(width, width)
        self.head = torch.nn.Linear(width, rows)
        if tied:
            self.head.weight = self.embed.weight
        self.register_buffer("seen", torch.zeros(rows))

    def forward(self, x: Any) -> Any:
        return self.head(torch.tanh(self.layer(self.embed(x))))


OPTIMIZERS: dict[str, Any] = {
    "adam": lambda p: torch.optim.Adam(p, 0.01, amsgrad=True),
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "plain": lambda p: torch.optim.SGD(p, 0.1),
    "adafactor": lambda p: torch.optim.Adafactor(p, 0.01),
}


def groups(m: Any) -> list[dict[str, Any]]:
    """Parameters in two groups, as training scripts make them, in another order than the model's."""
    return [{"params": [p for p in m.parameters() if p.dim() > 1], "weight_decay": 0.0}, {"params": [p for p in m.parameters() if p.dim() < 2]}]


def train(m: Any, o: Any, steps: int, rows: int) -> None:
    g = torch.Generator().manual_seed(steps)
    for _ in range(steps):
        x = torch.randint(0, rows, (8,), generator=g)
        o.zero_grad()
        torch.nn.functional.cross_entropy(m(x), x).backward()
        o.step()


def run(kind: str, tied: bool) -> tuple[Any, Any]:
    torch.manual_seed(1)
    m = Language(OLD, tied)
    o = OPTIMIZERS[kind](groups(m))
    train(m, o, 3, OLD)
    return m, o


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_script_goes_on_with_more_rows(kind: str, tied: bool, session: Session) -> None:
    m, o = run(kind, tied)
    torch.save({"model": m.state_dict(), "optimizer": o.state_dict(), "epoch": 3}, "run.pt")
    session.run(f"ckptvocab(`:run.pt;(\"model.embed.*\";\"model.head.*\";\"model.seen\");{NEW};`fill`to!(`zeros;`:more.pt))")
    saved = torch.load("more.pt")
    assert saved["epoch"] == 3
    wide = Language(NEW, tied)
    again = OPTIMIZERS[kind](groups(wide))
    wide.load_state_dict(saved["model"])
    again.load_state_dict(saved["optimizer"])
    for name, t in m.state_dict().items():
        new = wide.state_dict()[name]
        assert torch.equal(new[:len(t)], t) and not new[len(t):].any(), name
    for p, q in zip([p for g in groups(m) for p in g["params"]], [p for g in groups(wide) for p in g["params"]], strict=True):
        for key, t in o.state.get(p, {}).items():
            new = again.state[q][key]
            if t.dim() and new.shape != t.shape:
                assert new.shape == (NEW, *t.shape[1:]) and torch.equal(new[:OLD], t) and not new[OLD:].any(), key
            else:
                assert torch.equal(new, t), key
            assert not t.dim() or t.shape != p.shape or new.shape == q.shape
    train(wide, again, 2, NEW)  # it goes on
    assert all(torch.isfinite(t).all() for t in wide.state_dict().values())


def test_the_optimizer_alone(session: Session) -> None:
    m, o = run("adam", False)
    torch.save(m.state_dict(), "model.pt")
    torch.save(o.state_dict(), "optimizer.pt")
    session.run(f"ckptvocab(`:optimizer.pt;(\"embed.*\";\"head.*\";`seen);{NEW};`of`to!(`:model.pt;`:new.pt))")
    new = torch.load("new.pt")
    sizes = [tuple(v["exp_avg"].shape) for v in new["state"].values()]
    assert sizes == [(NEW, 6), (6, 6), (NEW, 6), (6,), (NEW,)] and new["param_groups"] == o.state_dict()["param_groups"]


def test_parameters_of_one_size_need_an_order(session: Session) -> None:
    m, o = run("adam", False)
    torch.save({"model": m.state_dict(), "optimizer": o.state_dict()}, "run.pt")
    with pytest.raises(QError, match=r"ckptvocab: model.embed.weight and model.head.weight have the same size: give the order"):
        session.run(f"ckptvocab(`:run.pt;`model.embed.weight;{NEW})")
    order = "`embed.weight`layer.weight`head.weight`layer.bias`head.bias"
    session.run(f"r:ckptvocab(`:run.pt;`model.embed.weight;{NEW};(`order;{order}))")
    found = dict(tensors_in(session["r"]))
    assert found["model.embed.weight"].shape == (NEW, 6) and found["model.head.weight"].shape == (OLD, 6)
    assert found["optimizer.state.0.exp_avg"].shape == (NEW, 6) and found["optimizer.state.2.exp_avg"].shape == (OLD, 6)
    for order, text in (("`embed.weight`layer.weight", "ckptvocab order: expected 5 parameters, given 2"), ("7", "ckptvocab order: expected names or a module"),
                        ("`layer.weight`embed.weight`head.weight`layer.bias`head.bias", "ckptvocab: parameter 1 of the optimizer has not the size of")):
        with pytest.raises(QError) as error:
            session.run(f"ckptvocab(`:run.pt;`model.embed.weight;{NEW};(`order;{order}))")
        assert text in error.value.text, error.value.text


def test_names_in_groups_and_a_live_module_are_an_order(session: Session) -> None:
    session.run("m:module seq(`sequential;(`embed;`e;5;3);(`linear;`f;3;5));o:opt(`adam;m)")
    session.run("backward Sum forward(m;1 2);step o;d:`m`o!(m;o)")
    session.run("r:ckptvocab(d;`m.e.weight;7;(`order;m))")
    found = dict(tensors_in(session["r"]))
    assert found["o.state.0.exp_avg"].shape == (7, 3) and found["o.state.1.exp_avg"].shape == (5, 3)
    session.run("parmtable(m;update decay:.1 from parmtable[m]where name like\"*.weight\");r:ckptvocab((`m`o!(m;o));`m.e.weight;7)")
    found = dict(tensors_in(session["r"]))
    names = [name for name, t in found.items() if t.shape == (7, 3)]
    assert len(names) == 3 and names[0] == "m.e.weight"


def test_fewer_rows_and_fills(session: Session) -> None:
    m, _ = run("plain", True)
    torch.save(m.state_dict(), "m.pt")
    few = dict(tensors_in(session.run("ckptvocab(`:m.pt;`embed.weight`head.bias`seen;4)")))
    assert torch.equal(few["embed.weight"], m.embed.weight[:4]) and few["head.weight"].data_ptr() == few["embed.weight"].data_ptr()
    mean = dict(tensors_in(session.run("ckptvocab(`:m.pt;`head.bias;20;`mean)")))["head.bias"]
    assert torch.allclose(mean[OLD:], m.head.bias.mean().expand(9))
    one, two, other = (dict(tensors_in(session.run(f"ckptvocab(`:m.pt;`embed.weight;900;`seed`spread!{x})"))) for x in ("(1;.01)", "(1;.01)", "(2;.01)"))
    assert torch.equal(one["embed.weight"], two["embed.weight"]) and not torch.equal(one["embed.weight"], other["embed.weight"])
    assert torch.allclose(one["embed.weight"][OLD:].mean(0), m.embed.weight.mean(0), atol=0.02)


@pytest.mark.parametrize(("line", "text"), [
    ("ckptvocab(`:m.pt;`embed.weight)", "ckptvocab: expecting a checkpoint, names and a number of rows"),
    ("ckptvocab(`:m.pt;`embed.weight;0)", "ckptvocab: expecting a checkpoint, names and a number of rows"),
    ("ckptvocab(`:m.pt;`nosuch;3)", "ckptvocab: no tensor has a name like nosuch"),
    ("ckptvocab(`:m.pt;`embed.weight`layer.weight;3)", "ckptvocab: the numbers of rows differ: embed.weight is [11, 6], layer.weight [6, 6]"),
    ("ckptvocab(`:m.pt;`embed.weight;3;`x)", "ckptvocab fill: unrecognized setting `x")])
def test_errors(line: str, text: str, session: Session) -> None:
    m, _ = run("plain", False)
    torch.save(m.state_dict(), "m.pt")
    with pytest.raises(QError) as error:
        session.run(line)
    assert text in error.value.text, error.value.text
