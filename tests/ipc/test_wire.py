"""Messages: headers, streams that come in pieces, capabilities, the other order of bytes, errors."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.ipc import wire
from kshell.session import Session
from kshell.store import codec, compress
from kshell.values.base import types as T
from kshell.values.base.core import Vec
from kshell.values.session import context
from tests.ipc import hostile
from tests.ipc.processes import framed

Q = Session()



@pytest.fixture(autouse=True, scope="module")
def inside() -> Iterator[None]:
    """Functions are compiled in the session that runs."""
    token = context.enter(Q)
    yield
    context.leave(token)


# values in every form, as q text
VALUES = [
    "1b", "101b", "0x00ff", "1h", "0N 1 0Wh", "3i", "0N -2 0Wi", "7", "0N 5 0W -0W", "1.5e", "0n 2.5 0w", "\"c\"", "\"text\"",
    "`sym", "`a`b`", "2024.01.02D03:04:05.678901234", "0Np 0Wp", "2024.03m", "2024.01.02", "0Nd", "12:34", "12:34:56",
    "12:34:56.789", "1D02:03:04", "()", "(1;`a;\"x\";1 2 3)", "`a`b!1 2", "([]a:1 2;b:`x`y)", "([k:1 2]v:3 4.)", "{x+y}", "+", "sum",
    "{x+y}[1]", "(+/)", "::", "0Ng", "\"G\"$\"01234567-89ab-cdef-0123-456789abcdef\"", "((1 2;3 4);(5 6;7 8))", "`s#1 2 3", "`u#`a`b",
]


@pytest.mark.parametrize("text", VALUES)
def test_messages_hold_values(text: str) -> None:
    x = Q.run(text)
    data = wire.message(wire.SYNC, x)
    assert wire.header(data) == (True, wire.SYNC, 0, len(data))
    assert Q.show(wire.value(data)) == Q.show(x)


@given(st.lists(st.sampled_from(VALUES), min_size=1, max_size=5), st.integers(1, 40))
def test_a_stream_may_come_in_pieces(texts: list[str], step: int) -> None:
    messages = [wire.message(wire.ASYNC, Q.run(text)) for text in texts]
    stream, data, seen = wire.Stream(1 << 20), b"".join(messages), []
    for at in range(0, len(data), step):
        stream.feed(data[at : at + step])
        while (whole := stream.message()) is not None:
            seen.append(bytes(whole))
    assert seen == messages and not stream.buffer


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\2\0\0\0\x0a\0\0\0", "header"), (b"\1\3\0\0\x0a\0\0\0", "header"), (b"\1\1\3\0\x0a\0\0\0", "header"),
        (b"\1\1\0\0\x08\0\0\0", "length"), (b"\1\1\0\0\0\0\0\0", "length"), (b"\1\1\0\1\0\0\0\0", "limit"),
    ],
)
def test_headers_that_are_none(data: bytes, why: str) -> None:
    stream = wire.Stream(1 << 20)
    stream.feed(data)
    with pytest.raises(wire.BadMessage, match=why):
        stream.message()


@pytest.mark.parametrize(
    ("text", "least"),
    [("0Np", 1), ("0D", 1), ("1 2#0Np", 1), ("0Ng", 3), ("2#0Ng", 3), ("(1;0Ng)", 3), ("1 2", 0), ("12:00", 0)],
)
def test_what_a_receiver_does_not_know_is_a_type_error(text: str, least: int) -> None:
    x = Q.run(text)
    for capability in range(7):
        if capability < least:
            with pytest.raises(QError, match="type"):
                wire.message(wire.SYNC, x, capability)
        else:
            wire.message(wire.SYNC, x, capability)


def test_the_other_order_of_bytes() -> None:
    """The bytes that Kx's own library reads as 1 2i, and a table and a guid."""
    data = bytes.fromhex("00000000" "00000016" "0600" "00000002" "00000001" "00000002")
    assert Q.show(wire.value(data)) == "1 2i"
    body = b"\x62\0\x63\x0b\0" + struct.pack(">i", 2) + b"a\0b\0" + b"\0\0" + struct.pack(">i", 2)
    body += b"\7\0" + struct.pack(">iqq", 2, 1, -(1 << 63)) + b"\x09\0" + struct.pack(">idd", 2, 0.5, 2.0)
    assert Q.show(wire.value(framed(1, body, order=0))) == Q.show(Q.run("([]a:1 0N;b:.5 2)"))
    guid = bytes(range(16))
    assert wire.value(framed(1, b"\xfe" + guid, order=0)).v == guid  # type: ignore[union-attr]
    assert Q.show(wire.value(framed(1, b"\0\0" + struct.pack(">i", 2) + b"\xf9" + struct.pack(">q", 5) + b"\xf5x\0", order=0))) == "5\n`x"


def test_errors() -> None:
    data = wire.error("type")
    assert data[8:] == b"\x80type\0" and data[1] == wire.RESPONSE
    with pytest.raises(wire.Remote, match="type"):
        wire.value(data)
    assert wire.error("a\0b")[8:] == b"\x80a\0"
    for bad in (framed(1, b"\x80type\0"), framed(2, b"\x80type"), framed(2, b"\x80ty\0pe\0")):
        with pytest.raises(wire.BadMessage):
            wire.value(bad)


@pytest.mark.parametrize("text", VALUES)
def test_cut_and_changed_bodies_are_bad_messages(text: str) -> None:
    """A body that is cut, or has a byte more, is none; one whose bytes were changed gives a value or an error of q."""
    body = codec.encode(Q.run(text))
    for end in range(1, len(body)):
        with pytest.raises((wire.BadMessage, QError)):
            wire.value(framed(0, body[:end]))
    with pytest.raises((wire.BadMessage, QError)):
        wire.value(framed(0, body + b"\0"))
    for at in range(len(body)):
        for byte in {0, 0x7F, 0x80, 0xFF, body[at] ^ 1} - {body[at]}:
            with suppress(wire.BadMessage, QError):
                Q.show(wire.value(framed(0, body[:at] + bytes((byte,)) + body[at + 1 :])))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("by_room", [False, True])
def test_a_message_may_be_as_large_as_the_limit(packed: bool, by_room: bool) -> None:
    """And not a byte larger, by the limit of the connection or by the memory there is; compressed, what it becomes counts."""
    data = wire.message(wire.SYNC, Q.run(f"{wire.SMALL // 8}#til 10"), 3)
    size, data = len(data), compress.compress(data) if packed else data
    assert (len(data) < size) is packed
    for limit, fits in ((size, True), (size - 1, False)):
        stream = wire.Stream(1 << 40 if by_room else limit)
        stream.room = (lambda most=limit: most) if by_room else None
        stream.feed(data)
        if fits:
            assert stream.message() == data
        else:
            with pytest.raises(wire.BadMessage, match=f"^{size} bytes, the limit is {limit}$"):
                stream.message()


def test_long_messages_are_compressed_if_asked() -> None:
    x = Q.run("1000#til 10")
    packed = wire.message(wire.SYNC, x, 3, packed=True)
    assert packed[2] == 1 and len(packed) < len(wire.message(wire.SYNC, x, 3)) // 2
    assert Q.show(wire.value(packed)) == Q.show(x)
    stream = wire.Stream(2000)  # what it would become is bounded too
    stream.feed(packed)
    with pytest.raises(wire.BadMessage, match="limit"):
        stream.message()
    assert wire.message(wire.SYNC, Q.run("til 10"), 3, packed=True)[2] == 0


def test_up_to_which_size_messages_are_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Q.run("600000#til 10")
    assert wire.message(wire.SYNC, x, 3, packed=True)[2] == 1
    monkeypatch.setattr(wire, "LONG", 8 + 6 + 8 * 600_000 - 1)
    assert wire.message(wire.SYNC, x, 3, packed=True)[2] == 0


@pytest.mark.parametrize("body", hostile.BAD.values(), ids=hostile.BAD)
def test_hostile_bodies_are_bad_messages(body: bytes) -> None:
    with pytest.raises(wire.BadMessage):
        wire.value(framed(1, body))
    with pytest.raises(QError, match=r"^badmsg$"):
        Q.names.space(".t")["bytes"] = Vec(T.X, np.frombuffer(framed(1, body), np.uint8))
        Q.run("-9!.t.bytes")


@pytest.mark.parametrize(("body", "error"), hostile.WRONG.values(), ids=hostile.WRONG)
def test_functions_that_are_none_are_errors_of_their_message(body: bytes, error: str) -> None:
    with pytest.raises(QError) as raised:
        wire.value(framed(1, body))
    assert raised.value.text.startswith(error) and raised.value.text not in ("corrupt", "badmsg", "limit")


def test_counts_of_eight_bytes() -> None:
    """As Kx's library writes a vector of 2^32+5 bytes; a receiver takes the form at any length."""
    assert codec.head(T.X, 0, (1 << 32) + 5).hex() == "04800500000001000000"
    assert codec.head(T.X, 0, (1 << 31) + 5).hex() == "040005000080"
    assert Q.show(codec.decode(b"\4\x80" + struct.pack("<q", 3) + b"\1\2\3")) == "0x010203"
    assert Q.show(codec.decode(b"\x0b\x81" + struct.pack("<q", 2) + b"a\0b\0")) == "`s#`a`b"
    assert Q.show(wire.value(framed(1, b"\4\x80" + struct.pack(">q", 3) + b"\1\2\3", order=0))) == "0x010203"


# Kx's documentation of the form, "Serialization examples"
DOCUMENTED = [
    ("`a`b!2 3i", "63" "0b0002000000" "61006200" "060002000000" "0200000003000000"),
    ("`s#`a`b!2 3i", "7f" "0b0102000000" "61006200" "060002000000" "0200000003000000"),
    ("`s#([]a:enlist 2i;b:enlist 3i)", "6201" "63" "0b0002000000" "61006200" "000002000000" "060301000000" "02000000" "060001000000" "03000000"),
    ("`s#([a:enlist 2i]b:enlist 3i)", "7f" "6201" "63" "0b0001000000" "6100" "000001000000" "060001000000" "02000000" "6200" "63" "0b0001000000" "6200" "000001000000" "060001000000" "03000000"),
    ("([]a:`p#2 3i)", "6200" "63" "0b0001000000" "6100" "000001000000" "060302000000" "0200000003000000"),
    ("{x+y}", "64" "00" "0a0005000000" "7b782b797d"),
]


@pytest.mark.parametrize(("text", "data"), DOCUMENTED, ids=[text for text, _ in DOCUMENTED])
def test_documented_bytes(text: str, data: str) -> None:
    x = Q.run(text)
    assert codec.encode(x).hex() == data
    again = codec.decode(bytes.fromhex(data))
    assert codec.encode(again).hex() == data and Q.show(again) == Q.show(x)


def test_a_sorted_table_that_was_amended_is_none() -> None:
    assert codec.encode(Q.run("t:`s#([]a:1 2;b:3 4);t[0;`a]:9;t"))[:2] == b"\x62\0"
    assert codec.encode(Q.run("t:`s#([]a:1 2;b:3 4);select from t"))[:1] == b"\x62"


def test_compressed_messages_with_a_size_of_eight_bytes() -> None:
    plain = wire.message(wire.SYNC, Q.run("1000#til 10"))
    short = compress.compress(plain)
    size = len(short) + 4
    wide = short[:2] + b"\2\0" + struct.pack("<IQ", size, len(plain)) + short[12:]
    assert compress.decompress(wide) == plain and Q.show(wire.value(wide)) == Q.show(wire.value(plain))
    stream = wire.Stream(1 << 20)
    stream.feed(wide)
    assert stream.message() == wide
    for claimed in (8, 9, len(plain) + 1, 1 << 33):
        with pytest.raises(wire.BadMessage):
            wire.value(wide[:8] + struct.pack("<Q", claimed) + wide[16:])
    with pytest.raises(wire.BadMessage):
        wire.plain_size(wide[:14])


def test_what_a_message_needs_is_bounded() -> None:
    """20,000 symbols without text take 20 kB of a message, and far more once they are values."""
    needed: list[int] = []

    def need(n: int) -> None:
        needed.append(n)
        if sum(needed) > 1 << 20:
            raise QError("wsfull")

    with pytest.raises(QError, match="wsfull"):
        wire.value(framed(1, hostile.vector(0, 20_000, b"\xf5\0" * 20_000)), need)


# two messages that Kx's own library reads back: their length, the compressed bytes, and the text of their value
WORKED = [
    ("86#0x2a", "0100010018000000640000000004005600 00002a2a010052"),
    ("24#1 2 3", "0100010025000000ce000000800700180000000100 00ed0003020003000003000000030 1a6"),
]


@pytest.mark.parametrize(("text", "data"), WORKED, ids=[text for text, _ in WORKED])
def test_compressed_bytes(text: str, data: str) -> None:
    expected = bytes.fromhex(data.replace(" ", ""))
    plain = wire.message(wire.ASYNC, Q.run(text))
    assert compress.compress(plain) == expected
    assert compress.decompress(expected) == plain


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=6), st.integers(1, 120)), min_size=5, max_size=60), st.data())
def test_compression_is_undone_and_damage_is_found(runs: list[tuple[bytes, int]], data: st.DataObject) -> None:
    body = b"".join(part * times for part, times in runs)
    plain = framed(0, body)
    packed = compress.compress(plain)
    assert len(packed) <= len(plain)
    if packed is plain:
        return
    assert compress.decompress(packed) == plain
    changed = bytearray(packed)
    changed[data.draw(st.integers(8, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(changed), packed[: data.draw(st.integers(12, len(packed) - 1))]):
        try:
            found = compress.decompress(damaged)
            assert len(found) == compress.plain_size(damaged)
        except QError as e:
            assert e.text == "badmsg"
