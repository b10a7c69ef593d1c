"""Definition and state of optimizers as q values, and recreating optimizers from a state.

Nothing here depends on particular optimizers: buffers are the entries of torch's `state[parameter]`, shown under the
names documented in the optimizer's row, or else torch's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from kshell import optim
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import pairs, size_text
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    TensorHandle,
    VectorHandle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.plain_values import StateFromQ, StateToQ, option_q, options_q
from kshell.kapi.module.describe import named_parameters
from kshell.kapi.optim import wraps
from kshell.kapi.optim.optimizer import (
    Opt,
    Values,
    build,
    class_of,
    complete,
    create,
    edit_group,
    entry_of,
    group_values,
    how_of,
    options_of,
    parse,
    torch_args,
)
from kshell.kapi.optim.parameters import parameters_of, select
from kshell.kapi.tensor.handle_api import bytes_of, elements_of
from kshell.kapi.tensor.reference_counts import address
from kshell.optim.abilities import abilities
from kshell.registry import Entry, Option
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, longs, symdict, table
from kshell.values.base.core import (
    NIL,
    Dict,
    List,
    ListValue,
    Table,
    Value,
    Vec,
    is_atom,
    seq_items,
    sym_names,
    sym_vec,
)
from kshell.values.base.symbols import Sym, sym

if TYPE_CHECKING:
    from torch import Tensor

# ------------------------------------------------------------------ options


def options_dict(entry: Entry) -> Dict:
    """The default options of an optimizer as a dictionary."""
    return options_q(options_of(entry))


def options_table(o: Opt, every: bool = True) -> Table:
    """One row per group; without `every`, only lr and the columns in which some group differs from the default.
    Implementation flags are columns only if some group sets them."""
    groups = [group_values(o.entry, group) for group in o.groups]
    shown = shown_options(o, every)
    return Table(
        [option.name for option in shown],
        [collapse([option_q(option, group[option.name]) for group in groups]) for option in shown],
    )


def shown_options(o: Opt, every: bool = True) -> list[Option]:
    """The options that are columns of `options_table`."""
    groups = [group_values(o.entry, group) for group in o.groups]
    shown = [
        option
        for option in options_of(o.entry)
        if every or option.name == "lr" or any(_differs(o.entry, option, group) for group in groups)
    ]
    return shown + [
        option
        for option in how_of(o.entry)
        if any(group[option.name] != option.default for group in groups)
    ]


def _differs(entry: Entry, option: Option, values: Values) -> bool:
    default = {**values, option.name: option.default}
    complete(entry, default)
    return bool(values[option.name] != default[option.name])


# ------------------------------------------------------------------ definition and state


def definition(o: Opt, every: bool = True, state: bool = False) -> Dict:
    """Type, options by group and parameters of an optimizer, and its wrappers; with `state`, also the buffers of each
    parameter, and state that belongs to no parameter."""
    fields: dict[str, Value] = {
        "optimizer": sym(o.entry.name),
        "options": options_table(o, every),
        "parms": parms_table(o, state),
    }
    wrappers = wraps.shown(o, state)
    if len(wrappers):
        fields["wrap"] = wrappers
    if state and o.abilities.keeps_extra:
        fields["extra"] = StateToQ().value(o.state.extra())
    return Dict(sym_vec(list(fields)), List(list(fields.values())))


def parms_table(o: Opt, state: bool = False) -> Table:
    """One row per parameter: group, address, type of the owning module, name in the container, size, buffers."""
    rows = parameters_of(o)
    contents: list[ListValue] = [
        longs([row.group for row in rows]),
        longs([address(row.p) for row in rows]),
        sym_vec([row.module for row in rows]),
        sym_vec([row.name for row in rows]),
        List([longs(list(row.p.shape)) for row in rows]),
    ]
    columns = ["parmgroup", "pointer", "module", "name", "size"]
    if state:
        columns.append("buffers")
        contents.append(collapse([buffers(o, row.p) for row in rows]) if rows else empty())
    return table(columns, contents)


def buffers(o: Opt, p: Tensor) -> Dict:
    """The buffers of an optimizer for a parameter: the documented ones in order (:: for one it does not need), then any
    others; empty before the first step."""
    named = o.state.named(p)
    return symdict(list(named), [StateToQ().value(value, key) for key, value in named.items()])


# ------------------------------------------------------------------ counts


def _held(o: Opt) -> Iterator[tuple[bool, Any]]:
    """Every tensor and number in the buffers of an optimizer, and whether it is a number: a step count is one, and so
    is a 0-dimensional tensor for a parameter that has dimensions."""
    for path, value, param in o.state.buffers():
        if isinstance(value, torch.Tensor):
            yield path[-1] == "step" or (value.dim() == 0 and param.dim() > 0), value  # type: ignore[union-attr]
        elif value is not None and not isinstance(value, str):
            yield True, value


def state_tensors(o: Opt) -> Iterator[Any]:
    """The tensors in the state, without those that count as numbers."""
    return (value for number, value in _held(o) if not number)


def counts(o: Opt) -> tuple[int, int, int]:
    """The number of tensors, elements and bytes in the state; a number counts as one element of 8 bytes."""
    tensors = list(state_tensors(o))
    numbers = sum(1 for number, _ in _held(o) if number)
    return (
        len(tensors),
        sum(map(elements_of, tensors)) + numbers,
        sum(map(bytes_of, tensors)) + 8 * numbers,
    )


# ------------------------------------------------------------------ restoring


def is_opt_state(x: Value) -> TypeGuard[Dict]:
    """Is x an optimizer state from `state`?"""
    return (
        x.__class__ is Dict
        and x.k.__class__ is Vec
        and x.k.t == T.S
        and {"optimizer", "options", "parms"} <= set(sym_names(x.k))
    )


def restore(state: Dict, h: KHandle) -> Opt:
    """The optimizer for a state, over the parameters of a module (or of tensors) found by name."""
    fields = _fields(state)
    name, settings, rows = (_field(fields, field) for field in ("optimizer", "options", "parms"))
    if name.__class__ is not Sym:
        raise CallError("opt", expected="symbol for optimizer", given=kname(name))
    entry = entry_of(name.s)
    optimizer = _with_groups(entry, _rows(settings, entry))
    chosen = select(h)
    if chosen is not None:
        optimizer.container, optimizer.own = chosen.holder, chosen.made
    groups: list[list[Any]] = [[] for _ in optimizer.groups]
    taken: set[int] = set()
    pending: list[tuple[int, Any, Value]] = []
    by_name = {name: param for param, _, name in named_parameters(optimizer.container)}
    for record in _table_rows(rows):
        row = _fields(record)
        number, param = _find(row, by_name, len(groups), taken)
        taken.add(id(param))
        groups[number].append(param)
        pending.append((number, param, row.get("buffers", NIL)))
    for index, params in enumerate(groups):
        edit_group(optimizer, index, {}, params)
    samples = Samples(optimizer)
    for number, param, saved in pending:
        put_buffers(samples, number, param, saved)
    if "wrap" in fields:
        wraps.restore(optimizer, fields["wrap"])
    if "extra" in fields:
        optimizer.abilities.set_extra(_with_inner(samples, StateFromQ().value(fields["extra"])))
    return optimizer


def _with_inner(samples: Samples, extra: object) -> Any:
    """The state that belongs to no parameter. Dictionaries under `inner` are the buffers of an inner optimizer, over
    single-precision vectors, by group."""
    if not isinstance(extra, dict):
        return extra
    return {
        key: _inner(samples, value) if key == "inner" else _with_inner(samples, value)
        for key, value in extra.items()
    }


def _inner(samples: Samples, buffers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    fitted = []
    for number, (saved, group) in enumerate(zip(buffers, samples.o.groups, strict=True)):
        vector = torch.zeros(
            1, dtype=torch.float32, device=next((param.device for param in group["params"]), "cpu")
        )
        fitted.append(samples.fitted(saved, number, vector))
    return fitted


def _fields(d: Dict) -> dict[str, Value]:
    return dict(pairs(d))


def _field(fields: dict[str, Value], key: str) -> Value:
    if key not in fields:
        raise CallError(UNSAID, f"unable to find state attribute: {key}", given=SAID)
    return fields[key]


def _table_rows(x: Value) -> list[Dict]:
    """The rows of a table, or of a list of dictionaries."""
    if x.__class__ is Table or x.__class__ is List:
        rows = [item for item in x.items if item.__class__ is Dict]
        if len(rows) == len(x):
            return rows
    raise QError(f"opt: unrecognized state, expecting table, given {_word(x)}")


def _word(x: Value) -> str:
    return "dictionary" if x.__class__ is Dict else kname(x)


def _rows(x: Value, entry: Entry) -> list[Dict]:
    """The settings of each group."""
    if x.__class__ is not Table and x.__class__ is not List:
        raise QError(
            f"opt: unrecognized settings for {entry.name} optimizer, expecting table, given {_word(x)}"
        )
    rows = _table_rows(x)
    if not rows:
        raise CallError(
            "opt",
            f"empty table of settings supplied for {entry.name} optimizer",
            given=SAID,
            expected=UNSAID,
        )
    return rows


def _with_groups(entry: Entry, rows: Sequence[Dict]) -> Opt:
    first, *following = [parse(entry, [], pairs(row)) for row in rows]
    optimizer = create(entry, first)
    if following and len(rows) > (optimizer.record.groups or len(rows)):
        raise QError(f"opt: {entry.name} optimizer has a single parameter group, {len(rows)} given")
    for number, options in enumerate(following, 1):
        values = group_values(entry, optimizer.torch.defaults) | options
        build(entry, values)
        edit_group(optimizer, number, values, [])
    return optimizer


def _find(
    row: dict[str, Value], known: dict[str, Any], groups: int, taken: set[int]
) -> tuple[int, Any]:
    """The group number, below `groups`, and the parameter named in a row of a state, which must not be taken yet."""
    name, module_type, group, size = (
        _field(row, field) for field in ("name", "module", "parmgroup", "size")
    )
    if name.__class__ is not Sym or group.__class__ is not int:
        raise QError(
            "opt: unrecognized state, expecting name and group of a parameter, "
            f"given {kname(name)}, {kname(group)}"
        )
    label = f"{module_type.s if module_type.__class__ is Sym and module_type.s else 'tensor'} parameter `{name.s}"
    if not 0 <= group < groups:
        raise QError(f"opt: group[{group}] for {label} is invalid, {groups} group(s) defined")
    param = known.get(name.s)
    if param is None:
        raise CallError("opt", f"unable to find {label}", says=(name.s, f"`{name.s}"))
    if id(param) in taken:
        raise CallError("opt", f"{label} is repeated", says=(name.s, f"`{name.s}"))
    sizes = [item for item in seq_items(size)] if not is_atom(size) else [size]
    if sizes != list(param.shape):
        raise QError(
            f"opt: size mismatch for {label}, expected {size_text(list(param.shape))}, given {size_text(sizes)}"
        )
    return group, param


# ------------------------------------------------------------------ buffers back into torch


def put_buffers(samples: Samples, at: int, p: Tensor, found: Value) -> None:
    """Set an optimizer's state for a parameter of a group from a state's dictionary."""
    if found.__class__ is not Dict:
        return
    state = samples.o.state
    saved = {state.names.get(key, key): value for key, value in StateFromQ().value(found).items()}
    # buffers in use
    saved = {
        key: value for key, value in saved.items() if value is not None or key in samples.of(at, p)
    }
    if saved:
        state.put(p, samples.fitted(saved, at, p))


class Samples:
    """The buffers that an optimizer makes for a parameter, found by stepping one with a single element: a restored
    buffer thus gets exactly the type that torch uses (a step count in a float tensor or an int, say). A sample is made
    per group, and per number of dimensions, type and device of its parameters."""

    def __init__(self, o: Opt) -> None:
        self.o = o
        self._made: dict[Any, dict[str, Any]] = {}

    def of(self, at: int, p: Tensor) -> dict[str, Any]:
        """The buffers for a parameter like p in a group; none if they cannot be determined."""
        key = at, p.dim(), p.dtype, p.device
        if key not in self._made:
            try:
                self._made[key] = self._stepped(group_values(self.o.entry, self.o.groups[at]), p)
            except Exception:
                self._made[key] = {}
        return self._made[key]

    def fitted(self, kept: dict[str, Any], at: int, p: Tensor) -> Any:
        """Buffers for a parameter of a group, converted to the types that the optimizer makes."""
        return optim.state_tree.fitted(kept, self.of(at, p), p)

    def _stepped(self, values: Values, p: Tensor) -> dict[str, Any]:
        with torch.random.fork_rng(devices=[]), torch.enable_grad(), optim.comm.alone():
            sample = torch.ones([1] * p.dim(), dtype=p.dtype, device=p.device, requires_grad=True)
            optimizer = class_of(self.o.entry)([sample], **torch_args(self.o.entry, values))
            sample.grad = torch.ones_like(sample)
            traits = abilities(optimizer)
            if traits.gathers:  # it accumulates gradients over steps: a step may not use them yet
                traits.update()
            elif self.o.record.closure:
                optimizer.step(lambda: torch.ones((), device=p.device))
            elif not optim.fused.step(optimizer):
                optim.fused.plain(optimizer)
            return optim.state_tree.StateTree(optimizer).of(sample)


def load_state(o: Opt, value: dict[str, Any]) -> None:
    """torch's `load_state_dict`, except that groups keep entries missing in the value, because schedulers add some, and
    buffers get the type that the optimizer makes: torch converts all floats to the parameter's type."""
    backup = [dict(group) for group in o.groups]
    o.torch.load_state_dict(value)
    for group, previous in zip(o.groups, backup, strict=True):
        group.update({key: setting for key, setting in previous.items() if key not in group})
    samples, state = Samples(o), o.state
    for number, (saved, group) in enumerate(zip(value["param_groups"], o.groups, strict=True)):
        for index, param in zip(saved["params"], group["params"], strict=True):
            buffers = value["state"].get(index)
            if buffers and state.of(param) and samples.of(number, param):
                state.put(param, samples.fitted(buffers, number, param))


# handles over which a state can be restored
RESTORABLE = (TensorHandle, ModuleHandle, ModelHandle, VectorHandle, DictHandle)
