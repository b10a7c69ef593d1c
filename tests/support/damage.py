"""Files with something wrong, and what they are made of."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

# a session to be saved, and all of what is in it
WHOLE = """a:til 50;t:([]s:`x`y;b:("ab";"cd"));f:{x+a};y:300#`p`q`r
w:tensor 4 3#1 2 3e
q:module seq(`sequential;(`linear;3;2);`relu;(`linear;2;1))
o:opt(`adam;q;.1);m:model(q;loss`mse;o);train(m;w;tensor 4 1#1e);run m"""
STATE = ("-8!(a;t;f 1;y;tensor w;(state m)`module;delete pointer from((state m)`optimizer)`parms;(state m)`train;"
         "rng[]`q)")


class Run:
    """A pickle of it calls a function."""

    def __init__(self, fn: Any, *args: Any) -> None:
        self.asked = fn, args

    def __reduce__(self) -> Any:
        return self.asked


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A file with some of it changed, cut off, put in, doubled, taken out, zeroed, or two blocks of it exchanged."""
    out = bytearray(data)
    kind = rng.randrange(6)
    if kind == 0:
        for _ in range(rng.choice((1, 1, 1, 8))):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del out[rng.randrange(len(out)):]
    elif kind == 2:
        at, n = rng.randrange(len(out)), rng.randrange(1, 64)
        out[at:at] = bytes(rng.randrange(256) for _ in range(n)) if rng.random() < 0.5 else out[at:at + n]
    elif kind == 3:
        at = rng.randrange(len(out))
        del out[at:at + rng.randrange(1, 64)]
    elif kind == 4:
        at = rng.randrange(len(out))
        n = min(rng.choice((1, 16, 512)), len(out) - at)
        out[at:at + n] = bytes(n)
    else:
        n = min(rng.choice((4, 64, 512)), len(out) // 2)
        i, j = sorted((rng.randrange(len(out) - 2 * n + 1), rng.randrange(len(out) - 2 * n + 1)))
        j += n
        out[i:i + n], out[j:j + n] = out[j:j + n], out[i:i + n]
    return bytes(out)


def memory(name: str) -> int:
    """Bytes of memory of this process: VmRSS now, VmHWM at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) << 10
    raise KeyError(name)


def peak_from_here() -> int:
    """Let VmHWM begin anew; the memory in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def size_of(path: Path) -> int:
    """The bytes of a file, or of all in a folder."""
    if path.is_dir():
        return sum(map(size_of, path.iterdir()))
    return path.stat().st_size if path.is_file() else 0


def reading(path: Path) -> str:
    """The q that reads a file, with the numbers of its tensors."""
    if path.suffix == ".ks":
        return f"resume`$\":{path}\""
    return "{@[ckpttable;x;{if[not x like\"ckpttable: *\";'x]}];x}" + f"ckpt`$\":{path}\""
