"""Random operations and known names: a value, objects, or an error that names the file; never anything else."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from kshell.checkpoints.pickles import numpy_meanings  # noqa: F401  # registers what its names mean
from kshell.checkpoints.pickles.machine import Machine
from kshell.checkpoints.pickles.meanings import KNOWN, Branch
from kshell.checkpoints.pickles.writing import Pickler
from kshell.checkpoints.trees.leaves import tensors_of
from kshell.checkpoints.trees.opening import opened
from kshell.errors import QError
from kshell.kapi.checkpoint import objects  # noqa: F401  # registers the handles of objects
from kshell.kapi.checkpoint.tree_values import to_q_value
from kshell.store.archive import WRONG, Room

NAMES = [name.rsplit(".", 1) for name in sorted(KNOWN)] + [["torch", name] for name in ("float32", "FloatStorage", "strided", "per_tensor_affine")]
NAMES += [["numpy", "ndarray"], ["a_program", "Thing"], ["builtins", "object"], ["torch._utils", "_rebuild_wrapper_subclass"]]
TEXTS = ["storage", "0", "cpu", "f8", "O8", "V4", "latin1", "_content", "_val", "int", "<", "state", "_parameters", "_buffers", "_modules", "dim", "mesh"]
NUMBERS = [0, 1, 2, 3, -1, 255, 1 << 31, 1 << 62, 1 << 70]
# what is on the stack: lists, dictionaries, sets, objects, names, tuples, texts, and others
SINGLE = {b"N": "-", b"\x88": "-", b")": "t", b"]": "l", b"}": "d", b"\x8f": "s", b"G?\xf0\0\0\0\0\0\0": "-"}


def pushed(draw: random.Random, memo: list[str]) -> tuple[bytes, str]:
    """An operation that pushes a value, and what that is."""
    kind = draw.randrange(7)
    if kind == 0:
        module, name = draw.choice(NAMES)
        return b"c" + f"{module}\n{name}\n".encode(), "g"
    if kind == 1:
        text = draw.choice(TEXTS).encode()
        return b"X" + struct.pack("<I", len(text)) + text, "x"
    if kind == 2:
        return b"\x8a\x0a" + draw.choice(NUMBERS).to_bytes(10, "little", signed=True), "-"
    if kind == 3 and memo:
        at = draw.randrange(len(memo))
        return b"h" + bytes((at,)), memo[at]
    if kind == 4:
        size = draw.choice((0, 1, 4, 6, 8, 10))
        return b"C" + bytes((size,)) + draw.randbytes(size), "-"
    return draw.choice(list(SINGLE.items()))


def taking(stack: list[str]) -> list[tuple[bytes, int, str]]:
    """The operations that take what is on the stack: how many values, and what they push."""
    under = lambda n: stack[-n:][:1]  # noqa: E731
    found = [(b"\x85", 1, "t"), (b"Q", 1, "n")]
    if len(stack) > 1:
        found += [(b"\x86", 2, "t"), (b"R", 2, "n"), (b"0", 1, "")]
        found += [(b"\x81", 2, "n")] * (under(2) == ["g"] and under(1) == ["t"])
        found += [(b"R", 2, "n")] * 6 * (under(2) == ["g"] and under(1) == ["t"])
        found += [(b"b", 2, "n")] * 4 * (under(2) == ["n"])
        found += [(b"a", 2, under(2)[0])] * 2 * (under(2)[0] in "ln")
    if len(stack) > 2:
        found += [(b"\x87", 3, "t"), (b"\x92", 3, "n")]
        found += [(b"s", 3, under(3)[0])] * 3 * (under(3)[0] == "n" or (under(3)[0] == "d" and under(2)[0] in "x-gn"))
    return found


def program(draw: random.Random) -> bytes:
    """A pickle whose operations have what they need."""
    out, stack, memo = b"\x80" + bytes((draw.choice((2, 4)),)), [], []
    marks: list[tuple[int, list[str]]] = []
    for _ in range(draw.randrange(5, 60)):
        kind = draw.random()
        if kind < 0.5 or not stack:
            operation, what = pushed(draw, memo)
            out, stack = out + operation, [*stack, what]
        elif kind < 0.85:
            operation, count, what = draw.choice(taking(stack))
            out, stack = out + operation, stack[:-count] + [what] * bool(what)
        elif kind < 0.9:
            out += b"("
            marks.append((len(marks), stack))
            stack = []
        elif marks and kind < 0.96:
            _, below = marks.pop()
            operation, what = draw.choice([(b"t", "t"), (b"l", "l"), (b"e", "")] if below and below[-1] in "ln" else [(b"t", "t"), (b"l", "l")])
            out, stack = out + operation, below + [what] * bool(what)
        elif len(memo) < 200:
            out += b"q" + bytes((len(memo),))
            memo.append(stack[-1])
    while marks:
        out += b"t"
        stack = [*marks.pop()[1], "t"]
    return out + b"\x86" * (len(stack) - 1) + b"."


@pytest.mark.parametrize("times", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_programs(times: int, tmp_path: Path) -> None:
    draw = random.Random()
    path, read = tmp_path / "a.pkl", 0
    for _ in range(times):
        data = program(draw)
        path.write_bytes(data)
        try:
            found = opened(str(path))
            assert isinstance(found.value, Branch)
            tensors_of(found.value)
            to_q_value(found.value, found.made)
        except QError as e:
            assert "a.pkl" in e.text or e.text == "limit", (data, e.text)
            continue
        read += 1
        again = Pickler(2, lambda node: node.args).bytes_of(Machine(data, Room(len(data))).read())
        try:
            Machine(again, Room(len(again))).read()
        except WRONG as e:
            pytest.fail(f"{data!r} {again!r} {e}")
    assert read > times // 2
