"""Values for display: text as on the console, and tables as HTML, with as many rows as the console would show."""

from __future__ import annotations

from html import escape
from typing import Any

from kshell.lang.console.show import Layout, head, show_text
from kshell.lang.session.settings import Settings
from kshell.python.into import to_q
from kshell.python.objects import HTML, TEXT
from kshell.values.base import types as T
from kshell.values.base.core import Dict, Table, Value, Vec

_DOTS = ".."
_NUMBERS = T.SIGNED | T.FLOATS


def html(x: Value, settings: Any) -> str:
    """The HTML of a table or keyed table, with key columns as row headings; empty for any other value."""
    keys, values = (x.k, x.v) if x.__class__ is Dict and x.keyed else (Table([], []), x)
    if values.__class__ is not Table:
        return ""
    count, most = len(x), settings.c[0] - 3
    layout = Layout(settings.P, *settings.c)
    cut = count > most
    cols = [
        (
            name,
            layout.column(head(column, most - cut) if cut else column),
            tag,
            column.__class__ is Vec and column.t in _NUMBERS,
        )
        for part, tag in ((keys, "th"), (values, "td"))
        for name, column in zip(part.names, part.cols, strict=True)
    ]
    if cut:
        cols = [(name, [*texts, _DOTS], tag, right) for name, texts, tag, right in cols]
    title = "".join(f"<th>{escape(name)}</th>" for name, *_ in cols)
    rows = [
        "".join(
            f'<{tag} style="text-align:{"right" if right else "left"}">{escape(texts[i].rstrip())}</{tag}>'
            for _, texts, tag, right in cols
        )
        for i in range(len(cols[0][1]) if cols else 0)
    ]
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    note = f"<p>{count:,} rows</p>\n" if cut else ""
    return f"<table>\n<thead><tr>{title}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n{note}"


def _value(table: Any) -> Value:
    return to_q(table)


@TEXT.set
def plain(table: Any) -> str:
    """The console's text of a Python table."""
    return show_text(_value(table), Settings())


@HTML.set
def html_of(table: Any) -> str:
    """The HTML of a Python table."""
    return html(_value(table), Settings())
