"""The .h namespace: workbooks, pages for a table, frames, and parts of a web console."""

from __future__ import annotations

import os
from itertools import groupby

import numpy as np

from kshell import registry
from kshell.errors import QError
from kshell.lang.console.show import Layout
from kshell.lang.names.define import constant, name, verb
from kshell.lang.names.h import code_of, element, escape, lines_value, links, page, plain, xml
from kshell.lang.tables.tables import is_table, unkeyed
from kshell.lang.verbs.lists import int_of
from kshell.lang.verbs.text import string as to_string
from kshell.store import atomic
from kshell.store import text as files
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import Dict, List, Table, Value, Vec, seq_items, sym_vec, text_of
from kshell.values.base.functions import Prim
from kshell.values.base.symbols import Sym, sym
from kshell.values.items.pick import take_at
from kshell.values.session.context import running

_HEAD = '<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>'
_OFFICE = "urn:schemas-microsoft-com:office"
_BOOK = (
    f'<Workbook xmlns="{_OFFICE}:spreadsheet" xmlns:o="{_OFFICE}:office" xmlns:x="{_OFFICE}:excel" '
    f'xmlns:ss="{_OFFICE}:spreadsheet">'
)
_BOOKS = f'<Workbook xmlns="{_OFFICE}:spreadsheet" xmlns:ss="{_OFFICE}:spreadsheet">'
_NUMBERS = T.NUMERIC - {T.B, T.X}

constant(
    ".h.logo",
    string('<a href="https://pypi.org/project/kshell">kshell</a>'),
    "The text at the top of a page.",
    'q).h.logo\n"<a href=\\"https://pypi.org/project/kshell\\">kshell</a>"',
)


# ------------------------------------------------------------------ workbooks


def cells(col: Value) -> list[str]:
    """The cells of a workbook column."""
    cell_type = "Number" if col.__class__ is Vec and col.t in _NUMBERS else "String"
    texts = [
        plain(item)
        for item in (seq_items(to_string(col)) if col.__class__ is Vec else seq_items(col))
    ]
    return [
        f'<Cell><Data ss:Type="{cell_type}">{xml(text)}</Data></Cell>' if text else "<Cell/>"
        for text in texts
    ]


def sheet(title: str, t: Table) -> str:
    """A table as a workbook sheet."""
    header = "".join(f'<Cell><Data ss:Type="String">{xml(name)}</Data></Cell>' for name in t.names)
    rows = ["".join(row) for row in zip(*map(cells, t.cols), strict=True)]
    body = "".join(f"<Row>{row}</Row>" for row in [header, *rows])
    return f'<Worksheet ss:Name="{xml(title)}"><Table>{body}</Table></Worksheet>'


def workbook(sheets: list[tuple[str, Table]], book: str = _BOOK) -> Value:
    return lines_value(
        [_HEAD, book + "".join(sheet(title, table) for title, table in sheets) + "</Workbook>"]
    )


@name(".h.ed")
def ed(x: Value) -> Value:
    """A table as the XML of an Excel workbook, in two lines.

    q)count .h.ed ([]a:1 2)
    2
    """
    return workbook([("Sheet1", unkeyed(x))])


@name(".h.edsn")
def edsn(x: Value) -> Value:
    """A dictionary of tables as the XML of an Excel workbook, one sheet per table.

    q)count .h.edsn`a`b!2#enlist([]a:1 2)
    2
    """
    if x.__class__ is not Dict or x.keyed:
        raise QError("type")
    return workbook(
        [
            (plain(title), unkeyed(table))
            for title, table in zip(seq_items(x.k), seq_items(x.v), strict=True)
        ],
        _BOOKS,
    )


def _add_excel() -> None:
    """Add workbooks to `.h.tx`."""
    entry = registry.find("name", ".h.tx")
    if entry is not None:
        converters = entry.fns[0]()
        extended = Dict(
            sym_vec([*(symbol.s for symbol in converters.k.items), "xls"]),
            List([*converters.v.items, Prim(".h.tx.xls", {1: ed})]),
        )
        entry.fns[0] = lambda: extended


_add_excel()


# ------------------------------------------------------------------ pages


@name(".h.fram", ".h.fram[title;lines;(left;right)]")
def fram(title: Value, lines: Value, sources: Value) -> Value:
    """A page with two frames, the left one wide enough for the lines.

    q).h.fram["t";("ab";"cd");("l.htm";"r.htm")]
    "<html><head><title>t</title><frameset cols=\\"28,*\\"><frame src=\\"l.htm\\"><fr..
    """
    left, right = map(text_of, seq_items(sources))
    return string(frames(text_of(title), [text_of(item) for item in seq_items(lines)], left, right))


def frames(title: str, lines: list[str], left: str, right: str) -> str:
    width = 12 + 8 * max(map(len, lines), default=0)
    sources = f'<frame src="{left}"><frame name=v src="{right}">'
    return element(
        "html",
        element(
            "head", element("title", title) + element("frameset", sources, f' cols="{width},*"')
        ),
    )


@name(".h.hug")
def hug(x: Value) -> Value:
    """The URI form of each character: itself if it is in the given set, else its escape.

    q).h.hug["abc"]"a/"
    ,"a"
    "%2f"
    """
    unescaped = text_of(x)
    chars = Vec(T.C, np.arange(256, dtype=np.uint8))
    return Dict(chars, List([string(escape(bytes((byte,)), unescaped)) for byte in range(256)]))


@name(".h.jx", ".h.jx[row;table]")
def jx(n: Value, x: Value) -> Value:
    """The rows of a table from a given one on, as many as fit, under navigation links.

    q)count .h.jx[0;([]a:1 2)]
    6
    """
    table = running().names.get(x.s) if x.__class__ is Sym else x
    if not is_table(table):
        return lines_value(Layout(running().settings.P, *running().settings.C).lines(table))
    start, rows, size = int_of(n), 32, len(table)
    places = {
        "home": 0,
        "up": max(start - rows, 0),
        "down": min(start + rows, max(size - 1, 0)),
        "end": max(size - rows, 0),
    }
    links = " ".join(element("a", key, f' href="?[{value}"') for key, value in places.items())
    shown = take_at(unkeyed(table), np.arange(start, min(start + rows, size)))
    lines = Layout(running().settings.P, 1 << 30, 1 << 30).lines(shown)
    return lines_value([f"{links} {size}[{start}]", "", *lines])


@name(".h.val")
def val(x: Value) -> Value:
    """The function that evaluates web console requests: value, unless a program assigns another.

    q).h.val "1+1"
    2
    """
    return verb("value", 1)(x)


@name(".h.ka")
def ka(x: Value) -> Value:
    """The HTTP connection header for an idle time in milliseconds: close or keep-alive. In a handler of HTTP, its
    connection stays open for that long after the answer.

    q).h.ka 0i
    "close"
    """
    milliseconds, port = max(0, int_of(x)), running().ipc
    if port is not None:
        port.keep = milliseconds / 1000
    return string("keep-alive" if milliseconds else "close")


@name(".h.ht")
def ht(x: Value) -> Value:
    """Make pages from the text src/x.txt: a/x.htm has its content, a/_x.htm its headings, x.htm shows both in frames.
    Headings begin with a dot, code with a tab. Lines that begin with a blank are kept as they are, in columns, where
    the second column begins with a tab and a blank; a second line of dashes becomes a rule.

    q)system"mkdir -p src";`:src/page.txt 0:(".Title";"Some text.");
    q).h.ht`page
    `:page.htm
    q)`page.htm in key`:.
    1b
    """
    if x.__class__ is not Sym:
        raise QError("type")
    elements, headings = _content(
        files.lines_of(files.read_bytes(os.path.join("src", x.s + ".txt")))
    )
    list_ = [
        element("p", element("a", heading, f" target=v href={x.s}.htm#{number}"))
        for number, heading in enumerate(headings, 1)
    ]
    pages = {
        f"{x.s}.htm": frames(x.s, headings, f"a/_{x.s}.htm", f"a/{x.s}.htm"),
        f"a/_{x.s}.htm": page("\n".join(list_)),
        f"a/{x.s}.htm": page("\n".join(elements)),
    }
    atomic.write_all(
        [
            (filename, atomic.filling([content.encode("utf-8", "surrogateescape")]))
            for filename, content in pages.items()
        ]
    )
    return sym(f":{x.s}.htm")


def _content(read: list[bytes]) -> tuple[list[str], list[str]]:
    """The elements of a page, built from its text lines, and its headings."""
    elements: list[str] = []
    headings: list[str] = []
    for kind, group in groupby(
        (line_bytes.decode("utf-8", "surrogateescape") for line_bytes in read), _kind
    ):
        lines = list(group)
        if kind == ".":
            for line in lines:
                headings.append(line[1:].strip())
                elements.append(element("h3", element("a", headings[-1], f" name={len(headings)}")))
        elif kind == "\t":
            elements += [element("p", code_of(line)) for line in lines]
        elif kind == " ":
            elements.append(element("xmp", "\n".join(_columns(lines))))
        else:
            elements += [element("p", links(code_of(line))) for line in lines if line]
    return elements, headings


def _kind(line: str) -> str:
    """The first character of a line, if it is markup; else empty."""
    return line[:1] if line[:1] in (".", "\t", " ") else ""


def _columns(lines: list[str]) -> list[str]:
    """Lines kept as they are, without their blank, in two aligned columns; under a header, a rule of the same width."""
    rows = [line[1:].split("\t ", 1) for line in lines]
    width = max((len(row[0]) for row in rows if len(row) > 1), default=0)
    texts = [f"{row[0]:{width}} {row[1]}" if len(row) > 1 else row[0] for row in rows]
    if len(texts) > 1 and texts[1].startswith("-"):
        texts[1] = "-" * max(len(texts[0]), len(texts[1]))
    return texts
