"""A file that is read, changed and written: what nobody changed is the same for the program that wrote it."""

from __future__ import annotations

import argparse
import collections
import datetime
import pathlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kshell.checkpoints.base.stored import Bytes, Strided
from kshell.checkpoints.files import pt_writing
from kshell.checkpoints.pickles.editing import tensor
from kshell.errors import QError
from kshell.session import Session
from tests.checkpoints.making import Made, save
from tests.checkpoints.pickles.things import Color, Pair, Plain, Same, Slots, attributes

pytestmark = pytest.mark.filterwarnings("ignore")


class Alike(Same):
    """Compares also tensors: their numbers, class, attributes, and with which others they share memory."""

    def __init__(self) -> None:
        super().__init__()
        self.memories: dict[int, int] = {}

    def parts(self, a: Any, b: Any) -> bool:
        if not isinstance(a, torch.Tensor):
            return super().parts(a, b)
        x, y = a.untyped_storage().data_ptr(), b.untyped_storage().data_ptr()
        if x and self.memories.setdefault(x, y) != y:
            return False
        return (a.dtype == b.dtype and a.stride() == b.stride() and a.requires_grad == b.requires_grad and torch.equal(a, b)
                and (not isinstance(a, torch.nn.Parameter) or self(attributes(a), attributes(b))))


def assert_alike(wanted: Any, got: Any) -> None:
    same = Alike()
    assert same(wanted, got), same.other


def loaded(path: str, plain: bool = False) -> Any:
    return torch.load(path, weights_only=plain)


def trained() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """A module with tied weights and buffers, and its optimizer after a step."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(collections.OrderedDict(
        first=torch.nn.Linear(3, 3), norm=torch.nn.BatchNorm1d(3), last=torch.nn.Linear(3, 3)))
    net.last.weight = net.first.weight
    optimizer = torch.optim.AdamW([{"params": [net.first.weight], "lr": 0.1}, {"params": [net.norm.weight, net.norm.bias], "lr": 0.2}])
    net(torch.randn(4, 3)).square().sum().backward()
    optimizer.step()
    return net, optimizer


def state() -> dict[str, Any]:
    """What a script saves that may be read with weights_only."""
    net, optimizer = trained()
    return {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "loss": [1.5, 0.5, 0.25], "name": "a run",
            "pair": (1, 2.5, "x"), "row": net.first.weight.detach()[0], "parameter": torch.nn.Parameter(torch.ones(2)), "none": None, "flag": True}


def other() -> dict[str, Any]:
    """And more, of Python and of NumPy."""
    inner = Plain()
    inner.rate, inner.names = 0.5, ["a", "b"]  # type: ignore[attr-defined]
    return {**state(), "best": np.float64(0.25), "step": np.int64(7), "small": np.float32(0.1), "history": np.arange(4.0), "ints": np.arange(3, dtype="i4"),
            "args": argparse.Namespace(lr=0.1, layers=[1, 2], inner=argparse.Namespace(dropout=0.5)), "rates": collections.defaultdict(float, {"a": 1.0}),
            "set": {1, 2}, "path": pathlib.PurePosixPath("/data/x"), "at": datetime.datetime(2024, 1, 2, 3, 4, 5, 6), "big": 1 << 100, "bytes": b"ab",
            "counts": collections.Counter("aab"), "recent": collections.deque([1.5, 2.5], 3), "object": inner, "color": Color.RED, "named": Pair(1, inner)}


def members(path: str) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as z:
        return {name.partition("/")[2]: z.read(name) for name in z.namelist()}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("make", [state, other])
def test_what_is_not_changed_has_the_same_bytes(make: Callable[[], Any], protocol: int, session: Session) -> None:
    torch.save(make(), "old.pt", pickle_protocol=protocol)
    session.run("ckpt(`:new.pt;ckpt`:old.pt)")
    old, new = members("old.pt"), members("new.pt")
    for name in old:
        if name == "data.pkl" or name.startswith("data/") or name in ("version", "byteorder"):
            assert old[name] == new[name], name
    assert_alike(loaded("old.pt"), loaded("new.pt"))


@pytest.mark.parametrize("make", [state, other])
def test_after_all_was_looked_at(make: Callable[[], Any], session: Session) -> None:
    """Handles whose tensors are in memory are still those of the file."""
    torch.save(make(), "old.pt")
    session.run("d:ckpt`:old.pt;string d;count each d;ckpttable d;x:2*d`row;.Q.s d;ckpt(`:new.pt;d)")
    assert members("old.pt")["data.pkl"] == members("new.pt")["data.pkl"]
    assert_alike(loaded("old.pt"), loaded("new.pt"))


def at(*keys: Any) -> Callable[[Any, Any], None]:
    """Puts a value at a place."""
    def put(whole: Any, value: Any) -> None:
        for key in keys[:-1]:
            whole = whole[key] if isinstance(whole, dict | list) else getattr(whole, key)
        if isinstance(whole, dict | list | np.ndarray):
            whole[keys[-1]] = value
        else:
            setattr(whole, keys[-1], value)
    return put


def dropped(whole: Any, value: Any) -> None:
    del whole[value]


def rates(whole: Any, value: Any) -> None:
    for group in whole["optimizer"]["param_groups"]:
        group["lr"] = value


def moments(whole: Any, value: Any) -> None:
    whole["optimizer"]["state"][0]["step"] = value


PLAIN: list[tuple[str, Callable[[Any, Any], None], Any]] = [
    ("d[`epoch]:4", at("epoch"), 4), ("d[`name]:`other", at("name"), "other"), ("d[`loss;1]:9f", at("loss", 1), 9.0),
    ("d[`loss],:.125", at("loss"), [1.5, 0.5, 0.25, 0.125]), ("d[`pair;0]:5", at("pair"), (5, 2.5, "x")), ("d[`flag]:0b", at("flag"), False),
    ("d[`none]:1", at("none"), 1), ("d[`more]:1 2 3", at("more"), [1, 2, 3]), ("d:`pair _ d", dropped, "pair"), ("d:(enlist`row)_ d", dropped, "row"),
    ("d[`optimizer;`param_groups]:update lr:.5 from d[`optimizer;`param_groups]", rates, 0.5),
    ("d[`model;`norm.bias]:tensor 7 8 9e", at("model", "norm.bias"), torch.tensor([7.0, 8, 9])),
    ("d[`model;`new]:tensor til 2", at("model", "new"), torch.arange(2)),
    ("d[`optimizer;`state]:update step:@[step;0;:;tensor 9e] from d[`optimizer;`state]", moments, torch.tensor(9.0)),
]
MORE: list[tuple[str, Callable[[Any, Any], None], Any]] = [
    ("d[`best]:.5", at("best"), np.float64(0.5)), ("d[`step]:8", at("step"), np.int64(8)), ("d[`small]:.5e", at("small"), np.float32(0.5)),
    ("d[`history;1]:9f", at("history", 1), 9.0), ("d[`ints]:5 6 7i", at("ints"), np.array([5, 6, 7], "i4")), ("d[`args;`lr]:.5", at("args", "lr"), 0.5),
    ("d[`args;`inner;`dropout]:.25", at("args", "inner", "dropout"), 0.25), ("d[`args;`more]:`x", at("args", "more"), "x"),
    ("d[`rates;`a]:2f", at("rates", "a"), 2.0), ("d[`rates;`b]:7f", at("rates", "b"), 7.0), ("d[`counts;`a]:5", at("counts", "a"), 5),
    ("d[`path]:`$\"/b/c\"", at("path"), pathlib.PurePosixPath("/b/c")), ("d[`big]:5", at("big"), 5), ("d[`object;`rate]:.75", at("object", "rate"), 0.75),
    ("d[`object;`names;1]:`c", at("object", "names", 1), "c"), ("d[`object;`extra]:1 2", at("object", "extra"), [1, 2]),
    ("d[`at]:2025.01.02D00:00:00", at("at"), datetime.datetime(2025, 1, 2)), ("o:d`object;o[`rate]:.75", at("object", "rate"), 0.75),
]


@pytest.mark.parametrize("case", range(len(PLAIN)))
@pytest.mark.parametrize("make", [state, other])
def test_one_change(make: Callable[[], Any], case: int, session: Session) -> None:
    changed(make(), *PLAIN[case], session, make is state)


@pytest.mark.parametrize("case", range(len(MORE)))
def test_one_change_of_more(case: int, session: Session) -> None:
    changed(other(), *MORE[case], session)


def changed(given: Any, text: str, change: Callable[[Any, Any], None], value: Any, session: Session, plain: bool = False) -> None:
    """All but the change is what it was, for torch: also for weights_only, where the file was."""
    torch.save(given, "old.pt")
    session.run(f"d:ckpt`:old.pt;{text};ckpt(`:new.pt;d)")
    wanted, got = loaded("old.pt", plain), loaded("new.pt", plain)
    change(wanted, value)
    assert list(wanted) == list(got)
    for part in (wanted, got):  # that of a state_dict's versions is kept too
        part["of the model"] = dict(part["model"]._metadata)
    assert_alike(wanted, got)
    session.run(f"{text};ckpt(`:again.pt;ckpt`:new.pt)")
    assert members("new.pt")["data.pkl"] == members("again.pt")["data.pkl"]


def test_a_tensor_changed_in_memory(session: Session) -> None:
    """Those that share its memory change with it, and still do in the file."""
    torch.save(state(), "old.pt")
    before = Path("old.pt").read_bytes()
    session.run("d:ckpt`:old.pt;x:tensor(d`model)`last.bias;d[`row;0]:9e;ckpt(`:new.pt;d)")
    got = loaded("new.pt", True)
    assert got["row"][0] == 9 and got["model"]["first.weight"][0, 0] == 9 and got["model"]["last.weight"][0, 0] == 9
    assert got["row"].untyped_storage().data_ptr() == got["model"]["last.weight"].untyped_storage().data_ptr()
    assert Path("old.pt").read_bytes() == before


# ------------------------------------------------------------------ objects


def net_file() -> torch.nn.Module:
    net, _ = trained()
    inner = Slots()
    inner.a, inner.b = 1, [1, 2]
    torch.save({"net": net, "args": settings(), "slots": inner}, "old.pt")
    return net


def settings() -> Any:
    x = Plain()
    x.lr, x.inner = 0.1, Plain()  # type: ignore[attr-defined]
    x.inner.depth = 3  # type: ignore[attr-defined]
    return x


def test_attributes_of_objects(session: Session) -> None:
    net_file()
    session.run("d:ckpt`:old.pt;d[`args;`lr]:.5;d[`args;`inner;`depth]:4;d[`slots;`a]:7;ckpt(`:new.pt;d)")
    got = loaded("new.pt")
    assert (got["args"].lr, got["args"].inner.depth, got["slots"].a, got["slots"].b) == (0.5, 4, 7, [1, 2])
    assert got["args"].__class__ is Plain and got["args"].inner.__class__ is Plain


def test_parameters_of_a_module(session: Session) -> None:
    """Of a whole module: its own, those of children, ties, buffers."""
    before = net_file()
    session.run("d:ckpt`:old.pt;n:d`net")
    assert session.run("n`first.weight").obj.shape == (3, 3)
    session.run("c:n`norm;c[`bias]:tensor 1 2 3e;ckpt(`:new.pt;d)")
    got = loaded("new.pt")["net"]
    assert got.norm.bias.__class__ is torch.nn.Parameter and got.norm.bias.tolist() == [1, 2, 3]
    assert got.first.weight is got.last.weight and torch.equal(got.first.weight, before.first.weight)
    assert torch.equal(got.norm.running_mean, before.norm.running_mean) and got.norm.eps == before.norm.eps
    session.run("d[`net;`norm;`eps]:.5;d[`net;`training]:0b;ckpt(`:new.pt;d)")
    got = loaded("new.pt")["net"]
    assert got.norm.eps == 0.5 and got.training is False and got.norm.bias.tolist() == [1, 2, 3]
    assert got(torch.ones(2, 3)).shape == (2, 3)


def test_an_error_restores_what_was_changed_before_it(session: Session) -> None:
    """Where several objects are changed at a time, all are or none is."""
    net_file()
    session.run("d:ckpt`:old.pt;a:d`args;l:(a;(ckpt`:old.pt)`args)")
    for text in ("l[0 1;`lr]:(.5;{x})", "l[0 1;`none]:(.5;{x})", "l[0 1;`inner]:(5;{x})"):
        with pytest.raises(QError):
            session.run(text)
    assert session.run("a`lr") == 0.1 and session.run("(key a)~`lr`inner") is True and session.run("(a`inner)`depth") == 3
    session.run("l[0 1;`lr]:(.5;.25)")
    assert session.run("(a`lr),(l 1)`lr").a.tolist() == [0.5, 0.25]


def test_what_an_object_cannot_be_asked(session: Session) -> None:
    save({"o": Made("a_program.Thing", (), {"a": 1}), "f": Made("a_program.make", (1, 2), call=True)}, "old.pt")
    session.run("d:ckpt`:old.pt;o:d`o")
    for text, why in [("o`none", "has no none"), ("o[1]", "symbol"), ("o[`a`b]:1", "one attribute"), ("o 1 2", None), ("o+1", None), ("o[]:1", None),
                      ("o[`a;`b]:1", None), ("f:d`f;f[`x]:1", "has no x"), ("o[`a]:{x}", None)]:
        with pytest.raises(QError, match=why):
            session.run(text)
    assert session.run("o`a") == 1 and session.run("(key o)~enlist`a") is True
    session.run("ckpt(`:new.pt;d)")
    assert members("old.pt")["data.pkl"] == members("new.pt")["data.pkl"]


def test_an_object_goes_to_another_file(session: Session) -> None:
    torch.save({"a": settings(), "w": torch.ones(3)}, "a.pt")
    torch.save({"b": Slots(), "w": torch.zeros(3), "n": 1}, "b.pt", pickle_protocol=4)
    session.run("a:ckpt`:a.pt;b:ckpt`:b.pt;ckpt(`:c.pt;`x`y`w`v!(a`a;b`b;a`w;b`w));ckpt(`:d.pt;a`a)")
    got = loaded("c.pt")
    assert got["x"].inner.depth == 3 and got["y"].__class__ is Slots and got["w"].tolist() == [1, 1, 1] and got["v"].tolist() == [0, 0, 0]
    assert loaded("d.pt").lr == 0.1


def test_keys_that_are_tuples(session: Session) -> None:
    given = {7: {(3, (4, "x")): 1}, (1, 2): torch.ones(2), ("a", 1): 5, None: 2}
    torch.save(given, "old.pt")
    session.run("d:ckpt`:old.pt;ckpt(`:new.pt;d);d[7]:5;ckpt(`:other.pt;d);ckpt(`:mine.pt;(1 2;3 4)!5 6)")
    assert_alike(loaded("old.pt"), loaded("new.pt"))
    got = loaded("other.pt")
    assert list(got) == list(given) and got[7] == 5 and got[1, 2].tolist() == [1, 1] and loaded("mine.pt") == {(1, 2): 5, (3, 4): 6}
    for keys in ("(`a`b!1 2;`c)", "(1 2e;3 4e)"):
        with pytest.raises(QError, match=r"has .* as a key, which a checkpoint cannot hold"):
            session.run(f"ckpt(`:x.pt;{keys}!5 6)")


def test_memory_that_is_no_multiple_of_an_item(session: Session) -> None:
    """As a view of bytes may have it."""
    small = Strided("float32", (2,), Bytes(bytes(range(11))))
    with open("x.pt", "wb") as f:
        pt_writing.write(f, {"t": tensor(small)}, [])
    assert loaded("x.pt", True)["t"].numpy().tobytes() == bytes(range(8))
    assert session.run("(ckpt`:x.pt)`t").obj.numpy().tobytes() == bytes(range(8))
