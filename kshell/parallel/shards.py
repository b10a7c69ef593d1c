"""Tensors of several processes in the files of one folder, through torch.distributed.checkpoint: each process writes
its shard once, and any number of processes reads what it needs.

A file contains the bytes of tensors, one after another. Their locations are in a `Stored` for the folder's index;
nothing is pickled.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner
from torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from torch.futures import Future

from kshell.muted import muted
from kshell.parallel import group

SUFFIX = ".data"
_CHUNK = 1 << 22
# tensors in a folder, by name: data type, sizes, and chunks (offsets, sizes, file number, position)
Stored = dict[str, list[Any]]


def file_name(tag: str, rank: int) -> str:
    """The file of a process."""
    return f"{tag}.{rank:05}{SUFFIX}"


def _bytes_of(t: Tensor) -> Tensor:
    return t.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


class _Writer(StorageWriter):
    def __init__(self, folder: str, tag: str) -> None:
        self.folder, self.tag = folder, tag
        self.written: list[Any] = []  # this process's file: name, bytes, digest
        self.metadata: Any = None

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        pass

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        pass

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        os.makedirs(self.folder, exist_ok=True)
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        return [dataclasses.replace(plan, storage_data=i) for i, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        results = []
        name = file_name(self.tag, plan.storage_data)
        digest, at = hashlib.sha256(), 0
        with open(os.path.join(self.folder, name), "wb") as file:
            for item in plan.items:
                data = _bytes_of(planner.resolve_data(item)).numpy()  # type: ignore[arg-type]
                file.write(data.data)
                digest.update(data.data)
                results.append(WriteResult(item.index, len(data), (plan.storage_data, at)))
                at += len(data)
            file.flush()
            os.fsync(file.fileno())
        self.written = [name, at, digest.hexdigest()]
        done: Future[list[WriteResult]] = Future()
        done.set_result(results)
        return done

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.storage_data = {r.index: r.storage_data for part in results for r in part}
        self.metadata = metadata

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return True


@contextmanager
def _plainly() -> Iterator[None]:
    """Raise the failed process's error instead of torch's report on all of them, and suppress the warning about a
    missing group."""
    problem: BaseException | None = None
    with muted("torch.distributed is disabled"):
        try:
            yield
        except CheckpointException as e:
            problem = next(iter(e.failures.values()))[0]
    if problem is not None:
        raise problem if isinstance(problem, OSError | ValueError) else RuntimeError(str(problem))


def save(folder: str, tag: str, tensors: dict[str, Tensor]) -> tuple[list[Any], Stored]:
    """Save this process's shards of tensors, which have the same names everywhere; an unsharded tensor is written by
    one process. Returns name, bytes and digest of this process's file and, on process 0, the contents of the folder."""
    writer = _Writer(folder, tag)
    planner = DefaultSavePlanner(flatten_state_dict=False, flatten_sharded_tensors=False)
    with _plainly():
        dcp.save(tensors, storage_writer=writer, planner=planner, no_dist=not group.joined())
    if writer.metadata is None:
        return writer.written, {}
    out: Stored = {}
    for name, about in writer.metadata.state_dict_metadata.items():
        chunks = []
        for i, chunk in enumerate(about.chunks):
            chunks.append(
                [
                    list(chunk.offsets),
                    list(chunk.sizes),
                    *writer.metadata.storage_data[MetadataIndex(name, chunk.offsets, i)],
                ]
            )
        out[name] = [str(about.properties.dtype).removeprefix("torch."), list(about.size), chunks]
    return writer.written, out


def verify(folder: str, files: Sequence[Sequence[Any]]) -> None:
    """Check that files have the expected sizes and digests; if not, OSError or ValueError that names the file."""
    for name, size, want in files:
        path = os.path.join(folder, name)
        if os.path.getsize(path) != size:
            raise ValueError(
                f"{path} is damaged: it has {os.path.getsize(path)} bytes, expecting {size}"
            )
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while data := file.read(_CHUNK):
                digest.update(data)
        if digest.hexdigest() != want:
            raise ValueError(f"{path} is damaged: the digest is another")


class _Reader(StorageReader):
    def __init__(self, folder: str, files: Sequence[str], stored: Stored) -> None:
        self.folder, self.files, self.stored = folder, files, stored

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        pass

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        about: dict[str, Any] = {}
        places = {}
        for name, (dtype, size, chunks) in self.stored.items():
            found = [
                ChunkStorageMetadata(torch.Size(chunk[0]), torch.Size(chunk[1])) for chunk in chunks
            ]
            about[name] = TensorStorageMetadata(
                TensorProperties(dtype=dtype_of(dtype)), torch.Size(size), found
            )
            for i, chunk in enumerate(chunks):
                places[MetadataIndex(name, torch.Size(chunk[0]), i)] = (
                    chunk[2],
                    chunk[3],
                    tuple(chunk[1]),
                    dtype_of(dtype),
                )
        return Metadata(state_dict_metadata=about, storage_data=places)

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.places = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        for item in plan.items:
            file, at, sizes, dtype = self.places[item.storage_index]
            n = dtype.itemsize
            for size in sizes:
                n *= size
            data = bytearray(n)
            with open(os.path.join(self.folder, self.files[file]), "rb") as f:
                f.seek(at)
                if f.readinto(data) != n:
                    raise ValueError(f"{self.files[file]} is cut off")
            t = (
                torch.frombuffer(data, dtype=torch.uint8)
                if n
                else torch.empty(0, dtype=torch.uint8)
            ).view(dtype)
            t = t.reshape(sizes)
            for dim, (start, length) in enumerate(
                zip(item.storage_offsets, item.lengths, strict=True)
            ):
                t = t.narrow(dim, start, length)
            into = planner.resolve_tensor(item).detach()
            into.copy_(t)
            planner.commit_tensor(item, into)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return True


def dtype_of(name: str) -> torch.dtype:
    """The data type with a name; ValueError if unknown."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"{name} is no data type")
    return found


def load(folder: str, files: Sequence[str], stored: Stored, into: dict[str, Tensor]) -> None:
    """Fill tensors, sharded or not, from a folder, by name."""
    planner = DefaultLoadPlanner(flatten_state_dict=False, flatten_sharded_tensors=False)
    with _plainly():
        dcp.load(
            into,
            storage_reader=_Reader(folder, files, stored),
            planner=planner,
            no_dist=not group.joined(),
        )
