"""Parameters, gradients and optimizer states as tables for queries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kshell import optim
from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, items, names_of, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, kname
from kshell.kapi.base.device_options import device_of
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    VectorHandle,
    handle,
    module_of,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.live_optimizers import optimizer_of, optimizers_with
from kshell.kapi.base.plain_values import option_q
from kshell.kapi.math.statistics import NAMES, columns, norms
from kshell.kapi.module.describe import named_parameters
from kshell.kapi.optim.optimizer import Opt, Values, group_values, how_of, options_of
from kshell.kapi.optim.parameters import Row, parameters_of
from kshell.kapi.optim.parmtable_edits import ABOUT, SHOWN, columns_of, edit
from kshell.kapi.optim.state import shown_options
from kshell.registry import Hook, Option, entries
from kshell.values.base import types as T
from kshell.values.base.build import bools, collapse, floats, longs, table
from kshell.values.base.core import NIL, NULL_J, Dict, List, ListValue, Value, Vec, sym_vec
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from torch import Tensor

TENSORS_IN = Hook()  # the tensors in any value, by dotted name: kapi/checkpoint/state_dicts.py

_TENSORS = (Dict, DictHandle, VectorHandle)  # containers of tensors that need not be parameters


def _object(x: Value, call: str) -> tuple[Dict | KHandle, Sequence[Value]]:
    """The module, model, optimizer or dictionary of tensors of a call, and the arguments after it."""
    arguments = items(x)
    subject = handle(arguments[0]) if arguments else None
    first = arguments[0] if arguments else NIL
    if isinstance(first, _TENSORS):
        return first, arguments[1:]
    if not isinstance(subject, ModuleHandle | ModelHandle | OptimizerHandle):
        raise CallError(
            call,
            expecting="module, model or optimizer",
            given=kname(arguments[0] if arguments else x),
        )
    return subject, arguments[1:]


def _rows(h: Dict | KHandle) -> list[Row]:
    """The parameters of a module, model or optimizer, without duplicates; the tensors of a dictionary."""
    if isinstance(h, _TENSORS):
        return [Row(name, "", tensor) for name, tensor in TENSORS_IN.fn(h)]
    if isinstance(h, OptimizerHandle):
        return parameters_of(h.obj)
    rows: dict[int, Row] = {}
    for param, module_type, name in named_parameters(module_of(h)):
        rows.setdefault(id(param), Row(name, module_type, param))
    return list(rows.values())


def _optimizers(h: Value, rows: Sequence[Row]) -> list[Opt]:
    """The optimizer of an optimizer or model; for others, the live optimizers that have their parameters."""
    if isinstance(h, OptimizerHandle | ModelHandle):
        return [optimizer_of(h)]
    return optimizers_with(row.p for row in rows)


def _places(optimizers: Sequence[Opt]) -> dict[int, tuple[int, Values]]:
    """By parameter (its id): the number of its group, and the group's options."""
    places: dict[int, tuple[int, Values]] = {}
    for optimizer in optimizers:
        for number, group in enumerate(optimizer.groups):
            values = group_values(optimizer.entry, group)
            for param in group["params"]:
                places.setdefault(id(param), (number, values))
    return places


def _asked(x: Value, optimizers: Sequence[Opt]) -> list[Option] | None:
    """The requested option columns: the named ones, or with 1b all that `opt` shows; None if x requests none. Without
    an optimizer, any optimizer's options are accepted, and are null."""
    flag, names = (
        flag_of(x),
        names_of(x) if x.__class__ is Sym or (x.__class__ is Vec and x.t == T.S) else None,
    )
    if flag is None and names is None:
        return None
    if names is None:
        options = [
            option for optimizer in optimizers for option in shown_options(optimizer) if flag
        ]
        return list(
            {option.name: option for option in options if option.name not in SHOWN}.values()
        )
    searched = [optimizer.entry for optimizer in optimizers] or entries("optimizer")
    by_name = {
        option.name: option
        for entry in reversed(list(searched))
        for option in (*how_of(entry), *options_of(entry))
    }
    for name in names:
        if name not in by_name and name not in SHOWN:
            suffix = (
                f" of {', '.join(dict.fromkeys(optimizer.entry.name for optimizer in optimizers))}"
                if optimizers
                else ""
            )
            raise unknown(f"no option{suffix} named `", name, by_name, call="parmtable")
    return [by_name[name] for name in dict.fromkeys(names) if name not in SHOWN]


def _about(tensors: Sequence[Any]) -> list[ListValue]:
    """The columns size, elements, dtype and device."""
    return [
        List([longs(list(tensor.shape)) for tensor in tensors]),
        longs([tensor.numel() for tensor in tensors]),
        sym_vec([dtype_name(tensor.dtype) for tensor in tensors]),
        sym_vec([device_of(tensor) for tensor in tensors]),
    ]


@api(
    "parmtable",
    "parmtable m",
    "parmtable d",
    "parmtable(m;options)",
    "parmtable(m;flag)",
    "parmtable(m;table)",
    held=True,
    since="kshell",
    effect="reads1",
)
def parmtable(x: Value) -> Value:
    """A table of parameters for queries, one row each; with a table as second argument, edit the parameters.

    The parameters are those of a module, model or optimizer, or the tensors of a dictionary (nested ones under dotted
    names). Besides name, module type, size, type and device, the columns are: gradflag; the group and rate in the
    optimizer; the norm of the gradient (grad); and the values' norm, mean, standard deviation, minimum and maximum (lo,
    hi) and number of non-finite values (bad). Names of optimizer options (momentum, decay) add columns with the values
    for the parameter's group; 1b adds all.

    Editing sets gradflag, parmgroup and the columns named after optimizer options (lr, decay) for the parameters in the
    column name; other columns are ignored, and a null option changes nothing. A parameter moves to the given group; the
    number after the last makes a new group, 0N removes the parameter from the optimizer. If parameters of one group get
    different options, the group is split. On an error, nothing changes.

    q)m:module seq(`sequential;(`linear;`a;2;2);(`linear;`b;2;1))
    q)o:opt(`adamw;m;.1)
    q)select name,size,gradflag,lr from parmtable m where module=`linear,elements>1
    name     size gradflag lr
    --------------------------
    a.weight 2 2  1        0.1
    a.bias   ,2   1        0.1
    b.weight 1 2  1        0.1

    q)parmtable(m;update lr:.01,decay:0. from parmtable[m] where name like "*.bias")
    q)select parmgroup,name,lr from parmtable o
    parmgroup name     lr
    -----------------------
    0         a.weight 0.1
    0         b.weight 0.1
    1         a.bias   0.01
    1         b.bias   0.01
    q)select distinct lr,decay,beta1 from parmtable(o;`decay`beta1)
    lr   decay beta1
    ----------------
    0.1  0.01  0.9
    0.01 0     0.9
    q)select name,norm,bad from parmtable`x`y!(tensor 3 4e;`w`b!(tensor 1 0n;tensor 2 2e))
    name norm     bad
    -----------------
    x    5        0
    y.w           1
    y.b  2.828427 0
    """
    subject, arguments = _object(x, "parmtable")
    if len(arguments) > 1:
        raise QError(f"parmtable: expecting 1-2 args, given {len(arguments) + 1}")
    rows = _rows(subject)
    optimizers = _optimizers(subject, rows)
    options = _asked(arguments[0], optimizers) if arguments else []
    if options is None:
        if isinstance(subject, _TENSORS):
            raise CallError(
                "parmtable",
                expecting="the module, model or optimizer to edit",
                given=kname(subject),
            )
        edit(subject, rows, optimizers, columns_of(arguments[0]))
        return NIL
    tensors, places = [row.p for row in rows], _places(optimizers)
    placements = [places.get(id(tensor), (NULL_J.v, {})) for tensor in tensors]
    before = SHOWN.index("lr") + 1
    return table(
        (*SHOWN[:before], *(option.name for option in options), *SHOWN[before:]),
        [
            sym_vec([row.name for row in rows]),
            sym_vec([row.module for row in rows]),
            *_about(tensors),
            bools([tensor.requires_grad for tensor in tensors]),
            longs([number for number, _ in placements]),
            floats([float(values.get("lr", math.nan)) for _, values in placements]),
            *(
                collapse([option_q(p, values.get(p.name)) for _, values in placements])
                for p in options
            ),
            *columns(tensors),
            floats(norms([p.grad for p in tensors])),
        ],
    )


@api("gradtable", "gradtable m", "gradtable d", since="kshell", effect="none")
def gradtable(x: Value) -> Value:
    """A table of the gradients of a module, model, optimizer or dictionary of tensors, with one row per gradient.

    The columns are as in parmtable: norm, mean, std, lo, hi, and bad, the number of non-finite values.

    q)m:module seq(`sequential;(`linear;`a;2;1))
    q)backward Sum forward(m;1 2#3 4e)
    q)select name,size,norm,hi from gradtable m
    name     size norm hi
    ---------------------
    a.weight 1 2  5    4
    a.bias   ,1   1    1
    """
    subject, arguments = _object(x, "gradtable")
    if arguments:
        raise QError(f"gradtable: expecting one arg, given {len(arguments) + 1}")
    rows = [row for row in _rows(subject) if row.p.grad is not None]
    gradients = [row.p.grad for row in rows]
    return table(
        ("name", "module", *ABOUT, *NAMES),
        [
            sym_vec([row.name for row in rows]),
            sym_vec([row.module for row in rows]),
            *_about(gradients),
            *columns(gradients),
        ],
    )


@api("statetable", "statetable o", "statetable model", since="kshell", effect="none")
def statetable(x: Value) -> Value:
    """A table of an optimizer's state: one row for each buffer of each parameter; empty before the first step.

    The columns are as in parmtable; for a buffer with one value, such as the step count, mean is the value.

    q)t:tensor(3 4e;`grad)
    q)o:opt(`adam;t)
    q)backward(t;3 4e)
    q)step o
    q)select name,buffer,mean,hi from statetable o
    name buffer     mean   hi
    ----------------------------
    0    step       1      1
    0    exp_avg    0.35   0.4
    0    exp_avg_sq 0.0125 0.016
    """
    subject, arguments = _object(x, "statetable")
    if arguments:
        raise QError(f"statetable: expecting one arg, given {len(arguments) + 1}")
    if not isinstance(subject, OptimizerHandle | ModelHandle):
        raise CallError("statetable", expecting="optimizer or model", given=kname(subject))
    optimizer = optimizer_of(subject)
    buffers = [
        (row.group, row.name, key, tensor)
        for row in parameters_of(optimizer)
        for key, tensor in _buffers(optimizer, row.p)
    ]
    groups, names, keys, tensors = zip(*buffers, strict=True) if buffers else [()] * 4
    return table(
        ("parmgroup", "name", "buffer", *ABOUT, *NAMES),
        [longs(groups), sym_vec(names), sym_vec(keys), *_about(tensors), *columns(tensors)],
    )


def _buffers(o: Opt, p: Tensor) -> Iterator[tuple[str, Any]]:
    """The tensors and numbers in an optimizer's state for a parameter, under their documented names; those in a list
    are numbered."""
    for path, value in optim.state_tree.leaves_of(o.state.named(p)):
        if isinstance(value, int | float):
            value = torch.as_tensor(value, dtype=None if isinstance(value, int) else torch.float64)
        if isinstance(value, torch.Tensor):
            yield ".".join(map(str, path)), value
