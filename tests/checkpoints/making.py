"""What other programs put into checkpoints, without these programs: objects of classes that are named only."""

from __future__ import annotations

import io
import pickle
import types
from typing import Any

import torch


class Name:
    """A name of a class or function, which is not looked up."""

    def __init__(self, name: str) -> None:
        self.module, self.name = name.rsplit(".", 1)


class Made:
    """An object of a class that is named only, with a state; `call`: what a function of that name gives."""

    def __init__(self, name: str, args: tuple[Any, ...] = (), state: Any = None, call: bool = False) -> None:
        self.name, self.args, self.state, self.call = Name(name), args, state, call


class Pickler(pickle._Pickler):  # type: ignore[name-defined, misc]
    """Python's own, which writes these as if their classes were there."""

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        known = self.memo.get(id(obj))
        if isinstance(obj, Name | Made) and known is not None:
            self.write(self.get(known[0]))
        elif isinstance(obj, Name):
            self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode())
            self.memoize(obj)
        elif isinstance(obj, Made):
            self.save(obj.name)
            self.save(obj.args)
            self.write(pickle.REDUCE if obj.call else pickle.NEWOBJ)
            self.memoize(obj)
            if obj.state is not None:
                self.save(obj.state)
                self.write(pickle.BUILD)
        else:
            super().save(obj, save_persistent_id)


MODULE = types.SimpleNamespace(Pickler=Pickler, __name__="pickle")  # what torch.save takes as a module for pickles


def save(value: Any, path: Any, **options: Any) -> None:
    """torch.save of a value with such objects in it."""
    torch.save(value, path, pickle_module=MODULE, **options)


def saved(value: Any) -> bytes:
    """The bytes that it writes."""
    out = io.BytesIO()
    save(value, out)
    return out.getvalue()


def dumps(value: Any, protocol: int = 2) -> bytes:
    """The pickle of a value with such objects in it."""
    out = io.BytesIO()
    Pickler(out, protocol).dump(value)
    return out.getvalue()


# ------------------------------------------------------------------ parts of tensors of several processes


def _wrapped(cls: str, shape: tuple[int, ...], state: Any) -> Made:
    """A tensor of a class that has others inside."""
    stride = torch.empty(shape, device="meta").stride()
    declared = (Name(cls), torch.float32, torch.Size(shape), stride, 0, torch.strided, torch.device("cpu"), False)
    arguments = (Name("torch._utils._rebuild_wrapper_subclass"), Name(cls), declared, state)
    return Made("torch._tensor._rebuild_from_type_v2", arguments, call=True)


def dtensor(part: torch.Tensor, shape: tuple[int, ...], mesh: tuple[int, ...], at: tuple[int, ...], placements: list[Any],
            old: bool = False) -> Made:
    """The part of a DTensor that a process has which is at some place of a mesh; `old`: as earlier versions name fields."""
    package = "torch.distributed."
    kinds = [Made(f"{package}tensor.placement_types.{'Replicate' if dim is None else 'Shard'}", (), {} if dim is None else {"dim": dim})
             for dim in placements]
    meta = Made(f"{package}tensor._dtensor_spec.TensorMeta", (torch.Size(shape), torch.empty(shape, device="meta").stride(), torch.float32))
    if old:
        fields: dict[str, Any] = {"mesh": torch.arange(torch.Size(mesh).numel()).reshape(mesh), "_coordinate_on_dim": list(at)}
    else:
        axes = tuple(Made(f"{package}_mesh_layout._FlatLayout", (), {"shape": (n,), "stride": (1,)}) for n in mesh)
        fields = {"_layout": Made(f"{package}_mesh_layout._MeshLayout", (), {"axes": axes}), "_coordinate_on_dim": list(at)}
    spec = {"mesh": Made(f"{package}device_mesh.DeviceMesh", (), fields), "placements": tuple(kinds), "tensor_meta": meta}
    return _wrapped(f"{package}tensor.DTensor", shape,
                    (None, {"_local_tensor": part, "_spec": Made(f"{package}tensor._dtensor_spec.DTensorSpec", (), spec)}))


def sharded_tensor(part: torch.Tensor, shape: tuple[int, ...], offsets: tuple[int, ...]) -> Made:
    """The part of a ShardedTensor that a process has."""
    package = "torch.distributed._shard."
    metadata = Made(package + "metadata.ShardMetadata", (), (None, {"shard_offsets": list(offsets), "shard_sizes": list(part.shape)}))
    shard = Made(package + "sharded_tensor.shard.Shard", (), (None, {"tensor": part, "metadata": metadata}))
    inner = Made("builtins.getattr", (Name(package + "sharded_tensor.api.ShardedTensor"), "ProcessGroupState"), call=True)
    return _wrapped(package + "sharded_tensor.api.ShardedTensor", shape, ([shard], None, inner, None, False))
