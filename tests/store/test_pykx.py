"""The serialized form read by another program: PyKX, which needs no licence for it. Skipped where it is not installed
(`pip install pykx`); it runs in a process of its own, since it brings libraries of kdb+."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from kshell.session import Session

pytestmark = [pytest.mark.extra,
              pytest.mark.skipif(importlib.util.find_spec("pykx") is None, reason="PyKX is not installed")]

# q text, what PyKX calls its type, and str() of its Python value
VALUES = [
    ("1b", "BooleanAtom", "True"), ("0x01ff", "ByteVector", "[1, 255]"), ("2h", "ShortAtom", "2"),
    ("3i", "IntAtom", "3"), ("4", "LongAtom", "4"), ("1 2 3", "LongVector", "[1, 2, 3]"),
    ("1.5 -0w", "FloatVector", "[1.5, -inf]"), ("2e", "RealAtom", "2.0"), ('"a"', "CharAtom", "b'a'"),
    ('"abc"', "CharVector", "b'abc'"), ("`a", "SymbolAtom", "a"), ("`a`b", "SymbolVector", "['a', 'b']"),
    ("2020.01.02", "DateAtom", "2020-01-02"), ("12:00:00.123", "TimeAtom", "12:00:00.123000"),
    ("2020.01.01D12", "TimestampAtom", "2020-01-01 12:00:00"), ("0D01", "TimespanAtom", "1:00:00"),
    ("12:30", "MinuteAtom", "12:30:00"), ("12:30:01", "SecondAtom", "12:30:01"),
    ("0Ng", "GUIDAtom", "00000000-0000-0000-0000-000000000000"), ('(1;`a;"x")', "List", "[1, 'a', b'x']"),
    ("`a`b!1 2", "Dictionary", "{'a': 1, 'b': 2}"), ("([]a:1 2;b:`x`y)", "Table", "{'a': [1, 2], 'b': ['x', 'y']}"),
    ("([k:`a`b]v:1 2)", "KeyedTable", "{('a',): {'v': 1}, ('b',): {'v': 2}}"), ("()", "List", "[]"),
    ("`s#1 2 3", "LongVector", "[1, 2, 3]"), ("(1 2;3 4 5)", "List", "[[1, 2], [3, 4, 5]]"),
]
READ = """
import json, os, sys
os.environ["PYKX_UNLICENSED"] = "true"
import pykx
found = [pykx.deserialize(bytes.fromhex(h)) for h in json.load(sys.stdin)]
print(json.dumps([[type(k).__name__, str(k.py())] for k in found]))
"""


def test_pykx_reads_what_is_serialized() -> None:
    session = Session()
    data = [session.run(f"-8!({text})").a.tobytes().hex() for text, _, _ in VALUES]
    done = subprocess.run([sys.executable, "-c", READ], input=json.dumps(data), capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert [(text, *got) for (text, _, _), got in zip(VALUES, found, strict=True)] == VALUES
