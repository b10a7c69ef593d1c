"""Values of a file keep their kinds when other parts of it are edited, moved and written, whatever q shows of them."""

from __future__ import annotations

import argparse
import collections
import datetime
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kshell.errors import QError
from kshell.session import Session
from kshell.values.base.core import text_of
from tests.support.runner import console


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session()


def _set(obj: Six, state: dict[str, Any]) -> None:
    obj.by_function = state


class Six:
    """What it reduces to has items, pairs, and a function that takes its state."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.by_function: Any = None

    def append(self, x: int) -> None:
        self.items.append(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Six) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Six, (), {"rate": 0.1}, iter([1, 2]), None, _set


VALUES: dict[str, Callable[[], Any]] = {
    "namespace": lambda: argparse.Namespace(rate=0.1, inner=types.SimpleNamespace(a=1)),
    "default": lambda: collections.defaultdict(list, a=[1]),
    "counter": lambda: collections.Counter("aab"),
    "keys": lambda: {1: 1, "a": 2, None: 3, (1, "b"): 4, 1 << 70: 5, np.int64(7): 6, torch.Size([1]): 7, b"k": 8},
    "bytes in rows": lambda: np.arange(6, dtype=np.uint8).reshape(2, 3),
    "complex": lambda: np.arange(4).astype(np.complex64).reshape(2, 2),
    "rows": lambda: np.zeros(2, dtype=[("a", "f4", (2,)), ("n", [("x", "i2")])]),
    "spans": lambda: [np.timedelta64(5, "s"), np.datetime64("NaT"), np.void(b"abc")],
    "early": lambda: [datetime.datetime(1, 1, 1), datetime.time(1, 2, 3)],
    "setter": Six,
}


def _same(x: Any, y: Any) -> bool:
    if type(x) is not type(y):
        return False
    if isinstance(x, dict):
        return list(x) == list(y) and all(map(_same, x, y)) and all(map(_same, x.values(), y.values()))
    if isinstance(x, argparse.Namespace | types.SimpleNamespace):
        return _same(vars(x), vars(y))
    if isinstance(x, list):
        return len(x) == len(y) and all(map(_same, x, y))
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
    return bool(x == y)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_keeps_its_kind_when_others_are_edited(name: str, session: Session) -> None:
    torch.save({"it": VALUES[name](), "rate": 0.1, "w": torch.ones(2)}, "a.pt")
    value = torch.load("a.pt", weights_only=False)["it"]
    session.run("d:ckpt`:a.pt; ckpt(`:b.pt;d); d[`rate]:.5; d[`w]:2*d`w; ckpt(`:c.pt;d)")
    for file, rate in (("b.pt", 0.1), ("c.pt", 0.5)):
        found = torch.load(file, weights_only=False)
        assert _same(value, found["it"])
        assert found["rate"] == rate and found["w"].tolist() == [1.0 if rate == 0.1 else 2.0] * 2


def test_a_time_that_q_has_no_value_for_is_text(session: Session) -> None:
    torch.save([datetime.datetime(1, 1, 1), datetime.datetime(2024, 1, 2, 3), datetime.date(1, 1, 1)], "a.pt")
    assert console(session, "ckpt`:a.pt") == "`0001-01-01 00:00:00\n2024.01.02D03:00:00.000000000\n0001.01.01\n"


@pytest.mark.parametrize("name", ["namespace", "default", "counter", "keys"])
def test_a_value_keeps_its_kind_when_it_is_moved(name: str, session: Session) -> None:
    torch.save({"it": VALUES[name](), "w": torch.ones(2)}, "a.pt")
    session.run("d:ckpt`:a.pt; ckpt(`:b.pt;d`it); ckpt(`:c.pt;`x`y!(1;d`it))")
    session.run("e:`x`it!(1;`a); e[`it]:d`it; d:(); ckpt(`:d.pt;e)")
    assert _same(VALUES[name](), torch.load("b.pt", weights_only=False))
    for file, key in (("c.pt", "y"), ("d.pt", "it")):
        assert _same(VALUES[name](), torch.load(file, weights_only=False)[key])


def test_what_cannot_be_written_anew_is_named(session: Session) -> None:
    torch.save({"a": [np.timedelta64(5, "s")]}, "a.pt")
    with pytest.raises(QError, match="ckpt: x is a second list, which a checkpoint cannot hold"):
        session.run("d:ckpt`:a.pt; ckpt(`:b.pt;`x`y!(d`a;1))")
    assert not Path("b.pt").exists()


def test_dictionaries_in_dictionaries_take_no_time(session: Session) -> None:
    """Dictionaries with equal keys are rows of tables: a row that holds rows is not made again at each level."""
    deep: Any = {"rate": 0.1}
    for _ in range(60):
        deep = {"d": deep}
    wide: Any = {"rate": 0.1}
    for _ in range(8):
        wide = {"a": wide, "b": wide}
    torch.save({"deep": deep, "wide": wide, "w": torch.ones(2)}, "a.pt")
    begin = time.process_time()
    session.run("d:ckpt`:a.pt; d[`w]:2*d`w; ckpt(`:b.pt;d)")
    assert time.process_time() - begin < 5
    found = torch.load("b.pt")
    assert found["deep"] == deep and found["wide"] == wide


def test_types_without_arithmetic_are_listed(session: Session) -> None:
    four = torch.arange(4, dtype=torch.uint8)
    torch.save({"bits": four.view(torch.bits8), "four": four.view(torch.float4_e2m1fn_x2),
                "meta": torch.empty(3, device="meta"), "plain": torch.ones(4)}, "a.pt")  # fmt: skip
    shown = text_of(session.run(".j.j select name,norm,bad,lo,digest from ckpttable`:a.pt"))
    assert '"name":"plain","norm":2.0,"bad":0,"lo":1.0' in shown.replace("2,", "2.0,").replace('"lo":1,', '"lo":1.0,')
    assert session.run("exec all(null norm)&null bad from ckpttable`:a.pt where name<>`plain") is True
    session.run("ckpt(`:b.pt;ckpt`:a.pt)")
    assert torch.load("b.pt")["bits"].dtype is torch.bits8


def test_packed_weights_of_a_quantised_layer_are_kept(session: Session) -> None:
    torch.save({"w": torch.ones(2), "q": torch.ones(2)}, "a.pt")
    made = torch.quantize_per_channel(torch.randn(4, 4), torch.rand(4), torch.rand(4), 0, torch.quint4x2)
    torch.save({"w": torch.ones(2), "q": made}, "a.pt")
    session.run("d:ckpt`:a.pt; d[`w]:2*d`w; ckpt(`:b.pt;d)")
    found = torch.load("b.pt", weights_only=False)["q"]
    assert found.dtype is torch.quint4x2 and str(found) == str(made)


def test_the_algebra_keeps_the_kinds_of_other_values(session: Session) -> None:
    torch.save({"w": torch.ones(2), "it": VALUES["namespace"](), "t": [datetime.datetime(1, 1, 1)]}, "a.pt")
    session.run("d:ckptavg(`:a.pt;`:a.pt); d[`rate]:1; ckpt(`:b.pt;`it`w!(d`it;d`w)); ckptcast(`:a.pt;`half;(`to;`:c.pt))")
    for file in ("b.pt", "c.pt"):
        assert _same(VALUES["namespace"](), torch.load(file, weights_only=False)["it"])


def test_the_algebra_keeps_a_state_dicts_own_class(session: Session) -> None:
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    torch.save({"model": module.state_dict(), "it": VALUES["namespace"]()}, "a.pt")
    session.run('ckptcast(`:a.pt;`half;(`to;`:b.pt)); ckptdrop(`:a.pt;enlist"it";(`to;`:c.pt))')
    session.run('ckptrename(`:a.pt;"0[.]";"net.";0b;(`to;`:d.pt))')
    for file in ("b.pt", "c.pt", "d.pt"):
        found = torch.load(file, weights_only=False)["model"]
        assert type(found) is collections.OrderedDict
        assert found._metadata == module.state_dict()._metadata
