"""Scaling rules: `scale` wraps an optimizer in one, `gns` shows its estimates.

A rule wraps the steps of its optimizer (kapi/optim/wraps.py): gradients are averaged over processes and micro-batches,
estimates are updated, and the rates are scaled for the step. The handle of a rule is a second way to use the same
optimizer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell import optim, registry
from kshell.extend import (
    MODES,
    NIL,
    CallError,
    Dict,
    Entry,
    List,
    ModelHandle,
    Opt,
    OptimizerHandle,
    QError,
    RuleHandle,
    StateFromQ,
    Sym,
    T,
    Table,
    TensorHandle,
    Value,
    Vec,
    answers,
    api,
    as_tensor,
    behaviour,
    collapse,
    doubles_of,
    drop_gradient,
    floats,
    handle,
    items,
    kname,
    looks_paired,
    optimizer_and_name,
    optimizer_of,
    options_q,
    pairs,
    parse_options,
    rule_handle,
    seq_items,
    split,
    step_with,
    sym,
    sym_vec,
    symdict,
    with_all,
    wraps,
    zero_gradient,
)
from kshell.families.adaptdl.rule_rows import COMMON, Values, entry_of, parse

# ------------------------------------------------------------------ a rule around an optimizer


@wraps.kind
class RuleWrap(wraps.Wrap):
    """A rule, its entry and options, and the optimizer that it wraps; also the object behind a rule's handle."""

    name = "scale"
    meets = True

    def __init__(self, entry: Entry, values: Values, o: Opt) -> None:
        self.entry, self.values, self.opt = entry, values, o
        args = {
            option.torch or option.name: values[option.name]
            for option in entry.options
            if option.torch or option not in COMMON
        }
        if values["accum"] is None and values["local"] is not None:
            args["accum_scale"] = values["local"] * optim.comm.world() / values["base"]
        self.rule = _refusing(entry.name, lambda: entry.resolve()(o.torch, **args))
        self._squares: list[float] = []

    def options(self) -> Dict:
        return symdict(
            ["rule", "options"], [sym(self.entry.name), options_q(self.entry.options, self.values)]
        )

    def kept(self) -> dict[str, Any]:
        state = self.rule.state_dict()
        accum = state.pop("accum_scale")
        return {
            "progress": state.pop("progress"),
            "accum": math.nan if accum is None else accum,
            **state,
        }

    def keep(self, tree: dict[str, Any]) -> None:
        accum = None if math.isnan(tree["accum"]) else tree["accum"]
        # moves gradients to the parameters' devices
        self.rule.load_state_dict({**tree, "accum_scale": accum})

    @classmethod
    def restore(cls, o: Opt, options: list[tuple[str, Value]]) -> None:
        put(o, restored(symdict([k for k, _ in options], [v for _, v in options]), o))

    def aggregate(self, o: Opt, given: dict[str, Any]) -> None:
        self._squares = self.rule.noise.gathered()

    def note(self, o: Opt, given: dict[str, Any]) -> bool:
        agg = o.wraps.get("agg")
        return self.rule.begin(self._squares, bool(agg and agg.values["agggrad"]))

    def rates(self, o: Opt, given: dict[str, Any]) -> None:
        self.rule.raise_rates()

    def done(self, o: Opt) -> None:
        self.rule.end()

    def failed(self, o: Opt) -> None:
        self.rule.end(False)

    def attached(self, o: Opt, at: int | None = None, params: Sequence[Any] = ()) -> None:
        if at is None:
            self.rule.noise.attach()
        else:
            self.rule.noise.add(at, params)

    def moved(self) -> None:
        super().moved()
        self.rule.noise.attach()

    def pending(self) -> tuple[list[int], list[float | None]] | None:
        return self.rule.noise.pending() if self.rule.noise.accum_count else None

    def set_pending(self, found: Any) -> None:
        self.rule.noise.set_pending(*found)


def _refusing(call: str, fn: Any) -> Any:
    """fn(), where ValueError becomes a q error with the option names."""
    names = {
        option.torch: option.name
        for entry in registry.entries("rule")
        for option in entry.options
        if option.torch
    }
    try:
        return fn()
    except ValueError as exc:
        text = str(exc)
    for key, value in names.items():
        text = text.replace(key, value)
    raise QError(f"{call}: {text}")


def put(o: Opt, w: RuleWrap) -> None:
    """Wrap an optimizer in a rule, replacing any other."""
    if "fp16" in o.wraps or o.abilities.gathers or o.record.closure:
        w.rule.noise.detach()
        raise CallError(
            "scale",
            f"the steps of {'fp16' if 'fp16' in o.wraps else o.entry.name} cannot be scaled",
            says=(o.entry.name,),
        )
    try:
        w.rule.noise.agree("scale")
    except BaseException:
        w.rule.noise.detach()
        raise
    take_off(o)
    o.wraps["scale"] = w


def take_off(o: Opt) -> None:
    """Remove an optimizer's rule, if it has one."""
    w = o.wraps.pop("scale", None)
    if w is not None:
        w.rule.noise.detach()


def restored(d: Dict, o: Opt) -> RuleWrap:
    """A rule from a state or definition, for an optimizer with the same parameters."""
    fields = dict(pairs(d))
    name = fields.get("rule")
    if name.__class__ is not Sym or "options" not in fields:
        raise CallError(
            "scale",
            "unrecognized state, expecting the name of a rule and its options",
            says=("rule", "options", "state"),
        )
    entry = entry_of(name.s)
    w = RuleWrap(entry, parse(entry, [], pairs(fields["options"])), o)
    if "state" in fields:
        try:
            _load(w, dict(pairs(fields["state"])))
        except BaseException:
            w.rule.noise.detach()
            raise
    return w


@wraps.RULE.set
def from_record(d: Dict, o: Opt, around: bool) -> RuleWrap:
    """The rule in a snapshot, wrapped around its optimizer if it was."""
    w = restored(d, o)
    if around:
        put(o, w)
    return w


def _load(w: RuleWrap, s: dict[str, Value]) -> None:
    missing = [
        k for k in ("progress", "accum", "sqr", "var", "sums", "biased", "last") if k not in s
    ]
    if missing:
        raise CallError("scale", f"the state has no {missing[0]}", says=(missing[0], "state"))
    numbers = [s["sqr"], s["var"], *seq_items(s["sums"])]
    if (
        s["progress"].__class__ is not float
        or s["accum"].__class__ is not float
        or any(number.__class__ is not Vec or number.t != T.F for number in numbers)
    ):
        raise CallError("scale", "unrecognized state, expecting floats")
    _refusing("scale", lambda: w.keep({key: StateFromQ().value(value) for key, value in s.items()}))


# ------------------------------------------------------------------ scale and gns


@api(
    "scale",
    "scale(o;name;options..)",
    "scale(s;options..)",
    "scale s",
    "scale(o;state)",
    "scale o",
    "scale(o;::)",
    held=True,
    since="kshell",
    effect="reads1",
)
def scale(x: Value) -> Value:
    """Wrap an optimizer in a rule that scales its learning rates at each step; returns a handle for the rule.

    help`rule lists the types. For each step, run one or more micro-batches with `backward(s;loss)`, or plain backward,
    then call `step s` or `step o`: gradients are averaged over micro-batches and processes, and the rates are restored
    afterwards. A step with a non-finite gradient is skipped, and returns 0b. `scale(s;``accum,2.)` changes an option,
    `scale o` returns the rule of an optimizer, `scale(o;::)` removes it.

    q)t:tensor(2#0e;`grad)
    q)o:opt(`sgd;t;.1)
    q)s:scale(o;`linear)
    q)backward(s;Sum mul(t;1 2e))
    q)backward(s;Sum mul(t;3 4e))
    q)step s
    q)tensor t
    -0.4 -0.6e
    q)lr o
    ,0.1
    """
    given = items(x)
    h = handle(given[0]) if given else None
    if isinstance(h, RuleHandle):
        if len(given) == 1:
            return h.obj.options()
        _change(h.obj, given[1:])
        return NIL
    if isinstance(h, OptimizerHandle | ModelHandle) and (len(given) == 1 or given[1:] == [NIL]):
        optimizer = optimizer_of(h)
        if len(given) > 1:
            take_off(optimizer)
            return NIL
        return _rule_of(optimizer)
    with with_all("scale", x):
        return _put(given)


def _rule_of(o: Opt) -> Value:
    """The rule that wraps an optimizer."""
    if "scale" not in o.wraps:
        raise CallError("scale", "the optimizer has no rule", says=("optimizer",))
    return rule_handle(o.wraps["scale"])


def _put(given: Sequence[Value]) -> Value:
    """Wrap an optimizer in a rule given by name or state."""
    o, name = optimizer_and_name(given, "scale", "rule")
    if name.__class__ is Dict and len(given) == 2:
        w = restored(name, o)
    elif name.__class__ is Sym:
        entry = entry_of(name.s)
        w = RuleWrap(entry, parse(entry, *split(given, 2)), o)
    else:
        raise CallError("scale", expecting="the name of a rule", given=kname(name))
    put(o, w)
    return rule_handle(w)


def _change(w: RuleWrap, given: Sequence[Value]) -> None:
    """Set options of a rule: only those that can change after it has started."""
    if len(given) != 1 or not looks_paired(given[0]):
        raise CallError("scale", "expecting rule and options as name-value pairs")
    found = pairs(given[0])
    for key, _ in found:
        if key not in ("accum", "lossscale"):
            raise CallError(
                "scale", f"{key} cannot be changed, only accum and lossscale", says=(key,)
            )
    values = parse_options(w.entry.name, w.entry.options, [], found, kind="rule")

    def change() -> None:
        from kshell.families.adaptdl.rules import _positive

        for key, value in values.items():
            _positive(key, value)
        if "accum" in values:
            w.rule.noise.set_accum_scale(values["accum"])
        if "lossscale" in values:
            w.rule.noise.loss_scale = values["lossscale"]

    _refusing("scale", change)
    w.values.update(values)
    if "accum" in values:
        w.values["local"] = None


@api("gns", "gns s", "gns(s;scales)", since="kshell", effect="none")
def gns(x: Value) -> Value:
    """Gradient noise statistics of a rule, or a table of factors and gains for given scales.

    By parameter group: the squared norm of the gradient (sqr) and the trace of its covariance at the base batch (var).
    Also scale, gain and factors of the current or last step, and progress, the sum of the gains.

    q)s:scale(opt(`sgd;tensor(2#0e;`grad));`adascale)
    q)gns s
    scale   | 1f
    sqr     | ,1f
    var     | ,0f
    factor  | ,1f
    gain    | 1f
    progress| 0f
    """
    given = items(x)
    h = handle(given[0]) if given else None
    if not isinstance(h, RuleHandle) or len(given) > 2:
        raise CallError("gns", "expecting a rule, and optional scales")
    rule = h.obj.rule
    if len(given) == 2:
        return _table(rule, given[1])
    noise = rule.noise
    scale_, factors, gain = noise.scale, None, 0.0
    if not scale_ and rule.last is not None:
        scale_, factors, gain = rule.last
    else:
        scale_ = scale_ or noise.accum_scale
    if factors is None:
        factors, gain = rule.factors(scale_), noise.gain(scale_)
    return symdict(
        ["scale", "sqr", "var", "factor", "gain", "progress"],
        [scale_, floats(noise.sqr), floats(noise.var), floats(factors), gain, rule.progress],
    )


def _table(rule: Any, x: Value) -> Value:
    numbers = doubles_of(x)
    if numbers is None or not all(number > 0 and math.isfinite(number) for number in numbers):
        raise CallError("gns", "expecting a rule and scales above 0")
    factors = np.array([rule.factors(number) for number in numbers])
    cols = (
        floats(factors[:, 0])
        if factors.ndim == 2 and factors.shape[1] == 1
        else collapse([floats(factor) for factor in factors])
    )
    return Table(
        ["scale", "factor", "gain"],
        [floats(numbers), cols, floats([rule.noise.gain(number) for number in numbers])],
    )


# ------------------------------------------------------------------ what rule handles answer


@behaviour("backward", RuleHandle)
def _backward(h: RuleHandle, *rest: Value) -> Value:
    mode = rest[1].s if len(rest) == 2 and rest[1].__class__ is Sym else "free"
    if (
        not rest
        or len(rest) > 2
        or not isinstance(rest[0], TensorHandle)
        or mode not in MODES
        or (len(rest) == 2 and rest[1].__class__ is not Sym)
    ):
        raise CallError("backward", "expecting a rule, a loss and optional mode")
    retain, create = MODES[mode]
    wraps.backward(h.obj.opt, as_tensor(rest[0]), retain_graph=retain, create_graph=create)
    return NIL


@behaviour("step", RuleHandle)
def _step(h: RuleHandle, *rest: Value) -> Value:
    if h.obj.opt.wraps.get("scale") is not h.obj:
        raise CallError(
            "step", "the optimizer no longer uses this rule", says=("rule", "optimizer")
        )
    return step_with(h.obj.opt, rest)


@behaviour("zerograd", RuleHandle)
def _zerograd(h: RuleHandle) -> None:
    h.obj.rule.noise.reset()
    for param in h.obj.opt.parameters():
        zero_gradient(param)


@behaviour("nograd", RuleHandle)
def _nograd(h: RuleHandle) -> None:
    h.obj.rule.noise.reset()
    for param in h.obj.opt.parameters():
        drop_gradient(param)


@behaviour("lr", RuleHandle)
def _lr(h: RuleHandle, *args: Value) -> Value:
    if args:
        raise CallError("lr", "set the rates of the optimizer", says=("optimizer",))
    return floats([float(group["lr"]) for group in h.obj.opt.groups])


@behaviour("state", RuleHandle)
def _state(h: RuleHandle, every: bool = True) -> Value:
    return h.obj.state()


@behaviour("options", RuleHandle)
@behaviour("help", RuleHandle)
def _options(h: RuleHandle) -> Value:
    return options_q(h.obj.entry.options, h.obj.values)


@behaviour("objtype", RuleHandle)
def _objtype(h: RuleHandle) -> Value:
    return sym(h.obj.entry.name)


@behaviour("holds", RuleHandle)
def _holds(h: RuleHandle) -> list[Any]:
    return [h.obj, h.obj.opt]


# ------------------------------------------------------------------ help and options by name


@answers("table", "rule")
def _rules() -> Table:
    found = sorted(registry.entries("rule"), key=lambda e: e.name)
    return Table(
        ["rule", "options"],
        [sym_vec([e.name for e in found]), List([options_q(e.options) for e in found])],
    )


@answers("values", "rule")
def _named_options(name: str) -> Value | None:
    entry = registry.find("rule", name)
    return None if entry is None else options_q(entry.options)
