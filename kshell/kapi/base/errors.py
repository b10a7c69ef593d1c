"""Context for errors of calls: the name of the call, its arguments, and the arguments it expects.

An error carries these parts from where it is raised (`kshell.errors.CallError`). The gateway adds missing parts here,
for all calls: a description of the arguments, and the first form of the call. kshell's own messages are never parsed
for this; messages from torch, numpy and Python, which have no parts, are.
"""

from __future__ import annotations

import dis
import json
import re
from collections.abc import Sequence
from types import TracebackType

from kshell import registry
from kshell.errors import ERRORS, SAID, UNSAID, CallError, QError, first_line
from kshell.kapi.base.args import names_of
from kshell.kapi.base.convert import dtype_name, is_array, kname
from kshell.kapi.base.handles import GONE, KHandle, TensorHandle, VectorHandle, behaviour
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import NIL, Dict, List, Special, Value, Vec, atom_t, is_atom, text_of
from kshell.values.base.describe import function_words
from kshell.values.base.functions import Function, Prim
from kshell.values.base.symbols import Sym

# q's errors for wrong arguments, which do not name the call; code that raises one declares what it expects
_BARE = {"type": UNSAID, "domain": UNSAID, "length": UNSAID, "nyi": SAID}
# phrases in messages of torch, numpy and Python
FOREIGN = {
    # what was given: a type, count, size or name
    "given": re.compile(
        r"\b(?:(?<!when )given|got(?! false)|but(?! got false)|found|supplied|encountered|unexpected|instead"
        r"|not implemented for)\b|(?<!range )[([]\d|: -?\d|\bis (?:-?\d|inf|nan|null)",
        re.IGNORECASE,
    ),
    # what was expected
    "wanted": re.compile(r"expect|requir|must|should|need|only|at least", re.IGNORECASE),
    # reasons that say neither
    "vague": re.compile(
        r"Unknown Complex|operator with Meta|: empty |len\(\) of |invalid index|memory format"
    ),
    # torch's rejection of an option value, complete except for the call
    "option": re.compile(r"Invalid [\w ]+: |Nesterov momentum "),
    # words and numbers of a message, which may include the arguments
    "word": re.compile(r"[\w.-]+"),
}
_SHOWN = 5  # the most arguments described


def described(x: Value) -> str:
    """A short description of a value for messages: long 3, `abc, real 2x3, double tensor 2x3, vector of 2."""
    if isinstance(x, Function) and x.__class__ is not Prim:
        return function_words(x)
    if x.__class__ is Sym:
        # a truncated path would be another path
        return "`" + first_line(x.s, 255 if x.s[:1] == ":" else 24)
    if x.__class__ is int or x.__class__ is float or x.__class__ is Special:
        return f"{kname(x).removesuffix(' scalar')} {_number(x)}"
    if isinstance(x, KHandle):
        return f"freed {x.kind}" if x.obj is GONE else x.described()
    if is_atom(x) or atom_t(x):
        return kname(x)
    if x.__class__ is Vec:
        return f"{kname(x)} of {len(x)}"
    if isinstance(x, List):
        nd = as_nd(x) if is_array(x) else None
        if nd is None:
            return f"general list of {len(x)}"
        return f"{kname(Vec(nd.t, nd.a.ravel()[:0])).removesuffix(' list')} {_size(nd.a.shape)}"
    return "::" if x is NIL else kname(x)


def _number(x: float | Special) -> str:
    if x.__class__ is Special:
        return x.text
    if x.__class__ is int:
        return str(x)
    return "0n" if x != x else f"{x:.6g}".replace("inf", "0w")


@behaviour("described", TensorHandle)
def _tensor(h: TensorHandle) -> str:
    t = h.obj
    if t is None:
        return "undefined tensor"
    device = "" if t.device.type == "cpu" else f"{t.device} "
    return f"{device}{dtype_name(t.dtype)} tensor {_size(t.shape) or 'of no dimensions'}"


@behaviour("described", VectorHandle)
def _vector(h: VectorHandle) -> str:
    return f"vector of {len(h.obj)}"


def _size(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def spread(args: Sequence[Value]) -> Sequence[Value]:
    """The arguments of a call: a single argument that is a list but not an array stands for its items."""
    if len(args) != 1:
        return args
    x = args[0]
    if x is NIL:
        return ()
    return x.items if x.__class__ is List and (not x.items or not is_array(x)) else args


def arguments(args: Sequence[Value]) -> str:
    """A short description of arguments."""
    if not args:
        return "nothing"
    more = [f"{len(args) - _SHOWN} more"] if len(args) > _SHOWN else []
    return ", ".join([*(described(x) for x in args[:_SHOWN]), *more])


class Foreign(CallError):
    """An error of a call with a message from torch, numpy or Python, which is all that is known."""

    def read(self, args: Sequence[Value]) -> CallError:
        """Split the error into its parts, given the call's arguments."""
        vague = FOREIGN["vague"].search(f": {self.reason}") and not FOREIGN["wanted"].search(
            self.reason
        )
        return CallError(
            self.call,
            self.reason,
            hint=self.hint,
            below=self.below,
            expected=UNSAID if vague else SAID,
            given=SAID if _says_given(self.reason, spread(args)) else UNSAID,
        )


def _says_given(message: str, given: Sequence[Value]) -> bool:
    """Does a foreign message say what was given, by a phrase, or by a name or number among the arguments?"""
    if FOREIGN["given"].search(f": {message}"):
        return True
    words = set(FOREIGN["word"].findall(message))
    names = _names_among(given)
    if _named(words, names) or any(
        f"`{name}" in message or ("/" in name and name in message) for name in names
    ):
        return True
    if FOREIGN["wanted"].search(message):  # a type or number may be the expected one
        return False
    return _described_by(words, given)


def _names_among(given: Sequence[Value]) -> set[str]:
    """The names and texts among the arguments."""
    names = {text_of(x) for x in given if x.__class__ is Vec and x.t == T.C}
    return names | {
        name.strip(":") for x in given for name in names_of(x.k if x.__class__ is Dict else x) or ()
    }


def _named(words: set[str], names: set[str]) -> bool:
    """Does one of these names occur among the words? A one-letter name is recognized by its backtick."""
    return any((len(name) > 1 and name in words) or f"`{name}" in words for name in names)


def _described_by(words: set[str], given: Sequence[Value]) -> bool:
    """Does the type, number or size of one of these arguments occur among the words?"""
    return any(
        (isinstance(x, KHandle) and x.kind in words) or described(x).rpartition(" ")[2] in words
        for x in given
    )


def _among(said: Sequence[object], given: Sequence[Value]) -> bool:
    """Does the reason mention one of these arguments, by name, type, number or size?"""
    words = set(map(str, said))
    return bool(words) and (_named(words, _names_among(given)) or _described_by(words, given))


def reported(
    call: str, exc: BaseException, message: str, hint: str = "", below: str = ""
) -> CallError:
    """The error of a call for a Python exception with this message. For exceptions raised by kshell, whether the
    message says what was given is declared where they are raised (`kshell.errors.said`)."""
    if raised_here(exc.__traceback__):
        return CallError(
            call,
            message,
            given=getattr(exc, "given", UNSAID),
            says=getattr(exc, "says", ()),
            hint=hint,
            below=below,
        )
    return Foreign(call, message, hint=hint, below=below)


def refused(exc: ValueError, message: str) -> QError:
    """The error for an option value that a torch class rejects with this message: if the message says what was given,
    it gets the name of the call; else it is unchanged."""
    whole = (
        exc.__dict__.get("given", UNSAID) is SAID
        if raised_here(exc.__traceback__)
        else FOREIGN["option"].match(message) is not None
    )
    return CallError(UNSAID, message, given=SAID) if whole else QError(message)


def as_bytes(exc: QError) -> bytes:
    """An error with its parts, serialized for another process."""
    parts: dict[str, object] = {}
    if isinstance(exc, CallError):
        names = ("call", "reason", "at", "given", "expected", "expecting", "home", "below")
        parts = {name: getattr(exc, name) for name in names}
        parts["says"] = [str(part) for part in exc.says]
    return json.dumps([exc.text, isinstance(exc, Foreign), parts]).encode()


def of_bytes(data: bytes) -> QError:
    """The error serialized by `as_bytes`."""
    text, foreign, parts = json.loads(data)
    return (Foreign if foreign else CallError)(**parts) if parts else QError(text)


def raised_here(tb: TracebackType | None) -> bool:
    """Does a traceback end at a `raise` in kshell's own source?"""
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    code = None if tb is None else tb.tb_frame.f_code
    return (
        tb is not None
        and code is not None
        and code.co_filename.startswith(registry.FOLDER)
        and code.co_code[tb.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    )


def told(name: str, exc: QError, args: Sequence[Value]) -> QError:
    """The error of the call `name`, completed by the gateway; unchanged if nothing is missing or if it belongs to
    another call."""
    if exc.text in _BARE:
        exc = CallError(name, ERRORS[exc.text][0], expected=_BARE[exc.text], hint=exc.hint)
    if (
        not isinstance(exc, CallError)
        or exc.call not in (UNSAID, name)
        or (exc.call == UNSAID and exc.home == name)
    ):
        return exc
    if isinstance(exc, Foreign):
        exc = exc.read(args)
    given = spread(args)
    return exc.completed(
        name,
        lambda: SAID if _among(exc.says, given) else arguments(given),
        lambda: _form(name, len(given)),
    )


def _form(name: str, n: int) -> str:
    """The form of a call with n arguments, or the closest one; empty if there is none."""
    entry = registry.find("api", name)
    return (
        min(entry.forms, key=lambda form: abs(form.count(";") + 1 - n))
        if entry is not None and entry.forms
        else ""
    )
