"""The user's functions in a run: `transform` of batches, `metric` of outputs, `callback` after steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import is_empty, names_of
from kshell.kapi.base.convert import kname, to_q
from kshell.kapi.base.handles import KHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.q_calls import applied
from kshell.kapi.loss.user_functions import as_q, batch_of, is_callable, user_function
from kshell.values.base.build import symdict
from kshell.values.base.core import NIL, NULL_J, Dict, Value, seq_items
from kshell.values.base.functions import Foreign

METRIC = "metric"  # the name of a metric that was given without one


def function_option(name: str, x: Value) -> Value:
    """The value of an option that is a function, `::` for none."""
    if is_empty(x):
        return NIL
    if not is_callable(x):
        raise CallError(name, expected="a function", given=kname(x))
    return x


def metric_option(name: str, x: Value, taken: tuple[str, ...]) -> Value:
    """A function, or a dictionary of functions by name."""
    if x.__class__ is not Dict:
        return function_option(name, x)
    names = names_of(x.k)
    if names is None or not all(map(is_callable, seq_items(x.v))):
        raise CallError(name, expected="a function, or functions by name", given="a dictionary")
    wrong = next((n for n in names if n in taken), None)
    if wrong is not None:
        raise QError(f"{name}: `{wrong} is a metric of kshell: another name is needed")
    return x


# ------------------------------------------------------------------ what a run does with them


def transform_of(x: Value) -> Callable[[Any], Any] | None:
    """A function from a batch as it comes to one as it is used."""
    if x is NIL:
        return None
    if isinstance(x, Foreign | KHandle):
        return user_function(x, "transform")
    return lambda batch: batch_of(applied(x, [as_q(_listed(batch))]))


def _listed(batch: Any) -> Any:
    """A batch of several parts as a plain list."""
    return list(batch) if isinstance(batch, tuple | list) else batch


def metrics_of(x: Value) -> dict[str, Callable[..., Any]]:
    """The user's metrics by name, each a function from an output and targets to a tensor of one number."""
    if x is NIL:
        return {}
    named = (
        zip(names_of(x.k) or (), seq_items(x.v), strict=True)
        if x.__class__ is Dict
        else [(METRIC, x)]
    )
    return {name: _numeric(name, user_function(f, name)) for name, f in named}


def _numeric(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    def measure(output: Any, *targets: Any) -> Any:
        with torch.no_grad():
            found = fn(output.detach() if isinstance(output, torch.Tensor) else output, *targets)
        try:
            number = torch.as_tensor(found, dtype=torch.float64).detach()
        except (TypeError, ValueError, RuntimeError):
            number = None
        if number is None or number.numel() != 1:
            what = (
                f"{number.numel()} numbers" if number is not None else f"a {type(found).__name__}"
            )
            raise CallError(name, expected="a number", given=what)
        return number.reshape(())

    return measure


State = Mapping[str, Any]


def callback_of(x: Value) -> Callable[[State], Any] | None:
    """A function that is told of a step: batches done, all of them, loss, metrics."""
    if x is NIL:
        return None
    if isinstance(x, Foreign | KHandle):
        return user_function(x, "callback")
    return lambda state: applied(x, [_told(state)])


def _told(state: State) -> Value:
    """The state of a pass as a q dictionary of numbers."""
    total, loss, metrics = state["batches"], state["loss"], state["metrics"]
    return symdict(
        list(state),
        [
            state["batch"],
            NULL_J if total is None else total,
            NIL if loss is None else to_q(loss),
            symdict(list(metrics), [to_q(value) for value in metrics.values()]),
        ],
    )
