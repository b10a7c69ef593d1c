"""`.z.ph`: the pages that the port serves to a browser, results in other formats, and files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from kshell import registry
from kshell.errors import QError, as_qerror, first_line
from kshell.lang.console.show import Layout
from kshell.lang.names.define import name
from kshell.lang.names.h import MIME, SAFE, escape, response, xml
from kshell.lang.names.web_style import document
from kshell.lang.tables.tables import is_table
from kshell.store.text import read_bytes
from kshell.values.base.build import enlist, string, text_bytes
from kshell.values.base.core import Dict, Value, atom_t, seq_items, sym_names, text_of
from kshell.values.base.symbols import sym
from kshell.values.engine.apply import apply, apply1
from kshell.values.session import memory
from kshell.values.session.context import running
from kshell.values.session.restrict import check_read, lifted

KEEP = 5000  # milliseconds for which a connection stays after a page
ROWS = 32  # of a table on one page
CLIENTS = 100  # whose last queries are kept
_FORMAT = re.compile(r"([^?/]*)\.(\w+)\?(.*)", re.DOTALL)
_ROW = re.compile(r"\?(?:\[|%5[Bb])(\d{1,15})$")
_POLICY = (
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; "
    "form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
)
_NO_SNIFFING = "X-Content-Type-Options: nosniff"


@name(".z.ph", effect="none")
def ph(x: Value) -> Value:
    """The response to a GET request, given as (text;headers): a page, the result of a query, or a file.

    The empty text is a page with a list of the variables and a line for queries; `?` is that list. `?` and a query give
    a page of its result, which `.h.val` evaluates; `?[n` shows the table of the last query from row n. `name.csv?` and
    a query give the result as a file, in a format of `.h.tx`. Anything else is a file below the folder `.h.HOME`. A
    program may assign another function; ``\\x .z.ph`` restores this one.

    q)first"\\r\\n"vs .z.ph("?1+1";()!())
    "HTTP/1.1 200 OK"
    q)last"\\r\\n"vs .z.ph("sums.csv?([]a:sums 1 2 3)";()!())
    "a\\n1\\n3\\n6"
    """
    text = text_of(seq_items(x)[0])
    problem = ""
    try:
        return string(_served(text))
    except Exception as e:
        problem = as_qerror(e).text
        e.__traceback__ = None  # its frames hold the result
    return string(_secured(text_bytes(_call(".h.he", string(problem)))))


def _served(text: str) -> bytes:
    """The response to a target."""
    if not text:
        return _page(_root())
    if text == "?":
        return _page(document("variables", _list(), "list"))
    if row := _ROW.match(text):
        return _page(_result(_last().get(_who(), ""), int(row[1])))
    if text.startswith("?"):
        return _page(_result(_unescaped(text[1:])))
    if text.startswith("ask?"):
        from urllib.parse import parse_qs

        return _page(_result("".join(parse_qs(text[4:]).get("x", []))))
    asked = _FORMAT.match(text)
    return _formatted(asked[2], _unescaped(asked[3])) if asked else _file(_unescaped(text))


# ------------------------------------------------------------------ pages


def _root() -> str:
    """The first page: a line for queries, the list of variables, and the first of them."""
    names = [found for _, group in _groups() for found, _ in group]
    shown = f"?{escape(names[0].encode(), SAFE)}" if names else "ask?x="
    form = (
        '<form action="ask" target="v"><input name="x" autofocus autocomplete="off" spellcheck="false" '
        'placeholder="a query, for example select from t" aria-label="query"><button>run</button></form>'
    )
    header = f'<header><b>kshell</b>{form}<a href="train">training</a></header>'
    frames = f'<iframe src="?" title="variables"></iframe><iframe name="v" src="{shown}" title="result"></iframe>'
    return document("kshell", header + frames, "page")


def _groups() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The names of the root by kind, each with a note: tables, views, variables, functions."""
    tables = _members("a")
    yield "tables", [(found, _rows(found)) for found in tables]
    yield "views", [(found, "") for found in _members("b")]
    yield "variables", [(found, "") for found in _members("v") if found not in tables]
    yield "functions", [(found, "") for found in _members("f")]


def _members(command: str) -> list[str]:
    return list(sym_names(registry.known("command", command).fns[1]("")))


def _rows(table: str) -> str:
    x = running().names.find(table)
    return f"{len(x):,}" if is_table(x) else ""


def _list() -> str:
    """The names of the root as links."""
    parts = []
    for kind, group in _groups():
        items = "".join(
            f'<li><a target="v" href="?{escape(found.encode(), SAFE)}">{xml(found)}</a> <small>{note}</small></li>'
            for found, note in group
        )
        parts.append(f"<h2>{kind}</h2><ul>{items}</ul>" if items else "")
    return "".join(parts) or "<p>No variables yet.</p>"


def _result(query: str, row: int | None = None) -> str:
    """The page of the result of a query; of a long table the rows from one on, under links to the others."""
    if not query.strip():
        return document("kshell", "<p>Type a query, or choose a name.</p>")
    value = apply1(running().names.get(".h.val"), string(query))
    if row is None:
        _remember(query)
    if is_table(value) and len(value) > ROWS:
        links, *lines = map(text_of, seq_items(_call(".h.jx", row or 0, value)))
        text = f"<nav>{links}</nav><pre>{xml(_text(lines).strip())}</pre>"
    else:
        settings = running().settings
        text = f"<pre>{xml(_text(Layout(settings.P, *settings.C).lines(value)))}</pre>"
    return document(xml(first_line(query, 60)), text)


def _text(lines: list[str]) -> str:
    return "\n".join(lines)


def _last() -> dict[tuple[str, int], str]:
    """The last query of each client, by user and address; none are kept without a port."""
    port = running().ipc
    found: dict[tuple[str, int], str] = {} if port is None else port.queries
    return found


def _remember(query: str) -> None:
    """It is the last query of this client. Only those of the last clients are kept."""
    last, who = _last(), _who()
    last.pop(who, None)
    last[who] = query
    if len(last) > CLIENTS:
        del last[next(iter(last))]


def _who() -> tuple[str, int]:
    port = running().ipc
    client = None if port is None else port.client
    return ("", 0) if client is None else (client.user, client.address)


# ------------------------------------------------------------------ formats and files


def _formatted(kind: str, query: str) -> bytes:
    """The result of a query in a format of `.h.tx`."""
    converters = running().names.get(".h.tx")
    if not isinstance(converters, Dict) or kind not in [text_of(key) for key in converters.k.items]:
        raise QError(f"{kind}: no format of .h.tx")
    value = apply1(running().names.get(".h.val"), string(query))
    whole = enlist(value) if kind == "json" and atom_t(value) else value
    lines = seq_items(apply1(apply1(converters, sym(kind)), whole))
    text = "\n".join(map(text_of, lines))
    return _secured(text_bytes(_call(".h.hy", sym(kind), string(text))))


def _file(path: str) -> bytes:
    """A file below the folder .h.HOME; none if that is not set, nor hidden files, nor those that links lead out to."""
    home = text_of(running().names.get(".h.HOME")).removeprefix(":")
    missing = _secured(text_bytes(response("404 Not Found", "txt", f"{path}: not found")))
    if not home or "\0" in path or any(part.startswith(".") for part in path.split("/")):
        return missing
    with lifted(confined=True):
        root = os.path.realpath(home)
        check_read(root)
        place = os.path.realpath(os.path.join(root, path.lstrip("/")))
        if not _is_inside(place, root) or not os.path.isfile(place):
            return missing
        data = _content(place)
    kind = MIME.get(place.rpartition(".")[2].lower(), "application/octet-stream")
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
    return b"".join((_secured(head.encode(), policy=False), data))


def _is_inside(place: str, root: str) -> bool:
    """Is a path, its links resolved, below a folder, and not hidden there?"""
    below = root.rstrip("/") + "/"
    return place.startswith(below) and "/." not in place[len(below) - 1 :]


def _content(place: str) -> bytes:
    """The bytes of a file; 'wsfull if they, and a copy of them in the response, do not fit the memory that is left."""
    try:
        size = os.path.getsize(place)
    except OSError:
        size = 0  # reading it says why
    if 2 * size >= memory.left():
        raise QError("wsfull")
    return read_bytes(place)


# ------------------------------------------------------------------ responses


def _page(html: str) -> bytes:
    return _secured(text_bytes(response("200 OK", "htm", html)))


def _secured(data: bytes, policy: bool = True) -> bytes:
    """A response with the headers that keep a browser from running anything in it; its connection is kept."""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [
        line
        for line in head.decode("utf-8", "surrogateescape").split("\r\n")
        if not line.lower().startswith("connection:")
    ]
    lines = [_with_charset(line) for line in lines]
    lines += [
        f"Connection: {text_of(_call('.h.ka', KEEP))}",
        _NO_SNIFFING,
        *([_POLICY] if policy else []),
    ]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def _with_charset(line: str) -> str:
    """A header line that says that text is UTF-8."""
    is_text = line.lower().startswith(("content-type: text/", "content-type: application/json"))
    return f"{line}; charset=utf-8" if is_text and ";" not in line else line


def _call(function: str, *args: Value) -> Value:
    return apply(running().names.get(function), list(args))


def _unescaped(text: str) -> str:
    return text_of(_call(".h.uh", string(text)))
