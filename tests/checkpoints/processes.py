"""Programs of several processes, which talk over loopback alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(program: Path, *arguments: str, count: int = 2, limit: float = 500) -> None:
    """Run a program in so many processes, each with its rank in its environment, and wait until all have ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]  # for programs that cannot meet in a file
    with tempfile.TemporaryDirectory() as place:
        jobs = []
        for rank in range(count):
            environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), "GLOO_SOCKET_IFNAME": "lo",
                           "STORE": f"file://{place}/store", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT),
                           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "DS_ACCELERATOR": "cpu", "PYTHONWARNINGS": "ignore"}
            with open(Path(place) / f"{rank}.txt", "wb") as said:
                jobs.append(subprocess.Popen([sys.executable, str(program), *arguments], env=environment, stdout=said, stderr=said))
        try:
            ended = [job.wait(limit) for job in jobs]
        finally:
            for job in jobs:
                job.kill()
        if any(ended):
            raise AssertionError("".join((Path(place) / f"{rank}.txt").read_text()[-3000:] for rank in range(count)))
