"""Metrics files that grow by one record at a time: JSON lines, and TensorBoard events.

An event file is a sequence of records, each with its length and two checksums (CRC-32C, rotated and offset by a
constant); a record is an Event in protocol buffer encoding, of which four fields are used.
"""

from __future__ import annotations

import json
import math
import os
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

from kshell.errors import QError, os_text
from kshell.store import tails

Values = Mapping[str, float | list[float]]
_TAIL = 1 << 16  # bytes at the end of a file that are searched for the last steps


def _table() -> list[int]:
    table = []
    for entry in range(256):
        for _ in range(8):
            entry = (entry >> 1) ^ 0x82F63B78 if entry & 1 else entry >> 1
        table.append(entry)
    return table


_CRC = _table()


def _crc(data: bytes) -> int:
    """The masked CRC-32C of a few bytes."""
    checksum = 0xFFFFFFFF
    for byte in data:
        checksum = _CRC[(checksum ^ byte) & 255] ^ (checksum >> 8)
    checksum ^= 0xFFFFFFFF
    return (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(n: int) -> bytes:
    encoded = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        encoded.append(n & 127 | 128)
        n >>= 7
    encoded.append(n)
    return bytes(encoded)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", _crc(length)) + data + struct.pack("<I", _crc(data))


def _event(seconds: float, rest: bytes) -> bytes:
    return _record(b"\x09" + struct.pack("<d", seconds) + rest)


def _scalars(seconds: float, step: int, values: Mapping[str, float]) -> bytes:
    """An event with a number for each tag."""
    summary = b"".join(
        _field(1, _field(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
        for tag, value in values.items()
    )
    return _event(seconds, b"\x10" + _varint(step) + _field(5, summary))


def _finite(x: float | list[float]) -> Any:
    if isinstance(x, list):
        return [_finite(item) for item in x]
    return x if isinstance(x, int) or math.isfinite(x) else None


def _opened(path: str) -> int:
    problem = None
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError as error:
        problem = error
    raise QError(os_text(problem, path))


class JsonLines:
    """Appends a JSON line per record: step, time in seconds since 1970, call, and the values."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.steps = _last_steps(path)
        self._fd = _opened(path)
        tails.mend_lines(self._fd, path)

    def add(self, call: str, step: int, seconds: float, values: Values) -> None:
        record = {
            "step": step,
            "time": round(seconds, 3),
            "call": call,
            **{key: _finite(value) for key, value in values.items()},
        }
        _append(self._fd, json.dumps(record).encode() + b"\n", self.path)

    def close(self) -> None:
        os.close(self._fd)


class Events:
    """Appends records to a new TensorBoard file in a folder; a tag is call/name."""

    def __init__(self, folder: str) -> None:
        started = time.time()
        self.path = os.path.join(
            folder,
            f"events.out.tfevents.{int(started):010}.{socket.gethostname()}.{os.getpid()}."
            f"{time.monotonic_ns()}",
        )
        self._fd = _opened(self.path)
        _append(self._fd, _event(started, _field(3, b"brain.Event:2")), self.path)

    def add(self, call: str, step: int, seconds: float, values: Values) -> None:
        prefix = call + "/" if call else ""
        scalars = {
            prefix + key: float(value)
            for key, value in values.items()
            if not isinstance(value, list)
        }
        data = _scalars(seconds, step, scalars) if scalars else b""
        for key, value in values.items():
            if isinstance(value, list):  # a step can have several: they are numbered consecutively
                first_step = (step - 1) * len(value) + 1
                data += b"".join(
                    _scalars(seconds, first_step + index, {prefix + key: number})
                    for index, number in enumerate(value)
                )
        _append(self._fd, data, self.path)

    def close(self) -> None:
        os.close(self._fd)


def _append(fd: int, data: bytes, path: str) -> None:
    problem = None
    try:
        tails.added(fd, data)
        return
    except OSError as error:
        problem = error
    raise QError(os_text(problem, path))


def _last_steps(path: str) -> dict[str, int]:
    """The last step of each call in the last lines of a file, if it exists."""
    steps: dict[str, int] = {}
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read().split(b"\n")
    except OSError:
        return steps
    for line in lines:
        try:
            record = json.loads(line)
            steps[str(record["call"])] = int(record["step"])
        # not a record, or the first one, which may be truncated
        except (
            ValueError,
            KeyError,
            TypeError,
        ):
            continue
    return steps
