"""A snapshot of 512 MB and its resumption, against torch.save to the disk and torch.load with one pass for a checksum.

The least of several rounds: a disk that is behind with what it was given before takes up to four times as long."""

from __future__ import annotations

import io
import os
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import torch

from kshell.kapi.base.handles import TensorHandle
from kshell.session import Session
from tests.bench.timing import best_of, row


def _least(ours: Callable[[], object], peer: Callable[[], object]) -> tuple[float, float]:
    """The least seconds of each, in turns, the disk at rest before."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(5):
        for found, work in zip(times, (ours, peer), strict=True):
            os.sync()
            found.append(best_of(work))
    return min(times[0]), min(times[1])


def report() -> list[str]:
    t = torch.randn(128, 1024, 1024)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "s.ks", Path(folder) / "w.pt"
        session, fresh = (Session(out=io.StringIO(), err=io.StringIO()) for _ in range(2))
        session["w"] = TensorHandle(t)

        def save() -> None:
            with open(theirs, "wb") as f:
                torch.save({"w": t}, f)
                f.flush()
                os.fsync(f.fileno())

        def load() -> None:
            torch.load(theirs, weights_only=True)
            with open(theirs, "rb") as f:
                crc = 0
                while part := f.read(1 << 22):
                    crc = zlib.crc32(part, crc)

        saved = _least(lambda: session.run(f'snapshot`$":{ours}"'), save)
        loaded = _least(lambda: fresh.run(f'resume`$":{ours}"'), load)
        assert torch.equal(fresh["w"].obj, t)
    return [row("a snapshot of 512 MB", *saved, 1.6, "torch.save, fsync"),
            row("its resumption", *loaded, 1.5, "torch.load, a checksum")]
