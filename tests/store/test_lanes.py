"""Messages compressed in lanes: what a plain reading of the documented form makes of them is the message."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.store import compress, lanes

RANDOM = np.random.default_rng(7)


def framed(body: bytes) -> bytes:
    return struct.pack("<BBBBI", 1, 0, 0, 0, 8 + len(body)) + body


def read(packed: bytes) -> bytes:
    """The documented form, step by step: where each pair began is noted as its second byte becomes known, except for those
    within a repeat."""
    (size,) = struct.unpack_from("<I", packed, 8)
    out, began = bytearray(framed(bytes(size - 8))[:8]), [0] * 256
    at, noted, bit, bits = 12, 8, 256, 0
    while len(out) < size:
        if bit == 256:
            bits, at, bit = packed[at], at + 1, 1
        if bits & bit:
            source, more = began[packed[at]], packed[at + 1]
            assert source
            at += 2
            for k in range(2):
                out.append(out[source + k])
        else:
            more = -1
            out.append(packed[at])
            at += 1
        while noted < len(out) - 1:
            began[out[noted] ^ out[noted + 1]] = noted
            noted += 1
        if more >= 0:
            for k in range(more):
                out.append(out[source + 2 + k])
            noted = len(out)
        bit *= 2
    assert (at, len(out)) == (len(packed), size)
    return bytes(out)


@pytest.fixture(params=["bitwise_count", "without"])
def ones(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With what numpy 2 counts bits with, and without."""
    if request.param == "without":
        monkeypatch.setattr(lanes, "_ones", lanes._ones_of_a_power)
    yield


KINDS = {
    "zeros": bytes(600_000),
    "one byte more than some segments": bytes(2048 * 300 + 1),
    "numbers": np.arange(80_000).tobytes(),
    "small numbers": RANDOM.integers(0, 100, 80_000).tobytes(),
    "symbols": b"".join([b"AAPL\0", b"MSFT\0", b"IBM\0"][i] for i in RANDOM.integers(0, 3, 150_000)),
    "text": b"".join([b"over ", b"the ", b"lazy "][i] for i in RANDOM.integers(0, 3, 150_000)),
    "long repeats": (RANDOM.bytes(40) + bytes(700)) * 900,
    "repeats of 100 bytes": RANDOM.bytes(100) * 6000,
    "zeros and random": b"".join(RANDOM.bytes(300) + bytes(2000) for _ in range(250)),
    "random after zeros": bytes(500_000) + RANDOM.bytes(100_000),
}


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("ones")
@pytest.mark.parametrize("body", KINDS.values(), ids=KINDS)
def test_large_messages_are_compressed(body: bytes) -> None:
    message = framed(body)
    packed = compress.compress(message)
    assert len(packed) < len(message) // 2
    assert read(packed) == message and compress.decompress(packed) == message


def test_what_does_not_shrink_stays_as_it_is() -> None:
    for body in (RANDOM.bytes(600_000), RANDOM.random(100_000).tobytes(), RANDOM.bytes(400_000) + bytes(200_000)):
        message = framed(body)
        assert compress.compress(message) is message


@pytest.mark.sampled(2)
def test_messages_of_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_LANES", 16), ("_ROUND", 200_000), ("_CHUNK", 10_007)):
        monkeypatch.setattr(lanes, name, value)
    for body in KINDS.values():
        message = framed(body)
        packed = compress.compress(message)
        assert len(packed) < len(message) // 2 and compress.decompress(packed) == message


BODIES = st.lists(st.tuples(st.binary(min_size=1, max_size=9), st.integers(1, 300)), min_size=1, max_size=60)


@settings(max_examples=25, deadline=None)
@given(BODIES, st.integers(1, 40), st.integers(16, 300), st.sampled_from([97, 1000, 1 << 20]), st.booleans())
def test_any_bytes_come_back(runs: list[tuple[bytes, int]], many: int, length: int, chunk: int, spread: bool) -> None:
    """With segments of any length and number, several rounds, and nothing given up."""
    body = b"".join(part * times for part, times in runs)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_LANES", many), ("_SHORTEST", length), ("_LONGEST", length), ("_CHUNK", chunk),
                            ("_ROUND", 3000 if spread else 1 << 24), ("_AT_FIRST", 9.0), ("_LATER", 9.0)):
            patch.setattr(lanes, name, value)
        packed = lanes.packed(np.frombuffer(body, np.uint8), 1 << 30)
        assert packed is not None and lanes.packed(np.frombuffer(body, np.uint8), len(packed) - 1) is None
    message = framed(body)
    whole = message[:2] + b"\1\0" + struct.pack("<II", 12 + len(packed), len(message)) + packed
    assert read(whole) == message and compress.decompress(whole) == message
