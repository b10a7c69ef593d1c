"""The process group of this process: joined at the start of a job, left at its end.

A job is what `kshell -n` or torchrun starts: RANK and WORLD_SIZE are set.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from datetime import timedelta
from typing import Any

from kshell.parallel.launch import LISTEN, PARENT

TIMEOUT = 60.0  # seconds that a process waits for the others


def place() -> tuple[int, int]:
    """The number of this process and how many there are, (0;1) outside of a job; torch is not needed for it."""
    try:
        rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    except ValueError:
        return 0, 1
    return (rank, world) if 0 <= rank < world else (0, 1)


def follow_parent() -> None:
    """End when the launcher ends, however it does (on Linux)."""
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
    """torch.distributed, if it has a process group; it is not imported to see that it has none."""
    dist = sys.modules.get("torch.distributed")
    return dist if dist is not None and dist.is_available() and dist.is_initialized() else None


def joined() -> bool:
    """Is there a process group of more than this process?"""
    dist = _group()
    return dist is not None and dist.get_world_size() > 1


def rank() -> int:
    """The number of this process in its group, 0 without one."""
    dist = _group()
    return 0 if dist is None else dist.get_rank()  # type: ignore[no-any-return]


def world() -> int:
    """How many processes there are in the group, 1 without one."""
    dist = _group()
    return 1 if dist is None else dist.get_world_size()  # type: ignore[no-any-return]


def join(timeout: float = TIMEOUT) -> None:
    """Join the group of this job: nccl for tensors of a GPU if each process has its own, gloo for others. Nothing to
    do for a job of one."""
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
    if torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", n)):
        torch.cuda.set_device(local)
        backend = "cpu:gloo,cuda:nccl"
    if PARENT in os.environ:
        held = os.environ.pop(LISTEN, None)
        more: dict[str, Any] = {} if held is None else {"master_listen_fd": int(held)}
        store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), n, r == 0, wait, **more)
        dist.init_process_group(backend, store=store, rank=r, world_size=n, timeout=wait)
    else:
        dist.init_process_group(backend, timeout=wait)


def leave(well: bool, error: str = "") -> None:
    """Leave the group: when all went well after the others have come to their end too, or the timeout has passed. After
    an error the group stays as it is until this process ends, and one that was lost because another ended waits a
    little, so that the launcher sees first which it was."""
    dist = _group()
    if dist is None:
        return
    if not well:
        if "by peer" in error:
            time.sleep(.5)
        return
    try:
        dist.barrier()
        dist.destroy_process_group()
    except RuntimeError:
        pass  # another has ended before; there is nothing left to do together
