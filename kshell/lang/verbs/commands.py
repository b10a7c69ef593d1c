"""System commands: search the help, redirect output, lock scripts; and those for connections."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence

from kshell import registry
from kshell.errors import QError
from kshell.lang.console import locked
from kshell.registry import command
from kshell.store import atomic, text
from kshell.values.base import synonyms
from kshell.values.base import types as T
from kshell.values.base.core import NIL, Atom, Value
from kshell.values.base.symbols import sym
from kshell.values.session.context import running
from kshell.values.session.restrict import expanded

# ------------------------------------------------------------------ help

_SHOWN = 40  # search results listed


@command("?", "\\?text", effect="none")
def search(arg: str) -> None:
    """Search the help.

    Names and summaries are searched, or else the full text. The name of a torch function finds its equivalent here. If
    a text of several words is not found, entries that contain every word are listed.

    q)\\?xbar
    xbar  verb       y rounded down to a multiple of x.
    """
    session = running()
    session.names.load_builtins()
    text = arg.strip().lower()
    if not text:
        raise QError("\\?text searches the help for a text")
    names, remark = synonyms.of_torch(text)
    ranked = _ranked(lambda e: _rank(e, text, names))
    words = text.split()
    if not ranked and len(words) > 1:
        ranked = _ranked(lambda e: _rank_of_words(e, words))
    closest = [row for row in ranked if row[0] < 3] or ranked
    lines = [
        (("\\" * (entry.kind == "command")) + entry.name, entry.kind, entry.summary)
        for _, _, entry in closest[:_SHOWN]
    ]
    name_width = max((len(name) for name, _, _ in lines), default=0)
    shown = [f"{name:{name_width}}  {kind:9}  {summary}" for name, kind, summary in lines]
    if getattr(session, "interactive", False):
        width = session.settings.c[1] - 1
        shown = [line if len(line) <= width else line[: width - 2] + ".." for line in shown]
    shown = [f"/ {remark}"] * bool(remark) + shown
    session.write("".join(line + "\n" for line in shown) or f"no help entry mentions {text}\n")
    if len(closest) > _SHOWN:
        session.write(f".. and {len(closest) - _SHOWN} more\n")


def _ranked(rank: Callable[[registry.Entry], int]) -> list[tuple[int, str, registry.Entry]]:
    """The entries that match, best first."""
    ranked = ((rank(entry), entry.name, entry) for entry in registry.every())
    return sorted((row for row in ranked if row[0] >= 0), key=lambda row: row[:2])


def _rank_of_words(entry: registry.Entry, words: Sequence[str]) -> int:
    """The rank of an entry that contains each of the words; -1 if one is missing."""
    ranks = [_rank(entry, word) for word in words]
    return -1 if min(ranks) < 0 else max(ranks)


def _target(entry: registry.Entry) -> str:
    """The last part of the torch name an entry stands for, as searched: `crossentropyloss`."""
    return entry.target.rsplit(".", 1)[-1].replace("_", "").lower()


def _rank(entry: registry.Entry, text: str, names: Sequence[str] = ()) -> int:
    """The search rank of an entry: 0 if the text is its name or torch's name for it, 1 if part of either (underscores
    ignored), 2 if in the summary, 3 if elsewhere; -1 if it does not match."""
    name, plain = entry.name.lower(), text.rsplit(".", 1)[-1].replace("_", "")
    if name in (text, plain) or entry.name in names:
        return 0
    if text in name or (plain and (plain in name or plain in _target(entry))):
        return 1
    if text in entry.summary.lower():
        return 2
    return (
        3
        if text in entry.doc.lower()
        or any(text in option.name or text in option.doc.lower() for option in entry.options)
        else -1
    )


# ------------------------------------------------------------------ streams, scripts


def _redirect(arg: str, which: str) -> Value:
    """Redirect a console stream to a file, or back."""
    session = running()
    if not arg:
        raise QError("type")
    previous = getattr(session, which)
    if getattr(previous, "kshell_redirected", False):
        previous.close()
    if arg in ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"):
        setattr(session, which, None)
        return NIL
    path = expanded(arg)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    stream = _Stream(path)
    setattr(session, which, stream)
    return NIL


class _Stream(io.TextIOWrapper):
    """A file that a console stream is redirected to, flushed after each line."""

    kshell_redirected = True

    def __init__(self, path: str) -> None:
        super().__init__(open(path, "ab"), "utf-8", "surrogateescape", line_buffering=True)  # noqa: SIM115


@command("1", "\\1 file", effect="changes")
def redirect_out(arg: str) -> Value:
    """Redirect console output to a file; /dev/stdin restores it.

    q)\\1 out.txt
    """
    return _redirect(arg, "out")


@command("2", "\\2 file", effect="changes")
def redirect_err(arg: str) -> Value:
    """Redirect error output to a file; /dev/stdin restores it.

    q)\\2 err.txt
    """
    return _redirect(arg, "err")


@command("_", "\\_", "\\_ script", effect="reads0")
def lock_script(arg: str) -> Value:
    """Whether -b blocks clients from writing; with a script, make a locked copy whose text cannot be read.

    q)\\_
    0b
    """
    if not arg:
        port = running().ipc
        return port is not None and port.read_only
    atomic.write_bytes(arg + "_", locked.lock(text.read_bytes(arg)))
    return sym(arg + "_")


# ------------------------------------------------------------------ connections


@command("p", "\\p", "\\p [rp,][host:]port", effect="reads0")
def port(arg: str) -> Value:
    """The port that is listened on, 0 if none; with a port, listen on it: a number, 0W for a free one, 5000/5010 for a
    free one of these, 0 to stop. Only this machine may connect, unless an address stands before the port; `rp,` lets
    several processes share it.

    q)\\p
    0i
    """
    session = running()
    if not arg:
        return Atom(T.I, 0 if session.ipc is None else session.ipc.number)
    session.use_ipc().listen(arg)
    return NIL


@command("portlog", "\\portlog", effect="none")
def port_log(arg: str) -> Value:
    """The last 10,000 events on the port as a table: logins, refusals, connections that end, bad messages, limits.

    q)cols system"portlog"
    `time`handle`peer`user`event
    """
    if arg:
        raise QError(f"\\portlog: expected nothing, given {arg}")
    table: Value = running().use_ipc().network.log.table()
    return table


@command("E", "\\E", "\\E 0|1|2", effect="reads0")
def encryption(arg: str) -> Value:
    """Whether the port takes plain connections (0), TLS too (1), or TLS alone (2). The certificate is named by the
    environment variables KX_SSL_CERT_FILE and KX_SSL_KEY_FILE; -26!() shows all settings.

    q)\\E
    0i
    """
    session = running()
    if not arg:
        return Atom(T.I, 0 if session.ipc is None else session.ipc.encryption)
    if arg not in ("0", "1", "2"):
        raise QError(f"\\E: expected 0, 1 or 2, given {arg}")
    session.use_ipc().encrypt(int(arg))
    return NIL


@command("u", "\\u", effect="changes")
def passwords(arg: str) -> Value:
    """Read the file of users again that -u or -U named; without one nothing happens.

    q)\\u
    """
    port = running().ipc
    if port is not None:
        port.read_users()
    return NIL
