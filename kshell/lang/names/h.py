"""The .h namespace: markup, and tables as delimited text, XML or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from kshell import registry
from kshell.errors import QError
from kshell.lang.console.json import Writer
from kshell.lang.console.json import read as read_json
from kshell.lang.names.define import constant, name, verb
from kshell.lang.names.q_core import NAME
from kshell.lang.tables.tables import is_table, unkeyed
from kshell.lang.verbs.text import string as to_string
from kshell.values.base import types as T
from kshell.values.base.build import collapse, data_of, empty, enlist, string
from kshell.values.base.core import (
    Atom,
    Dict,
    List,
    Table,
    Value,
    Vec,
    atom_t,
    char,
    is_list,
    seq_items,
    sym_vec,
    text_of,
)
from kshell.values.base.functions import Prim
from kshell.values.base.symbols import Sym
from kshell.values.engine.cast import cast_value
from kshell.values.session.context import running

V = TypeVar("V", bound=Value)
SAFE = "$-.+!*'()," + NAME
LINK, VISITED = "024C7E", "958600"
ANCHOR = f"a{{text-decoration:none}}a:link{{color:{LINK}}}a:visited{{color:{LINK}}}a:active{{color:{VISITED}}}"
BODY = "body{font:10pt verdana;text-align:justify}"
MIME = {
    "htm": "text/html", "html": "text/html", "csv": "text/comma-separated-values", "txt": "text/plain",
    "xml": "text/plain", "xls": "application/msexcel", "gif": "image/gif", "json": "application/json",
    "js": "application/javascript", "css": "text/css", "png": "image/png", "jpg": "image/jpeg", "svg": "image/svg+xml",
    "ico": "image/x-icon", "pdf": "application/pdf", "zip": "application/zip",
}  # fmt: skip

constant(".h.br", string("<br>"), "A line break in HTML.", 'q).h.br\n"<br>"')
constant(".h.c0", sym_vec([LINK]).item(0), "The colour of links.", "q).h.c0\n`024C7E")
constant(".h.c1", sym_vec([VISITED]).item(0), "The colour of active links.", "q).h.c1\n`958600")
constant(
    ".h.d",
    char(" "),
    "The separator of nested-column items in delimited text.",
    'q).h.d\n" "',
)
constant(
    ".h.sa",
    string(ANCHOR),
    "The style sheet for links.",
    'q).h.sa\n"a{text-decoration:none}a:link{color:024C7E}a:visited{color:024C7E}a:active{c..',
)
constant(
    ".h.sb",
    string(BODY),
    "The style sheet for pages.",
    'q).h.sb\n"body{font:10pt verdana;text-align:justify}"',
)
constant(
    ".h.sc",
    string(SAFE),
    "The characters that need no escape in a URI.",
    'q).h.sc\n"$-.+!*\'(),abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"',
)
constant(".h.HOME", string(""), "The root folder of the web server.", 'q).h.HOME\n""')
constant(
    ".h.HOSTS",
    empty(T.S),
    "The names of this machine that a request of HTTP may use, besides localhost and the host of `-p`.",
    "q).h.HOSTS\n`symbol$()",
)
constant(
    ".h.ORIGINS",
    empty(T.S),
    'The sites whose pages may send requests of HTTP, each as ``$"https://host" ``.',
    "q).h.ORIGINS\n`symbol$()",
)
constant(
    ".h.ty",
    Dict(sym_vec(MIME), List([string(value) for value in MIME.values()])),
    "The media type for each file type.",
    'q).h.ty`csv`json\n"text/comma-separated-values"\n"application/json"',
)


def plain(x: Value) -> str:
    """A string, char or symbol as Python text; for anything else, its `string`."""
    if (
        x.__class__ is Sym
        or (x.__class__ is Vec and x.t == T.C)
        or (x.__class__ is Atom and x.t == T.C)
    ):
        return text_of(x)
    return text_of(to_string(x))


def lines_value(lines: list[str]) -> List:
    return List([string(line) for line in lines])


# ------------------------------------------------------------------ delimited text


def delimited(x: Value, sep: str, strings: bool = False) -> Value:
    """A table, or a list of columns, as lines of delimited text; items of nested columns are joined by `.h.d`. With
    `strings`, strings stay unchanged."""
    separator = text_of(running().names.get(".h.d"))
    if is_table(x):
        table = unkeyed(x)
        return verb("0:", 2)(
            char(sep),
            Table(table.names, [flat(column, separator, strings) for column in table.cols]),
        )
    return verb("0:", 2)(char(sep), List([flat(item, separator, strings) for item in seq_items(x)]))


def flat(column: V, inner: str, strings: bool) -> V | List:
    """A column with its nested items as text."""
    if not isinstance(column, List):
        return column
    return List(
        [
            item
            if not is_list(item) or (strings and item.__class__ is Vec and item.t == T.C)
            else string(inner.join(map(plain, seq_items(item))))
            for item in column.items
        ]
    )


@name(".h.cd")
def cd(x: Value) -> Value:
    """A table or list of columns as comma-separated lines.

    q).h.cd ([]a:1 2;b:`x`y)
    "a,b"
    "1,x"
    "2,y"
    """
    return delimited(x, ",")


@name(".h.td")
def td(x: Value) -> Value:
    """A table as tab-separated lines.

    q).h.td ([]a:1 2;b:`x`y)
    "a\\tb"
    "1\\tx"
    "2\\ty"
    """
    return delimited(x, "\t")


@name(".h.xd")
def xd(x: Value) -> Value:
    """A table as lines of XML.

    q).h.xd ([]a:1 2)
    "<R>"
    "<r><a>1</a></r>"
    "<r><a>2</a></r>"
    "</R>"
    """
    table = unkeyed(x)
    columns = [[xml(plain(item)) for item in column.items] for column in table.cols]
    rows = [
        "<r>"
        + "".join(f"<{name}>{cell}</{name}>" for name, cell in zip(table.names, row, strict=True))
        + "</r>"
        for row in zip(*columns, strict=True)
    ]
    return lines_value(["<R>", *rows, "</R>"])


def json_lines(x: Value) -> Value:
    """Each item of a list as JSON; for a table, one row per line."""
    writer = Writer(running().settings.P)
    if is_table(x):
        return lines_value([writer.write(row) for row in unkeyed(x).items])
    return lines_value(
        [
            "[" + ",\n ".join(map(writer.write, item.items)) + "]"
            if item.__class__ is Table
            else writer.write(item)
            for item in seq_items(x)
        ]
    )


@name(".h.xt", ".h.xt[`json;x]")
def xt(kind: Value, x: Value) -> Value:
    """Parse lines of JSON to values.

    q).h.xt[`json;enlist"{\\"a\\":1}"]
    a
    -
    1
    """
    if text_of(kind) != "json":
        raise QError("nyi")
    return collapse([read_json(text_of(item)) for item in seq_items(x)])


def _converters() -> Value:
    converters: dict[str, Callable[..., Any]] = {
        "raw": enlist,
        "json": json_lines,
        "csv": lambda x: delimited(x, ",", True),
        "txt": lambda x: delimited(x, "\t", True),
        "xml": xd,
    }
    return Dict(
        sym_vec(converters),
        List([Prim(f".h.tx.{key}", {1: value}) for key, value in converters.items()]),
    )


constant(
    ".h.tx",
    _converters(),
    "For each file type, the function that formats a table as its lines.",
    'q).h.tx[`csv]([]a:1 2)\n,"a"\n,"1"\n,"2"',
)


# ------------------------------------------------------------------ markup


def xml(s: str) -> str:
    """Text with XML's reserved characters escaped."""
    for character, entity in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "apos")):
        s = s.replace(character, f"&{entity};")
    return s


def attributes(d: Value) -> str:
    """The attributes of an element, from a dictionary."""
    if d.__class__ is not Dict:
        raise QError("type")
    pairs = zip(d.k.items, seq_items(d.v), strict=True)
    return "".join(f" {plain(key)}={quote(value)}" for key, value in pairs)


def quote(x: Value) -> str:
    """An attribute's value: a string is quoted, a symbol is not."""
    return plain(x) if x.__class__ is Sym else f'"{plain(x)}"'


def element(tag: str, content: str, attrs: str = "") -> str:
    return f"<{tag}{attrs}>{content}</{tag}>"


def rows_text(x: Value) -> str:
    """Strings as one text, each followed by a line break."""
    return "".join(text_of(item) + "\n" for item in seq_items(x))


def paragraphs(x: Value) -> str:
    return "".join(element("p", text_of(item)) + "\n" for item in seq_items(x))


def code_of(s: str) -> str:
    """Text in which every second tab-separated part is code."""
    sections = s.split("\t")
    return " ".join(
        element("code", element("nobr", section)) if index % 2 else section
        for index, section in enumerate(sections)
    )


def page(body: str) -> str:
    return element("html", element("head", element("style", ANCHOR + BODY)) + element("body", body))


def links(s: str) -> str:
    return re.sub(r"http://[^\s<>\"]+", lambda m: element("a", m[0], f' href="{m[0]}"'), s)


def _unescaped(x: Value) -> str:
    from urllib.parse import unquote

    return unquote(text_of(x), errors="surrogateescape")


def _atom(x: Value) -> Value:
    if atom_t(x) in (0, T.S, T.C, T.G):
        raise QError("type")
    return x


def escape(s: bytes, keep: str) -> str:
    return "".join(chr(byte) if chr(byte) in keep else f"%{byte:02x}" for byte in s)


# the names that make one string from one argument: function, summary, example and its output
_STRINGS: list[tuple[str, Callable[[Value], str], str, str, str]] = [
    ("hc", lambda x: text_of(x).replace("<", "&lt;"), "Text with < escaped.", '"<a>"', '"&lt;a>"'),
    (
        "xs",
        lambda x: xml(text_of(x)),
        "Text with XML's reserved characters escaped.",
        '"a & b"',
        '"a &amp; b"',
    ),
    (
        "hr",
        lambda x: "-" * len(seq_items(x)),
        "A dash for each character of a text.",
        '"abc"',
        '"---"',
    ),
    (
        "nbr",
        lambda x: element("nobr", text_of(x)),
        "Text without line breaks.",
        '"a b"',
        '"<nobr>a b</nobr>"',
    ),
    (
        "code",
        lambda x: code_of(text_of(x)),
        "Text with every second tab-separated part as code.",
        '"ab"',
        '"ab"',
    ),
    (
        "pre",
        lambda x: element("pre", rows_text(x)),
        "Lines as preformatted text.",
        '("a";"b")',
        '"<pre>a\\nb\\n</pre>"',
    ),
    (
        "xmp",
        lambda x: element("xmp", rows_text(x)),
        "Lines as an example.",
        '("a";"b")',
        '"<xmp>a\\nb\\n</xmp>"',
    ),
    ("text", paragraphs, "Strings as paragraphs.", 'enlist"ab"', '"<p>ab</p>\\n"'),
    (
        "html",
        lambda x: page(text_of(x)),
        "An HTML page with the given body.",
        '"hello"',
        '"<html><head><style>a{text-decoration:none}a:link{color:024C7E}a:visited{colo..',
    ),
    (
        "http",
        lambda x: links(text_of(x)),
        "Text with web addresses as links.",
        '"plain"',
        '"plain"',
    ),
    (
        "hu",
        lambda x: escape(data_of(x), SAFE),
        "Text with a URI's reserved characters escaped.",
        '"a b"',
        '"a%20b"',
    ),
    (
        "uh",
        _unescaped,
        "URI text with escapes decoded.",
        '"a%20b"',
        '"a b"',
    ),
    (
        "iso8601",
        lambda x: plain(cast_value(_atom(x), T.P)).replace(".", "-", 2).replace("D", "T"),
        "A timestamp, or nanoseconds since 2000, in ISO 8601 format.",
        "100",
        '"2000-01-01T00:00:00.000000100"',
    ),
]


def _strings() -> None:
    """Register the names that make one string from one argument."""
    for short, convert, summary, example, result in _STRINGS:
        full_name = f".h.{short}"
        text = f"{summary}\n\nq){full_name} {example}\n{result}\n"

        def run(x: Value, make: Callable[[Value], str] = convert) -> Value:
            return string(make(x))

        registry.add(
            registry.Entry(
                full_name, "name", {1: run}, doc=text, topic=".h", file=__file__, effect="none"
            )
        )


_strings()


@name(".h.ha", ".h.ha[address;text]")
def ha(x: Value, y: Value) -> Value:
    """A link.

    q).h.ha[`http://kx.com;"kx"]
    "<a href=http://kx.com>kx</a>"
    """
    return string(element("a", text_of(y), f" href={quote(x)}"))


@name(".h.hb", ".h.hb[address;text]")
def hb(x: Value, y: Value) -> Value:
    """A link whose page opens in frame v.

    q).h.hb[`http://kx.com;"kx"]
    "<a target=v href=http://kx.com>kx</a>"
    """
    return string(element("a", text_of(y), f" target=v href={quote(x)}"))


@name(".h.hta", ".h.hta[tag;attributes]")
def hta(x: Value, y: Value) -> Value:
    """An opening tag with attributes.

    q).h.hta[`a;enlist[`b]!enlist"c"]
    "<a b=\\"c\\">"
    """
    return string(f"<{text_of(x)}{attributes(y)}>")


@name(".h.htc", ".h.htc[tag;content]")
def htc(x: Value, y: Value) -> Value:
    """An element with its content.

    q).h.htc[`p;"text"]
    "<p>text</p>"
    """
    return string(element(text_of(x), text_of(y)))


@name(".h.htac", ".h.htac[tag;attributes;content]")
def htac(x: Value, y: Value, z: Value) -> Value:
    """An element with attributes and its content.

    q).h.htac[`p;enlist[`b]!enlist"c";"text"]
    "<p b=\\"c\\">text</p>"
    """
    return string(element(text_of(x), text_of(z), attributes(y)))


def response(status: str, kind: str, content: str) -> Value:
    size = len(content.encode("utf-8", "surrogateescape"))
    return string(
        f"HTTP/1.1 {status}\r\nContent-Type: {MIME.get(kind, 'text/plain')}\r\nConnection: close\r\n"
        f"Content-Length: {size}\r\n\r\n{content}"
    )


@name(".h.hn", ".h.hn[status;kind;content]")
def hn(x: Value, y: Value, z: Value) -> Value:
    """An HTTP response with a status.

    q)"\\r\\n"vs .h.hn["404 Not Found";`txt;"no such page"]
    "HTTP/1.1 404 Not Found"
    "Content-Type: text/plain"
    "Connection: close"
    "Content-Length: 12"
    ""
    "no such page"
    """
    return response(text_of(x), text_of(y), text_of(z))


@name(".h.hy", ".h.hy[kind;content]")
def hy(x: Value, y: Value) -> Value:
    """An HTTP response with content of a file type.

    q)"\\r\\n"vs .h.hy[`txt;"hello"]
    "HTTP/1.1 200 OK"
    "Content-Type: text/plain"
    "Connection: close"
    "Content-Length: 5"
    ""
    "hello"
    """
    return response("200 OK", text_of(x), text_of(y))


@name(".h.he")
def he(x: Value) -> Value:
    """The HTTP response to a bad request.

    q)"\\r\\n"vs .h.he"no such page"
    "HTTP/1.1 400 Bad Request"
    "Content-Type: text/plain"
    "Connection: close"
    "Content-Length: 13"
    ""
    "'no such page"
    """
    return response("400 Bad Request", "txt", "'" + text_of(x).replace("<", "&lt;"))


@name(".h.hp")
def hp(x: Value) -> Value:
    """Lines as a preformatted page, in an HTTP response.

    q)last"\\r\\n"vs .h.hp("one";"two")
    "<html><head><style>body{font:10pt verdana;text-align:justify}</style></head>..
    """
    style = element("head", element("style", BODY))
    return response(
        "200 OK", "htm", element("html", style + element("body", element("pre", rows_text(x))))
    )
