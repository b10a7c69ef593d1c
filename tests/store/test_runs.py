"""Symbols by the thousand and lists of few vectors, which are written and read as arrays: the same as one by one."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kshell.store import codec, runs
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import List, Vec, sym_names
from kshell.values.base.symbols import sym, sym_codes

MANY = max(runs.MANY, runs.MANY_READ)


def plain(codes: np.ndarray) -> bytes:
    return b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in sym_names(Vec(T.S, codes)))


def names(lengths: tuple[int, ...], letters: str, seed: int = 1) -> list[str]:
    """A bit more than twice as many names as are handled as arrays."""
    draw = random.Random(seed)
    return ["".join(draw.choices(letters, k=draw.choice(lengths))) for _ in range(2 * MANY + 77)]


CASES = {
    "three letters": names((3,), "abcdefghijklmnopqrstuvwxyz"),
    "one letter": names((1,), "ab"),
    "none": [""] * (MANY + 1),
    "various": names((0, 1, 2, 5, 7), "abcxyz"),
    "seven and eight": names((7, 8), "ab"),
    "all different": [f"n{k:06}" for k in range(3 * MANY)],
    "different at first": [*(f"n{k:06}" for k in range(MANY)), *["a", "bc"] * 2 * MANY],
    "alike at first": [*["a", "bc"] * MANY, *(f"n{k:06}" for k in range(2 * MANY))],
    "long among short": [*names((2,), "ab"), "x" * 40],
    "two bytes a letter": names((1, 2, 3), "äöü€"),
    "bytes that are no text": names((2, 3), "\udcff\udcfea"),
    "high bytes": ["\udcff" * 7] * MANY + ["\udcff" * 8] * 3,
}


@pytest.mark.parametrize("given", CASES.values(), ids=CASES)
def test_symbols_as_arrays(given: list[str]) -> None:
    codes = sym_codes(given)
    data = runs.symbol_bytes(codes)
    assert data == plain(codes)
    for before in (b"", b"\1\0\2"):
        found = runs.symbols_at(before + data + b"rest", len(before), len(codes))
        assert found is not None and found[1] == len(before) + len(data)
        assert found[0].dtype == np.int32 and (found[0] == codes).all()
    assert runs.symbols_at(data[:-1], 0, len(codes)) is None


def test_names_that_are_new_are_found_by_either_way() -> None:
    """The bytes come from outside, so none of the names was known."""
    fresh = [f"runs{k % 5000:04}" for k in range(3 * MANY)]
    data = b"".join(name.encode() + b"\0" for name in fresh)
    found = runs.symbols_at(data, 0, len(fresh))
    assert found is not None and [found[0][k] for k in (0, 1, 4999, 5000, -1)] == [sym(fresh[k]).v for k in (0, 1, 4999, 5000, -1)]
    assert runs.symbol_bytes(found[0]) == data


def test_names_whose_places_in_the_hash_table_are_one() -> None:
    """What the table does not find is looked up otherwise."""
    keys = np.arange(1, 1 << 20, dtype=np.uint64)
    places = runs._hashed(keys)
    first = int(places[0])
    alike = keys[places == first][:8]
    texts = [int(key).to_bytes(8, "little").rstrip(b"\0") for key in alike]
    usable = [text for text in texts if b"\0" not in text]
    assert len(usable) > 1
    data = b"".join(text + b"\0" for text in usable) * MANY
    found = runs.symbols_at(data, 0, len(usable) * MANY)
    assert found is not None and runs.symbol_bytes(found[0]) == data


def test_a_message_of_many_symbols_and_strings() -> None:
    draw = names((3,), "abc")
    x, strings = Vec(T.S, sym_codes(draw)), List([string(text) for text in draw])
    data = codec.encode(List([x, strings]))
    assert len(data) == 6 + 6 + 4 * len(draw) + 6 + 9 * len(draw)
    symbols, texts = codec.decode(data).items  # type: ignore[union-attr]
    assert (symbols.a == x.a).all() and [text.a.tobytes().decode() for text in texts.items] == draw


@pytest.fixture
def _hurried() -> Iterator[None]:
    """Threads change places all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("_hurried")
@pytest.mark.parametrize("length", [7, 20])
def test_threads_write_symbols_that_are_new_to_all_of_them(length: int) -> None:
    threads = 4
    with ThreadPoolExecutor(threads) as pool:
        for turn in range(5):
            fresh = [f"t{turn}{k:0{length - 2}}" for k in range(3 * MANY)]
            codes = sym_codes(fresh)
            start = Barrier(threads)

            def write(_: int, codes: np.ndarray = codes, start: Barrier = start) -> bytes:
                start.wait(20)
                return runs.symbol_bytes(codes)

            assert set(pool.map(write, range(threads))) == {plain(codes)}
            later = sym_codes([f"l{turn}{k:0{length - 2}}" for k in range(MANY)])
            assert runs.symbol_bytes(later) == plain(later)


@given(st.lists(st.sampled_from(["abc", "de ", "x z", "", "longer"]), min_size=1, max_size=4), st.integers(16, 900), st.randoms())
def test_few_vectors_again_and_again(texts: list[str], count: int, rng: random.Random) -> None:
    """The bytes are those of each vector by itself, whether the list holds few objects many times or each one once."""
    few = [string(text) for text in texts]
    shared = [rng.choice(few) for _ in range(count)]
    shared[-1] = rng.choice([shared[-1], string("new"), string("other")])
    apart = [Vec(item.t, item.a.copy()) for item in shared]
    each = b"".join(codec.encode(item) for item in shared)
    assert codec.encode(List(shared))[6:] == codec.encode(List(apart))[6:] == each


# items that look like heads of vectors, whole or in part, among plain ones
LOOKALIKE = st.sampled_from([b"\n\0", b"\n\0\n\0\0\0", b"\n\0\1\0\0\0a", b"\n", b"abcdefghij", b"", b"\0" * 10, b"\xff" * 300, b"xy"])


@given(st.lists(LOOKALIKE, min_size=1, max_size=12), st.integers(20, 400), st.sampled_from([64, 1000, runs.WINDOW]))
def test_heads_are_found_among_bytes_that_look_like_them(few: list[bytes], count: int, window: int) -> None:
    """The search of a window at a time finds the heads that going from one to the next does, and refuses what that
    refuses: data that is cut off, and another value among the vectors."""
    texts = (few * count)[:count]
    data = b"".join(b"\n\0" + len(text).to_bytes(4, "little") + text for text in texts)
    given = b"before" + data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "WINDOW", window)
        for raw in (given + b"after" * 20, given, given[:-1], given[: len(given) // 2], b"before\n\1" + data, b"before" + data.replace(b"\n", b"\7", 1)):
            expected = runs._few_heads(raw, 6, count, T.C)
            found = runs._many_heads(raw, 6, count, T.C)
            assert (found is None) == (expected is None)
            if found is not None and expected is not None:
                assert found[0].tolist() == expected[0].tolist() and found[1] == expected[1]


@pytest.mark.parametrize("kind", [T.C, T.J, T.H, T.B])
def test_many_vectors_of_any_lengths_come_back(kind: int) -> None:
    draw = np.random.default_rng(kind)
    items = [Vec(kind, draw.integers(0, 2, draw.integers(0, 9)).astype(T.DTYPE[kind])) for _ in range(3 * runs.MANY_HEADS)]
    decoded = codec.decode(codec.encode(List(items)))
    assert [item.a.tolist() for item in decoded.items] == [item.a.tolist() for item in items]  # type: ignore[union-attr]
    assert all(item.t == kind for item in decoded.items)  # type: ignore[union-attr]
