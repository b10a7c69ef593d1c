"""Activation statistics of a module, layer by layer: `acttable`. torch hooks record them; nothing is replaced.

A layer is a call in which no other module is called: a leaf, or a module such as multi-head attention that uses its
children's parameters itself.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError
from kshell.kapi.base.call import api, known_to_all
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import ModelHandle, TensorHandle, handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.q_calls import applied
from kshell.kapi.loss.given import on_output
from kshell.kapi.math.statistics import activities, activity
from kshell.kapi.module.api import of_module
from kshell.kapi.module.describe import name_of_module, type_name
from kshell.kapi.module.forward import calculate, inputs_of, inputs_with_names, wrapped
from kshell.kapi.module.named_inputs import Inputs
from kshell.values.base.build import longs, table
from kshell.values.base.core import List, ListValue, Value, sym_vec
from kshell.values.base.functions import Foreign, Function
from kshell.values.session.interrupts import HOLD, PENDING, stop_here

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from kshell.kapi.train.model import Model

_COLUMNS = ("mean", "std", "zeros", "bad")


@api(
    "acttable",
    "acttable(m;x;..)",
    "acttable(m;x;..;f)",
    "acttable(k;x;y)",
    since="kshell",
    effect="none",
)
def acttable(x: Value) -> Value:
    """A table of layer outputs for an input: one row per layer call and output tensor, in order.

    The columns are name, type of the layer, number of its call, size, mean, standard deviation, fraction of zeros, and
    number of non-finite values (bad). `output` identifies the tensors of a layer with several, by position or name.

    With a function from the output to a loss, or for a model with an input and a target, also statistics of the
    gradients of the loss with respect to these tensors: gmean, gstd, gzeros, gbad; null if there is no gradient. Inputs
    are as for `forward`; a q dictionary passes inputs by name.

    Modes are kept, and nothing changes: no parameter's gradient, no buffer, no random state.

    q)seed 1;
    q)m:module seq(`sequential;(`linear;`a;2;3);(`relu;`r);(`linear;`b;3;1))
    q)acttable(m;2 2#1 0 0 1e)
    name module call output size mean      std        zeros     bad
    ---------------------------------------------------------------
    a    linear 0           2 3  0.105093  0.5125899  0         0
    r    relu   0           2 3  0.275921  0.2799658  0.3333333 0
    b    linear 0           2 1  0.2837712 0.07456431 0         0
    q)cols acttable(m;2 2#1 0 0 1e;{Sum x*x})
    `name`module`call`output`size`mean`std`zeros`bad`gmean`gstd`gzeros`gbad
    """
    m, inputs = of_module(x, "acttable")
    h = handle(x.items[0] if x.__class__ is List else x)
    try:
        call = _Call(m, h.obj if isinstance(h, ModelHandle) else None, inputs)
        rows = call.run()
    except Exception as exc:
        raise known_to_all("acttable", exc, m, False, x) from None
    return _table(rows, call.graded)


def _table(rows: Sequence[_Row], graded: bool) -> Value:
    cols: list[ListValue] = [
        sym_vec([row.name for row in rows]),
        sym_vec([row.module for row in rows]),
        longs([row.call for row in rows]),
        sym_vec([row.output for row in rows]),
        List([longs(row.size) for row in rows]),
        *activities([row.numbers for row in rows]),
    ]
    names = ["name", "module", "call", "output", "size", *_COLUMNS]
    if graded:
        names += ["g" + name for name in _COLUMNS]
        cols += activities([row.gradient for row in rows])
    return table(names, cols)


@dataclasses.dataclass
class _Row:
    """A tensor returned by a layer call; its statistics are tensors on its device."""

    name: str
    module: str
    call: int
    output: str
    size: list[int]
    numbers: Any
    gradient: Any = None


class _Call:
    """One run of a module under inspection: inputs, and how to get a loss from the output."""

    def __init__(self, m: Module, model: Model | None, given: Sequence[Value]) -> None:
        self.m: Any = getattr(m, "module", m) if _around(m) else m
        self.model: Any = model  # None if the module's children are shown
        self.f: Function | None = None
        self.targets: list[Any] = []
        if given and isinstance(given[-1], Function) and given[-1].__class__ is not Foreign:
            self.f, given = given[-1], given[:-1]
        elif model is not None and len(given) == 2:
            self.targets, given = inputs_of(given[1], m, "acttable"), given[:1]
        if not given:
            raise CallError("acttable", "requires a module or model and at least one input")
        inputs = inputs_with_names(given, m, m, "acttable", True)
        self.named = (
            {key: _own(value) for key, value in inputs.named.items()}
            if isinstance(inputs, Inputs)
            else {}
        )
        while inputs and inputs[-1] is None:
            inputs.pop()
        self.inputs = [_own(value) for value in inputs]
        self.graded = self.f is not None or bool(self.targets)
        if any(
            isinstance(param, torch.nn.parameter.UninitializedTensorMixin)
            for param in m.parameters()
        ):
            raise CallError(
                "acttable",
                "the module has parameters without a size yet; forward gives them one",
                says=("module",),
            )

    def run(self) -> list[_Row]:
        """The rows of the table."""
        seen = _Recorder(self.m, self.graded)
        with (
            _undisturbed(self.m, [*self.inputs, *self.named.values()]),
            torch.set_grad_enabled(self.graded),
            self._cast(),
            seen,
        ):
            output = self._output()
            seen.ends()
            if self.graded:
                self._backward(self._loss(output))
        return seen.rows

    def _cast(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.model is None else self.model.cast(False)()

    def _output(self) -> Any:
        return self.m(*self.inputs, **self.named) if self.named else calculate(self.m, self.inputs)

    def _loss(self, out: Any) -> Any:
        if self.f is None:
            return on_output(self.model.loss)(out, self.targets)
        loss = applied(self.f, [_handle_of(out)])
        if not isinstance(loss, TensorHandle) or loss.obj is None or loss.obj.numel() != 1:
            raise CallError(
                "acttable",
                expecting="a function that gives a tensor of one number",
                given=kname(loss),
            )
        return loss.obj.sum()

    def _backward(self, loss: Tensor) -> None:
        """Run backward so that gradients reach the layers; none is kept."""
        leaves = [
            param
            for param in (*self.m.parameters(), *self.inputs, *self.named.values())
            if isinstance(param, torch.Tensor) and param.requires_grad
        ]
        if not leaves or not loss.requires_grad:
            raise CallError(
                "acttable",
                "no parameter of the module is trained, so there are no gradients",
                says=("module",),
            )
        torch.autograd.grad(loss, leaves, allow_unused=True)


def _around(m: Module) -> bool:
    """Is it a torch wrapper whose forward prepares for a backward pass?"""
    return type(m).__name__ == "DistributedDataParallel"


# ------------------------------------------------------------------ inputs and outputs


def _own(t: object) -> Any:
    """A copy of an input, to which a layer may write; anything but a tensor is returned unchanged."""
    return t.detach().clone().requires_grad_(t.requires_grad) if isinstance(t, torch.Tensor) else t


def tensors_of(out: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """The tensors in an output and their locations: in tuples, lists, dictionaries and dataclasses."""
    if isinstance(out, torch.Tensor):
        yield path, out
        return
    if isinstance(out, Mapping):
        parts: Any = out.items()
    elif isinstance(out, list | tuple):
        parts = enumerate(out)
    else:
        parts = (
            vars(out).items() if dataclasses.is_dataclass(out) and hasattr(out, "__dict__") else ()
        )
    for k, v in parts:
        yield from tensors_of(v, f"{path}.{k}" if path else str(k))


def _handle_of(out: object) -> Value:
    """The output of a module as a q value; for an object with other content, its tensors."""
    if isinstance(out, torch.Tensor):
        return wrapped(out)
    parts = list(tensors_of(out))
    return wrapped(
        dict(parts)
        if isinstance(out, Mapping) or dataclasses.is_dataclass(out)
        else [t for _, t in parts]
    )


# ------------------------------------------------------------------ watching


class _Recorder:
    """Records the output of each layer while its block runs, with hooks on every module that are removed afterwards."""

    def __init__(self, m: Module, graded: bool) -> None:
        self.rows: list[_Row] = []
        self.graded = graded
        self.names = {id(part): name or name_of_module(part) for name, part in m.named_modules()}
        self.parts = list(m.modules())
        self.calls: dict[int, int] = {}  # calls of each module so far
        # for each active call: has another module been called inside it?
        self.inner: list[bool] = []
        self.hooks: list[Any] = []
        self.thread = threading.get_ident()
        self.on = True

    def __enter__(self) -> None:
        with HOLD:
            for part in self.parts:
                self.hooks.append(part.register_forward_pre_hook(self._begins, prepend=True))
                self.hooks.append(part.register_forward_hook(self._ends))

    def __exit__(self, *_: Any) -> None:
        with HOLD:
            for hook in self.hooks:
                hook.remove()
            self.hooks.clear()

    def ends(self) -> None:
        """The forward pass is over: recomputation during backward is not a new call."""
        self.on = False

    def _begins(self, part: Module, args: Sequence[Any]) -> None:
        if PENDING:  # nothing has changed, so it can be abandoned
            stop_here()
        if self.on and threading.get_ident() == self.thread:
            self.inner.append(False)

    def _ends(self, part: Module, args: Sequence[Any], out: object) -> None:
        if not self.on or threading.get_ident() != self.thread:
            return
        outer = self.inner.pop()
        if self.inner:
            self.inner[-1] = True
        if not outer:
            self._note(part, out)

    def _note(self, part: Module, out: object) -> None:
        call = self.calls[id(part)] = self.calls.get(id(part), -1) + 1
        for path, t in tensors_of(out):
            with torch.no_grad():
                numbers = activity(t)
            size = [] if t.is_nested else list(t.shape)
            row = _Row(self.names[id(part)], type_name(part), call, path, size, numbers)
            self.rows.append(row)
            if self.graded and t.requires_grad:
                self.hooks.append(t.register_hook(_Graded(row)))


class _Graded:
    """Records the gradient of a row's tensor."""

    def __init__(self, row: _Row) -> None:
        self.row = row

    def __call__(self, g: Tensor) -> None:
        with torch.no_grad():
            self.row.gradient = activity(g)


# ------------------------------------------------------------------ nothing changes


@contextmanager
def _undisturbed(m: Module, inputs: Sequence[Any]) -> Iterator[None]:
    """A block after which buffers and random states are restored, and in which compiled code is not used."""
    held = [(part, dict(part._buffers)) for part in m.modules()]
    values = [
        (value, value.detach().clone())
        for _, own in held
        for value in own.values()
        if value is not None and _writable(value)
    ]
    tensors = [
        param
        for param in (*m.parameters(), *m.buffers(), *inputs)
        if isinstance(param, torch.Tensor)
    ]
    others = {tensor.device for tensor in tensors if tensor.device.type not in ("cpu", "meta")}
    with ExitStack() as states:
        states.enter_context(torch.random.fork_rng(devices=[]))
        for kind in sorted({other.type for other in others}):
            at = [other.index or 0 for other in others if other.type == kind]
            states.enter_context(torch.random.fork_rng(devices=sorted(set(at)), device_type=kind))
        if any(
            getattr(submodule, "_compiled_call_impl", None) is not None
            or hasattr(submodule, "_orig_mod")
            for submodule in m.modules()
        ):
            states.enter_context(torch.compiler.set_stance("force_eager"))
        try:
            yield
        finally:
            with HOLD, torch.no_grad():
                _put_back(held, values)


def _put_back(
    held: Sequence[tuple[Any, dict[str, Any]]], values: Sequence[tuple[Any, Any]]
) -> None:
    """Restore the modules' buffers and the buffers' values."""
    for part, own in held:
        if [*map(id, own.values())] != [*map(id, part._buffers.values())]:
            part._buffers.clear()
            part._buffers.update(own)
    for b, was in values:
        b.data.copy_(was)  # so that a graph that holds the buffer sees no change


def _writable(b: Tensor) -> bool:
    """Can a layer write to a buffer: does it have values, without overlapping memory?"""
    if b.layout is not torch.strided:
        return True
    return not b.is_meta and all(step or n < 2 for n, step in zip(b.shape, b.stride(), strict=True))


__all__ = ["acttable", "tensors_of"]
