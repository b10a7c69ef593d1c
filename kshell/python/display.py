"""Values for display: text as on the console, and tables as HTML, with as many rows as the console would show."""

from __future__ import annotations

from html import escape

from kshell.lang.console.show import Layout, head, show_text
from kshell.lang.session.settings import Settings
from kshell.python import objects
from kshell.python.into import to_q
from kshell.python.objects import HTML, TEXT
from kshell.values.base import types as T
from kshell.values.base.core import Dict, Table, Value, Vec

_DOTS = ".."
_NUMBERS = T.SIGNED | T.FLOATS


def html(x: Value, settings: Settings) -> str:
    """The HTML of a table or keyed table, with key columns as row headings; empty for any other value."""
    if x.__class__ is Dict and x.keyed:
        keys, values = x.tables
    elif x.__class__ is Table:
        keys, values = Table([], []), x
    else:
        return ""
    count, max_rows = len(values), settings.c[0] - 3
    layout = Layout(settings.P, *settings.c)
    clipped = count > max_rows
    columns = [
        (
            name,
            layout.column(head(column, max_rows - clipped) if clipped else column),
            tag,
            column.__class__ is Vec and column.t in _NUMBERS,
        )
        for side, tag in ((keys, "th"), (values, "td"))
        for name, column in zip(side.names, side.cols, strict=True)
    ]
    if clipped:
        columns = [(name, [*texts, _DOTS], tag, right) for name, texts, tag, right in columns]
    title = "".join(f"<th>{escape(name)}</th>" for name, *_ in columns)
    rows = [
        "".join(
            f'<{tag} style="text-align:{"right" if right else "left"}">{escape(texts[index].rstrip())}</{tag}>'
            for _, texts, tag, right in columns
        )
        for index in range(len(columns[0][1]) if columns else 0)
    ]
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    note = f"<p>{count:,} rows</p>\n" if clipped else ""
    return f"<table>\n<thead><tr>{title}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n{note}"


def _value(table: objects.Table) -> Value:
    return to_q(table)


@TEXT.set
def plain(table: objects.Table) -> str:
    """The console's text of a Python table."""
    return show_text(_value(table), Settings())


@HTML.set
def html_of(table: objects.Table) -> str:
    """The HTML of a Python table."""
    return html(_value(table), Settings())
