"""`help`: tables of modules, losses and optimizers, the symbols that calls take, and the text of any function.

Everything is read from the registry, so what is registered has help.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable

from kshell import registry
from kshell.errors import QError
from kshell.kapi import tensorinfo
from kshell.kapi.args import is_empty
from kshell.kapi.call import api
from kshell.kapi.convert import DTYPE_NAMES, dtype_name, dtype_named, dtype_of_q, kname, ktype_of
from kshell.kapi.device import device_names, seeds
from kshell.kapi.functional import FUNCTIONS
from kshell.kapi.handles import (
    DictHandle,
    KHandle,
    LossHandle,
    ModuleHandle,
    OptimizerHandle,
    TensorHandle,
    VectorHandle,
    behaves,
    handle,
)
from kshell.kapi.losses import type_of as loss_type
from kshell.kapi.moduleargs import options_dict as module_options
from kshell.kapi.moduledef import options_of, pytorch_name, type_of
from kshell.kapi.optstate import options_dict as optimizer_options
from kshell.kapi.optstate import options_table
from kshell.kapi.settings import SETTINGS
from kshell.registry import Entry
from kshell.values import types as T
from kshell.values.build import bools, longs, string, sym_vec, symdict
from kshell.values.context import running
from kshell.values.core import NIL, Atom, Dict, List, Sym, Table, Value, Vec, sym, text_of
from kshell.values.functions import Prim

# ------------------------------------------------------------------ entries with options


def is_forward(entry: Entry) -> bool:
    """Has the module or loss a forward calculation?"""
    return bool(entry.extra.get("result", "tensor"))


def described(entry: Entry, options: Value = None) -> Dict:
    """A module or loss as a dictionary: name, torch class, forward, result, least number of inputs, inputs, options."""
    least, most = entry.extra.get("n", (1, 1)) if is_forward(entry) else (0, 0)
    return symdict(
        ["module", "pytorch", "forward", "result", "n", "args", "options"],
        [sym(entry.name), string(pytorch_name(entry)), is_forward(entry), sym(entry.extra.get("result", "tensor")),
         least, sym_vec(["tensor"] * max(least, min(most, 9))), module_options(entry) if options is None else options])


def _many(kind: str) -> Table:
    """The table of all modules or losses, by name."""
    found = [*registry.entries(kind), *(FUNCTIONS if kind == "module" else ())]
    rows = [described(e).v.items for e in sorted(found, key=lambda e: e.name)]
    name, torch_name, forward, result, n, args, options = (list(c) for c in zip(*rows, strict=True))
    return Table(["module", "pytorch", "forward", "result", "n", "args", "options"],
                 [_syms(name), List(torch_name), bools(forward), _syms(result), longs(n), List(args), List(options)])


def _syms(found: Iterable[Sym]) -> Vec:
    return sym_vec([s.s for s in found])


_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep  # what is registered from here is no user's


def _optimizers(every: bool = False) -> Table:
    """ktorch's optimizers and those of the user's own files; with `every` all."""
    found = sorted((e for e in registry.entries("optimizer")
                    if every or e.since == "ktorch" or not e.file.startswith(_OWN)), key=lambda e: e.name)
    return Table(["optimizer", "pytorch", "options"],
                 [sym_vec([e.name for e in found]), List([string(pytorch(e)) for e in found]),
                  List([optimizer_options(e) for e in found])])


def pytorch(entry: Entry) -> str:
    """The torch class of an optimizer as the help table names it; empty if torch has none."""
    return str(entry.extra.get("pytorch", entry.target))


# ------------------------------------------------------------------ topics


def _backward() -> Table:
    rows = [("free", False, False, "free graph, no higher order derivatives"),
            ("retain", True, False, "retain graph, no higher order derivatives"),
            ("create", True, True, "retain graph, create graph for higher order derivatives"),
            ("createfree", False, True, "free graph & create graph for higher order derivatives")]
    mode, retain, create, text = zip(*rows, strict=True)
    return Table(["mode", "retain", "create", "description"],
                 [sym_vec(mode), bools(retain), bools(create), List([string(s) for s in text])])


_DTYPES = ("float", "double", "half", "bool", "byte", "char", "long", "int", "short", "chalf", "cfloat", "cdouble")


def _dtype() -> Dict:
    """ktorch's data types; the further ones are in help`tensor."""
    return Dict(sym_vec(_DTYPES), sym_vec([T.TYPE[ktype_of(dtype_named(n))].char for n in _DTYPES]))


def _ktype() -> Dict:
    types = [t for t in (T.E, T.F, T.B, T.X, T.C, T.J, T.I, T.H) if dtype_of_q(t) is not None]
    return Dict(sym_vec([T.TYPE[t].char for t in types]), sym_vec([dtype_name(dtype_of_q(t)) for t in types]))


def _tensor() -> Dict:
    """The symbols that options of a tensor take."""
    rows = {"device": device_names(), "dtype": DTYPE_NAMES, "layout": ("strided", "sparse"),
            "gradient": ("grad", "nograd"), "pin": ("pinned", "unpinned"),
            "memory": ("contiguous", "preserve", "channel2d", "channel3d")}
    return Dict(sym_vec(rows), List([sym_vec(v) for v in rows.values()]))


# topic: (what help() says of it, what help`topic gives); the last are known, but not listed
TOPICS: dict[str, tuple[str, Callable[[], Value]]] = {
    "backward": ("modes of the backward calculation", _backward),
    "device": ("available devices and the seeds of their random generators", seeds),
    "dtype": ("data types of tensors and the q types that show them", _dtype),
    "ktype": ("q types and the data types of the tensors made from them", _ktype),
    "loss": ("losses, what they take and their options", lambda: _many("loss")),
    "module": ("module types, what they take and their options", lambda: _many("module")),
    "optimizer": ("optimizers and their options", _optimizers),
    "tensor": ("options of a tensor and the symbols that set them", _tensor),
    "vector": ("", _tensor),
    "dictionary": ("", _tensor),
    "optimizers": ("", lambda: _optimizers(True)),
}


@api("help", "help()", "help`topic", "help`name", "help\"name\"", "help ptr")
def help_(x: Value) -> Value:
    """Help on a topic, on a type of module, loss or optimizer, on an object, or on any function by its name.

    With no argument, the topics. Topics and types give tables and dictionaries; the help of a function is printed, and
    that of a type if its name is a string.

    q)help`adamw
    lr     | 0.001
    beta1  | 0.9
    beta2  | 0.999
    eps    | 1e-08
    decay  | 0.01
    amsgrad| 0b

    q)key help()
    `backward`device`dtype`ktype`loss`module`optimizer`tensor
    """
    if is_empty(x):
        listed = {k: text for k, (text, _) in TOPICS.items() if text}
        return Dict(sym_vec(listed), List([string(t) for t in listed.values()]))
    h = handle(x)
    if h is not None:
        return of_object(h)
    if isinstance(x, Prim) and isinstance(x.entry, Entry):
        return show_entry(x.entry)
    if x.__class__ is Sym or (x.__class__ is Vec and x.t == T.C) or (x.__class__ is Atom and x.t == T.C):
        return of_name(text_of(x), x.__class__ is not Sym)
    raise QError(f"help: expecting a name, function or torch object, given {kname(x)}")


def of_name(name: str, text: bool = False) -> Value:
    """The help on a topic, a type, or a function of this name; with `text`, what is known of a type is printed."""
    if name in TOPICS:
        return TOPICS[name][1]()
    entry = _with_options(name)
    if entry is not None:
        return show_entry(entry) if text else described(entry)
    entry = registry.find("optimizer", name)
    if entry is not None:
        return show_entry(entry) if text else optimizer_options(entry)
    if any(registry.find(kind, name) for kind in ("scheduler", "rule")):
        return next(d for d in (fn(name) for fn in tensorinfo.NAMED_OPTIONS) if d is not None)
    if name in SETTINGS:
        return show_setting(name)
    spelled = {"command": name[1:] if name[:1] == "\\" else name, "internal": name.removesuffix("!")}
    for kind in ("api", "verb", "name", "topic", "command", "internal", "setting"):
        entry = registry.find(kind, spelled.get(kind, name))
        if entry is not None:
            return show_entry(entry)
    raise QError(f"help: unrecognized help topic, `{name}")


def of_object(h: KHandle) -> Value:
    """The help on a torch object: its options, or what its type is."""
    if isinstance(h, TensorHandle | VectorHandle | DictHandle):
        return tensorinfo.options(h)
    if isinstance(h, OptimizerHandle):
        return options_table(h.obj)
    own = behaves("help", h)
    if own is not None:
        return own(h)  # type: ignore[no-any-return]
    entry = type_of(h.obj) if isinstance(h, ModuleHandle) else \
        loss_type(h.obj) if isinstance(h, LossHandle) else None
    if entry is None:
        raise QError(f"help: not implemented for {h.plural}")
    return described(entry, options_of(h.obj, True, False) if isinstance(h, ModuleHandle) else None)


def show_entry(entry: Entry) -> Value:
    """Print what is known of a function: its forms, its text, its options; the result is ::."""
    running().write(entry_text(entry))
    return NIL


def show_setting(name: str) -> Value:
    """Print what is known of a setting, with its present value; the result is ::."""
    found = SETTINGS[name]
    forms = [f"setting`{name}"] + [f"setting(`{name};{found.takes})"] * (found.put is not None)
    session = running()
    session.write("\n".join([*forms, "", found.doc, "", f"q)setting`{name}", session.show(found.get()), ""]))
    return NIL


def entry_text(entry: Entry) -> str:
    """The help text of an entry: how it is called, then its doc."""
    forms = forms_of(entry)
    lines = [*forms, ""] if forms else []
    lines += inspect.cleandoc(entry.doc).split("\n")
    words = [f"{o.name:12} {o.doc}" for o in entry.options if o.doc]
    lines += ["", *words] if words else []
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def forms_of(entry: Entry) -> tuple[str, ...]:
    """The ways to call an entry: those it gives, or what its numbers of arguments say."""
    return entry.forms or tuple(_form(entry, n) for n in sorted(entry.fns))


def _form(entry: Entry, n: int) -> str:
    """How a verb is applied to n arguments."""
    if n < 0:
        return f"{entry.name}[x;..]"
    if n == 0 and entry.kind == "name":
        return entry.name
    if n == 1 and entry.name[:1].isalpha():
        return f"{entry.name} x"
    if n == 2 and entry.infix:
        return f"x {entry.name} y" if entry.name[:1].isalpha() else f"x{entry.name}y"
    names = "xyz" if n <= 3 else "abcdefgh"
    return f"{entry.name}[{';'.join(names[:n])}]"


def _with_options(name: str) -> Entry | None:
    """The module type, function with a module's options, or loss of a name."""
    return registry.find("module", name) or next((e for e in FUNCTIONS if e.name == name), None) or \
        registry.find("loss", name)


def _named_options(name: str) -> Value | None:
    entry = _with_options(name)
    return None if entry is None else module_options(entry)


tensorinfo.NAMED_OPTIONS.append(_named_options)

