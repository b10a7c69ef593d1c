"""Python objects that have no q value: held as they are at every depth, refused by every verb, never an exception of
Python's."""

from __future__ import annotations

import argparse
import dataclasses
import enum
import pathlib
import weakref
from collections import Counter, UserDict, UserList
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.optim import lr_scheduler as lrs

from kshell import QError, Session, Table, registry


@dataclasses.dataclass
class Config:
    width: int = 3


class Colour(enum.Enum):
    RED = 1


class Plain:
    pass


class Unhashable(list[int]):
    __hash__ = None  # type: ignore[assignment]


class Answers:
    """Answers every question about an attribute with an exception."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __repr__(self) -> str:
        raise RuntimeError("repr")


class NoHash:
    def __hash__(self) -> int:
        raise ZeroDivisionError

    def __eq__(self, other: object) -> bool:
        return True


class Liar:
    """Says that it is of another class."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return self.cls

    @__class__.setter
    def __class__(self, cls: type) -> None:
        raise TypeError


class Raises:
    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise OSError("class")

    @__class__.setter
    def __class__(self, cls: type) -> None:
        raise TypeError


class BadSequence(Sequence[int]):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, i: Any) -> Any:
        raise ValueError("item")


class BadMapping(Mapping[str, int]):
    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        raise ValueError("iter")

    def __getitem__(self, k: str) -> int:
        raise ValueError("item")


class BadArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise AssertionError("array")


class BadFrame:
    iloc = dtypes = columns = None


class BadTime:
    def to_datetime64(self) -> Any:
        raise KeyError("time")


class Called:
    """Can be called, and has an attribute that is no name."""

    __name__ = 5

    def __call__(self) -> int:
        return 1


def dead() -> Any:
    """A proxy whose object is gone."""
    return weakref.proxy(Plain())


pytestmark = pytest.mark.filterwarnings("ignore:Detected call of")
MAKERS = [
    Plain, object, Config, Answers, NoHash, Raises, BadSequence, BadMapping, BadArray, BadFrame, BadTime, Called, dead,
    mock.MagicMock, mock.Mock, lambda: mock.MagicMock(spec=dict), lambda: mock.MagicMock(spec=torch.Tensor),
    lambda: Liar(dict), lambda: Liar(torch.Tensor), lambda: Liar(torch.optim.Optimizer), lambda: Liar(np.ndarray),
    lambda: pathlib.Path("a/b"), lambda: 1j, lambda: argparse.Namespace(a=1), lambda: slice(1, 2), lambda: Colour.RED,
    lambda: (i for i in range(3)), torch.Generator, lambda: torch.utils.data.DataLoader([1, 2]), lambda: Plain,
    lambda: ValueError("x"), lambda: np.array([1j]), lambda: np.complex64(1), lambda: np.zeros(2, "V3"),
    lambda: open, lambda: torch, lambda: torch.strided, lambda: Liar(lrs.LRScheduler),
    lambda: iter([1]), lambda: super(Plain, Plain()), lambda: Ellipsis, lambda: NotImplemented]


@pytest.fixture(scope="module")
def s() -> Session:
    return Session()


@pytest.mark.parametrize("make", MAKERS)
def test_it_comes_back_as_the_very_object(s: Session, make: Any) -> None:
    x = make()
    s["x"] = x
    assert s["x"] is x
    s["y"] = [x, 1, {"k": x}, (x, [x])]
    y = s["y"]
    assert y[0] is x and y[2]["k"] is x and y[3][0] is x and y[3][1][0] is x
    s["f"] = lambda *_: x
    assert s("f 1") is x and s("{x}", x) is x and s("{[a;b]b}[1]", x) is x
    assert s.run("x~y 0") is True and s("count x") == 1 and s.run("`a~x") is False
    assert s("first(x;1)") is x
    try:
        as_key = {x: 1}
    except Exception:  # it cannot be hashed
        as_key = {}
    for many in (as_key, as_key | {"other": 2} if as_key else {}):
        s["d"] = many
        assert [key is x for key in s["d"]][:1] == [True] * bool(many)
    s.show(s.run("(x;y)"))


@dataclasses.dataclass(frozen=True)
class Slot:
    """The place of an unknown object, by the number of its maker: what draws examples looks at what it draws."""

    maker: int
    number: int


@dataclasses.dataclass
class Held:
    """A container that has no q value: what is in it stays in it."""

    what: Any


class OwnDict(dict[Any, Any]):
    pass


class OwnList(list[Any]):
    pass


SLOTS = st.builds(Slot, st.integers(0, len(MAKERS) - 1), st.integers(0, 9))
KNOWN = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(), st.text(max_size=3), st.binary(max_size=3),
                  st.just(torch.ones(2)), st.just(torch.float32))


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=4)
    named = st.dictionaries(st.text(max_size=2), inner, max_size=3)
    return st.one_of(
        lists, lists.map(tuple), lists.map(OwnList), lists.map(UserList), lists.map(objects), named.map(OwnDict),
        st.frozensets(SLOTS, max_size=3), st.dictionaries(SLOTS | st.integers(0, 3), inner, max_size=3), named.map(UserDict),
        st.lists(st.fixed_dictionaries({"a": inner, "b": inner}), min_size=1, max_size=3), inner.map(Held))


def objects(items: list[Any]) -> np.ndarray:
    """An array of objects."""
    out = np.empty(len(items), object)
    for i, x in enumerate(items):
        out[i] = x
    return out


def filled(x: Any, made: list[Any], key: bool = False) -> Any:
    """A drawn structure with new unknown objects in their places; those that have no q value are added to `made`."""
    if type(x) is Slot:
        out = MAKERS[x.maker]()
        if key and not usable(out):
            out = Plain()
        made.append(out)
        return out
    if type(x) is Held:
        made.append(Held(filled(x.what, [])))
        return made[-1]
    if type(x) is np.ndarray:
        return objects([filled(v, made) for v in x])
    if issubclass(type(x), Mapping):
        return type(x)({filled(k, made, True): filled(v, made) for k, v in x.items()})
    if type(x) is frozenset:
        return frozenset([filled(v, made, True) for v in x])
    return type(x)([filled(v, made) for v in x]) if issubclass(type(x), (list, tuple, UserList)) else x


def usable(x: Any) -> bool:
    """Can it be a key beside others: has it a hash, and only itself is equal to it?"""
    try:
        hash(x)
        return type(x) not in (Answers, NoHash, mock.MagicMock)
    except Exception:
        return False


def found_in(x: Any, wanted: set[int]) -> Iterator[int]:
    """The ids of the wanted objects in what came back."""
    if id(x) in wanted:
        yield id(x)
    elif issubclass(type(x), dict):
        for k, v in x.items():
            yield from found_in(k, wanted)
            yield from found_in(v, wanted)
    elif issubclass(type(x), (list, tuple)) or (type(x) is np.ndarray and x.dtype == object):
        for v in x:
            yield from found_in(v, wanted)


@settings(max_examples=60, deadline=None)
@given(drawn=st.recursive(KNOWN | SLOTS, containers, max_leaves=12))
def test_containers_keep_what_has_no_q_value(drawn: Any) -> None:
    """Nothing but a QError leaves a conversion, whatever is in it at whatever depth; and what comes back holds the very
    objects."""
    made: list[Any] = []
    x = filled(drawn, made)
    want = Counter(map(id, made))
    session = Session()
    session["x"] = x
    assert Counter(found_in(session["x"], set(want))) == want
    session["f"] = lambda: x
    assert Counter(found_in(session("f[]"), set(want))) == want
    session.show(session.run("x"))
    assert session.run("x~x") is True


def test_what_stays_an_error(s: Session) -> None:
    """A part that has a type, and a value that q's type cannot hold."""
    for x, text in ((2**64, "limit"), ([1, 2**64], "limit"), ({"a": [Plain(), 2**64]}, "limit")):
        with pytest.raises(QError, match=text):
            s["x"] = x
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(QError, match="stack"):
        s["x"] = nested
    with pytest.raises(QError, match="no q type for numpy's complex128"):
        s["x"] = Table({"a": np.array([1j])})


def test_objects_are_not_copied_or_kept(s: Session) -> None:
    x = Plain()
    gone = weakref.ref(x)
    s["gone"] = [x, {"a": x}]
    s.run("other:gone 1;gone:0")
    del x
    assert gone() is not None
    s.run("other:0")
    assert gone() is None


def test_lists_find_them_by_identity(s: Session) -> None:
    a, b = Plain(), Plain()
    s["a"], s["b"], s["v"] = a, b, [a, b, a]
    assert s.run("(v?b;a in v;where v~\\:a)~(1;1b;0 2)") is True
    assert s("distinct v") == [a, b] and s("count group v") == 2
    assert s("((a;b)!`one`two)b") == "two" and s("exec y from([]x:v;y:1 2 3)where x~\\:a").tolist() == [1, 3]
    s["t"] = [{"x": a, "n": 1}, {"x": b, "n": 2}]
    assert s("t`x")[1] is b and s.show(s.run("t")) == "x       n\n---------\nforeign 1\nforeign 2"
    assert s.run("`a`f~(`a;`f)") is True
    s["f"], s["g"] = (lambda: 1), (lambda: 1)
    assert s.run("(f~g;f~f;(f;g)?g)~(0b;1b;1)") is True


def test_it_cannot_be_saved(s: Session, tmp_path: pathlib.Path) -> None:
    s["x"], s["d"] = Plain(), {"a": [1, Plain()]}
    text = "type: expected a value, given a Python object of class Plain"
    for call in ("-8!x", f"`:{tmp_path}/x set x", f"`:{tmp_path}/x set d"):
        with pytest.raises(QError) as e:
            s.run(call)
        assert e.value.text == text, call
    with pytest.raises(QError) as e:
        s.run(f"snapshot(`:{tmp_path}/s.ks;`d)")
    assert e.value.text == f"snapshot: d: {text}"
    assert not list(tmp_path.iterdir())


def test_every_verb_refuses_it_or_takes_it_as_one_item(s: Session) -> None:
    """No verb, keyword or function of the k-api has any other error than q's own, and none names a class of kshell's."""
    s["x"] = Plain()
    s.names.load_builtins()
    names = [e.name for kind in ("verb", "api") for e in registry.entries(kind) if e.name[0].isalpha()]
    skipped = {"exit", "system", "hopen", "read0", "reval", "set", "setenv", "free", "hdel", "rload", "compile", "ckptsave"}
    for name in [n for n in names if n not in skipped]:
        for form in ("{0} x", "{0}[1;x]", "{0}(x;1)"):
            try:
                s.run(form.format(name))
            except QError as e:
                assert "Foreign" not in e.text and "object has no" not in e.text, (name, e.text)
    assert len(names) > 500 and s("1+1") == 2
    for text in ("1+x", "neg x", "x 1", "x[1;2]", "sum(x;1)", "x=1", "not x", "`int$x", "x:x+1", "1 2 x", "x*x", "x$x"):
        with pytest.raises(QError, match=r"^type"):
            s.run(text)


class Mute(Exception):
    """An exception that has no text to give."""

    def __str__(self) -> str:
        raise RuntimeError("str")


class Mutes(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        raise Mute


def test_an_exception_without_a_text(s: Session) -> None:
    def fails(x: Any) -> Any:
        raise Mute

    s["f"], s["m"] = fails, Mutes()
    for text, error in (("f 1", "fails: Mute"), ("forward(m;1 2e)", "forward: Mute"), ("acttable(m;1 2e)", "acttable: Mute")):
        with pytest.raises(QError) as e:
            s.run(text)
        assert e.value.text.startswith(error)
