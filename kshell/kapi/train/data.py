"""Data and options of models: the q functions for training and testing (batches.py has the operations on data)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from kshell.errors import CallError, QError
from kshell.kapi.base.args import (
    flag_of,
    is_empty,
    is_pairs,
    items,
    long_of,
    name_of,
    names_of,
    number_of,
    pairs,
    unknown,
)
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname, list_q, to_q
from kshell.kapi.base.handles import (
    ModelHandle,
    dict_handle,
    handle,
    tensor_handle,
    vector_handle,
)
from kshell.kapi.func.autocast import cast_name
from kshell.kapi.module.api import every_option
from kshell.kapi.train import skip_option
from kshell.kapi.train.batches import (
    assign,
    define,
    gather,
)
from kshell.kapi.train.clip import limit_of
from kshell.kapi.train.model import Data, Model, parts_of, shown
from kshell.kapi.train.options import Settings
from kshell.kapi.train.sources import Source
from kshell.kapi.train.table_data import TableData, is_table
from kshell.kapi.train.user_parts import function_option, metric_option
from kshell.values.base.build import collapse, floats, symdict
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Dict,
    List,
    Special,
    Value,
    Vec,
    is_list,
    long,
    seq_items,
    sym_vec,
)
from kshell.values.base.symbols import Sym, sym
from kshell.values.base.synonyms import plain

METRICS = ("batchloss", "loss", "accuracy", "matches", "predict", "output", "hidden", "hiddencell")


# ------------------------------------------------------------------ options


def _whole(name: str, x: Value, least: int) -> int:
    number = long_of(x)
    if number is None:
        raise QError(f"{name}: expects one long integer, given {kname(x)}")
    if number < least:
        raise QError(
            f"{name}: cannot be less than {'zero' if not least else 'one'}, given {long(number)}"
        )
    return number


def _flag(name: str, x: Value) -> bool:
    flag = flag_of(x)
    if flag is None:
        raise QError(f"{name}: expects one boolean, given {kname(x)}")
    return flag


def _metrics(name: str, x: Value) -> Value:
    metrics = names_of(x)
    if metrics is None:
        raise QError(f"{name}: expects symbol(s), given {kname(x)}")
    for metric in metrics:
        if metric not in METRICS:
            raise unknown("unrecognized metric: ", metric, METRICS)
    return sym_vec(metrics)


def _one_or_two(name: str, x: Value, second: float) -> tuple[Any, Any]:
    """A number and an optional second one."""
    number = number_of(x)
    numbers = (
        [number]
        if number is not None
        else [number_of(i) for i in seq_items(x)]
        if is_list(x)
        else [None]
    )
    if any(i is None for i in numbers) or not 1 <= len(numbers) <= 2:
        raise CallError(
            name, expecting="1-2 numbers", given=kname(x) if number is None else str(len(numbers))
        )
    return numbers[0], numbers[1] if len(numbers) == 2 else second


def _clipnorm(name: str, x: Value) -> Value:
    """The maximum norm and its exponent, by default 2; :: for no limit."""
    if is_empty(x):
        return NIL
    most, exponent = _one_or_two(name, x, 2)
    return floats([limit_of(f"{name}: norm", most), limit_of(f"{name}: exponent", exponent)])


def _clipvalue(name: str, x: Value) -> Value:
    if is_empty(x):
        return NIL
    number = number_of(x)
    if number is None:
        raise CallError(name, expecting="number for maximum gradient", given=kname(x))
    return limit_of(f"{name}: value", x)


def _autocast(name: str, x: Value) -> Value:
    """The name of a data type, ` for none."""
    return x if x.__class__ is Sym and not x.s else sym(cast_name(name, x))


def _gradscale(name: str, x: Value) -> Value:
    """The loss scale and the steps since it changed, by default 0; :: for no scaling."""
    if is_empty(x):
        return NIL
    scale, since = _one_or_two(name, x, 0)
    if not 0 < scale < math.inf or not 0 <= since < 1 << 31:
        raise QError(
            f"{name}: expecting a finite scale above zero, given {scale:g}"
            if 0 <= since < 1 << 31
            else f"{name}: expecting a count of steps, given {since:g}"
        )
    return floats([scale, since])


_READ: dict[str, Callable[[str, Value], Value]] = {
    "batchsize": lambda name, x: _whole(name, x, 0),
    "task": lambda name, x: _whole(name, x, 0),
    "tasks": lambda name, x: _whole(name, x, 1),
    "shuffleseed": lambda name, x: long(_whole(name, x, NULL_J.v)),
    "metrics": _metrics,
    "clipnorm": _clipnorm,
    "clipvalue": _clipvalue,
    "accumulate": lambda name, x: _whole(name, x, 1),
    "autocast": _autocast,
    "gradscale": _gradscale,
    "transform": function_option,
    "metric": lambda name, x: metric_option(name, x, METRICS),
    "callback": function_option,
}
_BATCHES = ("batchsize", "droplast", "shuffle")  # what a loader decides itself


# words that are not settings of a model, and what to use instead
_PASSES, _RATE = "run is one pass over the data: do[3;run k] makes three", "lr(k;.1) sets the rate"
_ELSEWHERE = {"epochs": _PASSES, "epoch": _PASSES, "lr": _RATE, "learningrate": _RATE}


def _set_options(model: Model, test: bool, names: Sequence[str], values: Sequence[Value]) -> None:
    """Set options; if one is wrong, none is set."""
    call = "test" if test else "train"
    old = cast("dict[str, Any]", model.settings(test))
    new = dict(old)
    for name, value in zip(names, values, strict=True):
        if name not in old:
            error = (
                CallError(name, "not set for evaluation")
                if test and name in model.train
                else unknown(f"unrecognized {call} setting: ", name, old)
            )
            error.hint = _ELSEWHERE.get(plain(name), error.hint)
            raise error
        _check_meaning(model.data_of(test), name, call)
        new[name] = (
            _skip(model, test, value) if name == "skip" else _READ.get(name, _flag)(name, value)
        )
        if name in ("clipnorm", "clipvalue") and new[name] is not NIL:
            new["clipvalue" if name == "clipnorm" else "clipnorm"] = NIL
    if new["task"] >= new["tasks"]:
        raise QError(
            f"{call}: task {new['task']} implies at least {new['task'] + 1} tasks, but only {new['tasks']} "
            "defined"
        )
    if new["tasks"] > 1 and not new["batchsize"]:
        raise CallError(call, f"zero batchsize incompatible with {new['tasks']} tasks")
    # the batches have changed: start from the first
    if not {"batchsize", "droplast"}.isdisjoint(names):
        model.data_of(test).batch = -1
    old.update(new)


def _skip(model: Model, test: bool, x: Value) -> Value:
    """The log of what is left out of a table; without data, of what will be."""
    data, log = model.data_of(test), model.settings(test)["skip"]
    if isinstance(data, TableData):
        return skip_option.changed(log, x, data.place(), data.named)
    changed = skip_option.changed(log, x, (0, 0), lambda texts: [NULL_J.v] * len(texts))
    if data.there:
        skip_option.check_unset(changed, "test" if test else "train")
    return changed


def _check_meaning(data: Data, name: str, call: str) -> None:
    """Batches are not made by options where the data comes in batches."""
    if name in _BATCHES and isinstance(data, Source) and data.own:
        raise CallError(
            call, f"{name} has no meaning while {data.what} makes the batches", says=(name,)
        )


def _get_options(settings: Settings, names: Sequence[str], call: str) -> list[Value]:
    values = cast("dict[str, Value]", settings)
    for name in names:
        if name not in settings:
            raise unknown(f"unrecognized {call} setting: ", name, settings)
    return [values[name] for name in names]


def _setup(x: Value, test: bool) -> Value:
    """`train` and `test`: read and set options, set data."""
    call = "test" if test else "train"
    args = items(x)
    h = handle(args[0]) if args else None
    if not isinstance(h, ModelHandle):
        raise QError(f"{call}: 1st argument must be a model")
    model: Model = h.obj
    settings = model.settings(test)
    if len(args) == 1:
        return shown(settings, every_option())
    setting = args[1]
    flag = flag_of(setting)
    if flag is not None and len(args) == 2:
        return shown(settings, flag)
    name = None if is_table(setting) else name_of(setting)
    if name is not None:
        return _one_option(model, test, name, args, call)
    found = _named_values(setting, call) if len(args) == 2 else None
    if found is not None:
        _set_options(model, test, *found)
        return NIL
    names = names_of(setting) if setting.__class__ is Vec and not is_table(setting) else None
    if names is not None:
        if len(args) == 2:
            return symdict(names, _get_options(settings, names, call))
        if len(args) > 3:
            raise QError(
                f"{call}: given symbols, expecting 3rd argument of values, but given {len(args)} args"
            )
        _set_options(model, test, names, _values_for(names, args[2], call))
        return NIL
    return define(model, args, test, call)


def _one_option(model: Model, test: bool, name: str, args: Sequence[Value], call: str) -> Value:
    """Read the option with a name, or set it to the argument that follows."""
    if len(args) == 2:
        return _get_options(model.settings(test), [name], call)[0]
    if len(args) > 3:
        raise QError(
            f"{name}: expecting 3 args, (model; setting; value), {len(args)} arg(s) supplied"
        )
    _set_options(model, test, [name], [args[2]])
    return NIL


def _named_values(x: Value, call: str) -> tuple[Sequence[str], Sequence[Value]] | None:
    """The names and values in a dictionary or pairs; None for anything else."""
    if x.__class__ is Dict:
        names = names_of(x.k)
        if names is None:
            raise CallError(call, f"unable to get option names from {kname(x)}")
        return names, seq_items(x.v)
    if x.__class__ is List and x.items and is_pairs(x):
        options = pairs(x)
        return [k for k, _ in options], [v for _, v in options]
    return None


def _values_for(names: Sequence[str], values: Value, call: str) -> Sequence[Value]:
    """The values for a number of names, one each."""
    if not is_list(values):
        raise CallError(call, f"unable to set values from {kname(values)}")
    if len(values) != len(names):
        raise QError(f"{call}: {len(names)} symbol(s) but {len(values)} value(s)")
    return seq_items(values)


@api(
    "train",
    "train m",
    "train(m;flag)",
    "train(m;names)",
    "train(m;names;values)",
    "train(m;dict)",
    "train(m;pairs)",
    "train(m;inputs[;targets])",
    "train(m;loader)",
    "train(m;table[;query][;options])",
    held=True,
    effect="reads1",
)
def train(x: Value) -> Value:
    """Read or set a model's training options, or set its training data, which returns the number of batches.

    A loader is what gives batches: a DataLoader of torch, a dataset, any iterable, a generator or generator function of
    Python, or a q function without arguments, which gives `::` after the last batch. A batch is (input;target); of more
    items the last is the target; a dictionary has inputs by name, and the target under labels or target. The number of
    batches is 0N if it is not known.

    A table, or the path of one or of a database, is read part by part, and so may be larger than memory; a query is the
    text of a template over it. The paths of several tables are for joins of the first with the others, by their names.
    Its last column is the target. Options are a dictionary: x and y name the columns of
    inputs and targets; nulls is `error, `drop or a number to put in their place; window is the number of rows that are
    mixed if shuffle is set; vocabulary gives the words of columns of symbols; ahead is how many windows are read
    before they are used. weight names a column: rows are drawn by it, with replacement. split gives one side of the
    rows, as .8, 5 or (.8;`id), in training this one and in testing the other; side is `train, `test or a number.

    These options are listed only if set. accumulate: make a step every so many batches, with the gradient of their mean
    loss. autocast: compute outputs and losses in `bfloat16 or `half as torch's autocast does. gradscale: loss scale for
    half precision; gradients are unscaled before a step, a step with infinite gradients is skipped and halves the
    scale, 2,000 other steps double it; it reads as scale and step count. stopnan: a null or infinite loss ends the run
    with an error before a step is made. transform, metric and callback are functions of the user's.

    q)q:module enlist(`linear;2;1)
    q)m:model(q;loss`mse;opt(`sgd;q))
    q)train(m;`batchsize`shuffle;10,1b)
    q)train(m;`batchsize)
    10
    q)train(m;25 2#1e;25 1#1e)
    3
    """
    return _setup(x, False)


@api(
    "test",
    "test m",
    "test(m;flag)",
    "test(m;names)",
    "test(m;names;values)",
    "test(m;dict)",
    "test(m;pairs)",
    "test(m;inputs[;targets])",
    "test(m;loader)",
    "test(m;table[;query][;options])",
    held=True,
    effect="reads1",
)
def test(x: Value) -> Value:
    """Read or set a model's test options, or set its test data, which returns the number of batches.

    A loader, and the options that are listed only if set, are as for `train`.

    q)m:model(module`identity;loss`mse;opt`sgd)
    q)test(m;`batchsize)
    100
    q)test(m;til 250)
    3
    """
    return _setup(x, True)


# ------------------------------------------------------------------ data


def model_of(x: Value, call: str) -> Model:
    """The model of a call that accepts nothing else."""
    h = handle(x)
    if not isinstance(h, ModelHandle):
        raise CallError(call, expected="model as argument", given=kname(x))
    return h.obj


def _value(data: Any) -> Value:
    """Data as a q value."""
    if data is None:
        return NIL
    if isinstance(data, dict):
        return symdict(list(data), [to_q(value) for value in data.values()])
    return list_q(data) if isinstance(data, list) else to_q(data)


def _handle(data: Any) -> Value:
    """Data as a handle to the same tensors."""
    if data is None:
        return NIL
    if isinstance(data, dict):
        return dict_handle(data)
    return vector_handle(data) if isinstance(data, list) else tensor_handle(data)


def _data(x: Value, test: bool, call: str) -> Value:
    args = items(x)
    h = handle(args[0]) if args else None
    if not isinstance(h, ModelHandle):
        raise QError(f"{call}: 1st argument must be a model")
    if len(args) > 1:
        return define(h.obj, args, test, call)
    held = h.obj.data_of(test)
    if isinstance(held, Source) and held.shown is None:
        return held.given
    return collapse([_value(held.x), _value(held.y)])


def _side(x: Value, test: bool, target: bool, call: str) -> Value:
    """`input` and `target`: read or set the data on one side."""
    args = items(x)
    h = handle(args[0]) if args else None
    if not isinstance(h, ModelHandle):
        raise QError(f"{call}: 1st argument must be a model")
    held = h.obj.data_of(test)
    if len(args) == 1:
        return _handle(held.y if target else held.x)
    new = gather(args[1:], h.obj.module, call)
    return assign(h.obj, test, held.x if target else new, new if target else held.y)


def _size(x: Value, test: bool, call: str) -> int | Special:
    data = model_of(x, call).data_of(test)
    if isinstance(data, Source) and data.shown is None:
        n = data.rows()
        return NULL_J if n is None else n
    tensors = parts_of(data.x)
    return 0 if not tensors else tensors[0].size(0) if tensors[0].dim() else 1


_TWINS = {"train": "test"}
_CALL = re.compile(r"\b\w+(?=\(m| m)")


def both(
    name: str,
    other: str,
    run: Callable[[Value, bool, str], Value],
    forms: str,
    doc: str,
    test_doc: str,
    example: str,
    effect: str = "reads1",
    **fields: Any,
) -> None:
    """Register a function of the training data and its counterpart for test data, whose example has the counterpart's
    names."""
    _TWINS[name] = other
    for call, flag, text in ((name, False, doc), (other, True, test_doc)):

        def fn(x: Value, call: str = call, flag: bool = flag) -> Value:
            return run(x, flag, call)

        shown = _CALL.sub(lambda m: _TWINS.get(m[0], m[0]), example) if flag else example
        fn.__doc__ = f"{text}\n\n{shown}\n"
        api(call, *[f"{call}{form}" for form in forms.split("|")], effect=effect, **fields)(fn)


_M = "q)m:model(module`identity;loss`mse;opt`sgd)\n"
# fmt: off  # a table
both(
    "data",
    "testdata",
    _data,
    " m|(m;inputs[;targets])",
    "The training data of a model as q arrays (inputs;targets); or set it and return the number of batches.",
    "The test data of a model as q arrays (inputs;targets); or set it and return the number of batches.",
    _M + "q)data(m;1 2 3;10 11 12)\n1\nq)data m\n1  2  3 \n10 11 12",
    held=True,
)
both(
    "input",
    "testinput",
    lambda x, test, call: _side(x, test, False, call),
    " m|(m;x;..)",
    "A handle to the training inputs of a model; or set them and return the number of batches.",
    "A handle to the test inputs of a model; or set them and return the number of batches.",
    _M + "q)input(m;til 5)\n1\nq)return input m\n0 1 2 3 4",
    held=True,
)
both(
    "target",
    "testtarget",
    lambda x, test, call: _side(x, test, True, call),
    " m|(m;y;..)",
    "A handle to the training targets of a model; or set them and return the number of batches.",
    "A handle to the test targets of a model; or set them and return the number of batches.",
    _M + "q)target(m;til 5)\n1\nq)return target m\n0 1 2 3 4",
    held=True,
)
both(
    "datasize",
    "testsize",
    _size,
    " m",
    "The number of training inputs of a model; while batches are shown, the number in the batch.",
    "The number of test inputs of a model; while batches are shown, the number in the batch.",
    _M + "q)data(m;til 5);\nq)datasize m\n5",
)
# fmt: on
