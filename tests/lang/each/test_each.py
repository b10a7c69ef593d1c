"""Each of an atomic function on a whole vector gives just what the loop over its items gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.lang.each import maps
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import Value, Vec, seq_items

SESSION = Session()
MONADS = ["neg", "abs", "not", "null", "signum", "sqrt", "floor", "ceiling", "reciprocal", "exp"]
DYADS = ["+", "-", "*", "%", "&", "|", "^", "=", "<>", "<", ">", "<=", ">=", " div ", " mod ", " and ",
         " or ", " xexp "]
TYPES = "bxhijefcpmdznuvt"
CONSTANTS = ["1", "0", "-3", "2.5", "0N", "0W", "0n", "3h", "7i", "0Ni", "1.5e", "1b"]


def raw_items(char: str) -> st.SearchStrategy[Any]:
    row = T.BY_CHAR[char]
    if row.dtype.kind == "f":
        special = st.sampled_from([row.null, row.inf, -row.inf, 0.0])
        return special | st.floats(-1e6, 1e6, width=32)
    if char == "b":
        return st.booleans()
    if row.dtype.kind == "u":
        return st.integers(0, 255)
    top = row.inf
    special = st.sampled_from([row.null, top, -top, top - 1, 1 - top, 0])
    return special | st.integers(-100_000 if top > 1 << 20 else -99, 99)


@st.composite
def vectors(draw: Any, size: int | None = None) -> Vec:
    row = T.BY_CHAR[draw(st.sampled_from(TYPES))]
    n = draw(st.integers(1, 6)) if size is None else size
    return Vec(row.num, np.array(draw(st.lists(raw_items(row.char), min_size=n, max_size=n)), row.dtype))


@st.composite
def bodies(draw: Any, params: str) -> str:
    """The body of a lambda: a few atomic verbs on its parameters and numbers."""
    text = draw(st.sampled_from(params))
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            text = f"{draw(st.sampled_from(MONADS))}[{text}]"
        else:
            left = draw(st.sampled_from([*params, *CONSTANTS]))
            text = f"({left}){draw(st.sampled_from(DYADS))}{text}"
    return "{" + f"[{';'.join(params)}]" + text + "}"


def outcome(run: Any) -> Any:
    """A value as its items at full precision and its type, or the error. The larger of 0 and -0 is either of them."""
    try:
        x = run()
    except QError as e:
        return e.text
    if x.__class__ is Vec and x.a.dtype.kind != "f":
        return x.t, x.a.tobytes()
    texts = [repr(i) if i.__class__ is float else str(getattr(i, "v", i)) for i in seq_items(x)]
    return getattr(x, "t", 0), ["0.0" if text == "-0.0" else text for text in texts]


def both(text: str, args: list[Value]) -> None:
    f = SESSION.run(text)
    fn = f.fn

    def loop() -> Value:
        return collapse([fn(*row) for row in zip(*map(seq_items, args), strict=True)])

    def whole() -> Value:
        return maps.each_n(f, args)

    assert SESSION._guarded(outcome, whole) == SESSION._guarded(outcome, loop), text


@settings(max_examples=200, deadline=None)
@given(bodies("x"), vectors())
def test_one_parameter(text: str, x: Vec) -> None:
    both(text, [x])


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5).flatmap(lambda n: st.tuples(bodies("xy"), vectors(n), vectors(n))))
def test_two_parameters(case: tuple[str, Vec, Vec]) -> None:
    both(case[0], list(case[1:]))


@pytest.mark.parametrize("text", ["{x+1}", "{neg x*2}", "{x&x>3}", "{(x mod 7)=2}"])
def test_is_atomic(text: str) -> None:
    assert maps.is_atomic(SESSION.run(text), 1)


@pytest.mark.parametrize("text", ["{x}", "{1}", "{sum x}", "{x,1}", "{y:x;x+y}", "{x+`a}", "{$[x;1;2]}", "{x+g}"])
def test_is_not_atomic(text: str) -> None:
    assert not maps.is_atomic(SESSION.run(text), 1)
