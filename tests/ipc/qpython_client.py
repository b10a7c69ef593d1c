"""What test_qpython.py runs in an environment that has qpython3: `python qpython_client.py PORT CHECK` prints the list of
what went wrong as JSON. It finds the q texts to ask for as JSON on its standard input."""

from __future__ import annotations

import json
import sys
import uuid
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import qpython.qtype as t
from qpython.qcollection import QDictionary, QKeyedTable, QTable, qlist, qtable
from qpython.qconnection import MessageType, QAuthenticationException, QConnection
from qpython.qtemporal import qtemporal
from qpython.qtype import QException, QFunction, QLambda, QProjection, qnull

warnings.simplefilter("ignore", FutureWarning)  # of pandas, about what qpython does
PORT, CHECK, TEXTS = int(sys.argv[1]), sys.argv[2], json.load(sys.stdin)
MODES: dict[str, dict[str, Any]] = {
    "plain": {},
    "single": {"single_char_strings": True},
    "numpy": {"numpy_temporals": True},
    "pandas": {"pandas": True},
    "utf8": {"encoding": "utf-8"},
    "old": {},  # the capability of qPython 2.0.0
}
SYNC, ASYNC = MessageType.SYNC, MessageType.ASYNC
Wrong = Iterator[str]


class Old(QConnection):
    MAX_PROTOCOL_VERSION = 3


def connected(password: str = "pw", **options: Any) -> QConnection:
    made = (Old if CHECK == "old" else QConnection)("localhost", PORT, "me", password, timeout=20, **options)
    made.open()
    return made


def there_and_back(mode: str) -> Wrong:
    """The value of each text comes, goes back, and is the same."""
    q = connected(**MODES[mode])
    for text in TEXTS:
        asked = text.encode() + b" "  # a text of one letter would travel as a char
        try:
            value = q(asked)
            if not q("{x~value y}", value, asked):
                yield f"{text}: back as {q('{-3!x}', value)!r}"
        except Exception as e:
            yield f"{text}: {type(e).__name__} {e}"
            q.close()
            q.open()


# ------------------------------------------------------------------ what stands in Python is what q has

TEMPORALS = {
    t.QTIMESTAMP: ("2001-02-03T04:05:06.123456789", "ns", "2001.02.03D04:05:06.123456789", "p"),
    t.QMONTH: ("2020-03", "M", "2020.03m", "m"),
    t.QDATE: ("1999-12-31", "D", "1999.12.31", "d"),
    t.QDATETIME: ("2020-03-04T12:00:00.000", "ms", "2020.03.04T12:00:00.000", "z"),
    t.QTIMESPAN: (3723000000004, "ns", "0D01:02:03.000000004", "n"),
    t.QMINUTE: (754, "m", "12:34", "u"),
    t.QSECOND: (45296, "s", "12:34:56", "v"),
    t.QTIME: (45296789, "ms", "12:34:56.789", "t"),
}
INTEGERS = {t.QSHORT: "h", t.QINT: "i", t.QLONG: "j"}
GUID = uuid.UUID("0a59ac0e-f8f1-44bd-a3d9-f0a6f4a4f3f0")


def temporal(qtype: int) -> Any:
    value, unit, _, _ = TEMPORALS[qtype]
    return (np.datetime64 if isinstance(value, str) else np.timedelta64)(value, unit)


def pairs() -> Iterator[tuple[Any, str]]:
    """Values made in Python, and their q text."""
    yield from [(True, "1b"), (np.bool_(False), "0b"), (np.int8(-1), "0xff"), (np.int16(5), "5h"), (np.int32(5), "5i"), (5, "5"),
                (np.int64(5), "5"), (np.float32(1.5), "1.5e"), (1.5, "1.5"), ("a", '"a"'), ("ab", '"ab"'), (b"ab", '"ab"'),
                ("", '""'), (np.bytes_("ab"), "`ab"), (np.bytes_(""), "`"), (GUID, f'"G"$"{GUID}"'), (None, "::"),
                (uuid.UUID(int=0), "0Ng"), ([], "()"), ([1, "ab", np.bytes_("c"), None], '(1;"ab";`c;::)')]
    for qtype, letter in INTEGERS.items():
        null = qnull(qtype)
        yield null, f"0N{letter}"
        yield type(null)(-(int(null) + 1)), f"0W{letter}"
        yield type(null)(int(null) + 1), f"-0W{letter}"
        yield qlist([1, null, -(int(null) + 1)], qtype=-qtype), f"1 0N 0W{letter}"
        yield np.array([1, 2], type(null)), f"1 2{letter}"
    for qtype, letter in ((t.QFLOAT, "e"), (t.QDOUBLE, "")):
        made = np.float32 if letter else np.float64
        yield qnull(qtype), f"0n{letter}"
        yield made(np.inf), f"0w{letter}"
        yield made(-np.inf), f"-0w{letter}"
        yield np.array([1.5, np.nan, np.inf, -np.inf], made), f"1.5 0n 0w -0w{letter}"
    yield from [(qlist([True, False], qtype=t.QBOOL_LIST), "10b"), (qlist([1, -1], qtype=t.QBYTE_LIST), "0x01ff"),
                (qlist(np.array(["a", "", "b"]), qtype=t.QSYMBOL_LIST), "`a``b"), (qlist([], qtype=t.QLONG_LIST), "`long$()"),
                (qlist(np.array([GUID, uuid.UUID(int=0)]), qtype=t.QGUID_LIST), f'("G"$"{GUID}"),0Ng'),
                (np.array(["a", "b"], dtype="S1"), '"ab"'), (np.array([b"ab", b"c"]), "`ab`c"),
                (qlist([b"ab", 1], qtype=t.QGENERAL_LIST), '("ab";1)')]
    for qtype, (_, unit, text, letter) in TEMPORALS.items():
        value = temporal(qtype)
        nothing = type(value)("NaT", unit)
        yield value, text
        yield nothing, f"0N{letter}"
        yield qtemporal(value, qtype=qtype), text
        yield qtemporal(qnull(qtype), qtype=qtype), f"0N{letter}"
        yield qlist(np.array([value, nothing])), f"{text},0N{letter}"
        raw = np.inf if qtype == t.QDATETIME else -(int(qnull(qtype)) + 1)
        numbers = "0 0w 0n" if qtype == t.QDATETIME else "0 0W 0N"
        yield qlist(np.array([0, raw, qnull(qtype)]), qtype=qtype), f'"{letter}"${numbers}'
    names = qlist(np.array(["a", "b"]), qtype=t.QSYMBOL_LIST)
    yield QDictionary(names, qlist([1, 2], qtype=t.QLONG_LIST)), "`a`b!1 2"
    yield QDictionary([np.bytes_("a"), 1], [2, "text"]), '(`a;1)!(2;"text")'
    days = qlist(np.array(["2000-01-01", "NaT"], dtype="datetime64[D]"), qtype=t.QDATE_LIST)
    table = qtable(["s", "d"], [names, days])
    yield table, "([]s:`a`b;d:2000.01.01 0N)"
    yield QKeyedTable(qtable(["k"], [np.array([1, 2])]), table), "([k:1 2]s:`a`b;d:2000.01.01 0N)"
    yield qtable(["x"], [[1, 2]], x=t.QSHORT), "([]x:1 2h)"
    yield QLambda("{x+y}"), "{x+y}"
    yield QProjection([QLambda("{x+y}"), 3]), "{x+y}[3]"


def made() -> Wrong:
    """Values made in Python are what they should be in q."""
    q = connected()
    for value, text in pairs():
        try:
            if not q("{x~value y}", value, text + " "):
                yield f"{text}: came as {q('{-3!x}', value)!r}"
        except Exception as e:
            yield f"{text}: {type(e).__name__} {e}"
            q.close()
            q.open()


def read() -> Wrong:
    """Values of q are what they should be in Python."""
    q = connected()
    for text, kind, expected in [("1b", np.bool_, True), ("0xff", np.int8, -1), ("0Nh", np.int16, qnull(t.QSHORT)),
                                 ("0Wi", np.int32, 2**31 - 1), ("-0W", np.int64, 1 - 2**63), ("1.5e", np.float32, 1.5),
                                 ("-0w", np.float64, -np.inf), ('"a"', bytes, b"a"), ('"ab"', bytes, b"ab"), ("`ab", np.bytes_, b"ab"),
                                 (f'"G"$"{GUID}"', uuid.UUID, GUID), ("()", list, []), ('(1;"ab";`c)', list, [1, b"ab", b"c"])]:
        value = q(text + " ")
        if not isinstance(value, kind) or value != expected:
            yield f"{text}: {value!r}"
    for qtype, (_, unit, text, letter) in TEMPORALS.items():
        value = temporal(qtype)
        for got, numpy in ((q(text), False), (q(text, numpy_temporals=True), True)):
            if (got if numpy else got.raw) != value or (got.dtype != value.dtype if numpy else got.meta.qtype != qtype):
                yield f"{text}: {got}"
        if not np.isnat(q(f"0N{letter}", numpy_temporals=True)) or not np.isnat(q(f"0N{letter}").raw):
            yield f"0N{letter}"
        array = q(f"{text},0N{letter}", numpy_temporals=True)
        if array.dtype != np.dtype(f"{'M' if isinstance(value, np.datetime64) else 'm'}8[{unit}]") or array[0] != value \
                or not np.isnat(array[1]) or array.meta.qtype != qtype:
            yield f"{text}: {array!r}"
        raw = q(f'"{letter}"$0 0W 0N')
        if raw.raw(0) != 0 or not raw.raw(1) > 1 << 30 or not t.is_null(raw.raw(2), qtype):
            yield f"0W{letter}: {raw!r}"
    table = q("([]a:1 2h;s:`x`y;l:(1 2;\"ab\"))")
    if not isinstance(table, QTable) or table.dtype.names != ("a", "s", "l") or list(table["s"]) != [b"x", b"y"] \
            or table["a"].dtype != np.int16 or table["l"][1] != b"ab":
        yield f"table {table!r}"
    keyed = q("([k:`a`b]v:1 2)")
    if not isinstance(keyed, QKeyedTable) or keyed.keys.dtype.names != ("k",) or list(keyed.values["v"]) != [1, 2]:
        yield f"keyed table {keyed}"
    if q("`a`b!1 2")[b"b"] != 2:
        yield "dictionary"


# ------------------------------------------------------------------ conversations


def calls() -> Wrong:
    """Calls, messages without an answer, callbacks, deferred answers."""
    with connected() as q:
        if q("{x+y}", 1, 2) != 3 or q("{[a;b;c;d;e;f;g;h]a+h}", *range(8)) != 7 or q.sendSync("neg", 3) != -3:
            yield "call"
        q.sendAsync("set", np.bytes_("sent"), 7)
        q.sendAsync("sent+:1")
        if q("sent") != 8:
            yield "async"
        q.sendAsync("{neg[.z.w](`upd;x;([]a:1 2))}", np.bytes_("trade"))
        message = q.receive(data_only=False)
        if message.type != ASYNC or message.data[:2] != [b"upd", b"trade"] or list(message.data[2]["a"]) != [1, 2]:
            yield f"callback {message}"
        q.query(SYNC, "{-30!(::);neg[.z.w]`before;-30!(.z.w;0b;x)}", 5)
        if [(m.type, m.data) for m in (q.receive(data_only=False), q.receive(data_only=False))] != [(0, b"before"), (2, 5)]:
            yield "deferred answer"
        for n in range(50):  # requests before their answers
            q.query(SYNC, "{x*2}", n)
        if [q.receive() for _ in range(50)] != list(range(0, 100, 2)):
            yield "requests in a row"
        q.query(SYNC, "{x}", np.int32(10))
        if q.receive(raw=True) != bytes.fromhex("fa0a000000"):
            yield "raw"
        try:
            q("{neg[.z.w]x;x}", 5)
            yield "no error for a message in place of an answer"
        except Exception as e:
            if "where response was expected" not in str(e):
                yield f"unexpected message: {e}"


def errors() -> Wrong:
    q = connected()
    for text, *given, expected in [("1+`a", "type"), ("nosuch", "nosuch"), ("{'x}", "my error", "my error"), ("{'`$x}", "sym", "sym"),
                                   ("(1 2)+", np.array([1, 2, 3]), "length"), ("-30!(::);'deferred", "deferred"),
                                   ("{x+y}", 1, np.bytes_("a"), "type"), ("'\"" + "x" * 3000 + '"', "x" * 3000)]:
        try:
            yield f"{text}: no error but {q(text, *given)!r}"
        except QException as e:
            got = e.args[0].decode("latin-1")
            if got != expected:
                yield f"{text}: {got}"
    if q("1 + 1") != 2:
        yield "after errors"
    q.sendAsync("'nobody sees it")
    q.sendAsync(QException("an error"))  # not a message that q takes: the connection may end, others go on
    if connected()("2 + 2") != 4:
        yield "after an error as a message"
    try:
        connected("no")
        yield "the wrong password is accepted"
    except QAuthenticationException:
        pass


def functions() -> Wrong:
    q = connected()
    for text in ("sum", "+", "ss", "(+/)", "'[neg;sum]", "{x+y}[1]", "{x+y}"):
        value = q(text + " ")
        if not isinstance(value, QFunction):
            yield f"{text}: {value!r}"
    if q(QLambda("{x*y}"), 3, 4) != 12 or q(QProjection([QLambda("{x-y}"), 10]), 3) != 7:
        yield "function sent"


def large() -> Wrong:
    q = connected()
    n = 2_000_000
    numbers = np.arange(n)
    if not np.array_equal(q("{x+1}", numbers), numbers + 1) or not np.array_equal(q("til", n), numbers):
        yield "numbers"
    if q("{reverse x}", b"ab" * n) != b"ba" * n:
        yield "text"
    symbols = q("{x#`a`bc`def}", 300_000)
    if len(symbols) != 300_000 or symbols[-1] != b"def" or not q("{x~count[x]#`a`bc`def}", symbols):
        yield "symbols"
    table = q("{([]a:til x;p:2000.01.01D+til x;f:x#0n 1.5)}", 300_000, numpy_temporals=True)
    if len(table) != 300_000 or not q("{x~([]a:til n;p:2000.01.01D+til n;f:(n:count x)#0n 1.5)}", table):
        yield "table"


def compressed() -> Wrong:
    """Answers that are compressed: the sizes tell."""
    q = connected()
    q(".Q.ipc[.z.w;([z:1b])]")
    for text in ("til 3000", "20000#`a`bc`def", '10000#"kshell "', "3000#0", "([]a:til 2000;s:2000#`x`y;p:2000.01.01D+2000#0 1)",
                 "2000#2020.01.01 0N", "80000#til 100", "2000000#0"):
        q.query(SYNC, text)
        message = q.receive(data_only=False)
        if message.compression_mode != 1 or message.size * 2 > q("{-22!value x}", text):
            yield f"{text}: {message.size} bytes"
        elif not q("{x~value y}", message.data, text):
            yield text


CHECKS: dict[str, Callable[[], Wrong]] = {
    **{mode: lambda mode=mode: there_and_back(mode) for mode in MODES},
    **{check.__name__: check for check in (made, read, calls, errors, functions, large, compressed)},
}
print(json.dumps(list(CHECKS[CHECK]())))
