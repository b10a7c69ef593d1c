"""Optimizers: the user's functions `opt`, `lr`, `step`, and the functions of all handle classes for optimizer
handles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from kshell.entry_kinds import answers
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import doubles_of, flag_of, items, named_values, number_of, split
from kshell.kapi.base.call import api, with_all
from kshell.kapi.base.convert import as_tensor, kname, to_q
from kshell.kapi.base.device_options import device_of
from kshell.kapi.base.handles import (
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    behaves,
    behaviour,
    handle,
    optimizer_handle,
)
from kshell.kapi.base.live_optimizers import optimizer_of, optimizers_with, stepped
from kshell.kapi.module.api import every_option
from kshell.kapi.optim.groups import edited, move_base, with_names
from kshell.kapi.optim.optimizer import (
    Opt,
    Values,
    build,
    complete,
    create,
    edit_group,
    entry_of,
    group_values,
    optimizer_record,
    options_of,
    parse,
    set_rate,
)
from kshell.kapi.optim.parameters import check_new, group_number, parameters_of, plan, select
from kshell.kapi.optim.state import (
    RESTORABLE,
    counts,
    definition,
    options_dict,
    options_table,
    restore,
    state_tensors,
)
from kshell.kapi.optim.wraps import KINDS
from kshell.kapi.tensor.gradients import drop_gradient, zero_gradient
from kshell.kapi.tensor.handle_api import counted
from kshell.parallel.group import joined
from kshell.registry import Entry, find
from kshell.values.base.build import floats
from kshell.values.base.core import NIL, Dict, List, Value, long, seq_items
from kshell.values.base.symbols import Sym, sym
from kshell.values.engine.apply import apply1, is_function
from kshell.values.session.interrupts import stoppable
from kshell.values.session.progress import line

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

# ------------------------------------------------------------------ opt


@api(
    "opt",
    "opt`name",
    "opt(name;parms;options..)",
    "opt(name;0;parms;options..)",
    "opt o",
    "opt(o;flag)",
    "opt(o;parms;options..)",
    "opt(o;group;parms;options..)",
    "opt(state;module)",
    "opt model",
    held=True,
    effect="reads1",
)
def opt(x: Value) -> Value:
    """Make an optimizer, get its definition, add parameters and groups, change options, restore it from a state.

    Parameters are a module, model, tensor, vector or dictionary of tensors, or a list of one of these and a selection
    from it; () means none. Options are positional, then name-value pairs or a dictionary. A number after the optimizer
    is a parameter group; the number after the last makes a new group.

    q)m:module enlist(`linear;64;10)
    q)o:opt(`sgd;m;.1;`momentum,.9)
    q)opt(o;1;();.01)
    q)opt[o]`options
    lr   momentum dampening decay nesterov
    --------------------------------------
    0.1  0.9      0         0     0
    0.01 0.9      0         0     0

    q)opt(o;0;();.2)
    q)lr o
    0.2 0.01
    """
    if x.__class__ is Sym:
        return _define(x.s, [x])
    if isinstance(x, KHandle):
        arguments: Sequence[Value] = [x]
        handle(x)
    else:
        arguments = items(x) if x.__class__ is List else []
    first = arguments[0] if arguments else NIL
    if first.__class__ is Sym:
        return _define(first.s, arguments)
    if isinstance(first, OptimizerHandle):
        optimizer = first.get()
        if len(arguments) > 1 and flag_of(arguments[1]) is None and optimizer.abilities.meets:
            with with_all("opt", x):
                return _get_or_edit(optimizer, arguments)
        return _get_or_edit(optimizer, arguments)
    if isinstance(first, ModelHandle) and len(arguments) == 1:
        return optimizer_handle(first.obj.optimizer)
    if first.__class__ is Dict and len(arguments) == 2 and isinstance(arguments[1], RESTORABLE):
        with with_all("opt", x) if _meets(first) else nullcontext():
            return optimizer_handle(restore(first, arguments[1]))
    raise CallError("opt", "unrecognized arg(s)", expected=UNSAID)


@behaviour("do_reached", OptimizerHandle)
def _reached(h: OptimizerHandle, name: str) -> str:
    if name not in ("optimizer", "options", "parms"):
        return ""
    return (
        f"opt[o]`{name} are those of an optimizer o, opt[opt k]`{name} those of a model k"
        if name != "optimizer"
        else "opt[o]`optimizer is the type of an optimizer o, opt[opt k]`optimizer that of a model k"
    )


def _meets(state: Dict) -> bool:
    """Is it the state of an optimizer whose steps are collective?"""
    fields = dict(zip(seq_items(state.k), seq_items(state.v), strict=True))
    name, wrappers = fields.get(sym("optimizer")), fields.get(sym("wrap"))
    entry = find("optimizer", name.s) if isinstance(name, Sym) else None
    meeting = (
        [KINDS[name].meets for name in named_values(wrappers) if name in KINDS]
        if isinstance(wrappers, Dict)
        else []
    )
    return entry is not None and (optimizer_record(entry).meets or any(meeting))


def _offset(found: Sequence[Value], numbered: bool) -> int:
    """The position of the options; a group number must be followed by something."""
    start = 2 + numbered
    if numbered and start > len(found):
        raise QError(f"opt: only group {_number(found)} given, expecting parameters or () after it")
    return start


def _number(found: Sequence[Value]) -> int | None:
    return group_number(found[1]) if len(found) > 1 else None


def _define(name: str, found: Sequence[Value]) -> Value:
    """`(name;[0];parms;options..)`: a new optimizer."""
    entry = entry_of(name)
    if optimizer_record(entry).meets and len(found) > 1:
        with with_all("opt", List(list(found))):
            return _made(entry, found)
    return _made(entry, found)


def _made(entry: Entry, found: Sequence[Value]) -> Value:
    number = _number(found)
    if number:
        raise CallError(
            "opt",
            f"cannot define group {long(number)} until optimizer is created with initial parameter group",
            says=(long(number), "optimizer"),
        )
    start = _offset(found, number is not None)
    optimizer = create(entry, parse(entry, *split(found, start), before=start))
    if len(found) >= start:
        parts = optimizer.record.parts
        for index, selection in enumerate(
            [found[start - 1]] if parts is None else parts(found[start - 1])
        ):
            put_parameters(optimizer, index, {}, selection)
    return optimizer_handle(optimizer)


def _get_or_edit(o: Opt, found: Sequence[Value]) -> Value:
    flag = flag_of(found[1]) if len(found) == 2 else None
    if len(found) == 1 or flag is not None:
        return definition(o, every_option() if flag is None else flag)
    number = _number(found)
    start, count = _offset(found, number is not None), len(o.groups)
    number = number or 0
    if number < 0:
        raise CallError(
            "opt", f"group {long(number)} invalid, cannot be negative", says=(long(number),)
        )
    if number > count:
        raise QError(
            f"opt: group {long(number)} invalid, cannot be greater than number of groups({count})"
        )
    options = parse(o.entry, *split(found, start), before=start)
    if number == count:
        if o.record.groups is not None and count >= o.record.groups:
            raise CallError(
                "opt",
                f"{o.entry.name} optimizer has a single parameter group",
                says=(o.entry.name, "optimizer"),
            )
        options = group_values(o.entry, o.torch.defaults) | options
    elif options:
        options = group_values(o.entry, o.groups[number]) | options
    if options:
        complete(o.entry, options)
        build(o.entry, options)  # rejects what torch rejects when an optimizer is made
    put_parameters(o, number, options, found[start - 1])
    return NIL


def put_parameters(o: Opt, at: int, values: Values, x: Value) -> None:
    """Set options of a group and add the parameters in x to it; everything is checked before anything changes."""
    chosen = select(x, o)
    if chosen is not None:
        check_new(o, chosen.params)
        container = plan(o, chosen)
    with edited(o, "opt"), with_names(o):
        edit_group(o, at, values, [] if chosen is None else chosen.params)
    if chosen is not None:
        container.commit(o)


# ------------------------------------------------------------------ learning rate and step


@api("lr", "lr o", "lr(o;rates)", "lr(o;rates;flag)", effect="reads1")
def lr(x: Value) -> Value:
    """The learning rates of an optimizer or model, one per parameter group; given rates, set them.

    If a scheduler also sets the rates at each step, a line says so, and whether it continues from the given rates or
    computes its own. With the flag 1b, the rates from which schedulers compute are multiplied by the same ratio, so
    that they continue from the given rates.

    q)o:opt(`sgd;();.1)
    q)opt(o;1;();.01)
    q)lr(o;.5*lr o)
    q)lr o
    0.05 0.005
    """
    arguments = [x] if isinstance(x, KHandle) else items(x) if x.__class__ is List else []
    target = handle(arguments[0]) if arguments else None
    if target is None:
        raise QError(f"lr: not implemented for {kname(x)}")
    if not isinstance(target, OptimizerHandle | ModelHandle):
        method = behaves("lr", target)
        if method is None:
            raise QError(f"lr: not implemented for {target.kind}")
        return method(target, *arguments[1:])
    if len(arguments) > 3:
        raise QError(f"lr: expecting 1-3 args, given {len(arguments)}")
    optimizer = optimizer_of(target)
    if len(arguments) == 1:
        return floats([float(group["lr"]) for group in optimizer.groups])
    flag = flag_of(arguments[2]) if len(arguments) == 3 else False
    if flag is None:
        raise CallError("lr", expecting="optimizer, rates and a flag", given=kname(arguments[2]))
    rates = _rates(arguments[1], len(optimizer.groups))
    with edited(optimizer, "lr", flag):
        if flag:
            move_base(optimizer, rates)
        else:
            for group, rate in zip(optimizer.groups, rates, strict=True):
                set_rate(group, rate)
    return NIL


def _rates(x: Value, n: int) -> list[float]:
    """Learning rates for n groups; a single rate applies to all."""
    rates = doubles_of(x)
    if rates is None:
        raise CallError(
            "lr", "unrecognized arg(s), expecting model/optimizer and learning rate(s) as double(s)"
        )
    if len(rates) == 1:
        rates *= n
    if len(rates) != n:
        raise CallError(
            UNSAID,
            f"length error: {len(rates)} learning rate{'s' * (len(rates) != 1)} given for "
            f"{n} parameter group{'s' * (n != 1)}",
            given=SAID,
        )
    for rate in rates:
        if not rate >= 0:
            raise CallError(UNSAID, f"Invalid learning rate: {rate:g}", given=SAID)
    return rates


@api(
    "step",
    "step o",
    "step model",
    "step module",
    "step(o;denom)",
    "step(o;denom;multiplier)",
    "step(o;f)",
    "step s",
    "step(s;n)",
    held=True,
    effect="changes",
)
def step(x: Value) -> Value:
    """One update of the parameters by an optimizer, or step a scheduler.

    The optimizer may also be given as a model, or as a module that has exactly one. `step(s;n)` makes n steps of a
    scheduler. A denominator is for custom averages of agg and fp16, a multiplier for fp16. A function computes
    gradients and returns the loss, which is then the result, as is an optimizer's own (fp16: was the step made).

    q)t:tensor(1 2e;`grad)
    q)o:opt(`sgd;t;.5)
    q)backward Sum t
    q)step o
    q)tensor t
    0.5 1.5e
    """
    if x.__class__ is OptimizerHandle:
        return _stepped(x.get().step())
    arguments: Sequence[Value] = items(x) if x.__class__ is List else []
    subject = handle(arguments[0]) if arguments else handle(x)
    method = None if subject is None else behaves("step", subject)
    if method is not None:
        return method(subject, *arguments[1:])
    if arguments and isinstance(subject, OptimizerHandle | ModelHandle):
        optimizer = optimizer_of(subject)
        if joined() and optimizer.meets():
            with with_all("step", x):
                return step_with(optimizer, arguments[1:])
        return step_with(optimizer, arguments[1:])
    if isinstance(subject, OptimizerHandle | ModelHandle):
        return _stepped(optimizer_of(subject).step())
    elif isinstance(subject, ModuleHandle):
        _stepped(_optimizer_for(subject.obj).step())
    else:
        raise QError(f"step: expects model or optimizer, given {kname(x)}")
    return NIL


def _stepped(found: Tensor | bool | None) -> Value:
    """The result of a step as a q value: whether it was made, or the loss; :: if there is none."""
    line().tally("step")
    stepped()
    return NIL if found is None else found if isinstance(found, bool) else to_q(found)


def step_with(o: Opt, given: Sequence[Value]) -> Value:
    """A step with a denominator and a multiplier, or with a function that returns the loss."""
    function = None
    if given and is_function(given[0]):
        function, given = given[0], given[1:]
    numbers = [None if argument is NIL else number_of(argument) for argument in given]
    if len(given) > 2 or any(
        number is None and argument is not NIL
        for number, argument in zip(numbers, given, strict=True)
    ):
        raise CallError(
            "step", "expecting an optimizer, and a function or numbers: denominator and multiplier"
        )
    keywords = {
        name: float(number)
        for name, number in zip(("denom", "multiplier"), numbers, strict=False)
        if number is not None
    }

    def closure() -> Any:
        return as_tensor(stoppable(apply1, function, NIL))

    return _stepped(o.step(None if function is None else closure, **keywords))


def _optimizer_for(m: Module) -> Opt:
    """The one live optimizer that has parameters of a module."""
    optimizers = optimizers_with(m.parameters())
    if len(optimizers) != 1:
        raise QError(
            f"step: expects module with one optimizer, given module with {len(optimizers)}"
        )
    return optimizers[0]


# ------------------------------------------------------------------ what every class of handle answers


@behaviour("zerograd", OptimizerHandle)
def _zerograd(h: OptimizerHandle) -> None:
    for group in h.obj.torch.param_groups:
        for param in group["params"]:
            zero_gradient(param)
    h.obj.abilities.forget()


@behaviour("nograd", OptimizerHandle)
def _nograd(h: OptimizerHandle) -> None:
    for param in h.obj.parameters():
        drop_gradient(param)
    h.obj.abilities.forget()


@behaviour("state", OptimizerHandle)
def _state(h: OptimizerHandle, every: bool = True) -> Value:
    return definition(h.obj, every, True)


@behaviour("options", OptimizerHandle)
def _options(h: OptimizerHandle) -> Value:
    return options_table(h.obj, every_option())


@behaviour("objtype", OptimizerHandle)
def _objtype(h: OptimizerHandle) -> Value:
    return sym(h.obj.entry.name)


@behaviour("size", OptimizerHandle)
def _size(h: OptimizerHandle) -> Value:
    return sum(len(group["params"]) for group in h.obj.groups)


counted(OptimizerHandle, counts)


@behaviour("device", OptimizerHandle)
def _device(h: OptimizerHandle) -> Value:
    """The device of the first parameter; the CPU if there is none."""
    return sym(device_of(next(iter(h.obj.parameters()), None)) or "cpu")


@behaviour("placed", OptimizerHandle)
def _placed(h: OptimizerHandle) -> list[Any]:
    return [row.p for row in parameters_of(h.obj)]


@behaviour("tensors", OptimizerHandle)
def _tensors(h: OptimizerHandle) -> Iterator[Any]:
    return state_tensors(h.obj)


@behaviour("parameters", OptimizerHandle)
def _parameters(h: OptimizerHandle) -> list[tuple[str, Any]]:
    return [(row.name, row.p) for row in parameters_of(h.obj)]


@behaviour("holds", OptimizerHandle)
def _holds(h: OptimizerHandle) -> list[Any]:
    """The optimizer itself, the modules it was given with all their parts, and its parameters."""
    optimizer = h.obj
    modules = [] if optimizer.container is None else list(optimizer.container.modules())
    return [optimizer, *modules, *optimizer.parameters()]


@answers("values", "optimizer")
def _named_options(name: str) -> Value | None:
    entry = find("optimizer", name)
    return None if entry is None or not options_of(entry) else options_dict(entry)
