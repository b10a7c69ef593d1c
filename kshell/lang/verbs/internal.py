"""Internal functions, `-n!x`: binary forms of values, log files, and other names for public functions."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from kshell import registry
from kshell.errors import QError, Source, os_text
from kshell.ipc import tls_settings, wire
from kshell.lang.compiler.built_ins import is_infix
from kshell.lang.compiler.compile import compile_lambda
from kshell.lang.verbs.lists import int_of
from kshell.parse import parse
from kshell.parse import tree as N
from kshell.parse.lex import scan
from kshell.registry import internal
from kshell.store import atomic, codec, compress, kdb, tails, text, unfinished
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, string, symdict, table
from kshell.values.base.core import (
    NIL,
    Atom,
    Dict,
    List,
    Table,
    Value,
    Vec,
    atom_t,
    seq_items,
    sym_vec,
    text_of,
)
from kshell.values.base.symbols import Sym
from kshell.values.change.grow import COUNTS
from kshell.values.engine.apply import apply1
from kshell.values.session.context import running

# ------------------------------------------------------------------ bytes of values


def message(x: Value) -> bytes:
    """The bytes of a value with a message header."""
    return wire.message(wire.ASYNC, x)


def byte_vec(data: bytes) -> Vec:
    return Vec(T.X, np.frombuffer(data, np.uint8))


def read_lambda(
    text: str, ctx: str, own: str = "", shown: str = "", file: str = "", line: int = 0
) -> Value:
    """The function of a definition read as data: the text must define exactly one function, and nothing else. Also
    records where it was defined: the name it calls itself by, the name shown in reports, file and line."""
    if text.startswith("k)"):
        raise QError("nyi")
    source = Source(text, file, line, shown)
    nodes = parse(text, is_infix, source)
    if (
        len(nodes) != 1
        or not isinstance(nodes[0], N.Statement)
        or not isinstance(nodes[0].expr, N.Lambda)
    ):
        raise QError("corrupt")
    return compile_lambda(nodes[0].expr, source, running().names, ctx, own)


codec.LAMBDA.set(read_lambda)


@internal(-8)
def to_bytes(x: Value) -> Value:
    """The bytes of a value, serialized as a message between processes.

    q)-8!1 2
    0x010000001e00000007000200000001000000000000000200000000000000
    """
    return byte_vec(message(x))


@internal(-9)
def from_bytes(x: Value) -> Value:
    """The value of serialized bytes, compressed or not. Bytes that are no message are 'badmsg; a response that holds an
    error is that error.

    q)-9!-8!`a`b!1 2
    a| 1
    b| 2
    """
    if x.__class__ is not Vec or x.t not in (T.X, T.C):
        raise QError("type")
    problem = "badmsg"
    try:
        return wire.value(x.a.tobytes())
    except wire.Remote as e:
        problem = str(e)
    except wire.BadMessage:
        pass
    raise QError(problem)


@internal(-18)
def to_compressed(x: Value) -> Value:
    """The bytes of a value, compressed if there are more than 2000 and compression at least halves them.

    q)count -18!til 1000
    3276
    """
    plain = message(x)
    return byte_vec(compress.compress(plain) if len(plain) > wire.SHORT else plain)


@internal(-22)
def size(x: Value) -> Value:
    """The number of bytes that -8! returns.

    q)-22!1 2
    30
    """
    if x.__class__ is Vec and x.t not in (T.S, T.ENUM):
        return int(len(x.a) * x.a.itemsize + 6 + wire.HEADER)
    return len(codec.encode(x)) + wire.HEADER


# ------------------------------------------------------------------ q text


@internal(-4)
def tokens(x: Value) -> Value:
    """The tokens of q text, including blanks, one by one, and comments, each with the blank before it.

    q)-4!"a+b 1 2"
    ,"a"
    ,"+"
    ,"b"
    ," "
    "1 2"
    q)-4!"a / c"
    ,"a"
    " / c"
    """
    text = "\n" + text_of(x)  # a comment begins after a blank
    pieces: list[str] = []
    position = 0
    for token in scan(text):
        pieces += _between(text, position, token.start)
        pieces += _lines_of(token.text) if token.kind == "0" else [token.text] * bool(token.text)
        position = max(position, token.end)
    pieces += _between(text, position, len(text))
    first = pieces.pop(0)[1:]
    return List([string(piece) for piece in ([first] if first else []) + pieces])


def _lines_of(numbers: str) -> list[str]:
    """The tokens of a list of numbers: numbers on another line are another token."""
    pieces: list[str] = []
    for index, part in enumerate(_OTHER_LINE.split(numbers)):
        pieces += _between(part, 0, len(part)) if index % 2 else [part]
    return pieces


def _between(text: str, start: int, end: int) -> list[str]:
    """The tokens of a part of a text that has only comments and blanks."""
    if end - start < 2:
        return [text[start:end]] if end > start else []
    # where the last comment of several lines ends; after it, lone slashes would all look for their end in vain
    last = max((match.start() for match in _CLOSES.finditer(text, start, end)), default=-1)
    pieces: list[str] = []
    while start < last:
        match = _BETWEEN.match(text, start, end)
        if match is None:
            break
        pieces.append(match[0])
        start = match.end()
    return pieces + _ON_A_LINE.findall(text, start, end)


_OTHER_LINE = re.compile(r"((?<![^\S\n])[^\S\n]*(?:(?<=\s)/[^\n]*)?\n\s*(?:/[^\n]*\n\s*)*)")
# a comment of a line, a blank; the end of a comment of several lines; these or such a comment
_ON_A_LINE = re.compile(r"\s?/[^\n]*|(?s:.)")
_CLOSES = re.compile(r"\n\\[ \t\r]*(?=\n|\Z)")
_BETWEEN = re.compile(rf"\n/[ \t\r]*\n(?s:.)*?{_CLOSES.pattern}|{_ON_A_LINE.pattern}")


@internal(-14)
def quote_escape(x: Value) -> Value:
    """A string in quotes with inner quotes doubled, if it contains any.

    q)-14!"a\\"b"
    "\\"a\\"\\"b\\""
    """
    text = text_of(x)
    return string('"' + text.replace('"', '""') + '"') if '"' in text else x


@internal(-10)
def type_free(x: Value) -> Value:
    """Whether no variable holds an enumeration with this type number.

    q)-10!21h
    1b
    """
    number = int_of(x)
    if not T.ENUM <= number < kdb.ANYMAP:
        raise QError("type")
    names = running().names
    found = (
        v for space in names.spaces for v in map(names.spaces[space].get, names.members(space))
    )
    return number != T.ENUM or not any(v.__class__ is Vec and v.t == T.ENUM for v in found)


@internal(-16)
def references(x: Value) -> Value:
    """The number of references to a value.

    q)a:1 2 3;b:a
    q)-16!a
    2i
    """
    own = 4 if COUNTS else 1  # references of `!` and its parts, and of this call
    return Atom(T.I, max(sys.getrefcount(x) - own, 1))


@internal(-23)
def mapped(x: Value) -> Value:
    """The value itself; columns of a table on disk are read into memory.

    q)-23!1 2
    1 2
    """
    return Table(x.names, list(x.cols)) if x.__class__ is Table else x


@internal(-120)
def domain_of(x: Value) -> Value:
    """The memory domain of a value; always 0, the only one.

    q)-120!1 2 3
    0
    """
    return 0


# ------------------------------------------------------------------ files


def path_of(x: Value) -> str:
    if x.__class__ is Sym and x.s[:1] == ":":
        return x.s[1:]
    raise QError("type")


@internal(-11, "-11!file; -11!(n;file)")
def replay(x: Value) -> Value:
    """Evaluate the messages in a log file, all or the first n, and return their number.

    With -2, only count the complete ones.

    q)l:`:log set();h:hopen`:log;h enlist(`add;1);h enlist(`add;2);hclose h
    q)total:0;add:{total+:x}
    q)-11!`:log
    2
    q)total
    3
    """
    limit, file = -1, x
    if x.__class__ is List and len(x) == 2:
        limit, file = int_of(x.items[0]), x.items[1]
    content = kdb.contents(path_of(file))
    if bytes(content[:4]) != kdb.GENERAL + b"\0\0":
        raise QError("type")
    if limit == -2:
        count, valid_size, is_valid = kdb.valid_part(content)
        if is_valid:
            tails.note_whole(path_of(file))
        return count if is_valid else collapse([count, valid_size])
    replayed = 0
    for entry in kdb.records(content):
        if limit >= 0 and replayed >= limit:
            break
        handler = running().names.find(".z.ps")
        if handler is None:
            registry.known("verb", "value").fns[1](entry)
        else:
            apply1(handler, entry)
        replayed += 1
    return replayed


@internal(-19, "-19!(source;target;block;algorithm;level)", effect="changes")
def compress_file(x: Value) -> Value:
    """Copy a data file to a compressed file, and return its name. Every algorithm is replaced by zlib.

    q)`:a set 10000#til 100;
    q)-19!(`:a;`:z;17;2;6)
    `:z
    q)(hcount[`:z]<hcount`:a;(get`:a)~get`:z)
    01b
    """
    items = seq_items(x)
    if len(items) != 5:
        raise QError("length")
    source, target = path_of(items[0]), path_of(items[1])
    packings = packing(*items[2:])
    content = bytes(kdb.contents(source))
    if packings is not None and packings.algorithm:
        content = compress.pack(content, packings.logical, packings.level)
    files = [(target, atomic.filling([content]))]
    if unfinished.there(source + "#"):
        files.insert(0, (target + "#", atomic.filling([text.read_bytes(source + "#")])))
    atomic.write_all(files)
    return items[1]


def packing(logical: Value, algorithm: Value, level: Value) -> kdb.Packing:
    """Validate three compression parameters; 'domain if no file can have them."""
    parameters = kdb.Packing(int_of(logical), int_of(algorithm), int_of(level))
    if not 12 <= parameters.logical <= 20 or not 0 <= parameters.algorithm <= 5:
        raise QError(
            "encryption is not supported" if 16 <= parameters.algorithm <= 21 else "domain"
        )
    level_of = parameters.level if 1 <= parameters.level <= 9 else 6
    return parameters._replace(level=level_of)


@internal(-21)
def compression(x: Value) -> Value:
    """The compression parameters of a file, as a dictionary; empty if it is not compressed.

    q)(`:z;17;2;6)set 10000#til 100;
    q)(-21!`:z)`algorithm
    2i
    """
    problem: OSError | None = None
    try:
        content = unfinished.opened(path_of(x), lambda f: f.read())
    except OSError as e:
        problem = e
    if problem is not None:
        raise QError(os_text(problem))
    if content[:8] != compress.MAGIC:
        return Dict(sym_vec([]), List([]))
    tail = compress.tail_of(content)
    values: list[Value] = [
        len(content),
        tail.size,
        *(
            Atom(T.I, number)
            for number in (tail.algorithm, max(tail.block.bit_length() - 1, 0), tail.level)
        ),
    ]
    return Dict(
        sym_vec(
            ["compressedLength", "uncompressedLength", "algorithm", "logicalBlockSize", "zipLevel"]
        ),
        List(values),
    )


@internal(-17, effect="changes")
def flip_endian(x: Value) -> Value:
    """Swap the byte order of a data file; not implemented, since only files from very old machines need it.

    q)`:a set 1 2 3;
    q)-17!`:a
    'nyi
      [0]  -17!`:a
              ^
    """
    path_of(x)
    raise QError("nyi")


# ------------------------------------------------------------------ connections


@internal(-25, "-25!(handles;message)", effect="opens")
def broadcast(x: Value) -> Value:
    """Send a message to several connections, or to none if one of them cannot take it; `::` waits until all that is
    queued for them is written.

    q)-25!(`int$();"1+1")
    """
    items = seq_items(x)
    if len(items) != 2:
        raise QError("length")
    handles = [
        int_of(handle) for handle in (items[0].items if items[0].__class__ is Vec else [items[0]])
    ]
    if not handles:
        return NIL
    connections(handles[0]).broadcast(handles, items[1])
    return NIL


def connections(handle: int) -> Any:
    """The connections of the session, where a handle is said to be one of them."""
    port = running().ipc
    if port is None:
        raise QError(f"{handle} is not an ipc handle")
    return port


@internal(-26, "-26!()", "none")
def encryption(x: Value) -> Value:
    """The settings of TLS, which are environment variables, of `()` or of the handle of a connection.

    q)first key -26!()
    `SSLEAY_VERSION
    """
    import ssl

    if atom_t(x) in (T.H, T.I, T.J):
        connections(int_of(x)).described(int_of(x))
    values = {"SSLEAY_VERSION": ssl.OPENSSL_VERSION, **tls_settings.settings()}
    return Dict(sym_vec(values), sym_vec(values.values()))


@internal(-30, "-30!(handle;isError;message)", effect="opens")
def respond(x: Value) -> Value:
    """Answer a request whose answer was put off; `-30!(::)` in a handler puts the answer of its request off.

    q)-30!(0i;0b;1)
    'Handle 0 was not expecting a response msg
      [0]  -30!(0i;0b;1)
              ^
    """
    port = running().ipc
    if x is NIL or (x.__class__ is List and len(x) == 0):
        if port is not None:
            port.defer()
        return NIL
    items = seq_items(x)
    handle = int_of(items[0])
    if not handle:
        raise QError("Handle 0 was not expecting a response msg")
    if port is None:
        raise QError("domain")
    if len(items) != 3:
        raise QError("length")
    port.respond(handle, items[1] is True, items[2])
    return NIL


@internal(-36)
def master_key(x: Value) -> Value:
    """Whether a master key for encrypted files is loaded; encryption is not supported.

    q)-36!(::)
    0b
    """
    if x is NIL or (x.__class__ is List and not len(x)):
        return False
    raise QError("encryption of files is not supported")


@internal(-38)
def socket_table(x: Value) -> Value:
    """The kind of connection behind a handle, and what waits to be sent on it; of several handles a table.

    q)-38!0i
    '0 is not an ipc handle
      [0]  -38!0i
              ^
    """
    if x.__class__ is not Vec and x.__class__ is not List:
        return symdict(_SOCKET, connections(int_of(x)).described(int_of(x)))
    handles = [int_of(item) for item in x.items]
    rows = [connections(handle).described(handle) for handle in handles]
    kinds = (T.C, T.C, T.B, T.J, T.J)
    return table(
        _SOCKET,
        [
            collapse([row[index] for row in rows]) if rows else empty(qtype)
            for index, qtype in enumerate(kinds)
        ],
    )


_SOCKET = ("p", "f", "z", "n", "m")


# ------------------------------------------------------------------ those that have a name


def _named(number: int, kind: str, name: str, example: str) -> None:
    def run(x: Value) -> Value:
        entry = registry.find(kind, name)
        if entry is None:
            raise QError("nyi")
        return entry.fns[1](x)

    run.__doc__ = f"Same as `{name}`.\n\n{example}"
    internal(number)(run)


for _number, _kind, _name, _example in (
    (-1, "verb", "hsym", "q)-1!`file.txt\n`:file.txt"),
    (-2, "verb", "attr", "q)-2!`s#1 2 3\n`s"),
    (-5, "verb", "parse", 'q)-5!"1+x"\n+\n1\n`x'),
    (-6, "verb", "eval", "q)-6!(+;1;2)\n3"),
    (-7, "verb", "hcount", 'q)`:f.txt 0:enlist"abc";\nq)-7!`:f.txt\n4'),
    (-12, "name", ".Q.host", "q)-12!-13!`localhost\n`localhost"),
    (-13, "name", ".Q.addr", "q)-13!`localhost\n2130706433i"),
    (-15, "verb", "md5", 'q)-15!"abc"\n0x900150983cd24fb0d6963f7d28e17f72'),
    (-20, "name", ".Q.gc", "q)-20!(::)\n0"),
    (-24, "verb", "reval", "q)-24!(+;1;2)\n3"),
    (-29, "name", ".j.k", 'q)-29!"[1,2]"\n1 2f'),
    (-31, "name", ".j.jd", 'q)-31!(1 0n;``null0w!00b)\n"[1,null]"'),
    (-32, "name", ".Q.btoa", 'q)-32!"abc"\n"YWJj"'),
    (-35, "name", ".Q.gz", 'q)`char$-35!-35!(6;"abc")\n"abc"'),
):
    _named(_number, _kind, _name, _example)


@internal(-34, "-34!(f;args)")
def timed(x: Value) -> Value:
    """Same as `.Q.ts`.

    q)-34!(+;1 2)
    0 0
    3
    """
    entry = registry.find("name", ".Q.ts")
    items = seq_items(x)
    if entry is None or len(items) != 2:
        raise QError("length")
    return entry.fns[2](*items)
