"""Files with something wrong."""

from __future__ import annotations

import random


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A file with some of it changed, cut off, doubled or taken out."""
    out = bytearray(data)
    kind = rng.randrange(4)
    if kind == 0:
        for _ in range(rng.choice((1, 1, 1, 8))):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del out[rng.randrange(len(out)):]
    elif kind == 2:
        at, n = rng.randrange(len(out)), rng.randrange(1, 64)
        out[at:at] = bytes(rng.randrange(256) for _ in range(n)) if rng.random() < 0.5 else out[at:at + n]
    else:
        at = rng.randrange(len(out))
        del out[at:at + rng.randrange(1, 64)]
    return bytes(out)
