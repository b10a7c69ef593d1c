"""Context for the error of a call: the name of the call, its arguments, and the arguments that it expects.

Most errors say all of it where they are raised, as do most of torch's. What is missing is added here, once, behind the
reason, for all calls: a description of the arguments, and the first form of the call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kshell import registry
from kshell.errors import ERRORS, QError, first_line
from kshell.kapi.base.args import names_of
from kshell.kapi.base.convert import dtype_name, is_array, kname
from kshell.kapi.base.handles import GONE, KHandle, TensorHandle, VectorHandle
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import NIL, NULL_J, Dict, List, Special, Sym, Value, Vec, atom_t, is_atom, text_of
from kshell.values.base.describe import function_words
from kshell.values.base.functions import Function, Prim

# q's names for a wrong argument, which do not say of which call, and what a conversion says
_BARE = ("type", "domain", "length", "nyi")
_NAMELESS = ("no torch type found", "unable to map mixed array", "type mismatch at", "dimension mismatch at",
             "undefined tensor", "type: expected a value")
# the call whose whole purpose is the conversion: its messages are as ktorch documents them
_CONVERTER = "tensor"
# what ktorch and torch say without the call's name, and what needs no more than that
_UNNAMED = re.compile(r"unrecognized [\w ]+: |Invalid [\w ]+: |Nesterov momentum |length error: |unable to find state ")
# how a message says that something is lacking, not what was there
_LACKS = re.compile(r"\b(?:not|when|no [\w.()& ]+?|be|are) given\b", re.IGNORECASE)
# words that come with what was given: a kind, a count, a size, a name
_GIVEN = re.compile(r"\b(?:given|got(?! false)|but(?! got false)|found|supplied|encountered|unexpected|instead"
                    r"|not implemented for)\b|(?<!range )[([]\d|: -?\d|named `|\bno \w+ `|\w: `"
                    r"|\bis (?:-?\d|inf|nan|null|.*, expecting)|option: |arg(?:\(s\))?, (?!expect)", re.IGNORECASE)
# words that come with what is wanted
_WANTED = re.compile(r"expect|requir|must|should|need|only|at least", re.IGNORECASE)
# reasons from which nobody learns what is wanted
_VAGUE = re.compile(r"wrong type of|outside the domain|the same length$|unrecognized (?:\S+ )?arg|\] unrecognized: "
                    r"|memory format|invalid index|Unknown Complex|operator with Meta|: empty |len\(\) of "
                    r"|\) and \d+ gradient")
# how much of a reason is kept where more is said, and of how many arguments
_REASON, _SHOWN = 180, 5


def described(x: Value) -> str:
    """A short description of a value for a message: long 3, `abc, real 2x3, double tensor 2x3, vector of 2."""
    c = x.__class__
    if isinstance(x, Function) and c is not Prim:
        return function_words(x)
    if c is Sym:
        return "`" + first_line(x.s, 255 if x.s[:1] == ":" else 24)  # a path cut short is another path
    if c is int or c is float or c is Special:
        return f"{kname(x).removesuffix(' scalar')} {_number(x)}"
    if isinstance(x, KHandle):
        return _handle(x)
    if is_atom(x) or atom_t(x):
        return kname(x)
    if c is Vec:
        return f"{kname(x)} of {len(x)}"
    if isinstance(x, List):
        nd = as_nd(x) if is_array(x) else None
        if nd is None:
            return f"general list of {len(x)}"
        return f"{kname(Vec(nd.t, nd.a.ravel()[:0])).removesuffix(' list')} {_size(nd.a.shape)}"
    return "::" if x is NIL else kname(x)


def _number(x: Value) -> str:
    if x.__class__ is not float:
        return str(x) if x.__class__ is int else "0N" if x is NULL_J else "0W" if x.v > 0 else "-0W"
    return "0n" if x != x else f"{x:.6g}".replace("inf", "0w")


def _handle(x: KHandle) -> str:
    if x.obj is GONE:
        return f"freed {x.kind}"
    if x.__class__ is TensorHandle:
        t = x.obj
        if t is None:
            return "undefined tensor"
        device = "" if t.device.type == "cpu" else f"{t.device} "
        return f"{device}{dtype_name(t.dtype)} tensor {_size(t.shape) or 'of no dimensions'}"
    return f"vector of {len(x.obj)}" if x.__class__ is VectorHandle else x.kind


def _size(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def spread(args: Sequence[Value]) -> Sequence[Value]:
    """The arguments of a call: those of one argument that is a list but no array are its items."""
    if len(args) != 1:
        return args
    x = args[0]
    if x is NIL:
        return ()
    return x.items if x.__class__ is List and (not x.items or not is_array(x)) else args


def arguments(args: Sequence[Value]) -> str:
    """Arguments in a few words."""
    if not args:
        return "nothing"
    more = [f"{len(args) - _SHOWN} more"] if len(args) > _SHOWN else []
    return ", ".join([*(described(x) for x in args[:_SHOWN]), *more])


def _mentioned(reason: str, given: Sequence[Value]) -> bool:
    """Does a reason say what was given: by a word for it, by a name or number that is among the arguments?"""
    if _GIVEN.search(_LACKS.sub("", reason)):
        return True
    words = set(re.findall(r"[\w.-]+", reason))
    names = {text_of(x) for x in given if x.__class__ is Vec and x.t == T.C}
    names |= {name.strip(":") for x in given for name in names_of(x.k if x.__class__ is Dict else x) or ()}
    if any((len(name) > 1 and name in words) or f"`{name}" in reason
           or ("/" in name and name in reason) for name in names):
        return True
    if _WANTED.search(reason):  # a kind or number may be the one that is wanted
        return False
    return any((isinstance(x, KHandle) and x.kind in words) or described(x).rpartition(" ")[2] in words for x in given)


def _short(text: str) -> str:
    """A reason without its last sentences if it is long."""
    if len(text) > _REASON:
        end = text.rfind(". ", 0, _REASON)
        return text[:_REASON].rstrip() + ".." if end < 0 else text[:end]
    return text.rstrip(" .")


def told(name: str, exc: QError, args: Sequence[Value]) -> QError:
    """The error of the call `name` as one that says all of it; itself if it does, or if it is not about the call."""
    error = _told(name, exc, args)
    error.hint = exc.hint
    return error


def _told(name: str, exc: QError, args: Sequence[Value]) -> QError:
    text, _, frames = exc.text.partition("\n")  # what stands below a message is kept as it is
    if frames:
        return QError(f"{_told(name, QError(text), args).text}\n{frames}")
    if text in _BARE:
        text = f"{name}: {ERRORS[text][0]}"
    elif text.startswith(_NAMELESS):
        if name == _CONVERTER:
            return exc
        text = f"{name}: {text}"
    elif _UNNAMED.match(text):
        return QError(f"{name}: {text}")
    elif not text.startswith((name + ":", name + " ")):
        return exc
    reason, given = text[len(name):], spread(args)
    more = []
    if not _mentioned(reason, given):
        more.append(f"given {arguments(given)}")
    entry = registry.find("api", name)
    if entry is not None and entry.forms and _VAGUE.search(reason) and not _WANTED.search(reason):
        more.append(f"expected {min(entry.forms, key=lambda form: abs(form.count(';') + 1 - len(given)))}")
    if not more:
        return exc if text == exc.text else QError(text)
    return QError(first_line(f"{_short(text)} ({'; '.join(more)})"))
