"""The code cache: the compiled code of scripts, one file per script in the user's cache folder.

The cache holds the code objects that Python's compiler makes from emitted Python text, each keyed by a digest of its
text. Parsing and emitting always happen, so names are resolved as of each load. A file that is missing, damaged, owned
by another user or from another version only costs the time it would have saved.
"""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from types import CodeType
from typing import Any

from kshell import __version__
from kshell.errors import QError
from kshell.lang.compiler import code_objects
from kshell.store import atomic

SMALLEST = 4096  # minimum size in bytes of a cached script
MOST = 100  # maximum number of files
_HEAD = b"kshell code 1\n"
_DIGEST = 32

Assembled = tuple[CodeType, list[int]]


class Kept:
    """The cached code of one script. Inside `with`, the compiler looks here first, and adds what it compiles."""

    def __init__(self, path: str) -> None:
        self.path, self.new = path, False
        self.found: dict[bytes, Assembled] = _read(path)

    def __enter__(self) -> None:
        code_objects.KEPT.set(self.get)

    def __exit__(self, *_: object) -> None:
        code_objects.KEPT.reset()

    def get(self, text: str) -> Assembled:
        """The code for a Python text."""
        import hashlib

        digest = hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest()
        assembled = self.found.get(digest)
        if assembled is None:
            self.new = True
            assembled = self.found[digest] = code_objects.assemble(text)
        return assembled

    def save(self) -> None:
        """Write the file, if there is anything new; failures are ignored."""
        if not self.new:
            return
        import hashlib

        payload = marshal.dumps(self.found)
        with suppress(OSError, QError):
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            atomic.write_bytes(self.path, _HEAD, hashlib.sha256(payload).digest(), payload)
            _thin(os.path.dirname(self.path))


def of(script: bytes) -> Kept | None:
    """The code cache for a script; None if the script is too small."""
    if len(script) < SMALLEST:
        return None
    import hashlib

    made_by = f"{__version__} {sys.version} ".encode()
    return Kept(os.path.join(folder(), hashlib.sha256(made_by + script).hexdigest()))


def folder() -> str:
    """The folder for the files: in the user's cache folder, following XDG."""
    return os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "kshell", "scripts"
    )


def _read(path: str) -> dict[bytes, Assembled]:
    """The content of a cache file, if it is intact and nobody else could have written it; else empty."""
    import hashlib

    with suppress(OSError, ValueError, EOFError, TypeError):
        with open(path, "rb") as handle:
            status, above = os.fstat(handle.fileno()), os.stat(os.path.dirname(path))
            if {status.st_uid, above.st_uid} != {os.getuid()} or above.st_mode & 0o022:
                return {}
            content = handle.read()
        start = len(_HEAD) + _DIGEST
        payload = content[start:]
        if content[:start] == _HEAD + hashlib.sha256(payload).digest():
            codes: dict[bytes, Any] = marshal.loads(payload)
            return codes
    return {}


def _thin(where: str) -> None:
    """Remove the oldest files beyond the maximum number."""
    with os.scandir(where) as entries:
        files = sorted((entry.stat().st_mtime, entry.path) for entry in entries)
    for _, path in files[:-MOST]:
        os.unlink(path)
