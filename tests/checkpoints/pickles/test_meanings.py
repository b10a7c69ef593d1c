"""What the known names in pickles mean is what Python makes of them; all others stay names, and nothing is imported."""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import os
import pathlib
import pickle
import random
import sys
import types
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.checkpoints.pickles import numpy_meanings  # noqa: F401  # registers what its names mean
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import KNOWN, Meanings, Unknown, Word
from kshell.checkpoints.trees.opening import opened
from kshell.errors import QError
from kshell.store.archive import Room
from tests.checkpoints.pickles import things
from tests.checkpoints.pickles.things import Color, Named, Pair, Plain, graph_of
from tests.support.damage import Run

UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30), "east")
ROWS = np.array([(1, 0.5, b"ab"), (2, -0.5, b"c")], [("n", "<i4"), ("x", ">f8"), ("s", "S2")])


def meanings(data: bytes) -> tuple[Meanings, Any]:
    """The meanings of a pickle's objects, and the object of it."""

    def kept(asked: Any) -> Any:
        raise Unknown

    return Meanings(kept, Room(1 << 20)), graph_of(data)[1]


def shown(m: Meanings, x: Any, depth: int = 0) -> Any:
    """The meaning of an object with those of all in it."""
    value = m.of(x)
    assert depth < 50
    if isinstance(value, dict):
        return {shown(m, key): shown(m, part, depth + 1) for key, part in value.items()}
    if value.__class__ in (list, tuple):
        return value.__class__(shown(m, part, depth + 1) for part in value)
    if value.__class__ in (set, frozenset):
        return {shown(m, part, depth + 1) for part in value}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [shown(m, part, depth + 1) for part in value.flat]
    return value


def meaning(value: Any, protocol: int) -> Any:
    return shown(*meanings(pickle.dumps(value, protocol)))


Case = tuple[Any, Any]  # a value of Python, and what it is to mean
SAME: list[Any] = [
    1 + 2j, complex("nan"), b"\x00\xffab", b"", bytearray(b"\x80a"), datetime.date(2024, 2, 29), datetime.date(1, 1, 1),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 456789), datetime.datetime(9999, 12, 31, tzinfo=UTC),
    datetime.datetime(2020, 1, 1, tzinfo=EAST), datetime.time(23, 59, 59, 999999), datetime.time(1, 2, tzinfo=EAST),
    datetime.timedelta(-3, 5, 7), datetime.timedelta(0), UTC, EAST, uuid.UUID(int=5), uuid.UUID(int=(1 << 128) - 1),
    1 << 70, -(1 << 2100), 2.5, "a\n\u20ac\U0001f600", None, True,
]
OTHERS: list[Case] = [
    (collections.OrderedDict([("b", 1), ("a", [2])]), {"b": 1, "a": [2]}),
    (collections.Counter("aab"), {"a": 2, "b": 1}),
    (collections.defaultdict(list, {1: [2], (3, "x"): {}}), {1: [2], (3, "x"): {}}),
    (collections.deque([1, [2]], 5), [1, [2]]),
    (argparse.Namespace(lr=0.1, inner=argparse.Namespace(n=1)), {"lr": 0.1, "inner": {"n": 1}}),
    (types.SimpleNamespace(), {}),
    (pathlib.PurePosixPath("/a/b.c"), "/a/b.c"), (pathlib.PurePosixPath("a") / "b", "a/b"), (pathlib.PurePosixPath(), "."),
    (pathlib.PureWindowsPath("C:\\a\\b"), "C:\\a\\b"),
    (range(1, 9, 2), [1, 9, 2]), (slice(None, 3), [None, 3, None]),
    (np.array([[1, [2]], [None, "x"]], object), [1, [2], None, "x"]),
]


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, complex) and a != a:
        return isinstance(b, complex) and b != b
    return bool(a == b)


@pytest.mark.parametrize("protocol", range(6))
def test_values_of_pythons_library(protocol: int) -> None:
    for value, wanted in [*((value, value) for value in SAME), *OTHERS]:
        try:
            data = pickle.dumps(value, protocol)
        except TypeError:
            continue
        got = shown(*meanings(data))
        wanted = bytes(wanted) if isinstance(wanted, bytearray) and got.__class__ is bytes else wanted
        assert equal(wanted, got), (protocol, value, got)


@pytest.mark.parametrize("protocol", range(6))
def test_sets(protocol: int) -> None:
    for value in ({1, "a", None}, frozenset([2, (3,)]), set()):
        assert {*meaning(value, protocol)} == {*value}


NUMBERS = ["?", "i1", "<u2", ">i4", "<i8", ">u8", "<f2", ">f4", "<f8", "<c8", ">c16"]


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_and_numbers_of_numpy(protocol: int) -> None:
    found = np.random.default_rng(1)
    for code in NUMBERS:
        whole = (found.standard_normal((2, 3, 4)) * 50).astype(np.int64 if "u" not in code else np.uint8).astype(code)
        for x in (whole, whole[:, 1:2], np.asfortranarray(whole), whole.T, whole[:0], whole[0, 0, 0], whole.reshape(-1)[:1]):
            got = meaning(x, protocol)
            assert np.array_equal(got, x) and got.shape == x.shape and got.dtype == x.dtype.newbyteorder("="), (code, protocol)
    for x in (np.array(["ab", "c\u20ac"]), np.array([b"ab", b""]), np.array(["2024-02-29", "NaT"], "<M8[D]"), np.array([5, -1], ">m8[25us]"),
              np.datetime64("2024-01-02T03:04:05", "ns"), np.timedelta64(3, "h"), np.str_("text"), np.bytes_(b"ab"), ROWS[0], np.float32(0.1)):
        got = meaning(x, protocol)
        assert got.dtype == np.asarray(x).dtype.newbyteorder("=") or got.dtype == np.asarray(x).dtype
        assert got.tobytes() == np.asarray(x).astype(got.dtype).tobytes(), x
    got = meaning(ROWS, protocol)
    assert got.tolist() == ROWS.tolist() and got.dtype.names == ROWS.dtype.names


def test_numpys_names_before_2() -> None:
    data = pickle.dumps([np.arange(3), np.float32(2)], 2)
    assert b"numpy._core" in data
    got = shown(*meanings(data.replace(b"numpy._core", b"numpy.core")))
    assert got[0].tolist() == [0, 1, 2] and got[1] == 2


def test_types_of_numpy() -> None:
    for dtype in ("<f4", ">i8", "S5", "<U3", "V7", "<M8[3s]"):
        assert meaning(np.dtype(dtype), 2) == np.dtype(dtype)
    assert meaning(np.float64, 2) == "numpy.float64" and meaning(np.float64, 2).__class__ is Word
    nested = np.dtype([("a", "<i4"), ("b", [("c", "<f8", (2, 3))])])
    assert meaning(nested, 2) == nested


@settings(max_examples=60)
@given(st.datetimes(allow_imaginary=False), st.timedeltas(), st.times(), st.integers(0, 5))
def test_times(at: datetime.datetime, span: datetime.timedelta, time: datetime.time, protocol: int) -> None:
    for value in (at, at.date(), span, time):
        assert meaning(value, protocol) == value


def test_settings_of_hydra_programs() -> None:
    """Objects with links to those that hold them."""
    node, settings_ = (type(name, (), {"__module__": module}) for name, module in (
        ("AnyNode", "omegaconf.nodes"), ("DictConfig", "omegaconf.dictconfig")))
    whole = settings_()
    leaf = node()
    leaf.__dict__.update(_val=0.5, _parent=whole)
    whole.__dict__.update(_content={"lr": leaf}, _parent=None)
    modules = {}
    for name, cls in (("omegaconf", None), ("omegaconf.nodes", node), ("omegaconf.dictconfig", settings_)):
        modules[name] = types.ModuleType(name)
        if cls is not None:
            setattr(modules[name], cls.__name__, cls)
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        data = pickle.dumps(whole, 2)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    assert shown(*meanings(data)) == {"lr": 0.5}


# ------------------------------------------------------------------ what is not known


def test_other_objects_stay_objects() -> None:
    other = Plain()
    other.a = 1  # type: ignore[attr-defined]
    for value, name in [(other, "Plain"), (Color.RED, "Color"), (Pair(1, 2), "Pair"), (Named(size=1), "Named")]:
        for protocol in (2, 4):
            m, graph = meanings(pickle.dumps(value, protocol))
            got = m.of(graph)
            assert got is graph and got.__class__ is Node and got.name == f"{things.__name__}.{name}" * (name != "Named" or protocol > 2)  # a call of a call
    for value, name in [(decimal.Decimal("1.5"), "decimal.Decimal"), (random.Random(1), "random.Random"), (np.random.default_rng(1), None)]:
        m, graph = meanings(pickle.dumps(value, 2))
        assert m.of(graph) is graph and (name is None or graph.name == name)
    m, graph = meanings(pickle.dumps(os.path.join, 2))
    assert m.of(graph) is graph and graph.__class__ is Global and graph.known == "posixpath.join"


def test_arguments_of_other_versions() -> None:
    """More or fewer than are known: the object is shown as what it is."""
    for name, known in (("_rebuild_tensor_v2", 6), ("_rebuild_tensor_v3", 7), ("_rebuild_parameter", 3), ("_rebuild_qtensor", 7), ("_rebuild_sparse_tensor", 2)):
        for arguments in ((), (1,) * (known - 4), (1,) * 20 if name == "_rebuild_sparse_tensor" else ()):
            m, _ = meanings(b"N.")
            node = Node("call", Global("torch._utils", name), arguments)
            assert m.of(node) is node


ODD: list[Any] = [
    (), (1,), ("x",), (None,), (b"",), ([],), ({},), (1, 2, 3), ("f8", 1, 2), (b"123", None), ("a", "b"), (-1, -1), (1 << 70,), ("\u20ac", "latin1"),
    ((), (), (), ()), (b"\xff" * 10,), (1.5, "x", b""), (float("nan"), float("inf"), float("nan")), ("O8", False, True), ("M8", False, True), (("a",),) * 2,
]
STATES: list[Any] = [(), (3, "<", None, None, None, -1, -1, 0), {"int": -1}, {"int": "x"}, (1, (2,), None, False, b""), [1], 5, {"_content": 1}, {"_val": {}},
                     (3, "x", 5, ("a",), {"a": 1}, "x", 0, 0), (4, "<", None, None, None, -1, -1, 0, {}, (b"xx", 1, 1, 1)), (None, {}), (1, (-1,), 2, 3, 4),
                     {"_parameters": 1, "_buffers": 2, "_modules": 3}, (1, 2, 3, 4, 5, 6, 7, 8, 9)]


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_known_names_with_other_arguments(name: str) -> None:
    """They mean something, or stay objects, or are damaged: nothing else happens."""
    module, _, attribute = name.rpartition(".")
    for how in ("call", "new"):
        for arguments in [*ODD, 5, None, [1]]:
            for state in (None, *STATES):
                m, _ = meanings(b"N.")
                node = Node(how, Global(module, attribute), arguments)
                node.steps = [] if state is None else [("state", state)]
                if state == 5:
                    node.steps = [("items", [1]), ("pairs", [([], 1)])]
                try:
                    m.of(node)
                except QError as e:
                    assert "damaged" in e.text


def test_nothing_is_imported_or_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of a name in a file, a function that writes one, a class that does so when it is made or filled."""
    name = "a_module_that_only_a_file_names"
    ran = tmp_path / "ran"
    (tmp_path / f"{name}.py").write_text(f"open({str(ran)!r}, 'w')\nclass C:\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    touch = pickle.dumps(Run(os.system, f"touch {ran}"), 2)
    pickles = [
        f"c{name}\nC\n.".encode(), f"c{name}\nC\n)R.".encode(), f"\x80\x02c{name}\nC\n)\x81}}b.".encode("latin-1"), f"(i{name}\nC\n.".encode(),
        b"\x80\x04\x8c" + bytes([len(name)]) + name.encode() + b"\x8c\x01C\x93)\x81.", f"(c{name}\nC\no.".encode(), touch,
        pickle.dumps([Run(open, str(ran), "w"), {Run(exec, f"open({str(ran)!r}, 'w')"): 1}], 4),
        pickle.dumps(Run(getattr, Run(__import__, name), "C"), 2), b"\x80\x02}" + touch[2:-1] + b"K\1s.",
    ]
    before = {*sys.modules}
    for i, data in enumerate(pickles):
        path = tmp_path / f"{i}.pkl"
        path.write_bytes(data if data[:1] == b"\x80" else b"\x80\x02" + data)
        found = opened(str(path)).value
        m, graph = found
        assert m.of(graph) is graph or isinstance(graph, list | dict)
    assert not ran.exists() and name not in sys.modules and {*sys.modules} - before <= {"posix"}
