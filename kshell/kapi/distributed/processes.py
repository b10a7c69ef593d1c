"""Several processes: the user's functions for rank, world size and collective calls.

Each process runs the same program; `kshell -n 4 s.q` starts four. Every function also works in a session with a single
process.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TextIO

import numpy as np

from kshell import parallel
from kshell.errors import CallError, QError
from kshell.kapi.base.args import data_items, is_empty, items, long_of, name_of
from kshell.kapi.base.call import api, invoke, with_all
from kshell.kapi.base.convert import as_tensor, is_array, kname, to_q, to_tensor
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    TensorHandle,
    VectorHandle,
    dict_handle,
    handle,
    module_of,
    tensor_handle,
    vector_handle,
)
from kshell.kapi.base.lazy_torch import load
from kshell.parallel import group
from kshell.parallel import launch as launching
from kshell.store.codec import decode, encode
from kshell.values.base.build import collapse
from kshell.values.base.core import NIL, List, Table, Value, Vec
from kshell.values.items.pick import take_at
from kshell.values.session.context import running

# ------------------------------------------------------------------ the job of a session


class Marked(io.TextIOBase):
    """A stream whose lines begin with the number of the process."""

    def __init__(self, raw: TextIO, mark: str) -> None:
        self.raw, self.mark, self._fresh = raw, mark, True

    def write(self, text: str) -> int:
        """Write text with marked lines."""
        for line in text.splitlines(True):
            self.raw.write(self.mark + line if self._fresh else line)
            self._fresh = line.endswith("\n")
        return len(text)

    def flush(self) -> None:
        """Flush the underlying stream."""
        self.raw.flush()


class Silent(io.TextIOBase):
    """A stream that discards output."""

    def write(self, text: str) -> int:
        """Discard text."""
        return len(text)


def launch(n: int, run: Callable[[], NoReturn], console: bool) -> int:
    """Call `run` in n processes; returns the exit code (parallel/launch.py). torch and the k-api are imported once for
    all, except on macOS, where a process must not use system libraries on both sides of a fork."""
    os.environ.update(launching.shared(n, os.environ))
    if sys.platform != "darwin":
        load()
        importlib.import_module("torch.distributed")
    return launching.launch(n, run, console)


def leave(well: bool, error: str) -> None:
    """Leave the process group, if in one; `error` is the text of the error that ended the session."""
    if group.exists():
        parallel.meet.leave(well, error)


def join(session: Any, out: TextIO, err: TextIO, timeout: float | None, verbose: bool) -> None:
    """Join the job that this process was started for: from now on only process 0 prints, or with `verbose` all do,
    marked; errors are marked."""
    r, n = group.place()
    if n == 1:
        return
    session.err = Marked(err, f"[{r}] ")
    if verbose:
        session.out = Marked(out, f"[{r}] ")
    elif r:
        session.out = Silent()
    load()
    invoke("join", group.join, group.TIMEOUT if timeout is None else timeout)


def console() -> Any:
    """The console shared by this job's processes."""
    return parallel.console.Console()


def report(err: TextIO, text: str) -> None:
    """Write text to standard error, unchanged."""
    stream = err.raw if isinstance(err, Marked) else err
    stream.write(text)
    stream.flush()


# ------------------------------------------------------------------ who and how many


@api("worldrank", "worldrank[]", since="kshell", effect="none")
def worldrank(x: Value) -> Value:
    """The number of this process, from 0; 0 without a job. `rank[]` is the same.

    q)worldrank[]
    0
    """
    if not is_empty(x):
        raise CallError("worldrank", "takes no argument")
    return group.rank()


@api("world", "world[]", since="kshell", effect="none")
def world(x: Value) -> Value:
    """The number of processes; 1 without a job.

    q)world[]
    1
    """
    if not is_empty(x):
        raise CallError("world", "takes no argument")
    return group.world()


@api("barrier", "barrier[]", since="kshell", effect="opens")
def barrier(x: Value) -> Value:
    """Block until all processes have called it.

    q)barrier[]
    """
    with with_all("barrier", x):
        if not is_empty(x):
            raise CallError("barrier", "takes no argument")
        parallel.collect.barrier()
    return NIL


# ------------------------------------------------------------------ tensors and values


def _back(t: Any, x: Value) -> Value:
    """A new tensor in the form of the argument: a handle for a handle, else a q value."""
    return tensor_handle(t) if isinstance(x, KHandle) else to_q(t, copy=False)


@api("allreduce", "allreduce x", "allreduce(x;op)", since="kshell", effect="opens")
def allreduce(x: Value) -> Value:
    """Sum a tensor or array over all processes, with the result on each; or avg, min, max, prod.

    Sizes and types must agree.

    q)allreduce 1 2 3
    1 2 3
    q)allreduce(2 4f;`avg)
    2 4f
    """
    with with_all("allreduce", x):
        return _reduced(x)


def _reduced(x: Value) -> Value:
    args = data_items(x)
    name = name_of(args[1]) if len(args) == 2 else "sum"
    if not 1 <= len(args) <= 2 or name is None:
        raise CallError(
            "allreduce",
            "expecting a tensor or array, and sum, avg, min, max or prod",
            says=(*parallel.collect.OPS,),
        )
    h = handle(args[0])
    if isinstance(h, VectorHandle | DictHandle):
        parts = list(h.obj) if isinstance(h, VectorHandle) else list(h.obj.values())
        names = [] if isinstance(h, VectorHandle) else [("keys", " ".join(map(str, h.obj)))]
        if group.joined():
            parallel.collect.alike("allreduce", parts, *names)
        sums = [parallel.collect.allreduce(part, name) for part in parts]
        if isinstance(h, VectorHandle):
            return vector_handle(sums)
        return dict_handle(dict(zip(h.obj, sums, strict=True)))
    if not isinstance(h, TensorHandle) and not is_array(args[0]):
        raise CallError("allreduce", expecting="a tensor or array", given=kname(args[0]))
    return _back(parallel.collect.allreduce(as_tensor(args[0]), name), args[0])


@api("allgather", "allgather x", since="kshell", effect="opens")
def allgather(x: Value) -> Value:
    """Gather x from every process into a list.

    Tensors of equal size and type are stacked into a tensor with one more dimension.

    q)allgather`a
    ,`a
    q)tensor allgather tensor 1 2e
    1 2
    """
    with with_all("allgather", x):
        h = handle(x)
        if isinstance(h, TensorHandle):
            return tensor_handle(parallel.collect.allgather(as_tensor(h)))
        if h is not None:
            raise QError(f"allgather: not implemented for {h.plural}")
        parts = parallel.collect.gather_bytes(encode(x))
    return collapse([decode(data) for data in parts])


def _state(h: KHandle) -> list[Any] | None:
    """The tensors of a handle that are overwritten in place; None for other handles."""
    if isinstance(h, VectorHandle):
        return list(h.obj)
    if isinstance(h, DictHandle):
        return list(h.obj.values())
    if isinstance(h, ModuleHandle | ModelHandle):
        module = module_of(h)
        return [
            param
            for param in (*module.parameters(), *module.buffers())
            if not hasattr(param, "full_tensor")
        ]
    return None


def _numbered(x: Value, call: str, least: int = 2) -> tuple[Sequence[Value], int]:
    """The arguments, the last of which is the number of a process."""
    args = items(x)
    number = long_of(args[-1]) if least <= len(args) <= 2 else None
    if number is None:
        raise CallError(
            call, f"expecting {'a value and ' if least == 2 else ''}the number of a process"
        )
    return args, number


def _sent(call: str, x: Value) -> Any:
    """The form in which a value is sent: a tensor, or bytes."""
    h = handle(x)
    if isinstance(h, TensorHandle):
        return as_tensor(h)
    if h is not None:
        raise CallError(call, f"{h.plural} cannot be sent", says=(h.plural,))
    return encode(x)


def _received(found: Any) -> Value:
    return decode(found) if isinstance(found, bytes) else tensor_handle(found)


@api("broadcast", "broadcast(x;rank)", since="kshell", effect="opens")
def broadcast(x: Value) -> Value:
    """Broadcast a tensor or q value from one process to all.

    Modules, models, vectors and dictionaries of tensors are overwritten in place with that process's values.

    q)broadcast(1 2 3;0)
    1 2 3
    """
    with with_all("broadcast", x):
        return _from(x)


def _from(x: Value) -> Value:
    args, source = _numbered(x, "broadcast")
    h = handle(args[0])
    tensors = None if h is None else _state(h)
    if h is not None and tensors is not None:
        parallel.collect._other(source, "source")
        if group.joined():
            parallel.collect.alike(
                "broadcast", tensors, ("kinds", h.plural), ("sources", str(source))
            )
            for tensor in tensors:
                parallel.collect.broadcast_(tensor, source)
        return NIL
    message = _sent("broadcast", args[0]) if group.rank() == source else None
    return _received(parallel.collect.broadcast(message, source))


@api("send", "send(x;rank)", since="kshell", effect="opens")
def send(x: Value) -> Value:
    """Send a tensor or q value to a process, which receives it with recv.

    q)send(1 2 3;0)
    'send: target 0 is this process itself
      [0]  send(1 2 3;0)
           ^
    """
    args, target = _numbered(x, "send")
    parallel.collect.send(_sent("send", args[0]), target)
    return NIL


@api("recv", "recv rank", "recv(t;rank)", since="kshell", effect="opens")
def recv(x: Value) -> Value:
    """Receive a tensor or q value from a process; given a tensor, fill it with the received one.

    q)recv 1
    'recv: source 1 is no process of 1
      [0]  recv 1
           ^
    """
    args, source = _numbered(x, "recv", 1)
    if len(args) == 1:
        return _received(parallel.collect.receive(source))
    if not isinstance(args[0], TensorHandle):
        raise CallError("recv", expecting="a tensor to fill", given=kname(args[0]))
    tensor, received = as_tensor(args[0]), parallel.collect.receive(source)
    if isinstance(received, bytes):
        received = to_tensor(decode(received))
    if received is None or received.shape != tensor.shape:
        raise QError(
            f"recv: tensor of {list(tensor.shape)} for what was sent with "
            f"{'no size' if received is None else list(received.shape)}"
        )
    tensor.detach().copy_(received)
    return NIL


@api("shard", "shard x", since="kshell", effect="opens")
def shard(x: Value) -> Value:
    """This process's share of x: the items, rows or slices i for which i modulo the number of processes is its number.

    q)shard til 4
    0 1 2 3
    """
    r, n = group.rank(), group.world()
    h = handle(x)
    if isinstance(h, TensorHandle):
        return tensor_handle(_slice(as_tensor(h), r, n))
    if isinstance(h, VectorHandle):
        return vector_handle([_slice(t, r, n) for t in h.obj])
    if isinstance(h, DictHandle):
        return dict_handle({key: _slice(value, r, n) for key, value in h.obj.items()})
    if not (x.__class__ is Vec or isinstance(x, List | Table)):
        raise CallError("shard", expecting="a list, table or tensor", given=kname(x))
    return take_at(x, np.arange(r, len(x), n))


def _slice(t: Any, r: int, n: int) -> Any:
    if not t.dim():
        raise CallError("shard", "tensor has no dimensions", says=("tensor",))
    return t[r::n].contiguous()


@api("say", "say x", since="kshell", effect="opens")
def say(x: Value) -> Value:
    """Print a value on every process, in order, marked with their numbers.

    q)say 1 2 3
    [0] 1 2 3
    """
    session = running()
    with with_all("say", x):
        texts = parallel.collect.gather_bytes(
            session.show(x).encode("utf-8", "surrogateescape"), "say"
        )
    if group.rank() == 0:
        text = "".join(
            f"[{r}] {line}\n"
            for r, data in enumerate(texts)
            for line in data.decode("utf-8", "surrogateescape").split("\n")
        )
        stream = getattr(session, "out", None)
        stream.raw.write(text) if isinstance(stream, Marked) else session.write(text)
    return NIL
