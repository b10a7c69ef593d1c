"""Scaling rules, one row each, and how a rule's options are parsed."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from kshell import registry
from kshell.extend import (
    NULL_J,
    REQUIRED,
    CallError,
    Entry,
    Option,
    QError,
    Value,
    entry_named,
    parse_options,
)

Values = dict[str, Any]

COMMON = (
    Option(
        "accum",
        "double",
        None,
        "accum_scale",
        "micro-batch size over all processes, in base batches; by default from local and base, or else the "
        "number of processes",
    ),
    Option("base", "long", None, "", "base batch size", low=1),
    Option("local", "long", None, "", "micro-batch size on this process", low=1),
    Option(
        "lossscale",
        "double",
        1.0,
        "loss_scale",
        "loss scale; gradients are divided by it",
    ),
)


def row(name: str, cls: str, doc: str, *options: Option, at: Any = None) -> Entry:
    """Register a rule: `cls` is the dotted name of its class, or its name in kshell.families.adaptdl.rules."""
    at = at or sys._getframe(1)
    return registry.add(
        Entry(
            name,
            "rule",
            doc=doc,
            options=(*options, *COMMON),
            topic="rules",
            since="kshell",
            target=cls if "." in cls else f"kshell.families.adaptdl.rules.{cls}",
            file=at.f_code.co_filename,
            line=at.f_lineno,
        )
    )


def rule(name: str, *options: Option) -> Callable[[type], type]:
    """Register a subclass of kshell.families.adaptdl.rules.ScalingRule, as a decorator; its docstring is the help
    text."""

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


# fmt: off  # a table
row(
    "adascale",
    "AdaScale",
    """Scale the rate by the gain of the step, per parameter group: between 1 and the scale.

Johnson et al. 2020, arXiv 2007.05105. The rate follows the progress per step, so one schedule fits all batch sizes.

q)t:tensor(2#0e;`grad)
q)s:scale(opt(`sgd;t;1.);`adascale)
q)backward Sum mul(t;1 2e)
q)backward Sum mul(t;3 2e)
q)step s
q)gns[s]`scale`factor
2f
,1.125
""",
)
row(
    "adamscale",
    "AdamScale",
    """Scale the rate by the square root of adascale's factor, for Adam-like optimizers.

q)t:tensor(2#0e;`grad)
q)s:scale(opt(`adam;t);`adamscale)
q)backward Sum mul(t;1 2e)
q)backward Sum mul(t;3 2e)
q)step s
q)gns[s]`factor
,1.06066
""",
)
row(
    "linear",
    "LinearScale",
    """Scale the rate linearly with the batch size.

Goyal et al. 2017, arXiv 1706.02677.

q)s:scale(opt(`sgd;tensor(2#0e;`grad));`linear)
q)exec factor from gns(s;1 4.)
1 4f
""",
)
row(
    "sqrt",
    "SqrtScale",
    """Scale the rate by the square root of the scale.

Krizhevsky 2014, arXiv 1404.5997.

q)s:scale(opt(`sgd;tensor(2#0e;`grad));`sqrt)
q)exec factor from gns(s;1 4.)
1 2f
""",
)
row(
    "legw",
    "LEGWScale",
    """Scale the rate by the square root of the scale, after a linear warm-up whose epochs grow with the scale.

You et al. 2019, arXiv 1901.08256. An epoch is size / batch steps, counted by progress; the first step has rate 0.

q)s:scale(opt(`sgd;tensor(2#0e;`grad));`legw;5;60000;128)
q)exec factor from gns(s;1 4.)
0 0f
""",
    Option(
        "epochs",
        "double",
        REQUIRED,
        "base_warmup_epochs",
        "warm-up epochs at the base batch size",
        low=0,
    ),
    Option("size", "long", REQUIRED, "data_size", "examples per epoch", low=1),
    Option(
        "batch",
        "long",
        None,
        "batch_size",
        "base batch size, by default the option base",
        low=1,
    ),
)
# fmt: on


def parse(entry: Entry, positional: Sequence[Value], named: Sequence[tuple[str, Value]]) -> Values:
    """All options of a rule, {name: Python value}."""
    known = {option.name for entry in registry.entries("rule") for option in entry.options}
    given = parse_options(
        entry.name, entry.options, positional, named, kind="rule", known=known, before=2
    )
    out: Values = {}
    for option in entry.options:
        value = given.get(option.name)
        missing = (
            value is None or value == NULL_J.v or (isinstance(value, float) and math.isnan(value))
        )
        if missing and option.default is REQUIRED:
            raise QError(f"{entry.name}: {option.name} not defined")
        out[option.name] = option.default if missing else value
    if out["accum"] is not None and out["local"] is not None:
        raise CallError(entry.name, "give either accum or local, not both")
    if out["local"] is not None and out["base"] is None:
        raise CallError(entry.name, "local requires base")
    if "batch" in out and out["batch"] is None:
        if out["base"] is None:
            raise CallError(entry.name, "batch not defined")
        out["batch"] = out["base"]
    return out


def entry_of(name: str) -> Entry:
    """The rule with a name; `unrecognized rule: name` if there is none."""
    return entry_named("rule", "unrecognized rule: ", name)
