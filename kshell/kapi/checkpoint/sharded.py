"""Sharded checkpoints: state of several processes in one folder, written once and loaded by any number of processes.

`ckptsave`, `ckptload`: the folder has one file of tensors per process and an index that lists the files with their
digests. A save writes new files next to the old ones; the new index replaces the old one when everything is complete.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell import parallel
from kshell.errors import CallError, QError, os_text, refused
from kshell.kapi.base import random_state
from kshell.kapi.base.args import items
from kshell.kapi.base.call import api, mapped
from kshell.kapi.base.convert import kname
from kshell.kapi.base.errors import as_bytes, of_bytes
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    TensorHandle,
    VectorHandle,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.paths import path_of
from kshell.kapi.base.plain_values import named, to_json
from kshell.kapi.optim.optimizer import Opt
from kshell.kapi.optim.parameters import parameters_of
from kshell.optim import leaves
from kshell.optim.groups import settings_of
from kshell.store import atomic, unfinished
from kshell.store.archive import WRONG, wrong
from kshell.store.codec import encode
from kshell.values.base.core import Dict, List, Value, seq_items
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

INDEX = "index.json"
FORMAT, VERSION = "kshell sharded checkpoint", 1
_EXTRA = ".extra"  # state that belongs to no parameter; parameter names never begin with a point


def together(call: str, work: Callable[[], Any]) -> Any:
    """work() on every process. If any fails, all raise an error, so that none continues or waits alone."""
    error: QError | None = None
    result = None
    try:
        result = work()
    except QError as e:
        error = e
    except OSError as e:
        error = QError(os_text(e))
    except (MemoryError, RecursionError, *WRONG) as e:
        error = mapped(call, e)
    packed = parallel.collect.gather_bytes(b"" if error is None else as_bytes(error), call)
    error = None  # it holds a traceback
    failed = next(filter(None, packed), None)
    if failed is not None:
        raise of_bytes(failed)
    return result


# ------------------------------------------------------------------ what is saved of an object


class Parts:
    """Tensors by name, and the other data of each object; `fill` are the tasks of a load after everything has been
    read."""

    def __init__(self, call: str) -> None:
        self.call = call
        self.tensors: dict[str, Any] = {}
        self.about: dict[str, Any] = {}

    def add(self, name: str, t: Tensor | None) -> None:
        if name in self.tensors:
            raise CallError(self.call, f"{name} is there twice", says=(name,))
        if t is None or t.layout is not torch.strided or t.is_quantized:
            raise CallError(self.call, f"{name} is not a dense tensor", says=(name, "tensor"))
        self.tensors[name] = t

    def take(self, name: str, h: KHandle) -> None:
        """The tensors of a handle."""
        self.about[name] = {"kind": h.kind}
        if isinstance(h, ModelHandle):
            self._module(f"{name}/module", h.obj.module)
            self.about[name]["optimizer"] = self._optimizer(f"{name}/optimizer", h.obj.optimizer)
            place = h.obj.data.position(h.obj.train)
            if place is not None:
                self.about[name]["place"] = place
        elif isinstance(h, ModuleHandle):
            self._module(name, h.obj)
        elif isinstance(h, OptimizerHandle):
            self.about[name]["optimizer"] = self._optimizer(name, h.obj)
        elif isinstance(h, TensorHandle):
            self.add(name, h.get())
        elif isinstance(h, VectorHandle | DictHandle):
            tensors = h.get()
            for key, tensor in tensors.items() if isinstance(tensors, dict) else enumerate(tensors):
                self.add(f"{name}/{key}", tensor)
        else:
            raise QError(f"{self.call}: not implemented for {h.plural}")

    def _module(self, name: str, m: Module) -> None:
        for key, tensor in m.state_dict(keep_vars=True).items():
            self.add(f"{name}/{key}", tensor)

    def _optimizer(self, name: str, o: Opt) -> dict[str, Any]:
        check_optimizer(o, self.call)
        rows = parameters_of(o)
        numbers = {}
        for key, _, param, _ in rows:
            form = self._form(o, f"{name}/{key}", o.state.of(param))
            numbers[key] = {
                buffer: value
                for buffer, value in form.items()
                if value != named(f"{name}/{key}/{buffer}")
            }
        groups = [
            {
                "params": [row.name for row in rows if row.group == number],
                **leaves.mapped(_number, settings_of(group)),
            }
            for number, group in enumerate(o.groups)
        ]
        about = {"type": o.entry.name, "numbers": numbers, "groups": groups}
        extra = self._form(o, f"{name}/{_EXTRA}", o.state.extra())
        return {**about, "extra": extra} if extra else about

    def _form(self, o: Opt, name: str, kept: dict[str, Any]) -> Any:
        return to_json(kept, name, self.add, f"{self.call}: {o.entry.name}")


def check_optimizer(o: Opt, call: str) -> None:
    """Is the state of an optimizer the same on any number of processes?"""
    if o.abilities.by_process:
        raise CallError(
            call,
            f"{o.entry.name} has a state by process; save `state` of it on each",
            says=(o.entry.name,),
        )
    for kind, wrapper in o.wraps.items():
        if wrapper.kept():
            raise CallError(
                call,
                f"the state of `{kind} around {o.entry.name} is not one of parameters; save its `state`",
                says=(f"`{kind}", o.entry.name),
            )


def _number(path: Sequence[Any], v: object) -> Any:
    """A setting of a group, which may be a tensor."""
    return float(v) if isinstance(v, torch.Tensor) else v


def _holds_handle(x: Value) -> bool:
    if x.__class__ is List:
        return any(map(_holds_handle, x.items))
    return isinstance(x, KHandle) or (
        x.__class__ is Dict and (_holds_handle(x.k) or _holds_handle(x.v))
    )


def given_values(x: Value, call: str) -> tuple[dict[str, KHandle], dict[str, Value]]:
    """The objects to save or load, and the other values, both by name."""
    subject = handle(x)
    if subject is not None:
        return {"": subject}, {}
    keys = seq_items(x.k) if x.__class__ is Dict else []
    names = [key.s for key in keys if key.__class__ is Sym]
    if x.__class__ is not Dict or len(names) < len(keys):
        raise CallError(
            call,
            expecting="an object or a dictionary of objects and values by name",
            given=kname(x),
        )
    handles: dict[str, KHandle] = {}
    values: dict[str, Value] = {}
    for name, value in zip(names, seq_items(x.v), strict=True):
        subject = handle(value)
        if name in handles or name in values:
            raise CallError(call, f"{name} is there twice", says=(name,))
        if subject is None:
            if _holds_handle(value):
                raise CallError(
                    call,
                    f"{name} holds objects, which are to be given by names of their own",
                    says=(name,),
                )
            values[name] = value
        else:
            handles[name] = subject
    return handles, values


# ------------------------------------------------------------------ the index


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def read_index(folder: str, call: str) -> dict[str, Any]:
    """The index of a folder; a q error if there is none, or if it is damaged."""
    path = os.path.join(folder, INDEX)
    if not os.path.isdir(folder):
        raise QError(f"{call}: {folder} is not a folder")
    if not os.path.exists(path):
        interrupted = any(map(_ours, os.listdir(folder)))
        raise QError(
            f"{call}: {folder} is not a checkpoint of several processes: it has no {INDEX}"
            + (
                ", only files of a save that has not ended; the next ckptsave to it removes them"
                if interrupted
                else ""
            )
        )
    try:
        with open(path, "rb") as file:
            index = json.loads(file.read())
        body = index["body"]
        if index["digest"] != _digest(body):
            raise ValueError("the digest is another")
        if body["format"] != FORMAT:
            raise ValueError("the format is another")
        if body["version"] == VERSION:
            for name, size, _ in body["files"]:
                if name != os.path.basename(name) or size < 0:
                    raise ValueError(f"{name} is outside the folder")
            return body
        problem = QError(
            f"{call}: {path} has version {body['version']} of the format, this is {VERSION}"
        )
    except OSError as e:
        problem = refused(e, path)
    except (RecursionError, *WRONG) as e:
        problem = wrong(call, path, e)
    raise problem


def generators(call: str, parts: Parts) -> list[str]:
    """The states of the random generators of each process, if a model is somewhere in a pass."""
    if not any("place" in about for about in parts.about.values()):
        return []
    packed = parallel.collect.gather_bytes(encode(random_state.states()), call)
    return [base64.b64encode(state).decode() for state in packed]


def from_first(call: str, work: Callable[[], Any]) -> Any:
    """The result of work() on process 0, sent as JSON to every process."""
    result = together(call, lambda: work() if parallel.group.rank() == 0 else None)
    text = json.dumps(result).encode() if parallel.group.rank() == 0 else b""
    return json.loads(bytes(parallel.collect.broadcast(text, 0)))


def agree(call: str, parts: Parts) -> None:
    """Do all processes have the same names, sizes and types?"""
    text = json.dumps(
        [
            [[key, list(tensor.shape), str(tensor.dtype)] for key, tensor in parts.tensors.items()],
            parts.about,
        ],
        sort_keys=True,
    )
    digests = parallel.collect.gather_bytes(hashlib.sha256(text.encode()).digest(), call)
    for rank, digest in enumerate(digests):
        if digest != digests[0]:
            raise QError(f"{call}: what is given differs between processes (0 and {rank})")


# ------------------------------------------------------------------ saving


def _fit_to_write(folder: str) -> str:
    """A tag for the files of a save to a folder that is new, empty, or from an earlier save."""
    if os.path.exists(folder):
        if not os.path.isdir(folder):
            raise QError(f"ckptsave: {folder} is not a folder")
        names = unfinished.names_in(folder)
        if INDEX not in names and any(not _ours(name) for name in names):
            raise QError(
                f"ckptsave: {folder} has other files, expecting a new or empty folder, or an earlier save"
            )
    return uuid.uuid4().hex


def _ours(name: str) -> bool:
    return name.endswith(parallel.shards.SUFFIX) or name.startswith(INDEX)


@api(
    "ckptsave",
    "ckptsave(`:folder;object)",
    "ckptsave(`:folder;dict)",
    held=True,
    since="kshell",
    effect="changes",
)
def ckptsave(x: Value) -> Value:
    """Save objects of several processes to a shared folder, in the format of torch.distributed.checkpoint.

    Objects are modules (plain or after `ddp`, `fsdp`), optimizers, models and tensors; in a dictionary also q values.
    Replicated data is written once, of sharded data each process writes its shard. `ckptload` loads it on any number of
    processes. Of a model whose data is a table, the place in the pass is kept, and the random generators of each
    process. The folder's index is written last: until then, an earlier save remains valid.

    q)m:module enlist(`linear;2;1)
    q)o:opt(`adam;m)
    q)ckptsave(`:docs.run;`m`o`epoch!(m;o;3))
    `:docs.run
    q)key ckptload`:docs.run
    ,`epoch
    q)hdel each` sv'`:docs.run,'key`:docs.run;hdel`:docs.run
    `:docs.run
    """
    call = "ckptsave"
    arguments = items(x)
    parts = Parts(call)

    def prepare() -> tuple[str, dict[str, bytes]]:
        if len(arguments) != 2:
            raise QError(
                f"ckptsave: expecting (folder;objects), given {len(arguments)} arg{'s' * (len(arguments) != 1)}"
            )
        handles, values = given_values(arguments[1], call)
        for name, value in handles.items():
            parts.take(name, value)
        return path_of(arguments[0], call), {name: encode(value) for name, value in values.items()}

    folder, values = together(call, prepare)
    agree(call, parts)
    random = generators(call, parts)
    tag = from_first(call, lambda: _fit_to_write(folder))
    file_path = os.path.join(folder, parallel.shards.file_name(tag, parallel.group.rank()))
    try:
        written, stored = together(
            call,
            lambda: parallel.shards.save(
                folder, tag, {name: value.detach() for name, value in parts.tensors.items()}
            ),
        )
        files = [
            json.loads(packed)
            for packed in parallel.collect.gather_bytes(json.dumps(written).encode(), call)
        ]

        def index() -> None:
            body = {
                "format": FORMAT,
                "version": VERSION,
                "files": files,
                "tensors": stored,
                "about": parts.about,
                "generators": random,
                "values": {
                    name: base64.b64encode(value).decode() for name, value in values.items()
                },
            }
            text = json.dumps({"digest": _digest(body), "body": body})
            atomic.write_bytes(os.path.join(folder, INDEX), text.encode())

        together(call, lambda: index() if parallel.group.rank() == 0 else None)
    except BaseException:
        if os.path.exists(file_path):
            os.unlink(file_path)
        raise
    if parallel.group.rank() == 0:  # files from earlier saves, complete or not
        for name in os.listdir(folder):
            if name.endswith(parallel.shards.SUFFIX) and not name.startswith(tag):
                os.unlink(os.path.join(folder, name))
    parallel.collect.barrier(call)
    return arguments[0]
