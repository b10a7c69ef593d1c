"""A pickle that is read and written again is the same for Python: values, classes, what is shared, cycles."""

from __future__ import annotations

import argparse
import collections
import copyreg
import datetime
import decimal
import fractions
import functools
import pathlib
import pickle
import types
import uuid
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.checkpoints.pickles.machine import Machine
from kshell.checkpoints.pickles.writing import Pickler
from kshell.errors import QError
from kshell.store.archive import Room
from tests.checkpoints.pickles.things import (
    Both,
    Color,
    Counted,
    Keyed,
    Listed,
    Maker,
    Named,
    Pair,
    Plain,
    Slots,
    Word,
    assert_same,
    graph_of,
    loads,
    rewritten,
)

BIG = st.integers(-(1 << 600), 1 << 600)
KEYS = st.one_of(st.text(max_size=4), st.integers(-300, 70000), BIG, st.booleans(), st.none(), st.binary(max_size=4),
                 st.tuples(st.text(max_size=2), st.integers(0, 9)), st.sampled_from([1.5, 2j, Color.RED, Word.YES]))
ZONES = st.sampled_from([None, datetime.UTC, datetime.timezone(datetime.timedelta(hours=-3), "x")])
NUMBERS = st.one_of(st.integers(-(1 << 40), 1 << 40), BIG, st.floats(), st.booleans(), st.none(), st.complex_numbers())
LEAVES = st.one_of(
    NUMBERS, st.text(max_size=6), st.binary(max_size=6), st.binary(max_size=300).map(bytearray),
    st.datetimes(timezones=ZONES, allow_imaginary=False), st.dates(), st.times(), st.timedeltas(),
    st.sampled_from(["a/b", ".", "/x"]).map(pathlib.PurePosixPath), st.uuids(), st.decimals(allow_nan=False),
    st.fractions(), st.builds(range, st.integers(0, 9), st.integers(10, 20)), st.sampled_from([*Color, Word.YES, ..., int]),
    st.sampled_from(["?", "u1", "<i2", ">i4", "<f4", ">f8", "<c8", "<M8[ns]", "<m8[D]", "<U3", "S2"]).map(lambda code: np.zeros((2, 3), code)),
    st.floats().map(np.float64), st.floats(width=32).map(np.float32), st.booleans().map(np.bool_),
    st.integers(0, 9).map(lambda n: np.asfortranarray(np.arange(12, dtype="f4").reshape(3, 4) + n)),
    st.just(np.zeros(2, [("x", "<i4"), ("y", "<f8", (2,))])),
    st.sets(KEYS, max_size=3), st.frozensets(KEYS, max_size=3),
)
MAKERS = [list, tuple, dict, collections.OrderedDict, lambda: collections.defaultdict(list), lambda: collections.deque(maxlen=9),
          argparse.Namespace, types.SimpleNamespace, Plain, Slots, Both, Pair, Listed, Keyed, Counted, Named]


def made(draw: st.DrawFn, known: list[Any]) -> Any:
    """A value that holds some of those that are known."""
    maker = draw(st.sampled_from(MAKERS))
    parts = [known[i] for i in draw(st.lists(st.integers(0, len(known) - 1), max_size=5))]
    if maker is tuple:
        return tuple(parts)
    if maker is Pair:
        return Pair(*[*parts, None, None][:2])
    if maker is Named:
        return Named(size=parts)
    x: Any = maker()
    fill(x, parts, draw(st.lists(KEYS, min_size=5, max_size=5, unique=True)))
    return x


def fill(x: Any, parts: list[Any], keys: list[Any]) -> None:
    """Put values into one."""
    if isinstance(x, list | collections.deque):
        x.extend(parts)
    elif isinstance(x, dict):
        x.update(zip(keys, parts, strict=False))
    elif isinstance(x, Counted):
        x.items, x.pairs = parts[:2], dict(zip(keys, parts[2:4], strict=False))
        x.state = tuple(parts[4:]) or None
    elif isinstance(x, Slots):
        for name, part in zip(("a", "b", "other")[:2 + isinstance(x, Both)], parts, strict=False):
            setattr(x, name, part)
    if isinstance(x, Listed | Keyed | Plain | argparse.Namespace | types.SimpleNamespace | collections.OrderedDict) and parts:
        x.first, x.last = parts[0], parts[-1]


@st.composite
def values(draw: st.DrawFn) -> Any:
    """Values in values, some of them several times, some in themselves."""
    known: list[Any] = draw(st.lists(LEAVES, min_size=1, max_size=4))
    for _ in range(draw(st.integers(1, 7))):
        known.append(made(draw, known))
    whole = known[1:]
    for holder in draw(st.lists(st.sampled_from(whole), max_size=2)) if whole else []:
        if isinstance(holder, list):
            holder.append(draw(st.sampled_from(known)))
        elif isinstance(holder, dict):
            holder["again"] = draw(st.sampled_from(known))
        elif holder.__class__ is Plain:
            holder.other = draw(st.sampled_from(known))
    return known[-1] if draw(st.booleans()) else known


def check(x: Any, protocol: int) -> None:
    """The pickle of a value is the same for Python after it was read and written."""
    data = pickle.dumps(x, protocol)
    got, wanted = loads(rewritten(data)), loads(data)
    assert_same(wanted, got)
    again = rewritten(rewritten(data))
    assert_same(wanted, loads(again))


@settings(max_examples=150)
@given(values(), st.integers(2, 5))
def test_values_come_back(x: Any, protocol: int) -> None:
    check(x, protocol)


@settings(max_examples=60)
@given(values(), st.integers(0, 1))
def test_values_of_the_first_protocols_come_back(x: Any, protocol: int) -> None:
    """Objects with slots and those that names make cannot be in them, and Python's own cannot be in themselves in all
    cases."""
    try:
        loads(pickle.dumps(x, protocol))
    except (TypeError, RecursionError, pickle.PicklingError, AttributeError):
        return
    check(x, protocol)


def in_itself() -> dict[str, Any]:
    """Values that hold themselves, each in another way."""
    a: list[Any] = []
    a.append(a)
    b: dict[str, Any] = {}
    b["b"] = (b, [b])
    c: tuple[Any, ...] = ([], 1)
    c[0].append(c)
    long: tuple[Any, ...] = ([], 1, 2, 3, 4)
    long[0].append(long)
    d = Plain()
    d.itself = [d]  # type: ignore[attr-defined]
    e = Plain()
    e.held = {e, 1}  # type: ignore[attr-defined]
    f = Plain()
    f.held = frozenset([f, 2])  # type: ignore[attr-defined]
    g = Plain()
    g.pair = Pair(g, [g])  # type: ignore[attr-defined]
    h = collections.defaultdict(list, {"x": [1]})
    h["h"].append(h)
    i = collections.OrderedDict(a=1)
    i["i"] = i
    i.own = [i]  # type: ignore[attr-defined]
    j = collections.deque([1])
    j.append(j)
    k = Slots()
    k.a, k.b = k, [k]
    m = np.empty(2, object)
    m[0], m[1] = m, [1]
    o = Plain()
    o.counts = collections.Counter({o: 1, "x": 2})  # type: ignore[attr-defined]
    n = Plain()
    n.partial = functools.partial(print, n)  # type: ignore[attr-defined]
    maker = Maker()
    made = maker()
    maker.made.append(made)
    named = Named(size=[])
    named.size.append(named)  # type: ignore[attr-defined]
    return {"named": named, "list": a, "dict": b, "tuple": c, "long tuple": long, "object": d, "set of an object": e.held, "object of a set": e,  # type: ignore[attr-defined]
            "frozen set": f.held, "object of a frozen set": f, "pair": g, "defaults": h, "order": i, "deque": j, "slots": k,  # type: ignore[attr-defined]
            "counts": o.counts,  # type: ignore[attr-defined]
            "array": m, "partial": n, "made by what holds it": made, "tuples of one": (c, c, (c,))}


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("name", in_itself())
def test_values_in_themselves(name: str, protocol: int) -> None:
    x = in_itself()[name]
    data = pickle.dumps(x, protocol)
    wanted, got = loads(data), loads(rewritten(data))
    if "set" in name:  # its elements have no order
        own = got if name.startswith("object") else next(o for o in got if o.__class__ is Plain)
        assert own.held.__class__ is (frozenset if "frozen" in name else set) and own in own.held and len(own.held) == 2
        assert name.startswith("object") or own.held is got
    else:
        assert_same(wanted, got)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_what_follows_a_set_in_itself(protocol: int) -> None:
    """The numbers of what is kept for later stay right."""
    x = Plain()
    x.held = {x}  # type: ignore[attr-defined]
    after = [["one"], ["two"]]
    got = loads(rewritten(pickle.dumps([x, after, x.held, *after], protocol)))  # type: ignore[attr-defined]
    assert got[1] == [["one"], ["two"]] and got[3] is got[1][0] and got[4] is got[1][1] and got[0].held is got[2]


def test_operations_of_old_and_new_programs() -> None:
    """Those that Python's own pickler does not write."""
    for data, value in [
        (b"(I1\nI01\nI00\nL5L\nF1.5\nS'a\\'b'\nVx\\u20ac\nNtp0\n.", (1, True, False, 5, 1.5, "a'b", "x€", None)),
        (b"(lp0\nI1\naI2\na0g0\n.", [1, 2]),
        (b"(dp0\nS'a'\nI1\ns.", {"a": 1}),
        (b"((I1\nI2\n1I3\nt.", (3,)),
        (b"]2\x85.", None),
        (b"\x80\x02T\x02\0\0\0ab.", "ab"),
        (b"\x80\x02U\x02\xe9b.", "\xe9b"),
        (b"\x80\x02X\x01\0\0\0ar\xff\xff\xff\xff0j\xff\xff\xff\xff.", "a"),
        (b"\x80\x04\x8d\x01\0\0\0\0\0\0\0a\x94h\0\x86.", None),
        (b"\x80\x05\x96\x02\0\0\0\0\0\0\0ab\x94.", bytearray(b"ab")),
        (b"\x80\x04\x8e\x01\0\0\0\0\0\0\0a.", b"a"),
        (b"\x80\x02\x8b\x02\0\0\0\x00\x01.", 256),
        (b"\x80\x02\x8a\0.", 0),
        (b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7fK\1.", 1),  # the length of a frame is only told
    ]:
        if value is not None:
            assert_same(value, graph_of(data)[1])
    assert loads(rewritten(b"ctests.checkpoints.pickles.things\nCounted\n(I7\ntRp0\n(lp1\nI1\naa.")).items == [[1]]
    name = b"ctests.checkpoints.pickles.things\nCounted\n"
    for data in (b"(i" + name[1:] + b".", b"(I7\ni" + name[1:] + b".", b"(" + name + b"I7\no.", b"(" + name + b"o."):
        got, wanted = loads(rewritten(data)), loads(data)
        assert got.__class__ is wanted.__class__ and getattr(got, "first", None) == getattr(wanted, "first", None)


def test_numbers_of_a_registry() -> None:
    """What they stand for only the program knows that registered it."""
    copyreg.add_extension(Plain.__module__, "Plain", 240)
    try:
        data = pickle.dumps(Plain(), 2)
        assert b"\x82\xf0" in data
        _, graph = graph_of(data)
        assert graph.name == "" and graph.callee.how == "extension"
        assert loads(rewritten(data)).__class__ is Plain
    finally:
        copyreg.remove_extension(Plain.__module__, "Plain", 240)


@pytest.mark.parametrize(("data", "why"), [
    (b"", None), (b"\x80", None), (b"\x80\x06N.", "unknown version"), (b"\xffN.", "unknown operation"), (b"N", None),
    (b"NN.", "does not end"), (b"(N.", "does not end"), (b"N.N.", "does not end"), (b"0.", None), (b"h\0.", None),
    (b"]]s.", None), (b"NNb.", "gives a NoneType a state"), (b"N]a.", "adds to a NoneType"), (b"NNNs.", "puts keys into a NoneType"),
    (b"}]Ns.", "a list is a key"), (b"}]\x85Ns.", "a list is a key"), (b"(]\x91.", "a list is a key"), (b"\x8f(]\x90.", "a list is a key"),
    (b"}(Nu.", None), (b"(Nd.", None), (b"X\xff\xff\xff\xffa.", "cut off"), (b"\x8b\xff\xff\xff\xff.", "cut off"),
    (b"\x8d" + b"\xff" * 8 + b".", "cut off"), (b"\x96" + b"\xff" * 8 + b".", "cut off"), (b"T\xff\xff\xff\xff.", "cut off"),
    (b"\x97.", "outside of it"), (b"NN\x93.", "wrong name"), (b"I1x\n.", None), (b"Fx\n.", None), (b"S'a\n.", "wrong text"), (b"cos\n", None),
    (b"(t" + b"\x85" * 40 + b"}2" + b"N.", None), (b"}(t" + b"\x85" * 40 + b"Ns.", "too deep"), (b"o.", None), (b"(o.", None), (b"R.", None),
    (b"(NQ.", None), (b"ga\n.", None), (b"N2p-\n.", None),
])
def test_wrong_pickles(data: bytes, why: str | None) -> None:
    with pytest.raises((ValueError, KeyError, IndexError, TypeError), match=why):
        graph_of(data)


@pytest.mark.sampled(2)
def test_bombs_are_counted_before_they_are_made() -> None:
    for data in [
        b"(" + b"N" * 1_800_000 + b"t.",
        b"\x80\x04]" + b"\x94" * 800_000 + b".",
        b"\x80\x02X\0\0\0\x01" + b"a" * 10,
        b"(" * 4_500_000 + b".",
        b"}" * 320_000 + b".",
    ]:
        with pytest.raises(ValueError, match=r"more memory|cut off"):
            Machine(data, Room(0), stored=0).read()  # as if it were compressed to nothing
    for data in (b"(t" + b"\x85" * 200_000 + b".", b"ccollections\nOrderedDict\n)R(t" + b"\x85" * 200_000 + b"Ns."):
        with pytest.raises(ValueError, match="nested too deep"):  # Python's hash of them would end the process
            graph_of(data)
    assert graph_of(b"(t" + b"\x85" * 500 + b".")[1][0]
    deep = b"]" * 100_000 + b"a" * 99_999 + b"."  # its depth is no matter for a reader
    graph = graph_of(deep)[1]
    with pytest.raises(QError, match="nested too deep"):
        Pickler(2, lambda node: node.args).bytes_of(graph)
    while graph:
        graph = graph.pop()


def test_values_that_no_pickle_has() -> None:
    for x in (object(), np.zeros(2), decimal.Decimal(1), fractions.Fraction(1, 2), uuid.uuid4()):
        with pytest.raises(QError, match="cannot be written"):
            Pickler(2, lambda node: node.args).bytes_of([x])
