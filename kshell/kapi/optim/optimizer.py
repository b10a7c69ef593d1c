"""Optimizers: registration, options, groups and steps. kapi/optim/torch_types.py has the rows for torch's.

To add one, write a row, or put `@optimizer(name, options..)` above a torch optimizer class in any file. Everything else
(groups, learning rates, state and restoring, help) follows from the row and torch's conventions: options are entries of
a group, buffers are entries of `state[parameter]`.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kshell import optim, registry, torch_versions
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.args import entry_named, parse_options
from kshell.kapi.base.call import with_all
from kshell.kapi.base.errors import refused
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.option_docs import worded
from kshell.kapi.base.python_types import PyType, factory, made_of, type_of_class
from kshell.kapi.optim import wraps
from kshell.kapi.optim.signatures import HOW, called, signature_options
from kshell.optim.abilities import Abilities, abilities
from kshell.parallel.group import joined
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base.core import NULL_J, Value

if TYPE_CHECKING:
    from types import FrameType

    from torch.nn import Module
    from torch.optim import Optimizer

    from kshell.optim.state_tree import StateTree

Values = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class TorchRecord:
    """The fields of optimizer and scheduler entries besides name and options."""

    cls: Any = None  # the torch class: given, or looked up by the entry's target on first use


@dataclass(slots=True, kw_only=True)
class OptimizerRecord(TorchRecord):
    """The traits of an optimizer."""

    state: dict[str, str] | None = None  # buffers: documented name -> torch's name
    drop: tuple[str, ...] = ()  # buffers that are not saved
    # {option: a buffer that torch makes only at the first step, if the option is set then}; zeros if it is set
    # afterwards
    later: dict[str, str] = field(default_factory=dict)
    closure: bool = False  # step calls back for the loss
    groups: int | None = None  # maximum number of groups
    dims: int | None = None  # required number of dimensions of its parameters
    same: tuple[str, ...] = ()  # options with one value for all groups
    fill: Callable[[Values], None] | None = None  # completes option values on creation
    # called with the torch optimizer when a group was given parameters
    added: Callable[[Any], None] | None = None
    # splits the initial parameters into groups, if groups have a meaning
    parts: Callable[[Value], Sequence[Value]] | None = None
    sharded: bool = True  # accepts parameters sharded across processes
    meets: bool = False  # with several processes, stepping and adding parameters are collective
    pytorch: str | None = None  # torch's name in help, if not the target; empty: torch has none
    # the class or function of Python's that is a type without being registered: kapi/base/python_types.py
    python: PyType | None = None
    # the class's implementation flags, cached by how_of
    how: tuple[Option, ...] | None = field(default=None, init=False)


def optimizer_record(entry: Entry) -> OptimizerRecord:
    """The record of an optimizer."""
    record: OptimizerRecord = entry.record
    return record


@factory("optimizer")
def _of_python(t: PyType) -> tuple[tuple[Option, ...], OptimizerRecord]:
    return signature_options(t.obj), OptimizerRecord(cls=t.obj, python=t)


def row(
    name: str,
    target: type | str,
    doc: str,
    *options: Option,
    since: str = "ktorch",
    first_torch: str = "",
    at: FrameType | None = None,
    **hooks: Any,
) -> Entry:
    """Register an optimizer: `target` is its torch class, or the dotted name of one; `options` are in positional order
    (by default read from the class). An option's `torch` is the group entry that it sets, with `.0` for an item of a
    tuple. Special behaviour is a hook, a field of OptimizerRecord.

    Implementation flags (`foreach`, `fused`, `maximize`, `capturable`, `differentiable`) are not part of a row: those
    that the class has can be given by name, and are shown if set.
    """
    at = at or sys._getframe(1)
    if isinstance(target, type):
        hooks["cls"] = target
        target = f"{target.__module__}.{target.__qualname__}"
    topic = at.f_globals["__name__"].partition(".")[2]
    return registry.add(
        Entry(
            name,
            "optimizer",
            doc=doc,
            options=worded(name, options),
            target=target,
            topic=topic,
            since=since,
            first_torch=first_torch,
            file=at.f_code.co_filename,
            line=at.f_lineno,
            record=OptimizerRecord(**hooks),
        )
    )


def optimizer(name: str, *options: Option, **hooks: Any) -> Callable[[type], type]:
    """Register a torch optimizer class, as a decorator; the class's docstring is the help text. `hooks` are the fields
    of OptimizerRecord."""

    def register(cls: type) -> type:
        row(
            name,
            cls,
            inspect.getdoc(cls) or name,
            *options,
            **{"since": "kshell", "at": sys._getframe(1), **hooks},
        )
        return cls

    return register


# ------------------------------------------------------------------ entries, classes, options


def entry_of(name: str) -> Entry:
    """The optimizer with a name; `unrecognized optimizer: name` if there is none."""
    return entry_named("optimizer", "unrecognized optimizer: ", name)


def class_of(entry: Entry) -> Any:
    """The torch class of an optimizer or scheduler; an error if this torch version does not have it."""
    record: TorchRecord = entry.record
    cls = record.cls
    if cls is None:
        try:
            cls = entry.resolve()
        except (AttributeError, ModuleNotFoundError):
            cls = None
        if cls is None:
            raise QError(f"{entry.name}: torch {torch.__version__} has no {entry.target}")
        record.cls = cls
    return cls


def options_of(entry: Entry) -> tuple[Option, ...]:
    """The options of an optimizer, in order; by default those of its class."""
    if not entry.options:
        entry.options = signature_options(class_of(entry))
    return entry.options


def how_of(entry: Entry) -> tuple[Option, ...]:
    """The implementation flags of the optimizer's class; they are given by name only."""
    record = optimizer_record(entry)
    if entry.first_torch and torch_versions.before(entry.first_torch):
        return ()
    if record.how is None:
        taken = {option.torch or option.name for option in options_of(entry)}
        parameters = inspect.signature(class_of(entry)).parameters
        record.how = tuple(
            Option(name, "boolean", parameters[name].default)
            for name in HOW
            if name in parameters and name not in taken
        )
    return record.how


_KNOWN: list[Any] = [-1, frozenset()]


def known_options() -> frozenset[str]:
    """The option names of all optimizers."""
    if _KNOWN[0] != registry.version():
        names = frozenset(
            option.name for entry in registry.entries("optimizer") for option in entry.options
        ).union(HOW)
        _KNOWN[:] = registry.version(), names
    return _KNOWN[1]


def parse(
    entry: Entry, positional: Sequence[Value], named: Sequence[tuple[str, Value]], before: int = 0
) -> Values:
    """The given options, {name: Python value}: q nulls become None if an option may be absent."""
    options = options_of(entry)
    values = parse_options(
        entry.name,
        options,
        positional,
        named,
        kind="optimizer",
        known=known_options(),
        before=before,
        more=how_of(entry),
    )
    for option in options:
        if option.default is None and _is_null(values.get(option.name)):
            values[option.name] = None
    return values


def _is_null(value: object) -> bool:
    return value in (NULL_J.v, "") or (isinstance(value, float) and math.isnan(value))


def default_values(entry: Entry) -> Values:
    """The default options of an optimizer's row; without implementation flags."""
    return {option.name: option.default for option in options_of(entry)}


def torch_args(entry: Entry, values: Values) -> dict[str, Any]:
    """Option values under torch's names, with tuples reassembled from items."""
    keywords: dict[str, Any] = {}
    for option in (*options_of(entry), *how_of(entry)):
        if option.name in values:
            name, _, item = (option.torch or option.name).partition(".")
            keywords[name] = (
                (*keywords.get(name, ()), values[option.name]) if item else values[option.name]
            )
    return keywords


def group_values(entry: Entry, group: dict[str, Any]) -> Values:
    """The option values in a torch parameter group."""
    values = {}
    for option in (*options_of(entry), *how_of(entry)):
        name, _, item = (option.torch or option.name).partition(".")
        value = group.get(name, option.default)
        if item and isinstance(value, tuple | list):
            value = value[int(item)]
        values[option.name] = value.item() if isinstance(value, torch.Tensor) else value
    return values


# ------------------------------------------------------------------ the optimizer of a handle


class Opt:
    """The object behind an optimizer handle: the registered entry, the torch optimizer, and the module that holds its
    parameters (`own`: created here, because the parameters are tensors or come from several objects). `outer` is a
    Python program's wrapper around it, through which it is stepped (kapi/optim/host_wrappers.py)."""

    __slots__ = (
        "container",
        "contents",
        "crossed",
        "entry",
        "inner",
        "layers",
        "outer",
        "own",
        "placed",
        "program",
        "record",
        "scheduled",
        "timings",
        "torch",
        "tree",
        "turn",
        "waiting",
        "wraps",
    )

    def __init__(
        self, entry: Entry, torch_optimizer: Optimizer, container: Module | None = None
    ) -> None:
        self.turn = threading.RLock()  # held by the thread that makes an update
        self.entry, self.own = entry, False
        self.torch: Any = torch_optimizer  # its class may have more than torch's
        self.container: Any = container  # the module; None while there are no parameters
        self.record = optimizer_record(entry)
        self.contents: Any = None  # contents of a container created here: kapi/optim/parameters.py
        # the plain list of layers from which parameters were last chosen: parameters.py
        self.layers: Any = None
        self.outer: Any = None
        # is it known to a Python program; has a scheduler been made for it here?
        self.crossed = self.scheduled = False
        # during edits: the schedulers that a Python program has for it
        self.program: list[Any] | None = None
        # the ids of its parameters, if only edits here have changed its groups
        self.placed: set[int] | None = None
        self.tree: StateTree | None = None  # cached for `state`
        # owner of the state, if not `torch`: an inner optimizer with its own groups
        self.inner: Any = None
        self.wraps: dict[str, Any] = {}  # wrappers, by name: kapi/optim/wraps.py
        self.waiting: Any = None  # a scheduler restored with it that has no handle yet
        self.timings: dict[str, float] | None = None  # seconds per phase of a step, if requested

    @property
    def groups(self) -> list[dict[str, Any]]:
        return self.torch.param_groups

    @property
    def state(self) -> optim.state_tree.StateTree:
        """The full state of the optimizer."""
        holder = self.torch if self.inner is None else self.inner
        if self.tree is None or self.tree.optimizer is not holder:
            self.tree = optim.state_tree.StateTree(holder, self.record.state, self.record.drop)
        return self.tree

    @property
    def abilities(self) -> Abilities:
        """The optimizer's abilities beyond torch's contract."""
        return abilities(self.torch)

    def parameters(self) -> list[Any]:
        """The parameters of all groups."""
        return [param for group in self.torch.param_groups for param in group["params"]]

    def step(self, closure: Callable[[], Any] | None = None, **given: Any) -> Any:
        """One update; an optimizer that needs the loss gets a closure that computes it. Other arguments are for
        wrappers."""
        if joined() and self.meets():
            with with_all("step"):
                return self._step(closure, given)
        return self._step(closure, given)

    def moved(self, was: Mapping[int, Any]) -> None:
        """Parameters were moved to another device or type: `kshell.optim.state_tree` documents the argument."""
        self.placed = self.contents = None
        optim.state_tree.follow(self.torch, was)
        for wrapper in self.wraps.values():
            wrapper.moved()

    def meets(self) -> bool:
        """Is a step with several processes collective?"""
        return self.abilities.meets or any(wrapper.meets for wrapper in self.wraps.values())

    def _step(self, closure: Callable[[], Any] | None, given: dict[str, Any]) -> Any:
        if (
            given
            or self.timings is not None
            or (self.wraps and not all(wrapper.idle() for wrapper in self.wraps.values()))
        ):
            return wraps.step(self, closure, given)
        return self.bare_step(closure)

    def bare_step(self, closure: Callable[[], Any] | None = None, **given: Any) -> Any:
        """One update by the optimizer alone. If it fails, parameters without state are left without: torch creates
        buffers one by one, and could not continue from a partial set."""
        state = self.state
        count = len(state)
        try:
            return self._update(closure, given)
        except BaseException:
            state.forget_from(count)
            raise

    def _update(self, closure: Callable[[], Any] | None, given: dict[str, Any]) -> Any:
        if self.outer is not None:
            return (
                self.outer.step(**given) if closure is None else self.outer.step(closure, **given)
            )
        if given:
            return self.torch.step(closure, **given)
        if closure is None:
            if self.record.closure:
                raise QError(f"{self.entry.name.upper()} optimizer requires model, loss & inputs")
            return None if optim.fused.step(self.torch) else optim.fused.plain(self.torch)
        if not any(group["params"] for group in self.groups):
            raise CallError(self.entry.name, "no parameters to optimize")
        if not self.record.closure:
            return optim.fused.plain(self.torch, closure)
        with guard.whole_step(self.torch):
            return optim.fused.plain(self.torch, closure)


def _refused(exc: ValueError) -> QError:
    """torch's rejection of an option value as a q error, with numbers in q notation."""
    text = re.sub(r"-?\d+\.\d+(e-?\d+)?$", lambda m: f"{float(m[0]):g}", str(exc))
    return refused(exc, text)


def _without_compiler() -> None:
    """Let torch make optimizers without its compiler, whose import takes most of a second and 80 MB, only to be told to
    ignore this method. Nothing here compiles the code that makes optimizers."""
    add_group = getattr(torch.optim.Optimizer.add_param_group, "__wrapped__", None)
    if add_group is not None and not hasattr(add_group, "__dynamo_disable"):
        add_group.__dynamo_disable = add_group


def build(entry: Entry, values: Values) -> Any:
    """A torch optimizer without parameters. (torch does not make one without, so it is made with one that is then
    removed.)

    Some torch classes, such as SGD, accept nan as a rate, which turns parameters into nulls.
    """
    torch_class, dummy = class_of(entry), torch.nn.Parameter(torch.zeros(1, 1))
    _without_compiler()
    try:
        with optim.comm.alone():
            if optimizer_record(entry).python is None:
                torch_optimizer = torch_class([dummy], **torch_args(entry, values))
            else:
                torch_optimizer = called(entry, dummy, torch_args(entry, values))
    except ValueError as exc:
        error = _refused(exc)
    else:
        invalid = next(
            (
                name
                for name, value in values.items()
                if isinstance(value, float) and math.isnan(value)
            ),
            None,
        )
        if invalid is None:
            torch_optimizer.param_groups[0]["params"].clear()
            optim.state_tree.StateTree(torch_optimizer).clear()
            return torch_optimizer
        error = CallError(
            UNSAID,
            f"Invalid {'learning rate' if invalid == 'lr' else invalid + ' value'}: nan",
            given=SAID,
        )
    raise error


def is_of(entry: Entry, torch_optimizer: Any) -> bool:
    """Is a torch optimizer exactly of the class that its type makes?"""
    python = optimizer_record(entry).python
    if python is None:
        return type(torch_optimizer) is class_of(entry)
    made = made_of(torch_optimizer)
    by = type_of_class(type(torch_optimizer)) if made is None else made.type
    return by is python and all(
        (option.torch or option.name).partition(".")[0] in group
        for option in options_of(entry)
        for group in torch_optimizer.param_groups
    )


def complete(entry: Entry, values: Values) -> None:
    """Set option values that follow from others, if the optimizer has such."""
    fill = optimizer_record(entry).fill
    if fill is not None:
        fill(values)


def create(entry: Entry, given: Values) -> Opt:
    """A new optimizer without parameters: given options, defaults for the rest."""
    values = default_values(entry) | given
    missing = next((name for name, value in values.items() if value is REQUIRED), None)
    if missing is not None:
        raise QError(f"{entry.name}: {missing} not defined")
    complete(entry, values)
    return Opt(entry, build(entry, values))


def set_rate(group: dict[str, Any], rate: float) -> None:
    """Set a group's learning rate; if torch holds it in a tensor, the tensor is kept."""
    current = group["lr"]
    if isinstance(current, float | int):
        group["lr"] = rate
    else:
        current.fill_(rate)


# called when a group was added, with the optimizer and the number of the group that it came from, if any
NEW_GROUP: list[Callable[[Opt, int | None], None]] = []


def edit_group(
    o: Opt,
    at: int,
    values: Values,
    params: Sequence[Any],
    source: int | None = None,
    last: bool = True,
) -> None:
    """Set options of a group and add parameters to it; the group after the last is created, from the group `source`.
    `last` is false while other groups follow in the same edit. Nothing here can fail after the checks made earlier
    (`build` with the same values, parameter selection), except `attached` of a kshell optimizer with several processes:
    everything is then restored."""
    arguments = torch_args(o.entry, values)
    traits = o.abilities
    backup = (
        [dict(group, params=list(group["params"])) for group in o.groups]
        if traits is o.torch
        else []
    )
    is_new = at == len(o.groups)
    if is_new:
        _append(o.torch, {"params": list(params), **arguments})
    else:
        group = o.groups[at]
        if (rate := arguments.pop("lr", None)) is not None:
            set_rate(group, rate)
        group.update(arguments)
        group["params"].extend(params)
    add_buffers(o, o.groups[at])
    if o.placed is not None:
        o.placed.update(map(id, params))
    if params and o.record.added is not None:
        o.record.added(o.torch)
    try:
        traits.attached()
    except BaseException:
        del o.groups[len(backup) :]
        for group, previous in zip(o.groups, backup, strict=True):
            group.update(previous)
        raise
    if last and (is_new or params):
        for wrapper in o.wraps.values():
            wrapper.attached(o, at, params)
    for listener in NEW_GROUP if is_new else ():
        listener(o, source)


def _append(t: Optimizer, group: dict[str, Any]) -> None:
    """Add a group whose parameters are known to be in no other. (torch would search all groups for them.)"""
    inherited = torch.optim.Optimizer.add_param_group
    if type(t).add_param_group is not inherited:
        t.add_param_group(group)
        return
    groups = t.param_groups
    t.param_groups = []
    try:
        t.add_param_group(group)
    finally:
        added, t.param_groups = t.param_groups, groups
    groups.extend(added)


def add_buffers(o: Opt, group: dict[str, Any]) -> None:
    """Add the buffers that a group's options require to parameters that have already made steps without them."""
    state = o.state
    for option, name in o.record.later.items():
        for param in group["params"] if group.get(option) else ():
            if (buffers := state.of(param)) and name not in buffers:
                state.add(param, name, torch.zeros_like(param))
