"""Schedulers: one row each, the source of creation, options, state, help, completion and documentation.

Those from torch.optim.lr_scheduler are rows that name the class; their options are read from its signature.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.entry_kinds import answers
from kshell.errors import CallError, QError
from kshell.kapi.base.args import entry_named, parse_options
from kshell.kapi.base.convert import kname
from kshell.kapi.base.python_options import annotation_text
from kshell.kapi.optim.optimizer import TorchRecord, class_of
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base.core import NIL, NULL_J, List, Value
from kshell.values.base.functions import Function
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from types import FrameType

Values = dict[str, Any]
_TORCH = "torch.optim.lr_scheduler."
# torch schedulers whose rates are not a function of the step count alone
MEASURED = "reducelronplateau"


@dataclass(slots=True, kw_only=True)
class SchedulerRecord(TorchRecord):
    """The traits of a scheduler."""

    # the subclass of Sched (scheduler.py) for a class that does not work like torch's
    kind: type[Any] | None = None
    style: str = ""  # the class's own name for this schedule, if it has several


def scheduler_record(entry: Entry) -> SchedulerRecord:
    """The record of a scheduler."""
    record: SchedulerRecord = entry.record
    return record


def row(
    name: str,
    target: str,
    doc: str,
    *options: Option,
    since: str = "kshell",
    first_torch: str = "",
    at: FrameType | None = None,
    **hooks: Any,
) -> Entry:
    """Register a scheduler: `target` is the dotted name of its class, `options` are in positional order (by default
    read from the class). Further fields are those of SchedulerRecord."""
    at = at or sys._getframe(1)
    return registry.add(
        Entry(
            name,
            "scheduler",
            doc=doc,
            options=options,
            target=target,
            topic="schedulers",
            since=since,
            first_torch=first_torch,
            file=at.f_code.co_filename,
            line=at.f_lineno,
            record=SchedulerRecord(**hooks),
        )
    )


def scheduler(name: str, *options: Option) -> Callable[[type], type]:
    """Register a class like those in torch.optim.lr_scheduler, as a decorator; its docstring is the help text."""

    def register(cls: type) -> type:
        row(
            name,
            f"{cls.__module__}.{cls.__qualname__}",
            inspect.getdoc(cls) or name,
            *options,
            at=sys._getframe(1),
        )
        return cls

    return register


# ------------------------------------------------------------------ the rows of torch

_FUNCTION = "a function of the number of steps, or a list with one per parameter group"


def _of_torch(cls: str, doc: str) -> None:
    row(cls.lower(), _TORCH + cls, doc, since="torch")


# fmt: off  # a table
_of_torch(
    "LambdaLR",
    f"""The initial rate times the result of `lrlambda`.

`lrlambda` is {_FUNCTION}.

q)s:sched(opt(`sgd;();1.);`lambdalr;{{1%1+x}})
q)exec lr from lrs(s;til 4)
1 0.5 0.3333333 0.25
""",
)
_of_torch(
    "MultiplicativeLR",
    f"""Multiply the rate at each step by the result of `lrlambda`.

`lrlambda` is {_FUNCTION}.

q)s:sched(opt(`sgd;();1.);`multiplicativelr;{{$[x<3;.5;1]}})
q)exec lr from lrs(s;til 4)
1 0.5 0.25 0.25
""",
)
_of_torch(
    "StepLR",
    """Multiply the rate by `gamma` every `stepsize` steps.

q)s:sched(opt(`sgd;();1.);`steplr;2;.5)
q)exec lr from lrs(s;til 5)
1 1 0.5 0.5 0.25
""",
)
_of_torch(
    "MultiStepLR",
    """Multiply the rate by `gamma` at each step in `milestones`.

q)s:sched(opt(`sgd;();1.);`multisteplr;1 3;.5)
q)exec lr from lrs(s;til 5)
1 0.5 0.5 0.25 0.25
""",
)
_of_torch(
    "ConstantLR",
    """Multiply the rate by `factor` for the first `totaliters` steps.

q)s:sched(opt(`sgd;();1.);`constantlr;.5;2)
q)exec lr from lrs(s;til 4)
0.5 0.5 1 1
""",
)
_of_torch(
    "LinearLR",
    """Multiply the rate by a factor that goes linearly from `startfactor` to `endfactor` in `totaliters` steps.

q)s:sched(opt(`sgd;();1.);`linearlr;.5;1;2)
q)exec lr from lrs(s;til 4)
0.5 0.75 1 1
""",
)
_of_torch(
    "ExponentialLR",
    """Multiply the rate by `gamma` at every step.

q)s:sched(opt(`sgd;();1.);`exponentiallr;.5)
q)exec lr from lrs(s;til 4)
1 0.5 0.25 0.125
""",
)
_of_torch(
    "PolynomialLR",
    """Decay the rate to zero in `totaliters` steps, as a power of the remaining fraction.

q)s:sched(opt(`sgd;();1.);`polynomiallr;2;2)
q)exec lr from lrs(s;til 4)
1 0.25 0 0
""",
)
_of_torch(
    "CosineAnnealingLR",
    """Anneal the rate to `etamin` along half a cosine of `tmax` steps, and back up.

Loshchilov and Hutter 2017, arXiv 1608.03983.

q)s:sched(opt(`sgd;();1.);`cosineannealinglr;2)
q)exec lr from lrs(s;0 1 2)
1 0.5 0
""",
)
_of_torch(
    "CosineAnnealingWarmRestarts",
    """Cosine annealing to `etamin` with restarts.

The first cycle has `t0` steps, each later one `tmult` times as many. Loshchilov and Hutter 2017, arXiv 1608.03983.

q)s:sched(opt(`sgd;();1.);`cosineannealingwarmrestarts;2)
q)exec lr from lrs(s;til 5)
1 0.5 1 0.5 1
""",
)
_of_torch(
    "CyclicLR",
    """Cycle the rate between `baselr` and `maxlr`, and momentum inversely.

Smith 2017, arXiv 1506.01186. `scalefn` is a function of the cycle's number, or of the steps by `scalemode` iterations.

q)s:sched(opt(`sgd;();1.;.9);`cycliclr;.1;.3;2)
q)exec lr from lrs(s;til 5)
0.1 0.2 0.3 0.2 0.1
""",
)
_of_torch(
    "OneCycleLR",
    """Raise the rate to `maxlr`, then anneal it far below the initial one, in one cycle of `totalsteps` steps.

Smith and Topin 2018, arXiv 1708.07120. The steps are totalsteps, or epochs times stepsperepoch.

q)s:sched(opt(`sgd;();1.;.9);`onecyclelr;1.;10)
q)exec lr from lrs(s;0 2)
0.04 1
""",
)
_of_torch(
    "ReduceLROnPlateau",
    """Multiply the rate by `factor` when a metric stops improving.

Pass the metric to each step; `patience` is the number of steps without improvement to wait.

q)o:opt(`sgd;();1.)
q)s:sched(o;`reducelronplateau;`patience`factor!(0;.5))
q)step(s;3.)
q)step(s;3.)
q)lr s
,0.5
""",
)
_of_torch(
    "SequentialLR",
    """Run schedulers in sequence, switching to the next at each step in `milestones`.

`schedulers` is a list of schedulers for the same optimizer, which become part of this one.

q)o:opt(`sgd;();1.)
q)s:sched(o;`sequentiallr;(sched(o;`constantlr;.1;2);sched(o;`exponentiallr;.5));2)
q)exec lr from lrs(s;til 5)
0.1 0.1 1 0.5 0.25
""",
)
_of_torch(
    "ChainedScheduler",
    """Combine schedulers of the same optimizer: their factors are multiplied.

q)o:opt(`sgd;();1.)
q)s:sched(o;`chainedscheduler;(sched(o;`constantlr;.1;2);sched(o;`exponentiallr;.5)))
q)exec lr from lrs(s;til 3)
0.1 0.05 0.25
""",
)
# fmt: on
row(
    "swalr",
    "torch.optim.swa_utils.SWALR",
    """Anneal the rate to `swalr` in `annealepochs` steps, then keep it there.

Use it for the phase in which weights are averaged. Izmailov et al. 2018, arXiv 1803.05407.

q)s:sched(opt(`sgd;();1.);`swalr;.2;2;`linear)
q)exec lr from lrs(s;til 4)
1 0.6 0.2 0.2
""",
    Option("swalr", "doubles", REQUIRED, "swa_lr", "final rate, one per group or one for all"),
    Option("annealepochs", "long", 10, "anneal_epochs", "steps to reach it", low=0),
    Option(
        "annealstrategy",
        "symbol",
        "cos",
        "anneal_strategy",
        "shape of the annealing",
        choices=("cos", "linear"),
    ),
    since="torch",
)


# ------------------------------------------------------------------ options from signatures

# minimum values of options that torch does not check
_LOW = {
    "stepsize": 1,
    "tmax": 1,
    "t0": 1,
    "tmult": 1,
    "totaliters": 0,
    "stepsizeup": 1,
    "stepsizedown": 0,
    "totalsteps": 1,
    "epochs": 1,
    "stepsperepoch": 1,
    "patience": 0,
    "cooldown": 0,
    "eps": 0,
    "milestones": 0,
}


# fmt: off  # a table
_WORDS = {
    "annealstrategy": "shape of the annealing between rates",
    "baselr": "minimum rate, one per group or one for all",
    "basemomentum": "lowest momentum",
    "cooldown": "steps to wait after a change",
    "cyclemomentum": "cycle momentum inversely",
    "divfactor": "maximum rate divided by the initial one",
    "endfactor": "final factor",
    "epochs": "number of epochs",
    "eps": "minimum change of a rate",
    "etamin": "lowest rate",
    "factor": "what the rate is multiplied by",
    "finaldivfactor": "initial rate divided by the final one",
    "gamma": "what the rate is multiplied by",
    "lrlambda": "function of the step count, or one per group",
    "maxlr": "maximum rate, one per group or one for all",
    "maxmomentum": "highest momentum",
    "milestones": "numbers of steps",
    "minlr": "minimum rate, one per group or one for all",
    "mode": "direction of improvement, or how cycles change",
    "patience": "steps without improvement to wait",
    "pctstart": "fraction of steps on the way up",
    "power": "exponent",
    "scalefn": "function that scales cycles, instead of mode",
    "scalemode": "argument of scalefn: cycles or iterations",
    "schedulers": "the parts",
    "startfactor": "initial factor",
    "stepsize": "steps between changes",
    "stepsizedown": "steps on the way down, by default as many as up",
    "stepsizeup": "steps on the way up",
    "stepsperepoch": "steps per epoch",
    "t0": "steps in the first cycle",
    "threephase": "the final annealing is a separate phase",
    "threshold": "minimum change that counts as improvement",
    "thresholdmode": "how that change is measured, rel or abs",
    "tmax": "steps on the way down",
    "tmult": "growth factor of cycle length",
    "totaliters": "number of steps",
    "totalsteps": "number of steps",
}
# fmt: on


@answers("options", "scheduler")
def options_of(entry: Entry) -> tuple[Option, ...]:
    """The options of a scheduler, in order; by default those of its class."""
    if not entry.options:
        entry.options = tuple(signature_options(class_of(entry)))
    return entry.options


def signature_options(cls: type) -> Iterator[Option]:
    """Options from the signature of a torch scheduler."""
    for name, value in inspect.signature(cls).parameters.items():
        if name in ("optimizer", "last_epoch"):
            continue
        default = REQUIRED if value.default is value.empty else value.default
        kind, choices = _kind(annotation_text(value.annotation))
        if kind in ("double", "doubles") and isinstance(default, int | float):
            default = float(default)
        short = name.replace("_", "").lower()
        yield Option(
            short, kind, default, name, _WORDS.get(short, ""), low=_LOW.get(short), choices=choices
        )


def _kind(text: str) -> tuple[str, tuple[str, ...]]:
    """The type of an option from the text of its annotation."""
    if text.startswith("Literal"):
        return "symbol", tuple(re.findall(r"'(\w+)'", text))
    kind = {"int": "long", "float": "double", "bool": "boolean", "str": "symbol"}.get(text)
    if kind is None:
        numbers = (
            "doubles"
            if "list[float]" in text
            else "longs"
            if re.search(r"\[int\]$", text)
            else "any"
        )
        kind = "any" if "Callable" in text else numbers
    return kind, ()


def entry_of(name: str) -> Entry:
    """The scheduler with a name; `unrecognized scheduler: name` if there is none."""
    return entry_named("scheduler", "unrecognized scheduler: ", name)


def known_options() -> frozenset[str]:
    """The option names of all schedulers seen so far."""
    return frozenset(
        option.name for entry in registry.entries("scheduler") for option in entry.options
    )


def parse(
    entry: Entry, positional: Sequence[Value], named: Sequence[tuple[str, Value]], before: int
) -> Values:
    """All options, {name: Python value}, given or default; None if one may be absent."""
    options = options_of(entry)
    parsed = parse_options(
        entry.name,
        options,
        positional,
        named,
        kind="scheduler",
        known=known_options(),
        before=before,
    )
    values: Values = {}
    for option in options:
        value = parsed.get(option.name, option.default)
        if value is REQUIRED or (option.default is REQUIRED and _null(value)):
            raise QError(f"{entry.name}: {option.name} not defined")
        if _null(value):
            value = option.default
        if option.type == "any":
            value = _special(entry, option, value)
        elif (
            option.type == "longs"
            and option.low is not None
            and min(value, default=option.low) < option.low
        ):
            raise QError(f"{entry.name} {option.name}: {min(value)} is below {option.low:g}")
        values[option.name] = value
    return values


def _null(value: object) -> bool:
    return (
        value in (NULL_J.v, "")
        if isinstance(value, int | str)
        else isinstance(value, float) and math.isnan(value)
    )


def _special(entry: Entry, o: Option, value: Value | None) -> Any:
    """An option that is a q value: functions, or schedulers."""
    if value is None or value is NIL:
        return None
    items = value.items if value.__class__ is List else [value]
    if o.name == "schedulers":
        return list(items)
    for item in items:
        if not isinstance(item, Function) and item.__class__ is not Sym:
            raise CallError(entry.name, at=o.name, expected="function", given=kname(item))
    return value
