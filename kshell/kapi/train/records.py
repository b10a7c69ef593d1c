"""What the metrics of a run need of each batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import QError
from kshell.kapi.base.convert import to_q
from kshell.kapi.base.handles import dict_handle, tensor_handle, vector_handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.forward import first_of, flat
from kshell.kapi.train import logs
from kshell.kapi.train.options import Settings
from kshell.values.base.build import collapse, symdict
from kshell.values.base.core import List, Value
from kshell.values.session.context import running

if TYPE_CHECKING:
    from torch import Tensor


def hidden_of(out: Sequence[Any], metric: str) -> Any:
    """The hidden state, or with `hiddencell` the cell state, in a recurrent module's output."""
    tensors = flat(out)
    at = 2 if metric == "hiddencell" else 1
    if len(tensors) <= at:
        raise QError(f"metric: unable to retrieve {metric} from output of {len(tensors)} tensor(s)")
    return tensors[at]


_LOGGED = ("batchloss", "loss", "accuracy", "matches")


def _joined(kept: Sequence[Any]) -> Any:
    """The results of all batches, as one tensor."""
    return torch.cat(kept) if kept[0].dim() else torch.stack(kept)


Metric = Callable[..., Any]  # of an output and targets: a tensor of one number


class Record:
    """The outputs and losses of each batch needed for the metrics; nothing is read from the device before `result`."""

    def __init__(self, names: Sequence[str], given: Mapping[str, Metric] | None = None) -> None:
        self.given = given or {}
        self.names = [*names, *self.given]
        self.kept: dict[str, list[Any]] = {}
        self.loss: list[Any] | None = None
        for name in names:
            kind = {"batchloss": "loss", "accuracy": "matches"}.get(name, name)
            self.kept.setdefault(kind, [])
        self.loss = self.kept.get("loss")
        self.rest = [k for k in self.kept if k != "loss"]
        self.measured: dict[str, list[Any]] = {name: [] for name in self.given}
        self.seen = 0
        self._good, self._counted = 0, 0  # matches read back so far, and for how many batches

    def add(self, out: Any, targets: Sequence[Any], loss: Any) -> None:
        if self.loss is not None:
            self.loss.append(loss.detach())
        if self.rest:
            self._add(out, targets)
        for name, measure in self.given.items():
            self.measured[name].append(measure(out, *targets))

    def last(self) -> dict[str, Any]:
        """The user's metrics of the last batch."""
        return {name: values[-1] for name, values in self.measured.items()}

    def note(
        self, batches: Sequence[tuple[list[Any], list[Any]]], made: Sequence[tuple[Any, Any]]
    ) -> None:
        """Record what the metrics need from some batches, their outputs and losses."""
        for (_, targets), (out, loss) in zip(batches, made, strict=True):
            self.add(out, targets, loss)

    def _add(self, out: Any, targets: Sequence[Any]) -> None:
        first = first_of(out).detach()
        guess = None
        for name in self.rest:
            kept = self.kept[name]
            if name == "output":
                kept.append(first.clone())
            elif name in ("hidden", "hiddencell"):
                kept.append(hidden_of(out, name).detach())
            else:
                guess = first.argmax(-1) if guess is None else guess
                if name == "predict":
                    kept.append(guess)
                elif len(targets) != 1:
                    raise QError(f"unable to calculate matches from {len(targets)} target(s)")
                # otherwise each target would be compared with every prediction
                elif targets[0].shape != guess.shape:
                    raise QError(
                        f"unable to calculate matches: size of targets is {list(targets[0].shape)}, that of "
                        f"predictions {list(guess.shape)}"
                    )
                else:
                    kept.append(targets[0].eq(guess).sum())
                    self.seen += targets[0].numel()

    def so_far(self, last: Tensor) -> dict[str, float]:
        """The metrics for a progress line: the loss of the last batch, and the accuracy, if requested."""
        metrics = {"loss": float(last)}
        new = self.kept.get("matches", [])[self._counted :]
        if new:
            self._good += int(torch.stack(new).sum())
            self._counted += len(new)
        if self._counted:
            metrics["accuracy"] = 100 * self._good / self.seen
        return metrics

    def log(self, call: str) -> None:
        """Log the numeric metrics, if the session has a log; for matches, their number."""
        if running().log is None:
            return
        metrics = {
            name: self._one(name) for name in self.names if name in _LOGGED or name in self.given
        }
        logs.note(
            call,
            {
                key: value[0].item() if key == "matches" else value.tolist()
                for key, value in metrics.items()
                if value is not None
            },
        )

    def _one(self, name: str) -> Any:
        """A metric over all batches; None if there are none."""
        if name in self.given:
            values = self.measured[name]
            return _joined([value.cpu() for value in values]).mean() if values else None
        kept = self.kept[{"batchloss": "loss", "accuracy": "matches"}.get(name, name)]
        if not kept:
            return None
        if name == "loss":
            return _joined(kept).sum().double() / len(kept)
        if name in ("accuracy", "matches"):
            good = torch.stack(kept).sum()
            return (
                100 * good.double() / self.seen
                if name == "accuracy"
                else torch.stack((good, torch.tensor(self.seen, device=good.device)))
            )
        return _joined(kept)

    def result(self, s: Settings) -> Value:
        """The metrics: a single one by itself, several as a list, or a dictionary; q values, or tensors if set."""
        metrics = {name: self._one(name) for name in self.names}
        if s["tensor"]:
            if s["dictionary"]:
                return dict_handle(metrics)
            tensors = list(metrics.values())
            return tensor_handle(tensors[0]) if len(tensors) == 1 else vector_handle(tensors)
        values = [to_q(value) for value in metrics.values()]
        if s["dictionary"]:
            return symdict(list(metrics), values)
        return values[0] if len(values) == 1 else collapse(values) if values else List([])
