"""ckptplain: what torch.load(weights_only=True) takes, in the place of what it refuses."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import datetime
import decimal
import enum
import io
import pathlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import _weights_only_unpickler

from kshell.checkpoints.trees import plain
from kshell.errors import QError
from kshell.session import Session


class Color(enum.Enum):
    RED = 7


@dataclasses.dataclass
class Settings:
    rate: float
    color: Color
    scale: torch.Tensor


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)
        self.register_buffer("seen", torch.ones(2), persistent=False)
        self.register_buffer("mean", torch.zeros(2))


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session(out=io.StringIO(), err=io.StringIO())


def made(session: Session, value: Any, **options: Any) -> Any:
    """What weights_only reads of a value that was saved and written again by ckptplain."""
    torch.save(value, "x.pt", **options)
    session.run("ckptplain(`:x.pt;`:plain.pt)")
    return torch.load("plain.pt", weights_only=True)


def test_the_names_are_those_of_torch() -> None:
    assert set(_weights_only_unpickler._get_allowed_globals()) >= plain._CALLED | plain._WORDS


def test_objects_become_values(session: Session) -> None:
    scale = torch.tensor([1.5])
    got = made(session, {
        "loss": np.float64(.25), "best": np.int32(3), "array": np.arange(4.).reshape(2, 2), "texts": np.array(["a", "b"]),
        "args": argparse.Namespace(lr=.1, path=pathlib.PurePosixPath("/a/b")), "counts": collections.defaultdict(int, a=1),
        "settings": Settings(.5, Color.RED, scale), "when": datetime.date(2026, 1, 2), "price": decimal.Decimal("1.50"),
        "queue": collections.deque([1, 2]), "cls": Net, "scale": scale, 3: (1, None, 2 ** 70)})  # fmt: skip
    assert torch.equal(got.pop("array"), torch.arange(4., dtype=torch.float64).reshape(2, 2))
    assert got["settings"]["scale"].data_ptr() == got["scale"].data_ptr()
    assert got.pop("scale") == scale == got["settings"].pop("scale")
    assert got == {"loss": .25, "best": 3, "texts": ["a", "b"], "args": {"lr": .1, "path": "/a/b"}, "counts": {"a": 1},
                   "settings": {"rate": .5, "color": 7}, "when": "2026-01-02", "price": "1.50", "queue": [1, 2],
                   "cls": f"{__name__}.Net", 3: (1, None, 2 ** 70)}
    assert type(got["loss"]) is float and type(got["counts"]) is dict


def test_what_is_taken_stays_as_it_is(session: Session) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    state = net.state_dict()
    state["tied"] = state["0.weight"]
    parameter = torch.nn.Parameter(torch.ones(2))
    got = made(session, {"model": state, "p": parameter, "dtype": torch.float16, "size": torch.Size([1, 2]),
                         "device": torch.device("cpu"), "sparse": torch.eye(2).to_sparse(), "set": {1, 2}})  # fmt: skip
    assert type(got["model"]) is collections.OrderedDict and got["model"]._metadata == state._metadata  # type: ignore[attr-defined]
    assert got["model"]["tied"].data_ptr() == got["model"]["0.weight"].data_ptr()
    assert isinstance(got["p"], torch.nn.Parameter) and got["p"].requires_grad
    assert (got["dtype"], got["size"], got["device"], got["set"]) == (torch.float16, (1, 2), torch.device("cpu"), {1, 2})
    assert got["sparse"].is_sparse and type(got["size"]) is torch.Size
    assert session.run("count ckptplain`:x.pt") == 0


@pytest.mark.parametrize("options", [{}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False}])
def test_modules_become_state_dicts(options: dict[str, Any], session: Session) -> None:
    net = Net()
    got = made(session, {"net": net, "optimizer": torch.optim.Adam(net.parameters())}, **options)
    assert [*got["net"]] == [*net.state_dict()] == ["mean", "fc.weight", "fc.bias"]
    Net().load_state_dict(got["net"])
    assert got["optimizer"]["param_groups"][0]["lr"] == .001
    assert session.run("exec becomes~enlist`state_dict from ckptplain`:x.pt where name=`net")


def test_values_of_q_and_holders_of_themselves(session: Session) -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert made(session, {"loop": loop, "shared": [loop]}) == {"loop": [1, None], "shared": [[1, None]]}
    session.run("ckptplain(`a`b!(1;tensor 1 2e);`:q.pt)")
    assert torch.load("q.pt", weights_only=True)["a"] == 1
    torch.save({"a": np.float32(1), "x": torch.ones(2)}, "x.pt")
    session.run("d:ckpt`:x.pt;d[`b]:2026.01.01;ckptplain(d;`:q.pt)")
    assert torch.load("q.pt", weights_only=True)["b"] == "2026-01-01"


def test_errors(session: Session) -> None:
    for text in ("ckptplain`:none.pt", "ckptplain(`a`b!(1;{x}))", "ckptplain(`:none.pt;`:x.pt)", "ckptplain({x};`:x.pt)",
                 "ckptplain(`:none.pt;\"x.pt\")"):
        with pytest.raises(QError, match=r"ckpt|No such"):
            session.run(text)
    assert not [*Path(".").iterdir()]
