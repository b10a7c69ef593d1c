"""The .h namespace: workbooks, pages of a table, frames, and what a web console is made of."""

from __future__ import annotations

import os

import numpy as np

from kshell import registry
from kshell.errors import QError
from kshell.lang.names.define import constant, name, verb
from kshell.lang.names.h_ import code_of, element, escape, lines_value, page, plain, xml
from kshell.lang.names.q_ import whole
from kshell.lang.names.q_data import is_table, unkeyed
from kshell.lang.show import Layout
from kshell.lang.verbs.text import string as to_string
from kshell.store import atomic
from kshell.store import text as files
from kshell.values import types as T
from kshell.values.build import string, sym_vec
from kshell.values.context import running
from kshell.values.core import Dict, List, Sym, Table, Value, Vec, seq_items, sym, text_of
from kshell.values.index import take_at

_HEAD = '<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>'
_OFFICE = "urn:schemas-microsoft-com:office"
_BOOK = (f'<Workbook xmlns="{_OFFICE}:spreadsheet" xmlns:o="{_OFFICE}:office" xmlns:x="{_OFFICE}:excel" '
         f'xmlns:ss="{_OFFICE}:spreadsheet">')
_BOOKS = f'<Workbook xmlns="{_OFFICE}:spreadsheet" xmlns:ss="{_OFFICE}:spreadsheet">'
_NUMBERS = T.NUMERIC - {T.B, T.X}

constant(".h.logo", string('<a href="https://pypi.org/project/kshell">kshell</a>'), "The text at the head of a page.",
         'q).h.logo\n"<a href=\\"https://pypi.org/project/kshell\\">kshell</a>"')


# ------------------------------------------------------------------ workbooks


def cells(col: Value) -> list[str]:
    """The cells of a column of a workbook."""
    kind = "Number" if col.__class__ is Vec and col.t in _NUMBERS else "String"
    texts = [plain(v) for v in (seq_items(to_string(col)) if col.__class__ is Vec else seq_items(col))]
    return [f'<Cell><Data ss:Type="{kind}">{xml(s)}</Data></Cell>' if s else "<Cell/>" for s in texts]


def sheet(title: str, t: Table) -> str:
    """A table as a sheet of a workbook."""
    head = "".join(f'<Cell><Data ss:Type="String">{xml(n)}</Data></Cell>' for n in t.names)
    rows = ["".join(row) for row in zip(*map(cells, t.cols), strict=True)]
    body = "".join(f"<Row>{row}</Row>" for row in [head, *rows])
    return f'<Worksheet ss:Name="{xml(title)}"><Table>{body}</Table></Worksheet>'


def workbook(sheets: list[tuple[str, Table]], book: str = _BOOK) -> Value:
    return lines_value([_HEAD, book + "".join(sheet(n, t) for n, t in sheets) + "</Workbook>"])


@name(".h.ed")
def ed(x: Value) -> Value:
    """A table as the XML of an Excel workbook, in two lines.

    q)count .h.ed ([]a:1 2)
    2
    """
    return workbook([("Sheet1", unkeyed(x))])


@name(".h.edsn")
def edsn(x: Value) -> Value:
    """A dictionary of tables as the XML of an Excel workbook, a sheet for each.

    q)count .h.edsn`a`b!2#enlist([]a:1 2)
    2
    """
    if x.__class__ is not Dict or x.keyed:
        raise QError("type")
    return workbook([(plain(k), unkeyed(t)) for k, t in zip(seq_items(x.k), seq_items(x.v), strict=True)], _BOOKS)


def _add_excel() -> None:
    """`.h.tx` has workbooks too."""
    from kshell.values.functions import Prim

    entry = registry.find("name", ".h.tx")
    if entry is not None:
        old = entry.fns[0]()
        new = Dict(sym_vec([*(k.s for k in old.k.items), "xls"]), List([*old.v.items, Prim(".h.tx.xls", {1: ed})]))
        entry.fns[0] = lambda: new


_add_excel()


# ------------------------------------------------------------------ pages


@name(".h.fram", ".h.fram[title;lines;(left;right)]")
def fram(title: Value, lines: Value, sources: Value) -> Value:
    """A page of two frames, the left one wide enough for the lines.

    q).h.fram["t";("ab";"cd");("l.htm";"r.htm")]
    "<html><head><title>t</title><frameset cols=\\"28,*\\"><frame src=\\"l.htm\\"><fr..
    """
    width = 12 + 8 * max((len(s) for s in seq_items(lines)), default=0)
    left, right = map(text_of, seq_items(sources))
    frames = f'<frame src="{left}"><frame name=v src="{right}">'
    return string(element("html", element("head", element("title", text_of(title))
                                          + element("frameset", frames, f' cols="{width},*"'))))


@name(".h.hug")
def hug(x: Value) -> Value:
    """For each character its form in a URI: itself if it is among those given, else its escape.

    q).h.hug["abc"]"a/"
    ,"a"
    "%2f"
    """
    keep = text_of(x)
    chars = Vec(T.C, np.arange(256, dtype=np.uint8))
    return Dict(chars, List([string(escape(bytes((b,)), keep)) for b in range(256)]))


@name(".h.jx", ".h.jx[row;table]")
def jx(n: Value, x: Value) -> Value:
    """The rows of a table from one on, as many as fit, under links to others.

    q)count .h.jx[0;([]a:1 2)]
    6
    """
    t = running().names.get(x.s) if x.__class__ is Sym else x
    if not is_table(t):
        return lines_value(Layout(running().settings.P, *running().settings.C).lines(t))
    start, rows, size = whole(n), 32, len(t)
    places = {"home": 0, "up": max(start - rows, 0), "down": min(start + rows, max(size - 1, 0)),
              "end": max(size - rows, 0)}
    head = " ".join(element("a", k, f' href="?[{v}"') for k, v in places.items())
    part = take_at(unkeyed(t), np.arange(start, min(start + rows, size)))
    lines = Layout(running().settings.P, 1 << 30, 1 << 30).lines(part)
    return lines_value([f"{head} {size}[{start}]", "", *lines])


@name(".h.val")
def val(x: Value) -> Value:
    """What a web console evaluates requests with: value, unless a program assigns another function.

    q).h.val "1+1"
    2
    """
    return verb("value", 1)(x)


@name(".h.ka")
def ka(x: Value) -> Value:
    """How a connection of HTTP goes on, by its idle time: close, or keep-alive.

    q).h.ka 0i
    "close"
    """
    return string("keep-alive" if whole(x) else "close")


@name(".h.ht")
def ht(x: Value) -> Value:
    """Make the page x.htm of the text src/x.txt: headings begin with a dot, code with a tab, examples with a blank.

    q)system"mkdir -p src";`:src/page.txt 0:(".Title";"Some text.");
    q).h.ht`page
    `:page.htm
    q)`page.htm in key`:.
    1b
    """
    if x.__class__ is not Sym:
        raise QError("type")
    out = []
    for raw in files.lines_of(files.read_bytes(os.path.join("src", x.s + ".txt"))):
        line = raw.decode("utf-8", "surrogateescape")
        if line.startswith("."):
            out.append(element("h3", line[1:].strip()))
        elif line.startswith("\t"):
            out.append(code_of(line))
        elif line.startswith(" "):
            out.append(element("xmp", line))
        else:
            out.append(element("p", line))
    path = x.s + ".htm"
    atomic.write_bytes(path, page("\n".join(out)).encode("utf-8", "surrogateescape"))
    return sym(":" + path)


