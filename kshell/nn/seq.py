"""Containers that run their children in order, and calls of modules with several inputs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn

from kshell.errors import said

MOST_INPUTS = 8


def call(m: nn.Module, *inputs: Any) -> Any:
    """m(*inputs); an LSTM's two states become a pair, a sequential's first child gets all inputs."""
    if len(inputs) == 1:
        return m(inputs[0])
    if isinstance(m, nn.LSTM | nn.LSTMCell) and len(inputs) == 3:
        return m(inputs[0], (inputs[1], inputs[2]))
    if m.__class__ is nn.Sequential and len(m) and "forward" not in m.__dict__:
        return chain(m, *inputs)
    return m(*inputs)


def chain(children: Iterable[nn.Module], *inputs: Any) -> Any:
    """Modules in sequence; the first gets all inputs, each other one the previous output."""
    rest = iter(children)
    x = call(next(rest), *inputs)
    for child in rest:
        x = child(x)
    return x


def _refused(text: str) -> ValueError:
    """The error for a container that does not accept a child."""
    return said(ValueError(text), "module")


def takes(m: nn.Module) -> int:
    """The maximum number of inputs of a module's forward."""
    if isinstance(m, nn.Sequential):
        return takes(m[0]) if len(m) else 1
    most = getattr(m, "most_inputs", None)
    if most is not None:
        return int(most)
    bound = getattr(m.forward, "__func__", None)
    return parameters_of(m.forward) if bound is None else _of_method(bound)


@functools.lru_cache(maxsize=1024)
def _of_method(forward: Callable[..., Any]) -> int:
    """Like parameters_of, for a method that is bound to its module when called."""
    return parameters_of(functools.partial(forward, None))


def parameters_of(forward: Callable[..., Any]) -> int:
    """The maximum number of positional arguments of a forward function."""
    found = inspect.signature(forward).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in found):
        return MOST_INPUTS
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in found)


class SeqNest(nn.Sequential):
    """A Sequential whose first child may take up to three inputs, so that it can be nested."""

    def forward(self, *inputs: Any) -> Any:
        """Run the children in order; the first gets all inputs, each other one the previous output."""
        return chain(self, *inputs) if len(self) else inputs[0]


def through(parts: Iterable[nn.Module], inputs: tuple[Any, ...]) -> Any:
    """Pass the first input through parts in order; the others are also passed to each part that accepts that many."""
    x, *rest = inputs
    for part in parts:
        x = call(part, x, *rest[: takes(part) - 1])
    return x


class _Grown(nn.Module):
    """Base of containers that get their children one by one, with rules for their names and types."""

    kind = ""
    replaces = False  # does a child replace one with the same name?

    def kshell_add(self, name: str, child: nn.Module) -> str:
        """Add a child; returns its name, or its role as the name. ValueError says what cannot be added."""
        name = self.role(child, name)
        if name in self._modules and not self.replaces:
            raise said(ValueError(f"{self.kind}: a module named `{name} is already defined"))
        self._modules[name] = child  # (add_module would refuse `train`, which is also a method)
        return name

    def role(self, child: nn.Module, name: str) -> str:
        """The name for a new child."""
        return name or str(len(self._modules))

    def parts(self) -> list[nn.Module]:
        return list(self.children())


def _is_sequence(m: nn.Module) -> bool:
    return isinstance(m, nn.Sequential)


class SeqDict(_Grown):
    """Named sequences run one after another; inputs other than the first go to every sequence that accepts them."""

    kind = "seqdict"
    replaces = True

    def role(self, child: nn.Module, name: str) -> str:
        if not _is_sequence(child):
            raise ValueError(f"{self.kind}: expecting sequential modules")
        return super().role(child, name)

    def forward(self, *inputs: Any) -> Any:
        return through(self.children(), inputs)


class SeqList(SeqDict):
    """A list of sequences run one after another; inputs other than the first go to every sequence that accepts them."""

    kind = "seqlist"
    replaces = False

    def role(self, child: nn.Module, name: str) -> str:
        return super().role(child, "")  # children of a list are numbered


class SeqJoin(_Grown):
    """join(f(x), g(y)): two sequences with one input each, and a module that joins their outputs.

    Without g, the join gets y itself; without y, both inputs are x.
    """

    kind = "seqjoin"
    most_inputs = 2

    def role(self, child: nn.Module, name: str) -> str:
        count = len(self._modules)
        if _is_sequence(child):
            if count >= 2 or self._join() is not None:
                raise ValueError("seqjoin: both sequential layers already defined")
            return name or ("qy" if count else "qx")
        if not count:
            raise ValueError("seqjoin: at least one sequential layer must be defined first")
        if self._join() is not None:
            raise ValueError("seqjoin: join layer already defined")
        return name or "join"

    def _join(self) -> nn.Module | None:
        last = self.parts()[-1] if self._modules else None
        return None if last is None or _is_sequence(last) else last

    def forward(self, x: Tensor, y: Tensor | None = None) -> Any:
        join = self._join()
        if join is None:
            raise ValueError("seqjoin: join layer not defined")
        sides = self.parts()[:-1]
        y = x if y is None else y
        return join(sides[0](x), sides[1](y) if len(sides) > 1 else y)


class Fork(_Grown):
    """(f(x), g(x)): two modules for the same input; a missing one passes the input through."""

    kind = "fork"
    most_inputs = 1

    def role(self, child: nn.Module, name: str) -> str:
        count = len(self._modules)
        if count >= 2:
            raise _refused(
                f"fork: cannot add {type(child).__name__} module, both left & right forks already "
                "defined"
            )
        return name or ("q" if _is_sequence(child) else "") + "ab"[count]

    def forward(self, x: Any) -> tuple[Any, Any]:
        parts = self.parts()
        return tuple(parts[k](x) if k < len(parts) else x for k in range(2))


class Residual(_Grown):
    """a(f(x) + x) or a(f(x) + g(x)): one or two sequences, and an optional module for the sum.

    Inputs other than the first go to each sequence that accepts them.
    """

    kind = "residual"

    def role(self, child: nn.Module, name: str) -> str:
        sequences, fn = self._split()
        if _is_sequence(child):
            if len(sequences) == 2:
                raise _refused(
                    "residual: both sequential modules already defined, cannot add another "
                    "sequential module"
                )
            if fn is not None:
                raise _refused(
                    "residual: activation function already defined, cannot add a 2nd sequential module"
                )
            return name or f"q{len(sequences) + 1}"
        if not sequences:
            raise _refused(
                f"residual: cannot add {type(child).__name__} module until sequential module(s) defined"
            )
        if fn is not None:
            raise _refused(
                f"residual: cannot add {type(child).__name__} module, activation function already "
                "defined"
            )
        return name or "fn"

    def _split(self) -> tuple[list[nn.Module], nn.Module | None]:
        parts = self.parts()
        last = parts[-1] if parts and not _is_sequence(parts[-1]) else None
        return [part for part in parts if part is not last], last

    @property
    def most_inputs(self) -> int:
        return max((takes(q) for q in self._split()[0]), default=1)

    def forward(self, x: Any, *rest: Any) -> Any:
        sequences, fn = self._split()
        if not sequences:
            raise ValueError("residual: no modules defined for forward calculation")
        most = [takes(sequence) for sequence in sequences] if rest else [1] * len(sequences)
        if rest and len(rest) >= max(most):
            raise said(
                ValueError(
                    f"residual: {1 + len(rest)} inputs, but its modules take at most {max(most)}"
                )
            )
        made = [
            call(sequence, x, *rest[: n - 1]) for sequence, n in zip(sequences, most, strict=True)
        ]
        out = made[0] + (made[1] if len(made) == 2 else x)
        return out if fn is None else fn(out)


class Transform(_Grown):
    """Two sequences of data transforms: one for training, one for evaluation. A missing or empty one leaves the data
    unchanged."""

    kind = "transform"
    most_inputs = 1

    def role(self, child: nn.Module, name: str) -> str:
        count = len(self._modules)
        if not _is_sequence(child):
            raise ValueError(
                f"transform: cannot add {type(child).__name__} module, expecting sequential block"
            )
        if count >= 2:
            raise ValueError("transform: both training and evaluation transforms already defined")
        return name or ("eval" if count else "train")

    def forward(self, x: Tensor) -> Any:
        parts = self.parts()
        at = 0 if self.training else 1
        return parts[at](x) if at < len(parts) else x


class NBeats(_Grown):
    """Blocks that each return (backcast, forecast): the backcast is subtracted from the next block's input, the
    forecasts are summed. Oreshkin et al. 2020, "N-BEATS" (arXiv 1905.10437), section 3.2.

    Children are sequences, or lists of them.
    """

    kind = "nbeats"
    most_inputs = 1

    def role(self, child: nn.Module, name: str) -> str:
        if not isinstance(child, nn.Sequential | nn.ModuleList):
            raise _refused("nbeats: not a sequential or list module")
        return super().role(child, "")  # its children are numbered, like a list's

    def forward(self, x: Tensor) -> Any:
        y = None
        for block in self._blocks(self):
            out = block(x)
            if not isinstance(out, tuple | list) or len(out) != 2:
                raise ValueError("nbeats: a block must give two tensors, backcast and forecast")
            x = x - out[0]
            y = out[1] if y is None else y + out[1]
        if y is None:
            raise ValueError("nbeats: no modules defined for forward calculation")
        return y

    def _blocks(self, m: nn.Module) -> list[nn.Module]:
        return [
            block
            for child in m.children()
            for block in (self._blocks(child) if isinstance(child, nn.ModuleList) else [child])
        ]


class Recur(_Grown):
    """A recurrent layer (lstm, gru, rnn), with sequences for its input and output.

    Takes the input and the hidden state (for an LSTM, hidden and cell state), and returns the output and the new state.
    `detach`: detach the state, so that back-propagation ends at the batch.
    """

    kind = "recur"
    most_inputs = 3
    _LAYERS = (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN))

    def __init__(self, detach: bool = True) -> None:
        super().__init__()
        self.detach = detach

    def role(self, child: nn.Module, name: str) -> str:
        layer = next((n for n, _ in self._LAYERS if n in self._modules), None)
        if _is_sequence(child):
            role = "in" if layer is None else "out"
            if role in self._modules:
                raise ValueError(
                    "recur: cannot add a sequential module for output processing until a recurrent "
                    "module(lstm,gru,rnn) defined"
                    if role == "in"
                    else "recur: sequential module for output processing already added, cannot add another "
                    "sequential module"
                )
            return role
        for n, cls in self._LAYERS:
            if isinstance(child, cls):
                if layer is not None:
                    raise ValueError(
                        f"recur: cannot add {n} module, {layer} module already defined"
                    )
                return n
        raise ValueError(
            f"recur: unable to add {type(child).__name__}, expecting sequential modules for input/output "
            "processing or recurrent module(lstm,gru,rnn)"
        )

    def forward(self, x: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        layer = next((self._modules[n] for n, _ in self._LAYERS if n in self._modules), None)
        if layer is None:
            raise said(ValueError("recur: no recurrent lstm, gru or rnn module defined"), "module")
        if len(state) not in (0, 2 if isinstance(layer, nn.LSTM) else 1):
            raise said(
                ValueError(
                    f"recur: {type(layer).__name__.lower()} takes 1 or "
                    f"{3 if isinstance(layer, nn.LSTM) else 2} tensors, {1 + len(state)} given"
                )
            )
        before, after = self._modules.get("in"), self._modules.get("out")
        out, new = call(layer, x if before is None else before(x), *state)
        kept = new if isinstance(new, tuple) else (new,)
        if self.detach:
            kept = tuple(t.detach() for t in kept)
        return (out if after is None else after(out), *kept)

    def extra_repr(self) -> str:
        return "" if self.detach else "detach=False"
