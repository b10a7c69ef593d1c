"""The .Q namespace: command line, memory, time, backtraces, reading files in pieces."""

from __future__ import annotations

import gc
import os
import time

from kshell import registry
from kshell.errors import QError, as_qerror
from kshell.ipc.web.fetch import fetch
from kshell.lang.names.define import name, verb
from kshell.lang.names.q_core import TYPES
from kshell.lang.tables.tables import names_of
from kshell.lang.verbs.lists import int_of
from kshell.values.base import symbols
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs, string, text_bytes
from kshell.values.base.core import (
    NIL,
    Dict,
    List,
    Value,
    Vec,
    atom_t,
    char,
    seq_items,
    sym_names,
    sym_vec,
    text_of,
)
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import Sym
from kshell.values.engine.apply import apply, apply1
from kshell.values.session.context import running
from kshell.values.session.progress import Task

CHUNK = 131_000  # bytes read at a time by .Q.fs


@name(".Q.opt")
def opt(x: Value) -> Value:
    """Parse command-line words to a dictionary: for each -name, the list of words after it.

    q).Q.opt ("-a";"12";"34";"-b")
    a| ("12";"34")
    b| ()
    q).Q.opt ("-c";"12")
    c| "12"
    q)first .Q.opt[("-c";"12")]`c
    "12"
    """
    plain: list[Value] = []
    options: dict[str, list[Value]] = {}
    words = plain
    for item in seq_items(x):
        text = text_of(item)
        if text.startswith("-"):
            words = options[text[1:]] = []
        else:
            words.append(item)
    running().names.set(".Q.x", List(plain))
    return Dict(sym_vec(options), List([List(value) for value in options.values()]))


@name(".Q.x")
def words() -> Value:
    """The command-line words before the first -name; set by .Q.opt.

    q).Q.opt("in.csv";"-n";"3")
    n| "3"
    q).Q.x
    "in.csv"
    """
    return List([])


@name(".Q.def", ".Q.def[defaults;options]")
def def_(x: Value, y: Value) -> Value:
    """Defaults overridden by options, each converted to the type of its default; further options come after them.

    q).Q.def[`a`b!(1;2.5)] .Q.opt ("-a";"42")
    a| 42
    b| 2.5
    """
    if x.__class__ is not Dict or y.__class__ is not Dict:
        raise QError("type")
    options = dict(zip(names_of(y.k), seq_items(y.v), strict=True))
    names = names_of(x.k)
    values = [
        read_as(default, options[name]) if name in options else default
        for name, default in zip(names, seq_items(x.v), strict=True)
    ]
    extra = [name for name in options if name not in names]
    return Dict(sym_vec(names + extra), collapse(values + [options[name] for name in extra]))


def read_as(default: Value, given: Value) -> Value:
    """The words of an option converted to the type of its default; only the first if the default is an atom."""
    words = [given] if given.__class__ is Vec and given.t == T.C else seq_items(given)
    qtype = atom_t(default) or (default.t if default.__class__ is Vec else 0)
    if qtype == T.C or not qtype:
        return words[0] if words and default.__class__ is Vec else given
    if not words:
        return default
    parsed = verb("$", 2)(char(TYPES[qtype].upper()), List(list(words)))
    return list_value(parsed).item(0) if atom_t(default) else parsed


@name(".Q.w")
def memory(x: Value) -> Value:
    """Memory in bytes and number of symbols, as a dictionary; includes GPU memory and its peak if a GPU is in use.

    q)key .Q.w[]
    `used`heap`peak`wmax`mmap`mphy`syms`symw
    """
    entry = registry.find("command", "w")
    numbers = entry.fns[1]("").a.tolist() if entry else [0] * 6
    names = symbols.SYMBOLS
    handler = registry.find("handler", "gpu")
    gpu_numbers = {
        label: quantity
        for label, measure in (("gpu", "used"), ("gpupeak", "peak"))
        if handler and (quantity := handler.fns[1](measure))
    }
    return Dict(
        sym_vec(["used", "heap", "peak", "wmax", "mmap", "mphy", "syms", "symw", *gpu_numbers]),
        longs([*numbers, len(names), sum(len(name.s) for name in names), *gpu_numbers.values()]),
    )


@name(".Q.gc")
def collect(x: Value) -> Value:
    """Return unused memory to the system; the number of bytes freed.

    q).Q.gc[]
    0
    """
    gc.collect()
    return 0


@name(".Q.ts", ".Q.ts[f;args]")
def ts(f: Value, x: Value) -> Value:
    """Milliseconds and bytes taken by an application, with its result.

    q).Q.ts[+;1 2]
    0 0
    3
    """
    start = time.perf_counter()
    result = apply(f, seq_items(x))
    return List([longs([int((time.perf_counter() - start) * 1000), 0]), result])


# ------------------------------------------------------------------ files in pieces


@name(".Q.fs", ".Q.fs[f;file]")
def fs(f: Value, file: Value) -> Value:
    """Apply f to the lines of a file, a chunk at a time; returns the file size.

    q)`:f.txt 0:("a,1";"b,2");
    q)t:([]k:();v:())
    q).Q.fs[{`t insert("SJ";",")0:x};`:f.txt]
    8
    q)t
    k v
    ---
    a 1
    b 2
    """
    return fsn(f, file, CHUNK)


@name(".Q.fsn", ".Q.fsn[f;file;bytes]")
def fsn(f: Value, file: Value, size: Value) -> Value:
    """Apply f to the lines of a file, in chunks of a given size; returns the file size.

    q)`:f.txt 0:("a,1";"b,2");
    q).Q.fsn[{0N!x};`:f.txt;4]
    ,"a,1"
    ,"b,2"
    8
    """
    return stream(f, file, int_of(size))


@name(".Q.fps", ".Q.fps[f;pipe]", effect="opens")
def fps(f: Value, file: Value) -> Value:
    """Apply f to the lines from a named pipe, a chunk at a time; returns the number of bytes read.

    q)system"mkfifo pipe;echo a>pipe&"
    q).Q.fps[{0N!x};`:pipe]
    ,,"a"
    2
    """
    return fpn(f, file, CHUNK)


@name(".Q.fpn", ".Q.fpn[f;pipe;bytes]", effect="opens")
def fpn(f: Value, file: Value, size: Value) -> Value:
    """Apply f to the lines from a named pipe, in chunks of a given size; returns the number of bytes read.

    q)system"mkfifo pipe;echo a>pipe&"
    q).Q.fpn[{0N!x};`:pipe;2]
    ,,"a"
    2
    """
    return stream(f, file, int_of(size))


def stream(f: Value, file: Value, n: int) -> int:
    """Apply f to the whole lines in each n bytes of a file or pipe; returns the number of bytes read."""
    if file.__class__ is not Sym or n <= 0:
        raise QError("type")
    bytes_read, partial = 0, b""
    problem: QError | None = None
    try:
        opened = open(file.s.removeprefix(":").removeprefix("fifo://"), "rb")  # noqa: SIM115
    except OSError as e:
        problem = as_qerror(e)
    if problem is not None:
        raise problem
    with opened:
        task = Task("loading", os.fstat(opened.fileno()).st_size)
        while chunk := opened.read(n):
            bytes_read += len(chunk)
            task.add(len(chunk))
            lines = (partial + chunk).split(b"\n")
            partial = lines.pop()
            if lines:
                apply1(f, List([string(line.rstrip(b"\r")) for line in lines]))
    if partial:
        apply1(f, List([string(partial)]))
    return bytes_read


# ------------------------------------------------------------------ requests of HTTP


def request(
    url: Value, kind: str = "", body: bytes | None = None, method: str = ""
) -> tuple[str, bytes]:
    """The head and the body of the response to an HTTP request; failures raise an error with the reason. The body is
    unpacked if the server has compressed it."""
    return fetch(text_of(url).removeprefix(":"), kind, body, method)


@name(".Q.hg", effect="opens")
def hg(url: Value) -> Value:
    """Get the content of a URL, as a string.

    q)@[.Q.hg;`:http://localhost:1;{"no answer"}]
    "no answer"
    """
    return string(request(url)[1])


@name(".Q.hp", ".Q.hp[address;kind;text]", effect="opens")
def hp(url: Value, kind: Value, text: Value) -> Value:
    """Post text to a URL, and return the response as a string.

    q).[.Q.hp;(`:http://localhost:1;.h.ty`json;"{}");{"no answer"}]
    "no answer"
    """
    return string(request(url, text_of(kind), text_bytes(text))[1])


@name(".Q.hmb", ".Q.hmb[address;method;(kind;text)]", effect="opens")
def hmb(url: Value, method: Value, content: Value) -> Value:
    """Make a request by any method, with a text of some kind or with `()`, and return (head;body) of the response.

    q).[.Q.hmb;(`:http://localhost:1;`PUT;(.h.ty`json;"{}"));{"no answer"}]
    "no answer"
    """
    parts = seq_items(content)
    if len(parts) not in (0, 2):
        raise QError("length")
    kind = text_of(parts[0]) if parts else ""
    body = text_bytes(parts[1]) if parts else None
    head, answer = request(url, kind, body, text_of(method))
    return List([string(head), string(answer)])


@name(".Q.ipc", ".Q.ipc[handle;options]", effect="opens")
def ipc(handle: Value, options: Value) -> Value:
    """Set options of a connection, given as a dictionary. Its key z is whether messages to it are compressed.

    q).[.Q.ipc;(0i;enlist[`z]!enlist 1b);::]
    "0 is not an ipc handle"
    """
    if options.__class__ is not Dict or options.k.__class__ is not Vec or options.k.t != T.S:
        raise QError(".Q.ipc: options: expected a dictionary with the key z")
    keys = sym_names(options.k)
    value = options.v.item(0) if keys == ["z"] else None
    if value is not True and value is not False:
        raise QError(f".Q.ipc: options: expected the key z with a boolean, given {' '.join(keys)}")
    number, port = int_of(handle), running().ipc
    if port is None:
        raise QError(f"{number} is not an ipc handle")
    port.pack(number, value)
    return NIL
