"""Files from other programs, recognized by their first bytes: for the error when one is read as a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterable

# first bytes: what it is, and what to do with it; {0} is its path, {1} the path without extension
_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (
        b"PAR1",
        "a Parquet file",
        "get`:{0} reads it",
    ),
    (
        b"ARROW1",
        "an Arrow file",
        "get`:{0} reads it",
    ),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", ""),
    (b"\x89PNG", "a picture", ""),
    (b"\xff\xd8\xff", "a picture", ""),
    (b"\x1f\x8b", "compressed by gzip", "gunzip gives the file that is in it"),
    (b"\xfd7zXZ", "compressed by xz", "unxz gives the file that is in it"),
    (b"kxzipped", "a compressed file of q", "get`:{0} reads it"),
    (b"\xff\x01", "a file of q", "get`:{0} reads it"),
    (b"\xfe ", "a file of q", "get`:{0} reads it"),
    (b"\xfd ", "a file of q", "get`:{0} reads it"),
)


def kind_of(path: str, begin: bytes) -> tuple[str, str]:
    """The kind of a file with these first bytes, and a hint what to do with it; two empty texts if unknown."""
    for first, what, hint in _KINDS:
        if begin.startswith(first):
            return what, hint.format(path, os.path.splitext(path)[0])
    return "", ""


def kind_of_archive(path: str, members: Iterable[str]) -> tuple[str, str]:
    """The same for a zip file with these members."""
    names = list(members)
    if "manifest.json" in names:
        return "a snapshot", f"resume`:{path} brings its session back"
    return "", ""
