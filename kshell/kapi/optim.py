"""The optimizers: one row each, from which creation, options, state, help, completion and the docs come.

To add one, add a row, or write a torch optimizer class in any file and put `@optimizer(name, options..)` above it.
Everything else (groups, learning rates, state and restoring, help) follows from the row and from torch's own
conventions: options are entries of a group, buffers are entries of `state[parameter]`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from kshell import registry
from kshell.errors import QError
from kshell.kapi.args import parse_options
from kshell.kapi.call import torch
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.core import NULL_J, Value

_HERE = sys.modules[__name__].__file__ or ""
Values = dict[str, Any]


def row(name: str, target: Any, doc: str, *options: Option, **hooks: Any) -> Entry:
    """Register an optimizer: `target` is its torch class, or the dotted name of one; `options` in positional order
    (without any, they are read from the class). An option's `torch` is the entry of a group that it sets, with `.0`
    for an item of a tuple. What is special about an optimizer is a hook:

    state ({documented name of a buffer: torch's}), drop (buffers that are not kept), closure (a step calls back for
    the loss), groups (the most groups it can have), fill (completes option values when it is made), added (called with
    the torch optimizer when parameters were added to a group), pytorch (name in help).
    """
    at = hooks.pop("at", None) or sys._getframe(1)
    if isinstance(target, type):
        hooks["class"] = target
        target = f"{target.__module__}.{target.__qualname__}"
    return registry.add(Entry(name, "optimizer", doc=doc, options=options, target=target, topic="optimizers",
                              since=hooks.pop("since", "ktorch"), file=at.f_code.co_filename, line=at.f_lineno,
                              extra=hooks))


def optimizer(name: str, *options: Option, **hooks: Any) -> Callable[[type], type]:
    """Register a torch optimizer class, as its decorator; the class's docstring is the help text."""

    def register(cls: type) -> type:
        row(name, cls, inspect.getdoc(cls) or name, *options, **{"since": "kshell", "at": sys._getframe(1), **hooks})
        return cls

    return register


# ------------------------------------------------------------------ the rows


def _d(name: str, default: float, torch_name: str = "") -> Option:
    return Option(name, "double", float(default), torch_name)


def _b(name: str, default: bool = False) -> Option:
    return Option(name, "boolean", default)


_BETAS = (_d("beta1", .9, "betas.0"), _d("beta2", .999, "betas.1"))
_MOMENTS = {k: k for k in ("step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")}


def _fill_lbfgs(values: Values) -> None:
    if values.get("eval") is None:
        values["eval"] = values["iter"] * 5 // 4


def _added_lbfgs(o: Any) -> None:
    o._numel_cache = None  # torch counts the elements once
    o.state.clear()  # directions of the former length


row("adagrad", "torch.optim.Adagrad", """Adaptive gradient descent: each element has a learning rate of its own.

q)lr opt(`adagrad;();.1)
,0.1
""", _d("lr", .01), _d("lrdecay", 0, "lr_decay"), _d("decay", 0, "weight_decay"),
    _d("init", 0, "initial_accumulator_value"), _d("eps", 1e-10), state={"step": "step", "sum": "sum"})

row("adam", "torch.optim.Adam", """Adaptive moment estimation: running means of gradient and squared gradient.

q)objtype opt(`adam;();.001;.8)
`adam
""", _d("lr", .001), *_BETAS, _d("eps", 1e-8), _d("decay", 0, "weight_decay"), _b("amsgrad"), state=_MOMENTS)

row("adamw", "torch.optim.AdamW", """Adam with weight decay that is not part of the gradient.

q)opt[(opt(`adamw;();.001;`decay,.1);0b)]`options
lr    decay
-----------
0.001 0.1
""", _d("lr", .001), *_BETAS, _d("eps", 1e-8), _d("decay", .01, "weight_decay"), _b("amsgrad"), state=_MOMENTS)

row("lamb", "kshell.optim.lamb.Lamb", """Layer-wise adaptive moments, for large batches: Adam's update by a trust ratio.

With globalnorm, gradients are divided by the norm of all of them. The ratio of the norms of parameter and update is
clipped to trustmin and trustmax where trustclip is set.

q)first exec trustmax from opt[opt`lamb]`options
1f
""", _d("lr", .001), *_BETAS, _d("eps", 1e-8), _d("decay", 0, "weight_decay"), _b("unbiased", True),
    _b("globalnorm", True), _b("trustclip", True), _d("trustmin", 0), _d("trustmax", 1),
    state={k: k for k in ("step", "exp_avg", "exp_avg_sq")}, pytorch="")

row("lbfgs", "torch.optim.LBFGS", """Limited-memory Broyden-Fletcher-Goldfarb-Shanno; a step calls back for the loss.

It has a single parameter group, and is stepped by backstep or run with a model.

q)opt[(opt(`lbfgs;();1.;`iter`eval!8 9);0b)]`options
lr iter eval
------------
1  8    9
""", _d("lr", 1), Option("iter", "long", 20, "max_iter"), Option("eval", "long", None, "max_eval"),
    _d("gradtol", 1e-7, "tolerance_grad"), _d("changetol", 1e-9, "tolerance_change"),
    Option("history", "long", 100, "history_size"),
    Option("search", "symbol", None, "line_search_fn", choices=("strong_wolfe",)),
    state={"func_evals": "func_evals", "n_iter": "n_iter", "t": "t", "prev_loss": "prev_loss", "d": "d",
           "h_diag": "H_diag", "prev_flag_grad": "prev_flat_grad", "old_dirs": "old_dirs", "old_stps": "old_stps",
           "ro": "ro"},
    drop=("al",), closure=True, groups=1, fill=_fill_lbfgs, added=_added_lbfgs)

row("rmsprop", "torch.optim.RMSprop", """Learning rates from a running mean of the squared gradient.

q)lr opt(`rmsprop;();.1;.9)
,0.1
""", _d("lr", .01), _d("alpha", .99), _d("eps", 1e-8), _d("decay", 0, "weight_decay"), _d("momentum", 0),
    _b("centered"),
    state={"step": "step", "square_avg": "square_avg", "momentum": "momentum_buffer", "grad_avg": "grad_avg"})

row("sgd", "torch.optim.SGD", """Stochastic gradient descent, with optional momentum.

q)t:tensor(.5 1 4;`grad)
q)o:opt(`sgd;t;1.)
q)backward mse(t;1 2 3.)
q)step o
q)tensor t
0.8333333 1.666667 3.333333
""", _d("lr", .01), _d("momentum", 0), _d("dampening", 0), _d("decay", 0, "weight_decay"), _b("nesterov"),
    state={"momentum_buffer": "momentum_buffer"})


# ------------------------------------------------------------------ entries, classes, options


def entry_of(name: str) -> Entry:
    """The optimizer of a name; `unrecognized optimizer: name` if there is none."""
    found = registry.find("optimizer", name)
    if found is None:
        raise QError(f"unrecognized optimizer: {name}")
    return found


def class_of(entry: Entry) -> Any:
    """The torch class of an optimizer."""
    return entry.extra.get("class") or entry.resolve()


def options_of(entry: Entry) -> tuple[Option, ...]:
    """The options of an optimizer, in order; of a row that names none, those of its class."""
    if not entry.options:
        entry.options = signature_options(class_of(entry))
    return entry.options


_TYPES = {bool: "boolean", int: "long", float: "double", str: "symbol"}
_SHORT = {"weight_decay": "decay"}
# how torch computes, not what
_HOW = {"foreach", "maximize", "capturable", "differentiable", "fused", "decoupled_weight_decay"}


def signature_options(cls: type) -> tuple[Option, ...]:
    """Options from the signature of a torch optimizer: numbers, flags, names and tuples of numbers with defaults."""
    out = []
    for name, p in list(inspect.signature(cls).parameters.items())[1:]:
        if name in _HOW or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if name == "lr":
            out.append(Option("lr", "double", REQUIRED if p.default is p.empty else float(p.default)))
        elif name == "betas":
            out += [Option(f"beta{i + 1}", "double", b, f"betas.{i}") for i, b in enumerate(p.default)]
        elif type(p.default) in _TYPES:
            out.append(Option(_SHORT.get(name, name), _TYPES[type(p.default)], p.default, name))
    return tuple(out)


_KNOWN: list[Any] = [-1, frozenset()]


def known_options() -> frozenset[str]:
    """The names of the options of all optimizers."""
    if _KNOWN[0] != registry.version():
        names = frozenset(o.name for e in registry.entries("optimizer") for o in e.options)
        _KNOWN[:] = registry.version(), names
    return _KNOWN[1]  # type: ignore[no-any-return]


def parse(entry: Entry, positional: Sequence[Value], named: Sequence[tuple[str, Value]], before: int = 0) -> Values:
    """The options given, {name: Python value}: q nulls are None where an option may be absent."""
    options = options_of(entry)
    given = parse_options(entry.name, options, positional, named, kind="optimizer", known=known_options(),
                          before=before)
    for o in options:
        if o.default is None and given.get(o.name) in (NULL_J.v, ""):
            given[o.name] = None
    return given


def default_values(entry: Entry) -> Values:
    """The options of an optimizer as its row has them."""
    return {o.name: o.default for o in options_of(entry)}


def torch_args(entry: Entry, values: Values) -> dict[str, Any]:
    """Option values under torch's names, items of a tuple put together."""
    out: dict[str, Any] = {}
    for o in options_of(entry):
        if o.name in values:
            name, _, item = (o.torch or o.name).partition(".")
            if item:
                out[name] = (*out.get(name, ()), values[o.name])
            else:
                out[name] = values[o.name]
    return out


def group_values(entry: Entry, group: dict[str, Any]) -> Values:
    """The option values of a torch parameter group."""
    out = {}
    for o in options_of(entry):
        name, _, item = (o.torch or o.name).partition(".")
        value = group.get(name, o.default)
        if item:
            value = value[int(item)]
        out[o.name] = value.item() if isinstance(value, torch.Tensor) else value
    return out


# ------------------------------------------------------------------ the optimizer of a handle


class Opt:
    """What an optimizer handle owns: the registered entry, the torch optimizer, and the module that holds the
    parameters it was given (`own`: a ModuleDict made here, because they came from several objects)."""

    __slots__ = ("container", "entry", "own", "torch")

    def __init__(self, entry: Entry, torch_optimizer: Any, container: Any = None) -> None:
        self.entry, self.torch, self.container, self.own = entry, torch_optimizer, container, False

    @property
    def groups(self) -> list[dict[str, Any]]:
        return self.torch.param_groups  # type: ignore[no-any-return]

    def parameters(self) -> list[Any]:
        """The parameters of all groups."""
        return [p for g in self.torch.param_groups for p in g["params"]]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; an optimizer that needs the loss is given a closure that computes it."""
        if closure is None:
            if self.entry.extra.get("closure"):
                raise QError(f"{self.entry.name.upper()} optimizer requires model, loss & inputs")
            from kshell.optim import fused

            return None if fused.step(self.torch) else self.torch.step()
        if not any(g["params"] for g in self.groups):
            raise QError(f"{self.entry.name}: no parameters to optimize")
        return self.torch.step(closure)


def _refused(exc: ValueError) -> QError:
    """torch's refusal of an option value as a q error; numbers as q shows them."""
    text = re.sub(r"-?\d+\.\d+(e-?\d+)?$", lambda m: f"{float(m[0]):g}", str(exc))
    return QError(text)


def build(entry: Entry, values: Values) -> Any:
    """A torch optimizer without parameters. (torch makes none without, so it is made with one that is taken out.)"""
    cls, dummy = class_of(entry), torch.nn.Parameter(torch.zeros(1))
    try:
        o = cls([dummy], **torch_args(entry, values))
    except ValueError as exc:
        error = _refused(exc)
    else:
        o.param_groups[0]["params"].clear()
        o.state.clear()
        return o
    raise error


def create(entry: Entry, given: Values) -> Opt:
    """A new optimizer with no parameters: the options given, defaults for the others."""
    values = default_values(entry) | given
    missing = next((k for k, v in values.items() if v is REQUIRED), None)
    if missing is not None:
        raise QError(f"{entry.name}: {missing} not defined")
    if "fill" in entry.extra:
        entry.extra["fill"](values)
    return Opt(entry, build(entry, values))


def set_rate(group: dict[str, Any], rate: float) -> None:
    """Set a group's learning rate; one that torch holds as a tensor keeps its place."""
    held = group["lr"]
    if isinstance(held, float | int):
        group["lr"] = rate
    else:
        held.fill_(rate)


def edit_group(o: Opt, at: int, values: Values, params: Sequence[Any]) -> None:
    """Set options of a group and add parameters to it; the group after the last is made. Nothing here can fail that
    was checked before (`build` on the same values, selection of the parameters)."""
    args = torch_args(o.entry, values)
    if at == len(o.groups):
        o.torch.add_param_group({"params": list(params), **args})
    else:
        group = o.groups[at]
        rate = args.pop("lr", None)
        if rate is not None:
            set_rate(group, rate)
        group.update(args)
        group["params"].extend(params)
    if params and "added" in o.entry.extra:
        o.entry.extra["added"](o.torch)


def adopt(torch_optimizer: Any, container: Any = None) -> Opt:
    """An optimizer made by plain Python as one of the k-api; a class that is not registered shows what it has."""
    if isinstance(torch_optimizer, Opt):
        return torch_optimizer
    cls = type(torch_optimizer)
    for entry in registry.entries("optimizer"):
        if entry.target.rsplit(".", 1)[-1] == cls.__name__ and class_of(entry) is cls:
            return Opt(entry, torch_optimizer, container)
    entry = Entry(cls.__name__.lower(), "optimizer", options=signature_options(cls), extra={"class": cls},
                  target=f"{cls.__module__}.{cls.__qualname__}")
    return Opt(entry, torch_optimizer, container)
