"""Module classes of a user's, for tests: registered ones with plain children, and classes that nobody registers."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from typing import Any

import torch

from kshell.kapi.module.types import module
from kshell.registry import Option

Pair = namedtuple("Pair", "first second")


class Block(torch.nn.Module):
    """A class that is not registered."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.norm, self.lin = torch.nn.LayerNorm(n), torch.nn.Linear(n, n)

    def forward(self, x: Any) -> Any:
        return x + self.lin(self.norm(x)).relu()


@module("ownnet", Option("name", "symbol", "small"), Option("type", "long", 4), Option("parent", "double"))
class OwnNet(torch.nn.Module):
    """Options with the names of methods, none of them kept as an attribute; children of all kinds."""

    def __init__(self, name: str, type: int, parent: float = 0.5) -> None:
        super().__init__()
        self.said = (name, type, parent)
        self.blocks = torch.nn.ModuleList([Block(type), Block(type)])
        self.again = self.blocks[0]
        self.seq = torch.nn.Sequential(torch.nn.Linear(type, type), torch.nn.ReLU())
        self.by = torch.nn.ModuleDict({"a": torch.nn.BatchNorm1d(type)})
        self.head, self.tied = torch.nn.Linear(type, 2), torch.nn.Linear(type, 2)
        self.tied.weight = self.head.weight
        self.scale = torch.nn.Parameter(torch.ones(type))

    def forward(self, x: Any) -> Any:
        for b in self.blocks:
            x = b(x)
        return self.head(self.by["a"](self.seq(x)) * self.scale)


@module("ownouter")
class OwnOuter(torch.nn.Module):
    """A registered class inside of another."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = OwnNet("x", width)

    def forward(self, x: Any) -> Any:
        return self.inner(x)


class Words(torch.nn.Module):
    """Inputs by name, with defaults."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(2, 1)

    def forward(self, ids: Any, mask: Any = None, *, scale: float = 1.0, negative: bool = False) -> Any:
        out = self.lin(ids) * scale
        out = out if mask is None else out * mask
        return -out if negative else out


class OneDict(torch.nn.Module):
    def forward(self, batch: dict[str, Any]) -> Any:
        return batch["a"] - batch["b"]


class AnyNames(torch.nn.Module):
    def forward(self, **named: Any) -> Any:
        return {k: v * 2 for k, v in named.items()}


@dataclasses.dataclass
class Output:
    loss: Any
    hidden: Any
    cache: Any = None
    count: int = 3


class Outputs(torch.nn.Module):
    """An output of the kind that is asked for."""

    def forward(self, x: Any, kind: str = "data") -> Any:
        if kind == "pair":
            return Pair(x, x + 1)
        return Output(x.sum(), (x, x * 2), object()) if kind == "data" else {"a": x, "b": None, "c": {"d": x}}
