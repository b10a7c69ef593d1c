"""The .Q namespace: constants, text and encodings."""

from __future__ import annotations

import math
import zlib

import numpy as np

from kshell.errors import QError
from kshell.lang.console.format import raw_text
from kshell.lang.console.show import lines_in
from kshell.lang.names.define import constant, name
from kshell.lang.names.z import RELEASE, VERSION, address_of
from kshell.lang.qsql.keywords import enum_char
from kshell.lang.verbs.arith import one_array
from kshell.lang.verbs.lists import int_of
from kshell.lang.verbs.text import one_line, plain, string
from kshell.registry import internal
from kshell.values.base import types as T
from kshell.values.base.build import data_of
from kshell.values.base.build import string as q_string
from kshell.values.base.core import (
    INF_J,
    NIL,
    Atom,
    EnumAtom,
    List,
    Value,
    Vec,
    atom_t,
    is_atom,
    long,
    raw,
    seq_items,
    sym_vec,
    text_of,
)
from kshell.values.base.symbols import sym
from kshell.values.engine.cast import days_to_months, is_null, months_to_days
from kshell.values.items.rows import strings_of
from kshell.values.session.context import running

UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER = UPPER.lower()
DIGITS = "0123456789"
NAME = LOWER + UPPER + "_" + DIGITS
B64 = UPPER + LOWER + DIGITS + "+/"
BASE36 = DIGITS + UPPER
TYPES = " bg xhijefcspmdznuvts"
# keywords built into the language, not defined in q
_WORDS = (
    "abs acos asin atan avg bin binr cor cos cov delete dev div do enlist exec exit exp from getenv hopen if in insert "
    "last like log max min prd select setenv sin sqrt ss sum tan update var wavg while within wj wj1 wsum xexp"
)
RESERVED = _WORDS.split()

# fmt: off  # a table
constant(
    "csv",
    Atom(T.C, ord(",")),
    "The comma, as a column separator for text.",
    'q)csv 0:([]a:1 2;b:`x`y)\n"a,b"\n"1,x"\n"2,y"',
)
constant(".Q.A", q_string(UPPER), "The upper-case letters.", 'q).Q.A\n"ABCDEFGHIJKLMNOPQRSTUVWXYZ"')
constant(".Q.a", q_string(LOWER), "The lower-case letters.", 'q).Q.a\n"abcdefghijklmnopqrstuvwxyz"')
constant(
    ".Q.an",
    q_string(NAME),
    "The characters allowed in names: letters, underscore, digits.",
    'q).Q.an\n"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"',
)
constant(".Q.n", q_string(DIGITS), "The digits.", 'q).Q.n\n"0123456789"')
constant(
    ".Q.nA",
    q_string(BASE36),
    "Digits and upper-case letters, the alphabet of base 36.",
    'q).Q.nA\n"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"',
)
constant(
    ".Q.b6",
    q_string(B64),
    "The alphabet of base 64.",
    'q).Q.b6\n"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"',
)
constant(
    ".Q.t",
    q_string(TYPES),
    "The type characters, indexed by type number.",
    'q).Q.t\n" bg xhijefcspmdznuvts"',
)
constant(
    ".Q.res",
    sym_vec(RESERVED),
    "The keywords built into the language.",
    "q)5#.Q.res\n`abs`acos`asin`atan`avg",
)
constant(".Q.k", VERSION, "The kdb+ version that the language follows.", "q).Q.k\n4.1")
constant(
    ".Q.K",
    Atom(T.D, RELEASE),
    "The release date of the kdb+ version that the language follows.",
    "q).Q.K\n2024.03.18",
)
constant(".Q.M", INF_J, "The number of rows loaded at a time; unlimited.", "q).Q.M\n0W")
# fmt: on


# ------------------------------------------------------------------ text


@name(".Q.s")
def text(x: Value) -> Value:
    """x as the console shows it, with a line break after each line.

    q).Q.s `a`b!1 2
    "a| 1\\nb| 2\\n"
    """
    return plain(x)


@name(".Q.S")
def lines(c: Value, j: Value, x: Value) -> Value:
    """The lines that show x in a window c (rows and columns); j is 0. This is the form that display tools call.

    q).Q.S[4 20;0;([]a:til 5;b:5#`x)]
    "a b"
    "---"
    "0 x"
    ".."
    """
    if c.__class__ is not Vec or c.t not in (T.I, T.J):
        raise QError("type")
    if len(c) != 2:
        raise QError("length")
    if int_of(j):
        raise QError("domain")
    rows, columns = c.a.tolist()
    shown = lines_in(x, running().settings.P, max(rows, 1) + 2, max(columns, 9) + 1)
    return strings_of([line.encode("utf-8", "surrogateescape") for line in shown])


@name(".Q.s1")
def line(x: Value) -> Value:
    """x on one line.

    q).Q.s1 (1 2;`a)
    "(1 2;`a)"
    """
    return one_line(x)


def number(x: Value) -> float:
    """A numeric atom as a Python number; null becomes nan."""
    qtype = atom_t(x)
    if qtype not in T.NUMERIC and qtype not in T.TEMPORAL:
        raise QError("type")
    value = raw(x)
    return T.NAN if qtype in T.SIGNED and value == T.NULL[qtype] else value


def fixed(places: int, x: Value) -> str:
    """A number with a fixed number of decimals, half rounded up; in q's usual form if it is too large."""
    value = number(x)
    if value != value:
        return ""
    if value < 0:
        return "-" + fixed(places, -value)
    scaled = value * 10.0**places
    if not scaled < 9e15:
        return raw_text(T.F, float(value), running().settings.P)
    digits = str(math.floor(scaled + 0.5)).zfill(places + 1)
    return f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}"


@name(".Q.f", ".Q.f[places;x]")
def f(places: Value, x: Value) -> Value:
    """A number as text with x decimals.

    q).Q.f[2;9.996]
    "10.00"
    """
    return q_string(fixed(int_of(places), x))


@name(".Q.fmt", ".Q.fmt[width;places;x]")
def fmt(width: Value, places: Value, x: Value) -> Value:
    """A number as text of a fixed width with y decimals; stars if it does not fit.

    q).Q.fmt[8;2;3.14159]
    "    3.14"
    """
    number = int_of(width)
    text = fixed(int_of(places), x)
    return q_string(text.rjust(number) if len(text) <= number else "*" * number)


@internal(-27, "-27!(places;x)", ".Q")
def precise(x: Value) -> Value:
    """`-27!(places;x)`: numbers as text with a fixed number of decimals, rounded as in C.

    q)-27!(2i;1.235 2)
    "1.24"
    "2.00"
    """
    places, numbers = seq_items(x)
    decimals = int_of(places)
    if not is_atom(numbers):
        return List([precise(List([places, item])) for item in seq_items(numbers)])
    return q_string(f"{number(numbers):.{decimals}f}")


def clean(text: str) -> str:
    """Text reduced to the characters of a name, beginning with a letter."""
    cleaned = "".join(character for character in text if character in NAME)
    return cleaned if cleaned and cleaned[0] not in DIGITS + "_" else "a" + cleaned


@name(".Q.dd", ".Q.dd[x;y]")
def dd(x: Value, y: Value) -> Value:
    """Join symbols: with / after a file, else with a dot.

    q).Q.dd[`AAPL;`O]
    `AAPL.O
    q).Q.dd[`:dir;`file]
    `:dir/file
    """
    symbols = [x] if is_atom(x) else seq_items(x)
    suffix = string(y)
    suffixes = [suffix] if is_atom(y) or suffix.__class__ is Vec else seq_items(suffix)
    words = [text_of(word) for word in symbols] + [text_of(word) for word in suffixes]
    return sym(("/" if words[0].startswith(":") else ".").join(words))


@name(".Q.ty")
def ty(x: Value) -> Value:
    """The type character of a vector; in upper case for a list of such vectors; else a blank.

    q).Q.ty 1 2
    "j"
    q).Q.ty ("ab";"cd")
    "C"
    """
    return Atom(T.C, ord(type_char(x)))


def type_char(x: Value) -> str:
    """`.Q.ty` as a Python string."""
    qtype = x.t if x.__class__ is Vec else atom_t(x)
    if (x.__class__ is Vec or x.__class__ is EnumAtom) and qtype == T.ENUM:
        return enum_char(x.dom)
    if qtype:
        return T.TYPE[qtype].char
    if not isinstance(x, List) or not len(x):
        return " "
    kinds = {item.t if item.__class__ is Vec else 0 for item in x.items}
    (kind,) = kinds if len(kinds) == 1 else (0,)
    return T.TYPE[kind].char.upper() if kind else " "


@name(".Q.addmonths", ".Q.addmonths[date;n]")
def addmonths(x: Value, y: Value) -> Value:
    """Dates n months later, with the same day of the month; a day that does not exist runs over into the next month.

    q).Q.addmonths[2007.10.16;6 7]
    2008.04.16 2008.05.16
    """
    (date_type, days), (count_type, months) = one_array(x), one_array(y)
    if date_type != T.D or count_type not in (T.B, T.X, T.H, T.I, T.J):
        raise QError("type")
    missing = is_null(days, date_type) | is_null(months, count_type)
    filled = np.where(missing, 0, days.astype(np.int64))
    month = days_to_months(filled)
    result = months_to_days(month + np.where(missing, 0, months)) + filled - months_to_days(month)
    result = np.where(missing, T.NULL[T.D], result).astype(np.int32)
    return Vec(T.D, result) if Vec in (x.__class__, y.__class__) else Atom(T.D, int(result[0]))


# ------------------------------------------------------------------ encodings


@name(".Q.btoa")
def btoa(x: Value) -> Value:
    """A string in base 64.

    q).Q.btoa "kshell"
    "a3NoZWxs"
    """
    import base64

    return q_string(base64.b64encode(data_of(x)))


@name(".Q.atob")
def atob(x: Value) -> Value:
    """Decode a base 64 string.

    q).Q.atob "a3NoZWxs"
    "kshell"
    """
    import base64

    return q_string(base64.b64decode(data_of(x)))


@internal(-33, topic=".Q")
@name(".Q.sha1")
def sha1(x: Value) -> Value:
    """The SHA-1 hash of a string, as bytes.

    q).Q.sha1"abc"
    0xa9993e364706816aba3e25717850c26c9cd0d89d
    """
    import hashlib

    return Vec(T.X, np.frombuffer(hashlib.sha1(data_of(x)).digest(), np.uint8))


@name(".Q.gz", ".Q.gz x", ".Q.gz (level;x)")
def gz(x: Value) -> Value:
    """Unzip a string; for (level;x), zip x; for ::, whether zipping is available.

    q)"abc"~`char$.Q.gz .Q.gz(6;"abc")
    1b
    """
    if x is NIL:
        return True
    if x.__class__ is List and len(x) == 2:
        level, content = x.items
        if content.__class__ is not Vec:
            raise QError("type")
        compressor = zlib.compressobj(int_of(level), zlib.DEFLATED, 31)
        output = compressor.compress(data_of(content)) + compressor.flush()
        return Vec(content.t, np.frombuffer(output, np.uint8))
    problem = False
    output = b""
    try:
        output = zlib.decompress(data_of(x), 47)
    except zlib.error:
        problem = True
    if problem:
        raise QError("domain")
    return Vec(x.t if x.__class__ is Vec else T.C, np.frombuffer(output, np.uint8))


def encode(n: int, alphabet: str, width: int) -> str:
    """A number in the base of an alphabet, padded to a width."""
    text = ""
    for _ in range(width):
        n, digit = divmod(n, len(alphabet))
        text = alphabet[digit] + text
    return text


def decode(text: str, alphabet: str) -> Value:
    """Decode text in the base of an alphabet to a long."""
    number = 0
    for character in text:
        number = number * len(alphabet) + max(alphabet.find(character), 0)
    return long(number)


@name(".Q.x10")
def x10(x: Value) -> Value:
    """A long as ten base 64 characters.

    q).Q.x10 12345
    "AAAAAAADA5"
    """
    return q_string(encode(int_of(x), B64, 10))


@name(".Q.j10")
def j10(x: Value) -> Value:
    """Decode ten base 64 characters to a long.

    q).Q.j10 "AAAAAAADA5"
    12345
    """
    return decode(text_of(x), B64)


@name(".Q.x12")
def x12(x: Value) -> Value:
    """A long as twelve base 36 characters.

    q).Q.x12 12345
    "0000000009IX"
    """
    return q_string(encode(int_of(x), BASE36, 12))


@name(".Q.j12")
def j12(x: Value) -> Value:
    """Decode twelve base 36 characters to a long.

    q).Q.j12 "0000000009IX"
    12345
    """
    return decode(text_of(x), BASE36)


@name(".Q.addr")
def addr(x: Value) -> Value:
    """The IP address of a host, as an integer; -1i if it has none.

    q).Q.addr`localhost
    2130706433i
    """
    address = address_of(text_of(x))
    return Atom(T.I, -1 if address is None else address)


@name(".Q.host")
def host(x: Value) -> Value:
    """The host name for an IP address given as an integer.

    q).Q.host .Q.addr`localhost
    `localhost
    """
    import socket

    packed = (int_of(x) & 0xFFFFFFFF).to_bytes(4, "big")
    try:
        return sym(socket.gethostbyaddr(socket.inet_ntoa(packed))[0])
    except OSError:
        return sym("")
