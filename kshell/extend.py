"""The interface for extensions: decorators that register functions and types, q values, handles, arguments and torch.

docs/extending.md shows how to use each, and kshell's own families of optimizers (kshell/families) are built on it; the
rest of kshell may move. torch is imported on first use. Classes for the torch side are in kshell.optim.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kshell.entry_kinds import TOPICS, Kind, Page, answers
from kshell.errors import CallError, QError
from kshell.kapi.base.args import (
    doubles_of,
    entry_named,
    fill_options,
    flag_of,
    is_empty,
    items,
    long_of,
    looks_paired,
    name_of,
    number_of,
    pairs,
    parse_options,
    read_option,
    split,
)
from kshell.kapi.base.call import api, with_all
from kshell.kapi.base.convert import as_tensor, kname, result, to_q, to_tensor
from kshell.kapi.base.handle_kind import many
from kshell.kapi.base.handles import (
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    RuleHandle,
    TensorHandle,
    VectorHandle,
    ask,
    behaves,
    behaviour,
    handle,
    kind_of,
    lend,
    optimizer_handle,
    rule_handle,
    tensor_handle,
    vector_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.live_optimizers import optimizer_of
from kshell.kapi.base.plain_values import SchedulerFromQ, StateFromQ, options_q
from kshell.kapi.module.types import module
from kshell.kapi.optim import wraps
from kshell.kapi.optim.api import put_parameters, step_with
from kshell.kapi.optim.optimizer import (
    Opt,
    Values,
    class_of,
    create,
    entry_of,
    group_values,
    optimizer,
    torch_args,
)
from kshell.kapi.optim.optimizer import parse as parse_optimizer
from kshell.kapi.optim.optimizer import row as optimizer_row
from kshell.kapi.optim.parameters import check_new, group_number
from kshell.kapi.optim.parameters import kept as kept_parameters
from kshell.kapi.optim.parameters import select as select_parameters
from kshell.kapi.optim.scheduler import Sched, renamed, schedulers_of, valued
from kshell.kapi.optim.scheduler_api import head as optimizer_and_name
from kshell.kapi.optim.scheduler_types import row as scheduler_row
from kshell.kapi.optim.scheduler_types import scheduler, scheduler_record
from kshell.kapi.tensor.gradients import MODES, drop_gradient, zero_gradient
from kshell.kapi.tensor.handle_api import TensorsHandle
from kshell.registry import REQUIRED, Entry, Option, command, verb
from kshell.registry import add as add_entry
from kshell.values.base import types as T
from kshell.values.base.build import bools, collapse, floats, longs, string, symdict, table
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Dict,
    List,
    Table,
    Value,
    Vec,
    long,
    seq_items,
    sym_vec,
)
from kshell.values.base.match import match
from kshell.values.base.symbols import Sym, sym

if TYPE_CHECKING:
    from kshell.families.adaptdl.rule_rows import rule
    from kshell.families.adaptdl.rules import ScalingRule

__all__ = [
    "MODES",
    "NIL",
    "NULL_J",
    "REQUIRED",
    "TOPICS",
    "CallError",
    "Dict",
    "Entry",
    "KHandle",
    "Kind",
    "List",
    "ModelHandle",
    "ModuleHandle",
    "Opt",
    "OptimizerHandle",
    "Option",
    "Page",
    "QError",
    "RuleHandle",
    "ScalingRule",
    "Sched",
    "SchedulerFromQ",
    "StateFromQ",
    "Sym",
    "T",
    "Table",
    "TensorHandle",
    "TensorsHandle",
    "Value",
    "Values",
    "Vec",
    "VectorHandle",
    "add_entry",
    "answers",
    "api",
    "as_tensor",
    "ask",
    "behaves",
    "behaviour",
    "bools",
    "check_new",
    "class_of",
    "collapse",
    "command",
    "create",
    "doubles_of",
    "drop_gradient",
    "entry_named",
    "entry_of",
    "fill_options",
    "flag_of",
    "floats",
    "group_number",
    "group_values",
    "handle",
    "is_empty",
    "items",
    "kept_parameters",
    "kind_of",
    "kname",
    "lend",
    "long",
    "long_of",
    "longs",
    "looks_paired",
    "many",
    "match",
    "module",
    "name_of",
    "number_of",
    "optimizer",
    "optimizer_and_name",
    "optimizer_handle",
    "optimizer_of",
    "optimizer_row",
    "options_q",
    "pairs",
    "parse_optimizer",
    "parse_options",
    "put_parameters",
    "read_option",
    "renamed",
    "result",
    "rule",
    "rule_handle",
    "scheduler",
    "scheduler_record",
    "scheduler_row",
    "schedulers_of",
    "select_parameters",
    "seq_items",
    "split",
    "step_with",
    "string",
    "sym",
    "sym_vec",
    "symdict",
    "table",
    "tensor_handle",
    "to_q",
    "to_tensor",
    "torch",
    "torch_args",
    "valued",
    "vector_handle",
    "verb",
    "with_all",
    "wraps",
    "zero_gradient",
]

# names from the scaling rule family, which is itself built on this file
_LATER = {
    "rule": "kshell.families.adaptdl.rule_rows",
    "ScalingRule": "kshell.families.adaptdl.rules",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
