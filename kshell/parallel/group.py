"""The process group of this process: joined at the start of a job, left at its end.

A job is started by `kshell -n` or torchrun: RANK and WORLD_SIZE are set.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

from kshell import torch_versions
from kshell.parallel.launch import LISTEN, PARENT

TIMEOUT = 60.0  # timeout in seconds


def place() -> tuple[int, int]:
    """The number of this process and the number of processes, (0;1) outside a job; does not need torch."""
    try:
        rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    except ValueError:
        return 0, 1
    return (rank, world) if 0 <= rank < world else (0, 1)


def follow_parent() -> None:
    """Exit when the launcher exits, for whatever reason (on Linux)."""
    parent = os.environ.get(PARENT)
    if parent is None or not parent.isdecimal():
        return
    try:
        ctypes.CDLL(None, use_errno=True).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG
    except (OSError, AttributeError):
        return
    if os.getppid() != int(parent):
        os._exit(1)


def _group() -> Any:
    """torch.distributed, if it has a process group; not imported just to find out that it has none."""
    dist = sys.modules.get("torch.distributed")
    return dist if dist is not None and dist.is_available() and dist.is_initialized() else None


def exists() -> bool:
    """Is there a process group, even with only this process?"""
    return _group() is not None


def joined() -> bool:
    """Is there a process group with other processes?"""
    dist = _group()
    return dist is not None and dist.get_world_size() > 1


def rank() -> int:
    """The number of this process in its group, 0 without a group."""
    dist = _group()
    return 0 if dist is None else dist.get_rank()


def world() -> int:
    """The number of processes in the group, 1 without a group."""
    dist = _group()
    return 1 if dist is None else dist.get_world_size()


class _Job:
    """The state of this process's job: where the processes meet, and how the group was created."""

    def __init__(self) -> None:
        self.store: Any = None
        self.options: dict[str, Any] = {}
        self.sockets: dict[int, str] = {}  # sockets of the group's connections
        self.generation = 0


_JOB = _Job()


def generation() -> int:
    """How often the group was recreated: objects from an earlier one cannot be used."""
    return _JOB.generation


def store() -> Any:
    """The key-value store shared by the processes of the job."""
    return _JOB.store


def timeout() -> float:
    """The timeout of this process in seconds; 0 if unknown."""
    wait = _JOB.options.get("timeout")
    return wait.total_seconds() if wait is not None else 0.0


def join(timeout: float = TIMEOUT) -> None:
    """Join the group of this job: nccl for GPU tensors if each process has its own GPU, gloo for others. Nothing to do
    for a job of one."""
    r, n = place()
    if n == 1:
        return
    follow_parent()
    import torch
    import torch.distributed as dist

    if dist.is_initialized():
        return
    wait = timedelta(seconds=timeout)
    local = int(os.environ.get("LOCAL_RANK", r))
    backend = "gloo"
    if torch.cuda.is_available() and torch.cuda.device_count() >= int(
        os.environ.get("LOCAL_WORLD_SIZE", n)
    ):
        torch.cuda.set_device(local)
        backend = "cpu:gloo,cuda:nccl"
    if PARENT in os.environ:
        held = os.environ.pop(LISTEN, None)
        more: dict[str, Any] = {} if held is None else {"master_listen_fd": int(held)}
        _JOB.store = dist.TCPStore(
            os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), n, r == 0, wait, **more
        )
    else:
        from torch.distributed.rendezvous import rendezvous

        _JOB.store, r, n = next(rendezvous("env://", timeout=wait))
    _JOB.options = {"backend": backend, "rank": r, "world_size": n, "timeout": wait}
    _counted(r, n, wait)
    _form()


def _counted(r: int, n: int, wait: timedelta) -> None:
    """Check that all processes have the same world size; if not, or if one is missing, ValueError on all."""
    import torch.distributed as dist

    store = _JOB.store
    store.set(f"world/{r}", str(n))
    for k in range(n):
        problem = f"process {k} did not come within {wait.total_seconds():g} s"
        with suppress(dist.DistStoreError):
            store.wait([f"world/{k}"], wait)
            first, found = (store.get(f"world/{i}").decode() for i in (0, k))
            if found == first:
                continue
            problem = (
                f"numbers of processes differ between processes ({first} on 0, {found} on {k})"
            )
            time.sleep(0.5)  # process 0 holds the store, which others still have to read
        raise ValueError(problem)


def _form() -> None:
    """Create the group."""
    import torch.distributed as dist

    before = _sockets()
    with torch_versions.joining():
        dist.init_process_group(
            store=dist.PrefixStore(f"group {_JOB.generation}", _JOB.store), **_JOB.options
        )
    _JOB.sockets = {key: name for key, name in _sockets().items() if before.get(key) != name}


def renew() -> None:
    """Recreate the group after its processes lost contact; all must call it."""
    import torch.distributed as dist

    if dist.is_initialized():
        cut()  # otherwise it would wait for a message that nobody receives
        dist.destroy_process_group()
    _JOB.generation += 1
    _form()


def _sockets() -> dict[int, str]:
    """The open sockets of this process, by file descriptor."""
    out = {}
    for name in os.listdir("/dev/fd"):
        try:
            text = os.readlink(f"/dev/fd/{name}")
        except OSError:
            continue
        if text.startswith("socket"):
            out[int(name)] = text
    return out


def cut() -> None:
    """Close the connections of the group, so that no process waits for another any longer: pending calls fail. (torch
    has no other way to end a wait in gloo; it can end GPU calls itself.)"""
    import torch
    import torch.distributed as dist

    now = _sockets()
    for key, name in _JOB.sockets.items():
        if now.get(key) == name:
            with suppress(OSError), socket.socket(fileno=os.dup(key)) as s:
                s.getpeername()  # gloo's listening socket has no peer, and must stay open
                s.shutdown(socket.SHUT_RDWR)
    if "nccl" in str(_JOB.options.get("backend")) and dist.is_initialized():
        with suppress(RuntimeError):
            dist.group.WORLD._get_backend(torch.device("cuda")).abort()  # type: ignore[union-attr]


def calls() -> int:
    """The number of collective calls that this process has made in its group."""
    dist = _group()
    if dist is None:
        return 0
    try:
        return int(dist.group.WORLD._get_sequence_number_for_group())
    except RuntimeError:  # for a group with several backends
        return 0
