"""`help`: tables of modules, losses and optimizers, the symbols that calls accept, and the text for any entry.

Everything is read from the registry, so whatever is registered has help.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from textwrap import wrap

from kshell import registry, torch_versions
from kshell.entry_kinds import KINDS, TOPICS, answers, by_lead
from kshell.errors import UNSAID, CallError
from kshell.kapi.base.args import is_empty, length_of, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, dtype_named, dtype_of_q, kname, ktype_of
from kshell.kapi.base.device_options import SYMBOLS, device_names, options_dict, seeds
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    LossHandle,
    ModuleHandle,
    OptimizerHandle,
    TensorHandle,
    VectorHandle,
    ask,
    behaviour,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.loss.losses import type_of as loss_type
from kshell.kapi.module.api import every_option
from kshell.kapi.module.describe import options_of as options_of_module
from kshell.kapi.module.describe import pytorch_name, type_of
from kshell.kapi.module.functional import FUNCTIONS
from kshell.kapi.module.options import options_dict as module_options
from kshell.kapi.module.options import type_record
from kshell.kapi.optim.optimizer import optimizer_record
from kshell.kapi.optim.state import options_dict as optimizer_options
from kshell.kapi.optim.state import options_table
from kshell.kapi.tensor import info
from kshell.kapi.tensor.gradients import MODES
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base import types as T
from kshell.values.base.build import bools, longs, string, symdict
from kshell.values.base.core import NIL, Atom, Dict, List, Table, Value, Vec, sym_vec, text_of
from kshell.values.base.describe import listed
from kshell.values.base.functions import Foreign, Prim
from kshell.values.base.symbols import Sym, sym
from kshell.values.session.context import running

EFFECT = "none"  # default for the functions here

# ------------------------------------------------------------------ entries with options


def is_forward(entry: Entry) -> bool:
    """Does the module or loss have a forward pass?"""
    return bool(type_record(entry).result)


def described(entry: Entry, options: Value | None = None) -> Dict:
    """A module or loss as a dictionary: name, torch class, forward, result, minimum number of inputs, inputs,
    options."""
    least, most = type_record(entry).n if is_forward(entry) else (0, 0)
    count = max(least, min(most, 9))
    return symdict(
        ["module", "pytorch", "forward", "result", "n", "args", "options"],
        [
            sym(entry.name),
            string(pytorch_name(entry)),
            is_forward(entry),
            sym(type_record(entry).result),
            least,
            sym("tensor") if count == 1 else sym_vec(["tensor"] * count),
            module_options(entry) if options is None else options,
        ],
    )


def _many(kind: str, every: bool = False) -> Table:
    """The table of modules or losses by name: ktorch's and those from the user's files; with `every`, all."""
    entries = [
        *(entry for entry in registry.entries(kind) if every or _listed(entry)),
        *(FUNCTIONS if kind == "module" else ()),
    ]
    rows = [described(entry).v.items for entry in sorted(entries, key=lambda e: e.name)]
    name, torch_name, forward, result, n, args, options = (list(c) for c in zip(*rows, strict=True))
    return Table(
        ["module", "pytorch", "forward", "result", "n", "args", "options"],
        [
            _syms(name),
            List(torch_name),
            bools(forward),
            _syms(result),
            longs(n),
            List(args),
            List(options),
        ],
    )


def _syms(found: Iterable[Sym]) -> Vec:
    return sym_vec([s.s for s in found])


def _listed(e: Entry) -> bool:
    return e.since == "ktorch" or not e.file.startswith(registry.FOLDER)


def _optimizers(every: bool = False) -> Table:
    """ktorch's optimizers and those from the user's files; with `every`, all."""
    entries = sorted(
        (entry for entry in registry.entries("optimizer") if every or _listed(entry)),
        key=lambda e: e.name,
    )
    return Table(
        ["optimizer", "pytorch", "options"],
        [
            sym_vec([entry.name for entry in entries]),
            List([string(pytorch(entry)) for entry in entries]),
            List([optimizer_options(entry) for entry in entries]),
        ],
    )


def pytorch(entry: Entry) -> str:
    """The torch class of an optimizer as the help table names it; empty if torch has none."""
    told = optimizer_record(entry).pytorch
    return entry.target if told is None else told


# ------------------------------------------------------------------ topics


def _backward() -> Table:
    text = (
        "free graph, no higher order derivatives",
        "retain graph, no higher order derivatives",
        "retain graph, create graph for higher order derivatives",
        "free graph & create graph for higher order derivatives",
    )
    retain, create = zip(*MODES.values(), strict=True)
    return Table(
        ["mode", "retain", "create", "description"],
        [sym_vec(MODES), bools(retain), bools(create), List([string(s) for s in text])],
    )


_DTYPES = (
    "float",
    "double",
    "half",
    "bool",
    "byte",
    "char",
    "long",
    "int",
    "short",
    "chalf",
    "cfloat",
    "cdouble",
)


def _dtype() -> Dict:
    """ktorch's data types; the others are in help`tensor."""
    return Dict(
        sym_vec(_DTYPES), sym_vec([T.TYPE[ktype_of(dtype_named(dtype))].char for dtype in _DTYPES])
    )


def _ktype() -> Dict:
    types = [t for t in (T.E, T.F, T.B, T.X, T.C, T.J, T.I, T.H) if dtype_of_q(t) is not None]
    return Dict(
        sym_vec([T.TYPE[kind].char for kind in types]),
        sym_vec([dtype_name(dtype_of_q(kind)) for kind in types]),
    )


def _tensor() -> Dict:
    """The symbols for tensor options."""
    rows = {"device": device_names(), **SYMBOLS}
    return Dict(sym_vec(rows), List([sym_vec(value) for value in rows.values()]))


TOPICS |= {
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
    "modules": ("", lambda: _many("module", True)),
    "optimizers": ("", lambda: _optimizers(True)),
}


@api("help", "help()", "help`topic", "help`name", 'help"name"', "help ptr")
def help_(x: Value) -> Value:
    """Help on a topic; on a module, loss or optimizer type; on an object; or on anything else that has a name.

    Named things are functions, operators, training options, settings and system commands. Without an argument, lists
    the topics. The symbol of a topic or type returns a table or dictionary; other help is printed. A string prints
    everything about a name, followed by the table of a topic with that name. On a terminal, the symbol of a type also
    prints its text, and says which values are examples because the option has no default.

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
    if is_empty(x) or (x.__class__ is Sym and not x.s):
        listed = {key: text for key, (text, _) in TOPICS.items() if text}
        return Dict(sym_vec(listed), List([string(value) for value in listed.values()]))
    h = handle(x)
    if h is not None:
        return of_object(h)
    if isinstance(x, Foreign):
        return python_help(x)
    if isinstance(x, Prim) and isinstance(x.entry, Entry):
        return show_entries([x.entry])
    if (
        x.__class__ is Sym
        or (x.__class__ is Vec and x.t == T.C)
        or (x.__class__ is Atom and x.t == T.C)
    ):
        return of_name(text_of(x), x.__class__ is not Sym)
    raise CallError("help", expecting="a name, function, torch or Python object", given=kname(x))


def python_help(x: Foreign) -> Value:
    """Python's help on one of its objects."""
    entry = registry.find("name", ".p.help")
    assert entry is not None
    shown: Value = entry.fns[1](x)
    return shown


def of_name(name: str, text: bool = False) -> Value:
    """Help on a topic, a type, or anything else with this name; with `text`, everything about it is printed."""
    entries = named(name)
    if name in TOPICS and not (text and entries):
        if entries and _seen():
            show_entries(entries)
        return TOPICS[name][1]()
    if not entries:
        raise unknown(
            "unrecognized help topic, `",
            name,
            [*TOPICS, *(e.name for e in registry.every())],
            call="help",
            given=UNSAID,
        )
    if not text:
        entry = _with_options(name)
        if entry is not None and entry.kind == "loss":
            return described(entry)
        if entry is not None:
            options = module_options(entry)
            if not len(options):  # the console does not display it
                show_entries(entries)
            _tell_examples(entry)
            return options
        entry = registry.find("optimizer", name)
        if entry is not None:
            return optimizer_options(entry)
        if all(KINDS[entry.kind].form for entry in entries):
            values = (KINDS[entry.kind].values(name) for entry in entries)
            found = next((x for x in values if x is not None), None)
            if found is not None:
                return found
    show_entries(entries)
    if name in TOPICS:
        _show_topic(name)
    return NIL


_ROWS = 12  # rows of a topic's table that are shown below a function's help


def _seen() -> bool:
    """Is there a user who sees text printed besides the result?"""
    return bool(getattr(running(), "interactive", False))


def _show_topic(name: str) -> None:
    """Below the help on a name, print the table of the topic with that name, or how to see it if it is long."""
    table, session = TOPICS[name][1](), running()
    count = length_of(table)
    session.write(
        f"\n/ help`{name} is a table"
        + (f" of {count} rows\n" if count > _ROWS else f":\n\n{session.show(table)}\n")
    )


def _tell_examples(entry: Entry) -> None:
    """On a terminal, say which options of a type have no default, so that the values shown are examples."""
    names = [o.name for o in options_of(entry) if o.default is REQUIRED]
    if names and _seen():
        running().warn(
            f"/ {listed(names)} {'have' if len(names) > 1 else 'has'} no default: the "
            f"value{'s' * (len(names) > 1)} below {'are examples' if len(names) > 1 else 'is an example'}\n"
        )


def named(name: str) -> list[Entry]:
    """All entries with a name as written in q: a command may have its backslash, an internal function its !."""
    number = name.removesuffix("!")
    spelled = {
        "command": name[1:] if len(name) > 1 and name[0] == "\\" else name,
        "internal": str(T.NULL[T.J]) if number == "0N" else number,
    }
    command = registry.find("command", spelled["command"])
    if command is not None and command.name != name:
        return [command]
    kinds = [kind.name for kind in by_lead()]
    entries = [registry.find(kind, spelled.get(kind, name)) for kind in kinds]
    return [entry for entry in entries if entry is not None]


def of_object(h: KHandle) -> Value:
    """Help on a torch object: its options, or the description of its type."""
    return ask("help", h)


behaviour("help", TensorHandle, VectorHandle, DictHandle)(info.options)


@behaviour("help", OptimizerHandle)
def _of_optimizer(h: OptimizerHandle) -> Value:
    return options_table(h.obj, every_option())


@behaviour("help", ModuleHandle)
def _of_module(h: ModuleHandle) -> Value:
    entry = type_of(h.obj)
    if entry is None:
        raise h.refusal("help")
    return described(entry, options_of_module(h.obj, every_option(), False))


@behaviour("help", LossHandle)
def _of_loss(h: LossHandle) -> Value:
    return described(loss_type(h.obj), info.options(h))


def show_entries(found: list[Entry]) -> Value:
    """Print the entries of a name, each with its kind if there are several; returns ::."""
    session = running()
    width = session.settings.c[1] if getattr(session, "interactive", False) else 0
    texts = [entry_text(e, width) for e in found]
    if len(found) > 1:
        texts = [
            f"/ {e.name}: {KINDS[e.kind].word or e.kind}\n\n{text}"
            for e, text in zip(found, texts, strict=True)
        ]
    session.write("\n".join(texts))
    return NIL


def entry_text(entry: Entry, width: int = 0) -> str:
    """The help text of an entry: forms, description, options and example; with a width, paragraphs are wrapped to
    fit."""
    doc = inspect.cleandoc(entry.doc)
    told, _, example = doc.partition("\n\nq)")
    target = f"PyTorch: {entry.target}" if entry.target.startswith("torch.") else ""
    needs = torch_versions.needs(entry.first_torch).capitalize() if entry.first_torch else ""
    options = "\n".join(_options_text(options_of(entry), width))
    parts = [
        "\n".join(forms_of(entry)),
        _filled(told, width),
        "\n".join(line for line in (target, needs) if line),
        options,
        f"q){example}" if example else "",
    ]
    return (
        "\n".join(
            line.rstrip() for line in "\n\n".join(part for part in parts if part).split("\n")
        ).rstrip()
        + "\n"
    )


_CODE = re.compile(r"`` ?(.+?) ?``", re.DOTALL)


def _filled(text: str, width: int) -> str:
    """A text with paragraphs wrapped to a width, if given, and without the marks around q code; lists and indented
    lines are unchanged."""
    parts = _CODE.sub(r"\1", text).split("\n\n") if width else [text]
    plain = [
        width and not any(line[:1] in (" ", "-", "|") for line in part.split("\n"))
        for part in parts
    ]
    return "\n\n".join(
        "\n".join(wrap(part, width - 1, break_on_hyphens=False)) if fill else part
        for part, fill in zip(parts, plain, strict=True)
    )


def _options_text(options: Sequence[Option], width: int = 0) -> list[str]:
    """One line per option: name, type, default and description."""
    rows = (
        [
            ("option", "type", "default", ""),
            *(
                (option.name, option.type, default_text(option.default), _meaning(option))
                for option in options
            ),
        ]
        if options
        else []
    )
    wide = [max(len(row[i]) for row in rows) for i in range(3)] if rows else []
    lines = [
        "  ".join([*(cell.ljust(w) for cell, w in zip(row, wide, strict=False)), row[3]])
        for row in rows
    ]
    start = sum(wide) + 6
    if width - start < 30:
        return lines
    return [
        part
        for line in lines
        for part in wrap(
            line,
            width - 1,
            subsequent_indent=" " * start,
            drop_whitespace=True,
            break_on_hyphens=False,
        )
        or [line]
    ]


def _meaning(o: Option) -> str:
    """The description of an option, followed by the symbols it accepts unless the text lists them."""
    listed = (
        ", ".join(o.choices)
        if o.choices and not all(choice in o.doc for choice in o.choices)
        else ""
    )
    return f"{o.doc} ({listed})" if o.doc and listed else o.doc or listed


def default_text(x: object) -> str:
    """The default of an option in q notation; empty if there is none."""
    if x is None or x is REQUIRED:
        return "" if x is None else "required"
    if isinstance(x, bool):
        return f"{int(x)}b"
    if isinstance(x, str):
        return "`" + x
    return f"{x:g}" if isinstance(x, float) else f"{x}"


def options_of(entry: Entry) -> tuple[Option, ...]:
    """The options of an entry, in order."""
    return KINDS[entry.kind].options(entry)


def forms_of(entry: Entry) -> tuple[str, ...]:
    """The forms of an entry: as declared, or derived from its options or arities."""
    if entry.forms:
        return entry.forms
    return (
        (_type_form(entry),)
        if KINDS[entry.kind].form
        else tuple(_form(entry, fn) for fn in sorted(entry.fns))
    )


def _type_form(entry: Entry) -> str:
    """The form of a type: required options, then the others."""
    options = options_of(entry)
    must = max((i + 1 for i, option in enumerate(options) if option.default is REQUIRED), default=0)
    names = [option.name for option in options]
    start = ";".join([KINDS[entry.kind].form.format(entry.name), *names[:must]])
    return f"{start}[;{';'.join(names[must:])}])" if names[must:] else f"{start})"


def _form(entry: Entry, n: int) -> str:
    """The form of a verb with n arguments."""
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
    """The module type, function with module options, or loss with a name."""
    return (
        registry.find("module", name)
        or next((function for function in FUNCTIONS if function.name == name), None)
        or registry.find("loss", name)
    )


@answers("values", "module", "loss")
def _named_options(name: str) -> Value | None:
    entry = _with_options(name)
    return None if entry is None else module_options(entry)


@answers("values", "topic")
def _topic_options(name: str) -> Value | None:
    """The `options` for a topic: its help table, or the default options for a class of tensors; None if there is no
    such topic."""
    if name in ("tensor", "vector", "dictionary"):
        return options_dict(torch.empty(0))
    return TOPICS[name][1]() if name in TOPICS else None
