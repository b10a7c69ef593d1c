"""Models: a module, a loss and an optimizer together, and the behaviour of their handles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import flag_of, items
from kshell.kapi.base.call import api, known_to_all, run_backward
from kshell.kapi.base.convert import kname, to_q
from kshell.kapi.base.device_options import TensorOptions
from kshell.kapi.base.handles import (
    KHandle,
    LossHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    behaves,
    behaviour,
    give_back,
    handle,
    lend,
    lendings,
    model_handle,
)
from kshell.kapi.base.random_state import states
from kshell.kapi.func.autocast import casting
from kshell.kapi.loss import losses
from kshell.kapi.loss.given import loss_of, on_output
from kshell.kapi.module.api import brought, device_of_module, every_option, tensors_of_module
from kshell.kapi.module.describe import cpp_text, definition
from kshell.kapi.module.forward import calculate, inputs_of, inputs_with_names
from kshell.kapi.module.named_inputs import Inputs, by_name
from kshell.kapi.optim.state import counts
from kshell.kapi.optim.state import definition as optimizer_definition
from kshell.kapi.tensor.gradients import drop_gradient, zero_gradient
from kshell.kapi.tensor.handle_api import bytes_of, counted, elements_of
from kshell.kapi.train.options import OPTIONS, Settings, TrainSettings
from kshell.values.base.build import string, symdict
from kshell.values.base.core import NIL, NULL_J, Dict, List, Value, sym_vec
from kshell.values.base.match import match
from kshell.values.base.symbols import sym

if TYPE_CHECKING:
    from torch.nn import Module

    from kshell.kapi.optim.optimizer import Opt

# the training and test options, and those shown only if they differ from the default
TRAIN = cast("TrainSettings", {option.name: option.train for option in OPTIONS})
TEST = cast("Settings", {option.name: option.test for option in OPTIONS if option.test is not None})
MORE = {option.name: option.train for option in OPTIONS if option.more}


class Data:
    """Inputs and targets (each None, a tensor, a list or a dictionary of tensors), shared with the user's handles."""

    __slots__ = ("batch", "generator", "hidden", "lost", "n", "order", "shown", "x", "y")
    what = ""  # what the data comes from batch by batch, if it does

    def __init__(self, x: Any = None, y: Any = None, n: int = -1) -> None:
        self.x, self.y = x, y
        self.n = n  # common size along the first dimension, -1 without data
        self.batch = -1  # the batch shown by the tensors
        self.order: Any = None  # the shuffled order, as indices into the original order
        self.generator: Any = None  # of orders, if several tasks share the data
        self.hidden: Any = None  # hidden state after the shown batch, if the next one gets it
        # the inputs and targets of the shown batch, where the data comes batch by batch
        self.shown: tuple[list[Any], list[Any]] | None = None
        self.lost = ""  # what the data came from, if the model's file does not hold it

    @property
    def there(self) -> bool:
        """Is there data?"""
        return self.n >= 0

    def check_there(self, call: str, setup: str) -> None:
        """An error if there is no data because the file of the model did not hold it."""
        if self.lost:
            raise CallError(
                call,
                f"the model's data came from {self.lost}, which its file does not hold: give it again, "
                f"{setup}(m;loader)",
                says=(call,),
            )

    def position(self, s: Settings) -> dict[str, int | None] | None:
        """The place in a pass from which a run goes on, by numbers; None of data that has none."""
        return None

    def tensors(self) -> list[Any]:
        """All tensors on both sides."""
        return [*parts_of(self.x), *parts_of(self.y)]


def parts_of(part: Any) -> list[Any]:
    """The tensors on one side of the data."""
    if part is None:
        return []
    return (
        list(part.values())
        if isinstance(part, dict)
        else list(part)
        if isinstance(part, list)
        else [part]
    )


class Model:
    """The object behind a model handle: module, loss, optimizer, and the options and data for training and testing."""

    __slots__ = ("__weakref__", "data", "loss", "module", "optimizer", "test", "testdata", "train")

    def __init__(self, module: Module, loss: Module, optimizer: Opt) -> None:
        self.module, self.loss, self.optimizer = module, loss, optimizer
        self.train, self.test = TRAIN.copy(), TEST.copy()
        self.data, self.testdata = Data(), Data()

    def settings(self, test: bool) -> Settings:
        """The options for training, or for testing."""
        return self.test if test else self.train

    def data_of(self, test: bool) -> Data:
        """The data for training, or for testing."""
        return self.testdata if test else self.data

    def put_data(self, data: Data, test: bool) -> None:
        """Set the data for training, or for testing."""
        if test:
            self.testdata = data
        else:
            self.data = data

    def inputs(self, test: bool = False) -> list[Any]:
        """The stored inputs for training, or for testing, on the module's device; those in a dictionary by name, if the
        module's inputs have these names."""
        data = self.data_of(test)
        if data.shown is not None:
            return data.shown[0]
        data.check_there(UNSAID, "test" if test else "train")
        if data.what:
            go, show = ("testrun", "testbatch") if test else ("run", "batch")
            raise CallError(
                UNSAID,
                f"the data comes batch by batch from {data.what}: give inputs, show a batch by {show}, or go through "
                f"it by {go}",
                says=("model",),
            )
        x = data.x
        tensors = brought(parts_of(x), self.module)
        return (
            Inputs((), dict(zip(x, tensors, strict=True)))
            if isinstance(x, dict) and by_name(self.module, x)
            else tensors
        )

    def targets(self, test: bool = False) -> list[Any]:
        """The stored target tensors for training, or for testing, on the module's device."""
        data = self.data_of(test)
        return data.shown[1] if data.shown is not None else brought(parts_of(data.y), self.module)

    def loss_of(self, inputs: list[Any], targets: list[Any]) -> Any:
        """The loss of the module's output for inputs, and targets."""
        with self.cast(False)():
            return on_output(self.loss)(calculate(self.module, inputs), targets)

    def cast(self, test: bool) -> Callable[[], AbstractContextManager[Any]]:
        """A factory for the contexts in which outputs and losses for training, or for testing, are computed."""
        return casting(self.settings(test)["autocast"].s, self.module.parameters()) or nullcontext


_PARTS = ((ModuleHandle, "module"), (LossHandle, "loss"), (OptimizerHandle, "optimizer"))


def _part(h: Value) -> str | None:
    return next((name for cls, name in _PARTS if isinstance(h, cls)), None)


def _exchange(h: ModelHandle, given: Sequence[Value]) -> None:
    """Replace parts of a model."""
    for name, part in _parts(given, 1).items():
        setattr(h.obj, name, part)
    lend(given, h, True)
    _release(h)


@api(
    "model",
    "model(module;loss;optimizer)",
    "model m",
    "model(m;flag)",
    "model(m;part;..)",
    held=True,
    effect="reads1",
)
def model(x: Value) -> Value:
    """Make a model from a module, a loss and an optimizer, in any order; get its definition; replace its parts.

    The loss may be a function of q or Python from output and target to a tensor of one number, a module of any class,
    of two modules the second, or `::` for the value under `loss` in the module's output.

    The parts' handles still refer to the same objects. For compatibility with ktorch, `mapped` and `obj` leave them out
    and `class` reports them as stale while the model exists; `free` on a part ends only its handle, and after `free` on
    the model, parts with handles remain.

    q)q:module enlist(`linear;2;1)
    q)m:model(q;loss`mse;opt(`sgd;q))
    q)key model m
    `module`loss`optimizer`train`test
    q)parm(q;`bias;7e)
    q)tensor parm(m;`bias)
    ,7e
    q)mapped q
    0b
    """
    args = items(x)
    h = handle(args[0]) if args else None
    if isinstance(h, ModelHandle):
        flag = flag_of(args[1]) if len(args) == 2 else None
        if len(args) == 1 or flag is not None:
            return describe(h.obj, every_option() if flag is None else flag, False)
        _exchange(h, args[1:])
        return NIL
    parts = _parts(args, 0)
    for _, name in _PARTS:
        if name not in parts:
            raise QError(f"{name} not specified")
    new = model_handle(Model(parts["module"], parts["loss"], parts["optimizer"]))
    lend(args, new, True)
    return new


def _parts(given: Sequence[Value], start: int) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for k, x in enumerate(given):
        h = handle(x)
        name = None if h is None else _part(h)
        if name == "module" and name in parts and "loss" not in parts:
            name = "loss"  # a loss of any class
        part = loss_of(x) if h is None else h.obj
        name = "loss" if h is None and part is not None else name
        if name is None:
            raise CallError(
                "model",
                f"{kname(x)}",
                at=f"arg[{k + start}] unrecognized",
                given=SAID,
                expected=UNSAID,
            )
        if name in parts:
            raise CallError("model", f"more than one {name}", given=kname(x))
        parts[name] = part
    return parts


def _release(h: ModelHandle) -> None:
    """Release handles of parts that have been replaced from the model."""
    for lending in lendings(h):
        part: Any = lending.part()
        if part is not None and not any(part.obj is getattr(h.obj, name) for _, name in _PARTS):
            give_back(lending)


def describe(m: Model, every: bool, state: bool) -> Dict:
    """The definition or, with `state`, the state of a model: that of each part, its options and, if its data is a
    table, the place in the pass."""
    parts: dict[str, Value] = {
        "module": definition(m.module, every, state),
        "loss": losses.definition(m.loss, every),
        "optimizer": optimizer_definition(m.optimizer, every, state),
        "train": shown(m.train, every),
        "test": shown(m.test, every),
    }
    place = m.data.position(m.train) if state else None
    if place is not None:
        numbers = [NULL_J if number is None else number for number in place.values()]
        parts["place"] = symdict([*place, "generator"], [*numbers, states()])
    return Dict(sym_vec(list(parts)), List(list(parts.values())))


def _view(cls: type[KHandle], obj: Any) -> Any:
    """A handle for an object for the length of one call, not listed in any table."""
    h = cls.__new__(cls)
    h.obj, h.number = obj, 0
    return h


def shown(settings: Settings, every: bool) -> Dict:
    """Options as a q dictionary; unless `every`, without unset ones. (Options that ktorch lacks are left out as long as
    they have their defaults.)"""
    values = cast("dict[str, Value]", settings)
    names = [
        key
        for key, value in values.items()
        if (not match(value, MORE[key]) if key in MORE else every or value is not NIL)
    ]
    return symdict(names, [values[name] for name in names])


# ------------------------------------------------------------------ what model handles answer


@behaviour("state", ModelHandle)
def _state(h: ModelHandle, every: bool) -> Value:
    return describe(h.obj, every, True)


@behaviour("holds", ModelHandle)
def _holds(h: ModelHandle) -> list[Any]:
    m = h.obj
    return [
        m,
        m.loss,
        m.optimizer,
        *m.module.modules(),
        *m.module.parameters(),
        *m.module.buffers(),
    ]


@behaviour("tensors", ModelHandle)
def _tensors(h: ModelHandle) -> Any:
    return tensors_of_module(h.obj.module)


@behaviour("parameters", ModelHandle)
def _parameters(h: ModelHandle) -> list[tuple[str, Any]]:
    return list(h.obj.module.named_parameters())


@behaviour("size", ModelHandle)
def _size(h: ModelHandle) -> Value:
    """The number of parameters in the module."""
    return sum(1 for _ in h.obj.module.parameters())


def _counts(m: Model) -> tuple[int, int, int]:
    """Tensors, elements and bytes of a model: of module and loss, and of the optimizer's state."""
    tensors = [*tensors_of_module(m.module), *tensors_of_module(m.loss)]
    state = counts(m.optimizer)
    return (
        len(tensors) + state[0],
        sum(map(elements_of, tensors)) + state[1],
        sum(map(bytes_of, tensors)) + state[2],
    )


counted(ModelHandle, _counts)


@behaviour("str", ModelHandle)
def _str(h: ModelHandle) -> Value:
    return string(cpp_text(h.obj.module))


@behaviour("device", ModelHandle)
def _device(h: ModelHandle) -> Value:
    return sym(str(device_of_module(h.obj.module)))


@behaviour("to", ModelHandle)
def _to(h: ModelHandle, options: TensorOptions, wait: bool) -> Value:
    """Move a model's module and loss."""
    for cls, part in ((ModuleHandle, h.obj.module), (LossHandle, h.obj.loss)):
        view = _view(cls, part)
        fn = behaves("to", view)
        if fn is not None:
            fn(view, options, wait)
    return NIL


def managed(m: Model) -> list[Any]:
    """The parameters managed by a model's optimizer."""
    return m.optimizer.parameters()


@behaviour("zerograd", ModelHandle)
def _zerograd(h: ModelHandle) -> Value:
    for p in managed(h.obj):
        zero_gradient(p)
    return NIL


@behaviour("nograd", ModelHandle)
def _nograd(h: ModelHandle) -> Value:
    for p in managed(h.obj):
        drop_gradient(p)
    return NIL


@behaviour("backward", ModelHandle)
def _backward(h: ModelHandle, *rest: Value) -> Value:
    """Forward, loss and backward for given or stored inputs and targets; gradients accumulate. Returns the loss."""
    m: Model = h.obj
    if len(rest) > 2:
        raise QError(
            f"backward: up to 3 args expected, (model;inputs;targets) but {len(rest) + 1} given"
        )
    try:
        inputs = inputs_with_names(rest[:1], m.module, m.module, "backward") if rest else m.inputs()
        targets = inputs_of(rest[1], m.module, "backward") if len(rest) > 1 else m.targets()
        loss = m.loss_of(inputs, targets)
        run_backward("backward", [loss], loss.backward)
        return to_q(loss)
    except Exception as exc:
        raise known_to_all("backward", exc, m.module, True) from None
