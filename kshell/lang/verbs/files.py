"""Files: text, bytes, binary values, and file names."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kshell.errors import QError, os_text
from kshell.lang.verbs import tok
from kshell.lang.verbs.table_lines import table_lines
from kshell.registry import verb
from kshell.store import atomic, fields, kdb, text, unfinished
from kshell.values.base import types as T
from kshell.values.base.build import collapse, string, table, text_bytes
from kshell.values.base.core import (
    NIL,
    Atom,
    List,
    ListValue,
    Value,
    Vec,
    atom_t,
    is_list,
    raw,
    seq_items,
    sym_names,
    sym_vec,
    text_of,
)
from kshell.values.base.symbols import Sym, sym
from kshell.values.items.rows import Rows, side_by_side, string_list, string_rows, strings_of
from kshell.values.session.context import running
from kshell.values.session.interrupts import edit
from kshell.values.session.progress import Task
from kshell.values.session.restrict import expanded, forbid, refuse


def path_of(x: Value, plain: bool = False) -> str:
    """The path of a file symbol `` `:path ``, or of a string in that form; anything else is 'type. With `plain`, a
    symbol may omit the colon, as for reading files and writing text."""
    text_ = x.s if x.__class__ is Sym else text_of(x) if x.__class__ is Vec and x.t == T.C else ""
    if text_[:1] != ":" and not (plain and text_ and x.__class__ is Sym):
        raise QError("type")
    return expanded(text_.removeprefix(":"))


def range_of(x: Value) -> tuple[str, int, int]:
    """Path, offset and length of `` `:f `` or `` (`:f;offset;length) ``."""
    if x.__class__ is not List:
        return path_of(x, True), 0, -1
    items = x.items
    if len(items) not in (2, 3) or any(atom_t(item) not in (T.J, T.I) for item in items[1:]):
        raise QError("type")
    return path_of(items[0], True), raw(items[1]), raw(items[2]) if len(items) == 3 else -1


@verb("hsym")
def hsym(x: Value) -> Value:
    """Make a file symbol from a symbol.

    q)hsym`data.csv
    `:data.csv
    """
    if x.__class__ is Sym:
        return x if x.s[:1] == ":" else sym(":" + x.s)
    if x.__class__ is Vec and x.t == T.S:
        return sym_vec([name if name[:1] == ":" else ":" + name for name in sym_names(x)])
    raise QError("type")


@verb("read0", effect="own")
def read0(x: Value) -> Value:
    """The lines of a text file, as strings; with an offset and length, those in that part of the file.

    q)`:/tmp/kshell_doc.txt 0:("ab";"cd");
    q)read0`:/tmp/kshell_doc.txt
    "ab"
    "cd"
    q)hdel`:/tmp/kshell_doc.txt;
    """
    if _is_handle(x):
        return from_handle(x, True)
    lines = strings_of(text.lines_of(text.read_bytes(*range_of(x))))
    return lines if lines.__class__ is List else List(lines.items)


@verb("read1", effect="own")
def read1(x: Value) -> Value:
    """The bytes of a file; with an offset and length, that part of the file.

    q)`:/tmp/kshell_doc.txt 0:enlist"ab";
    q)read1`:/tmp/kshell_doc.txt
    0x61620a
    q)hdel`:/tmp/kshell_doc.txt;
    """
    if _is_handle(x):
        return from_handle(x, False)
    return Vec(T.X, np.frombuffer(text.read_bytes(*range_of(x)), np.uint8))


def _is_handle(x: Value) -> bool:
    """Is it the handle of an open file or pipe, alone or with a byte count?"""
    handle = x.item(0) if is_list(x) and len(x) == 2 else x
    return atom_t(handle) in (T.I, T.J)


def from_handle(x: Value, lines: bool) -> Value:
    """A line, or a number of bytes, from the console (handle 0) or an open pipe."""
    limit = -1
    if is_list(x):
        limit = int(raw(x.item(1)))
        x = x.item(0)
    refuse("read0" if lines else "read1", "access")
    received = running().receive(int(raw(x)), limit)
    if not lines:
        return Vec(T.X, np.frombuffer(received, np.uint8))
    return (
        string(received.rstrip(b"\n"))
        if limit < 0
        else List([string(line) for line in text.lines_of(received)])
    )


@verb("hcount", effect="own")
def hcount(x: Value) -> Value:
    """The size of a file in bytes; of a compressed file, the uncompressed size.

    q)`:/tmp/kshell_doc.txt 0:enlist"ab";
    q)hcount`:/tmp/kshell_doc.txt
    3
    q)hdel`:/tmp/kshell_doc.txt;
    """
    return _os(lambda: kdb.size_of(path_of(x)))


@verb("hdel", effect="changes")
@edit("hdel")
def hdel(x: Value) -> Value:
    """Delete a file or an empty folder.

    q)`:/tmp/kshell_doc.txt 0:enlist"ab";
    q)hdel`:/tmp/kshell_doc.txt
    `:/tmp/kshell_doc.txt
    """
    forbid("hdel")
    path = path_of(x)
    problem: OSError | None = None
    try:
        if os.path.isdir(path):
            unfinished.clean(path)
            os.rmdir(path)
        else:
            unfinished.settle(os.path.dirname(path) or ".")
            os.unlink(path)
        return x
    except OSError as e:
        problem = e
    raise QError(f"{path}: {problem.strerror}")


def _os(work: Callable[[], Value]) -> Value:
    problem: OSError | None = None
    try:
        return work()
    except OSError as e:
        problem = e
    raise QError(os_text(problem))


# ------------------------------------------------------------------ 0: text


@verb("0:", effect="own")
def text_file(x: Value, y: Value) -> Value:
    """Text files: save lines, format a table as lines, or load typed columns.

    q)csv 0:([]a:1 2;b:`x`y)
    "a,b"
    "1,x"
    "2,y"
    q)("JS";",")0:("1,x";"2,y")
    1 2
    x y
    q)("JS";enlist",")0:("a,b";"1,x";"2,y")
    a b
    ---
    1 x
    2 y
    """
    if x.__class__ is Sym:
        return save_lines(x, y)
    if x.__class__ is Atom and x.t == T.C:
        return table_lines(y, bytes((x.v,)))
    if x.__class__ is Vec and x.t == T.C:
        return key_value(text_of(x), y)
    if x.__class__ is List and len(x) in (2, 3):
        multiline = len(x) == 3 and raw(x.items[2]) != 0
        return load_text(x.items[0], x.items[1], y, multiline)
    raise QError("type")


def save_lines(file: Value, lines: Value) -> Value:
    """Write strings as the lines of a file."""
    refuse("0:")
    if lines.__class__ is Vec and lines.t == T.C:
        raise QError("type")
    rows = string_rows(lines)
    if rows is None:
        content = b"".join(text_bytes(item) + b"\n" for item in seq_items(lines))
    else:
        content = side_by_side([rows], b"", b"\n")[0].tobytes()
    atomic.write_bytes(path_of(file, True), content)
    return file


def _source(y: Value) -> bytes:
    """The text to load: from a file symbol (and range), a string, or a list of lines."""
    if y.__class__ is Sym or (y.__class__ is List and len(y) and y.items[0].__class__ is Sym):
        return text.read_bytes(*range_of(y))
    if y.__class__ is Vec and y.t == T.C:
        return text_bytes(y)
    return b"\n".join(text_bytes(item) for item in seq_items(y))


def _separator(form: Value) -> bytes:
    """The delimiter between fields; empty if none."""
    if form.__class__ is Atom and form.t == T.C:
        return bytes((raw(form),))
    if form.__class__ is Vec and form.t == T.C and len(form) == 1:
        return bytes((int(form.a[0]),))
    return b""


def load_text(types: Value, form: Value, y: Value, breaks: bool = False) -> Value:
    """`(types;sep)0:y`, `(types;enlist sep)0:y`, `(types;widths)0:y`; with `breaks`, quoted fields may contain line
    breaks."""
    codes = text_of(types)
    single = y.__class__ is Vec and y.t == T.C
    content = _source(y)
    if form.__class__ is Vec and form.t in (T.J, T.I, T.H):
        if len(form) != len(codes):
            raise QError("length")
        return _typed(codes, text.fixed(content, [int(width) for width in form.a]), single)
    header = form.__class__ is not Atom
    if header and form.__class__ is List and len(form) == 1:
        form = form.items[0]
    separator = _separator(form)
    whole = fields.fields_of(content, separator, breaks) if separator and not single else None
    if whole is not None:
        del content
        return _from_fields(codes, whole, header)
    if form.__class__ is Atom and form.t == T.C and not header:
        return _typed(codes, text.columns(content, bytes((form.v,)), len(codes), breaks), single)
    if separator:
        columns = text.columns(content, separator, len(codes), breaks)
        names = [
            column[0].decode("utf-8", "surrogateescape").strip() if column else ""
            for column in columns
        ]
        table_names = [name for name, code in zip(names, codes, strict=True) if code != " "]
        return table(table_names, _typed_columns(codes, [column[1:] for column in columns]))
    raise QError("type")


# rows per block, so that their text stays in the cache while the columns are parsed
_BLOCK = 1 << 15


def _from_fields(codes: str, whole: fields.Fields, header: bool) -> Value:
    """Parse fields into columns of the types, all at once; with a header, into a table."""
    loaded = [(index, code) for index, code in enumerate(codes) if code != " "]
    progress, first_row = Task("loading", len(loaded), "columns"), int(header)
    makers = [
        (index, (_Characters if code in "Cc" else _Maker)(code, whole.rows - first_row))
        for index, code in loaded
    ]
    for begin in range(first_row, whole.rows, _BLOCK):
        for index, maker in makers:
            maker.add(
                begin - first_row, whole.column(index, begin, min(begin + _BLOCK, whole.rows))
            )
    columns: list[ListValue] = []
    for _, maker in makers:
        columns.append(maker.done())
        progress.add()
    if not header:
        return List([*columns])
    return table(
        [
            whole.column(index, 0, 1).item(0).decode("utf-8", "surrogateescape").strip()
            for index, _ in loaded
        ],
        columns,
    )


class _Maker:
    """A column of a type, built from one block of rows after another."""

    def __init__(self, code: str, size: int) -> None:
        self.t = T.C if code == "*" else type_of_code(code)
        self.texts: list[Any] = []
        self.symbols = tok.Symbols() if self.t == T.S else None
        self.out = np.empty(size, np.int64 if code == "*" else T.DTYPE[self.t])

    def add(self, at: int, rows: Rows) -> None:
        """Add a block of rows."""
        block = self.out[at : at + len(rows)]
        if self.t == T.C:
            self.texts.append(rows.joined())
            block[:] = rows.sizes
        else:
            block[:] = (
                tok.tok_vec(self.t, rows).a if self.symbols is None else self.symbols.of(rows)
            )

    def done(self) -> ListValue:
        """The column."""
        return (
            Vec(self.t, self.out)
            if self.t != T.C
            else string_list(np.concatenate([np.zeros(0, np.uint8), *self.texts]), self.out)
        )


class _Characters:
    """A column of characters (strings, if a field is longer), built from all blocks at the end."""

    def __init__(self, code: str, _size: int) -> None:
        self.code = code
        self.items: list[bytes] = []

    def add(self, _at: int, rows: Rows) -> None:
        """Add a block of rows."""
        self.items += rows.items()

    def done(self) -> ListValue:
        """The column."""
        return _characters(self.items) if self.code == "C" else tok.tok_strings(T.C, self.items)


def _characters(col: Sequence[bytes]) -> ListValue:
    """A column of characters, null where a field is empty; of strings, if a field is longer."""
    return tok.tok_strings(
        T.C, [field or b" " for field in col] if all(len(field) < 2 for field in col) else list(col)
    )


def _typed(codes: str, cols: list[list[bytes]], one: bool) -> Value:
    """Columns of text converted to the types; a blank type skips its column. A single line of text gives atoms."""
    columns = _typed_columns(codes, cols)
    if not one or any(len(column) != 1 for column in cols):
        return List([*columns])
    return collapse([column.item(0) if len(column) else column for column in columns])


def _typed_columns(codes: str, cols: list[list[bytes]]) -> list[ListValue]:
    columns: list[ListValue] = []
    progress = Task("loading", len(cols), "columns")
    for code, column in zip(codes, cols, strict=True):
        progress.add()
        if code == " ":
            continue
        columns.append(
            strings_of(column)
            if code == "*"
            else _characters(column)
            if code == "C"
            else tok.tok_strings(type_of_code(code), column)
        )
    return columns


def type_of_code(code: str) -> int:
    """The type number for a type character such as "J" in a load specification."""
    qtype = T.BY_CHAR.get(code.lower())
    if qtype is None:
        raise QError("type")
    return qtype.num


def key_value(form: str, y: Value) -> Value:
    """`"S=;"0:text`: key-value pairs. The characters give the key type, the separator of key and value, and the
    separator of pairs; an asterisk before the last one allows it in quoted values."""
    if len(form) not in (3, 4) or (len(form) == 4 and form[2] != "*"):
        raise QError("length" if len(form) not in (3, 4) else "type")
    if form[0] not in "SIJ":
        raise QError("IJS")
    content, separator = text_bytes(y), form[-1].encode("latin-1")
    pieces = text.split_pairs(content, separator) if len(form) == 4 else content.split(separator)
    pairs = [piece.partition(form[1].encode("latin-1")) for piece in pieces if piece]
    keys = tok.tok_strings(type_of_code(form[0]), [key for key, _, _ in pairs])
    values = [value.strip(b'"') if len(form) == 4 else value for _, _, value in pairs]
    return List([keys, List([string(value) for value in values])])


# ------------------------------------------------------------------ environment


@verb("getenv")
def getenv(x: Value) -> Value:
    """The value of an environment variable; an empty string if not set.

    q)getenv`NO_SUCH_VARIABLE
    ""
    """
    if x.__class__ is not Sym:
        raise QError("type")
    return string(os.environ.get(x.s, ""))


@verb("setenv", effect="changes")
@edit("setenv")
def setenv(x: Value, y: Value) -> Value:
    """Set an environment variable to a string.

    q)`KSHELL_DOC setenv"yes"
    q)getenv`KSHELL_DOC
    "yes"
    """
    if x.__class__ is not Sym or y.__class__ is Sym:
        raise QError("type")
    os.environ[x.s] = text_of(y)
    return NIL
