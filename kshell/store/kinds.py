"""Files from other programs, recognized by their first bytes: for the error when one is read as a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterable

_MAKE = "Python makes a checkpoint of it: "
_NUMPY = _MAKE + 'torch.save({{"x": torch.from_numpy(numpy.load("{0}"))}}, "{1}.pt")'
_ARCHIVE = (
    _MAKE + 'torch.save({k: torch.from_numpy(v) for k, v in numpy.load("{0}").items()}, "{1}.pt")'
)
# first bytes: what it is, and what to do with it; {0} is its path, {1} the path without extension
_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x93NUMPY", "an array of NumPy", _NUMPY),
    (b"GGUF", "a GGUF file", ""),
    (
        b"PAR1",
        "a Parquet file",
        'in Python a Session takes it as a table: s.t = pyarrow.parquet.read_table("{0}")',
    ),
    (
        b"ARROW1",
        "an Arrow file",
        'in Python a Session takes it as a table: s.t = pyarrow.ipc.open_file("{0}").read_all()',
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
    if begin[8:9] == b"{" and int.from_bytes(begin[:8], "little") < 1 << 40:
        return "a .safetensors file", "give it a name that ends in .safetensors"
    for first, what, hint in _KINDS:
        if begin.startswith(first):
            return what, hint.format(path, os.path.splitext(path)[0])
    return "", ""


def kind_of_archive(path: str, members: Iterable[str]) -> tuple[str, str]:
    """The same for a zip file with these members."""
    names = list(members)
    if names and all(name.endswith(".npy") for name in names) and "manifest.json" not in names:
        return "an archive of arrays of NumPy", _ARCHIVE.replace("{0}", path).replace(
            "{1}", os.path.splitext(path)[0]
        )
    if "manifest.json" in names:
        return "a snapshot", f"resume`:{path} brings its session back"
    return "", ""
