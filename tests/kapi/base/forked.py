"""A process that has loaded torch and runs each text it is given in a process of its own, forked from it.

Read as a script it is that process: requests and answers are lines of JSON. `Forks` starts it and asks.
"""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support import warm

SECONDS = 20
KEPT = ("keep:tensor 1 2 3f;net:module seq(`sequential;(`linear;`a;2;2);`relu;(`linear;`b;2;2));opt1:opt(`adam;net;.01);"
        "backward Sum forward(net;3 2#1e);step opt1;kept:(state net;state opt1;tensor keep)")


class Forks:
    """Asks a process that forks for each text."""

    def __init__(self) -> None:
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[3])}
        self.process = warm.Process([sys.executable, "-m", "tests.kapi.base.forked"], stdin=subprocess.PIPE, env=env,
                                    stdout=subprocess.PIPE, text=True)

    def run(self, text: str, megabytes: int = 0) -> dict[str, Any]:
        """What became of a text, run after KEPT, with so much more memory than the process has (0: no limit): `error`,
        None if there was none; `signal` that ended the process; `whole`: is what stood there before as it was?"""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([text, megabytes]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


def attempt(text: str, megabytes: int) -> dict[str, Any]:
    """Run a text in this process."""
    from kshell.errors import QError
    from kshell.session import Session

    session = Session(out=io.StringIO(), err=io.StringIO())
    session.run(KEPT)
    first, _, last = text.rpartition(" | ")
    session.run(first or "::")
    before = len(session.handles)
    if megabytes:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (megabytes << 20), resource.RLIM_INFINITY))
    error = None
    try:
        session.run(last)
    except QError as e:
        error = e.text
    if megabytes:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    whole = session.run("kept~(state net;state opt1;tensor keep)") is True and session.run("1+1") == 2
    return {"error": error, "whole": whole, "more": len(session.handles) - before}


def answer(text: str, megabytes: int, file: int) -> None:
    """In the forked process: run a text, write what became of it, and end."""
    signal.alarm(SECONDS)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        found = attempt(text, megabytes)
    except BaseException as e:
        found = {"error": f"not caught: {e!r}"}
    os.write(file, json.dumps(found).encode())
    os._exit(0)


def main() -> None:
    """Answer until there are no more requests."""
    from kshell.session import Session

    Session(out=io.StringIO()).run(KEPT + ";fft 1 2f;svd 2 2#1 2 3 4f")  # loads what is loaded late
    for line in sys.stdin:
        text, megabytes = json.loads(line)
        with tempfile.TemporaryFile() as out:
            child = os.fork()
            if not child:
                answer(text, megabytes, out.fileno())
            _, status = os.waitpid(child, 0)
            out.seek(0)
            found = json.loads(out.read() or "{}")
        print(json.dumps({"error": None, "whole": False, "more": 0, **found,
                          "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}), flush=True)


if __name__ == "__main__":
    main()
