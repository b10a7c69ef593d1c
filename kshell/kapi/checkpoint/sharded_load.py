"""Sharded checkpoints: `ckptload`, into live objects on any number of processes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell import parallel
from kshell.errors import CallError, QError
from kshell.kapi.base import random_state
from kshell.kapi.base.args import items
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import put
from kshell.kapi.base.handles import KHandle, ModelHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.paths import path_of
from kshell.kapi.base.plain_values import from_json, named
from kshell.kapi.checkpoint.sharded import (
    Parts,
    agree,
    check_optimizer,
    from_first,
    given_values,
    read_index,
    together,
)
from kshell.kapi.optim.groups import check_groups, regroup
from kshell.kapi.optim.optimizer import Opt
from kshell.kapi.optim.parameters import parameters_of
from kshell.kapi.optim.state import load_state
from kshell.kapi.train.places import checked_place
from kshell.kapi.train.table_data import TableData
from kshell.store.codec import decode
from kshell.values.base.build import symdict
from kshell.values.base.core import Value

if TYPE_CHECKING:
    from torch import Tensor


def _one(kind: str) -> str:
    return f"{'an' if kind[0] == 'o' else 'a'} {kind}"


class _Wanted(Parts):
    """The objects to load, as new tensors like the live ones; `commit` copies them there."""

    def __init__(self, call: str, index: dict[str, Any]) -> None:
        super().__init__(call)
        self.index = index
        self.jobs: list[Callable[[], None]] = []
        self.random = False  # do the random generators go on too, as a model goes on in a pass?

    def add(self, name: str, t: Tensor | None) -> None:
        super().add(name, t)
        own = self.tensors[name]
        empty = self._like(name, own)
        self.tensors[name] = empty
        self.jobs.append(lambda: put(own, empty))

    def _stored(self, name: str) -> list[Any]:
        stored = self.index["tensors"].get(name)
        if stored is None:
            raise CallError(
                self.call,
                f"there is no {name.lstrip('/')} in the checkpoint",
                says=(name.lstrip("/"),),
            )
        return stored

    def _like(self, name: str, t: Tensor) -> Any:
        dtype, size, _ = self._stored(name)
        if list(t.shape) != size:
            raise QError(
                f"{self.call}: size mismatch, {name.lstrip('/')} is {list(t.shape)}, in the checkpoint {size}"
            )
        if str(t.dtype) != f"torch.{dtype}":
            raise QError(
                f"{self.call}: type mismatch, {name.lstrip('/')} is {str(t.dtype).removeprefix('torch.')}, in "
                f"the checkpoint {dtype}"
            )
        return torch.empty_like(t.detach(), memory_format=torch.contiguous_format)

    def take(self, name: str, h: KHandle) -> None:
        about = self.index["about"].get(name)
        if about is None:
            raise CallError(
                self.call,
                f"there is no {name or 'object without a name'} in the checkpoint",
                says=(name,),
            )
        if about["kind"] != h.kind:
            raise CallError(
                self.call,
                f"{name or 'it'} is {_one(h.kind)}, in the checkpoint {_one(about['kind'])}",
                says=(name,),
            )
        super().take(name, h)
        self.about[name].pop("place", None)  # that of now, which may be another for each process
        if isinstance(h, ModelHandle) and "place" in about:
            self.jobs.append(checked_place(h.obj, about["place"], self.call))
            self.random = self.random or isinstance(h.obj.data, TableData)
        prefix = f"{name}/"
        for tensor_name in self.index["tensors"]:
            if (
                tensor_name not in self.tensors
                and (tensor_name == name or tensor_name.startswith(prefix))
                and not self._deeper(tensor_name, name)
            ):
                raise CallError(
                    self.call, f"{tensor_name.lstrip('/')} of the checkpoint is not there"
                )

    def _deeper(self, key: str, name: str) -> bool:
        """Does a tensor belong to another object whose name begins with this one's?"""
        return any(
            len(object_name) > len(name)
            and (key == object_name or key.startswith(f"{object_name}/"))
            for object_name in self.index["about"]
        )

    def _optimizer(self, name: str, o: Opt) -> dict[str, Any]:
        check_optimizer(o, self.call)
        object_name = name.removesuffix("/optimizer") if name not in self.index["about"] else name
        saved = self.index["about"][object_name]["optimizer"]
        if saved["type"] != o.entry.name:
            raise CallError(
                self.call,
                f"the optimizer is {o.entry.name}, in the checkpoint {saved['type']}",
                says=("optimizer", o.entry.name),
            )
        parameters = {row.name: row.p for row in parameters_of(o)}
        names = [key for group in saved["groups"] for key in group["params"]]
        if not set(names) <= parameters.keys():
            raise CallError(
                self.call,
                f"the parameter groups of {o.entry.name} are others than in the checkpoint",
                says=(o.entry.name,),
            )
        params = [[parameters[key] for key in group["params"]] for group in saved["groups"]]
        check_groups(o, params)
        loose: dict[str, dict[str, Any]] = {}
        for path in self.index["tensors"]:
            owner, _, buffer = path.rpartition("/")
            loose.setdefault(owner, {})[buffer] = named(path)
        states = {
            index: self._kept(
                parameters[key], saved["numbers"][key] | loose.get(f"{name}/{key}", {})
            )
            for index, key in enumerate(names)
        }
        arguments = {"state": {index: value for index, value in states.items() if value}}
        if "extra" in saved:
            arguments["extra"] = self._kept(None, saved["extra"])
        numbers = iter(range(len(names)))
        groups = [
            {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in group.items()
            }
            | {"params": [next(numbers) for _ in group["params"]]}
            for group in saved["groups"]
        ]

        self.jobs.append(lambda: regroup(o, params))
        self.jobs.append(lambda: load_state(o, {**arguments, "param_groups": groups}))
        return {}

    def _kept(self, p: Tensor | None, form: Any) -> Any:
        """The state of an optimizer, with new tensors to fill."""
        return from_json(form, lambda name: self._buffer(p, name))

    def _buffer(self, p: Tensor | None, name: str) -> Any:
        stored, size, _ = self._stored(name)
        dtype = parallel.shards.dtype_of(stored)
        if p is not None and list(p.shape) == list(size):
            buffer = torch.empty_like(
                p.detach(), dtype=dtype, memory_format=torch.contiguous_format
            )
        else:
            buffer = torch.empty(size, dtype=dtype)
        self.tensors[name] = buffer
        return buffer


def _generators(index: dict[str, Any]) -> list[Callable[[], None]]:
    """What lets the random generators go on as those of the process with this number did, if there was one."""
    states, rank = index.get("generators", []), parallel.group.rank()
    if rank >= len(states):
        return []
    return [random_state.checked(decode(base64.b64decode(states[rank])))]


@api(
    "ckptload",
    "ckptload`:folder",
    "ckptload(`:folder;object)",
    "ckptload(`:folder;dict)",
    held=True,
    since="kshell",
    effect="reads1",
)
def ckptload(x: Value) -> Value:
    """Load into live objects what `ckptsave` saved, on any number of processes, sharded or not.

    Returns the dictionary of the q values that were saved with them. The objects must be made as they were before, with
    the same names. A model that has a table as its data goes on in the middle of the pass, also on another number of
    processes. Files are verified and read before anything changes.

    q)m:module enlist(`linear;2;1)
    q)parm(m;`bias;5e)
    q)ckptsave(`:docs.run;`m`epoch!(m;3))
    `:docs.run
    q)n:module enlist(`linear;2;1)
    q)ckptload(`:docs.run;(enlist`m)!enlist n)
    epoch| 3
    q)tensor parm(n;`bias)
    ,5e
    q)hdel each` sv'`:docs.run,'key`:docs.run;hdel`:docs.run
    `:docs.run
    """
    call = "ckptload"
    arguments = items(x)

    def folder_of() -> str:
        if not 1 <= len(arguments) <= 2:
            raise QError(f"ckptload: expecting 1-2 args, given {len(arguments)}")
        return path_of(arguments[0], call)

    folder = together(call, folder_of)
    index = from_first(call, lambda: read_index(folder, call))
    wanted = _Wanted(call, index)

    def prepare() -> None:
        if len(arguments) == 2:
            handles, values = given_values(arguments[1], call)
            if values:
                raise CallError(call, f"{next(iter(values))} cannot be filled")
            for name, value in handles.items():
                wanted.take(name, value)
        assigned = [
            file
            for number, file in enumerate(index["files"])
            if number % parallel.group.world() == parallel.group.rank()
        ]
        problem = ""
        try:
            parallel.shards.verify(folder, assigned)
        except ValueError as e:
            problem = str(e)
        if problem:
            raise QError(f"{call}: {problem}")

    together(call, prepare)
    agree(call, wanted)
    if wanted.tensors:
        files = [file[0] for file in index["files"]]
        together(
            call, lambda: parallel.shards.load(folder, files, index["tensors"], wanted.tensors)
        )
    values = {name: decode(base64.b64decode(value)) for name, value in index["values"].items()}
    if wanted.random:
        wanted.jobs += _generators(index)
    for job in wanted.jobs:
        job()
    return symdict(list(values), list(values.values()))
