"""Checkpoints of all kinds, made by torch or by hand: each function writes one under a path that it gives back, with the
tensors that are in it by name."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import struct
import tarfile
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from tests.checkpoints.making import Made, Name, dtensor, dumps, save, saved, sharded_tensor
from tests.checkpoints.quantized import gguf_files

Tensors = dict[str, torch.Tensor]
KINDS: dict[str, Callable[[Path], tuple[Path, Tensors]]] = {}


def kind(fn: Callable[[Path], tuple[Path, Tensors]]) -> Callable[[Path], tuple[Path, Tensors]]:
    KINDS[fn.__name__] = fn
    return fn


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).mul(9).to(dtype)


def state() -> Tensors:
    """A few tensors: views of one memory, turned ones, empty ones, several types."""
    whole = numbers(4, 6)
    return {"whole": whole, "row": whole[1], "turned": whole.t(), "half": numbers(3, dtype=torch.bfloat16), "ints": torch.arange(5),
            "flags": torch.tensor([True, False]), "none": torch.zeros(0, 3), "one": torch.tensor(2.5)}


def zipped(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method) as z:
        for name, data in members.items():
            z.writestr(name, data)


# ------------------------------------------------------------------ files


@kind
def pt(folder: Path) -> tuple[Path, Tensors]:
    torch.save({**state(), "epoch": 3, "names": ["a", {"b": 1.5}]}, folder / "a.pt")
    return folder / "a.pt", state()


@kind
def objects(folder: Path) -> tuple[Path, Tensors]:
    """A whole module, objects of unknown classes, numbers of NumPy."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    other = Made("a_program.Settings", (1,), {"lr": np.float64(0.5), "inner": Made("a_program.Inner", (), {"w": numbers(2)})})
    save({"net": net, "settings": other, "order": OrderedDict(x=np.arange(3.0))}, folder / "a.pt")
    return folder / "a.pt", {**{f"net.{name}": t for name, t in net.state_dict().items()}, "settings.inner.w": numbers(2)}


@kind
def deflated(folder: Path) -> tuple[Path, Tensors]:
    torch.save(state(), folder / "b.pt")
    with zipfile.ZipFile(folder / "b.pt") as z:
        members = {name: z.read(name) for name in z.namelist()}
    os.unlink(folder / "b.pt")
    zipped(folder / "a.pt", members, zipfile.ZIP_DEFLATED)
    return folder / "a.pt", state()


@kind
def legacy(folder: Path) -> tuple[Path, Tensors]:
    torch.save(state(), folder / "a.pt", _use_new_zipfile_serialization=False)
    return folder / "a.pt", state()


@kind
def tar(folder: Path) -> tuple[Path, Tensors]:
    """The form of before 0.1.10: storages, tensors and a value in members of their own."""
    w = numbers(3, 4)
    storages = pickle.dumps(2, 2) + _storage("11", "FloatStorage", w) + _storage("12", "LongStorage", torch.arange(6))
    storages += pickle.dumps([("13", "12", 2, 3)], 2)
    tensors = pickle.dumps(3, 2) + _view("1", "11", "FloatTensor", (3, 4), (4, 1), 0) + _view("2", "11", "FloatTensor", (4,), (1,), 4)
    tensors += _view("3", "13", "LongTensor", (3,), (1,), 0)

    class Referring(pickle._Pickler):  # type: ignore[name-defined, misc]
        def persistent_id(self, obj: Any) -> Any:
            return obj.decode() if obj.__class__ is bytes else None

    out = io.BytesIO()
    Referring(out, 2).dump({"w": b"1", "row": b"2", "ints": [b"3"], "n": 5})
    members = {"sys_info": pickle.dumps({"protocol_version": 1000, "little_endian": True}, 2), "pickle": out.getvalue(), "tensors": tensors,
               "storages": storages}
    with tarfile.open(folder / "a.tar", "w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return folder / "a.tar", {"w": w, "row": w[1], "ints.0": torch.arange(2, 5)}


def _storage(key: str, cls: str, t: torch.Tensor) -> bytes:
    return dumps((key, "cpu", Name("torch." + cls))) + struct.pack("<q", t.numel()) + t.numpy().tobytes()


def _view(key: str, storage: str, cls: str, shape: tuple[int, ...], stride: tuple[int, ...], start: int) -> bytes:
    return dumps((key, storage, Name("torch." + cls))) + struct.pack(f"<ii{2 * len(shape) + 1}q", len(shape), 0, *shape, *stride, start)


class Small(torch.nn.Module):
    """A program with parameters, a buffer, a child and a constant."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.inner = torch.nn.Linear(2, 3)
        self.register_buffer("shift", torch.arange(3.0))
        self.rate = 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * self.rate + self.shift + torch.ones(3)  # type: ignore[no-any-return]


@kind
def torchscript(folder: Path) -> tuple[Path, Tensors]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(Small()).save(str(folder / "a.pt"))
    return folder / "a.pt", Small().state_dict()


@kind
def exported(folder: Path) -> tuple[Path, Tensors]:
    """The layout of torch.export.save, by hand."""
    w, ints = numbers(2, 3), torch.arange(4)
    size = lambda *n: [{"as_int": i} for i in n]  # noqa: E731

    def entry(name: str, dtype: int, sizes: Any, strides: Any, start: int = 0, is_pickle: bool = False) -> dict[str, Any]:
        meta = {"dtype": dtype, "sizes": sizes, "strides": strides, "storage_offset": {"as_int": start}, "layout": 7}
        return {"path_name": name, "is_param": True, "use_pickle": is_pickle, "tensor_meta": meta}

    weights = {"w": entry("weight_0", 7, size(2, 3), size(3, 1)), "w.column": entry("weight_0", 7, size(2), size(3), 1)}
    constants = {"ints": entry("tensor_0", 5, size(4), size(1)), "own": entry("custom_obj_0", 7, [], [], is_pickle=True)}
    zipped(folder / "a.pt2", {
        "a/archive_format": b"pt2", "a/byteorder": b"little", "a/.data/version": b"6\n",
        "a/data/weights/model_weights_config.json": json.dumps({"config": weights}).encode(), "a/data/weights/weight_0": w.numpy().tobytes(),
        "a/data/constants/model_constants_config.json": json.dumps({"config": constants}).encode(),
        "a/data/constants/tensor_0": ints.numpy().tobytes(), "a/data/constants/custom_obj_0": saved({"inside": numbers(3)}),
    })
    return folder / "a.pt2", {"w": w, "w.column": w[:, 1], "ints": ints, "own.inside": numbers(3)}


@kind
def npy(folder: Path) -> tuple[Path, Tensors]:
    np.save(folder / "a.npy", np.asfortranarray(numbers(3, 4).numpy()))
    return folder / "a.npy", {"": numbers(3, 4)}


@kind
def npz(folder: Path) -> tuple[Path, Tensors]:
    np.savez_compressed(folder / "a.npz", w=numbers(3, 4).numpy(), n=np.arange(5, dtype=">i4"))
    return folder / "a.npz", {"w": numbers(3, 4), "n": torch.arange(5, dtype=torch.int32)}


@kind
def safetensors(folder: Path) -> tuple[Path, Tensors]:
    given = {name: t.clone().contiguous() for name, t in state().items()}
    save_file(given, folder / "a.safetensors", {"format": "pt", "note": "a text"})
    return folder / "a.safetensors", given


@kind
def gguf(folder: Path) -> tuple[Path, Tensors]:
    w = numbers(3, 32)
    blocks = b"".join(np.float16(d).tobytes() + bytes(range(32)) for d in (0.5, 1, 2, 4))
    whole = np.outer([0.5, 1, 2, 4], np.arange(32)).astype("f4")
    data = gguf_files.whole({"w": (0, (3, 32), w.numpy().tobytes()), "q": (8, (2, 64), blocks)},
                            {"general.architecture": (8, "llama"), "tokens": (9, (8, ["a", "b"]))})
    (folder / "a.gguf").write_bytes(data)
    return folder / "a.gguf", {"w": w, "q": torch.from_numpy(whole.reshape(2, 64))}


@kind
def bare(folder: Path) -> tuple[Path, Tensors]:
    """A pickle without tensors."""
    (folder / "a.pkl").write_bytes(dumps({"a": [1, 2.5, "x"], "b": Made("a_program.Thing", (1,), {"c": np.arange(3)})}))
    return folder / "a.pkl", {}


# ------------------------------------------------------------------ folders


def halves() -> list[Tensors]:
    items = [(name, t.clone().contiguous()) for name, t in state().items()]
    return [dict(items[::2]), dict(items[1::2])]


@kind
def sharded(folder: Path) -> tuple[Path, Tensors]:
    return _sharded(folder / "st", "model", "safetensors", save_file)


@kind
def sharded_bin(folder: Path) -> tuple[Path, Tensors]:
    return _sharded(folder / "bin", "pytorch_model", "bin", torch.save)


def _sharded(folder: Path, stem: str, suffix: str, write: Callable[[Any, Any], Any]) -> tuple[Path, Tensors]:
    os.mkdir(folder)
    where = {}
    for i, part in enumerate(halves()):
        name = f"{stem}-0000{i + 1}-of-00002.{suffix}"
        write(part, folder / name)
        where |= dict.fromkeys(part, name)
    (folder / f"{stem}.{suffix}.index.json").write_text(json.dumps({"metadata": {"total_size": 9}, "weight_map": where}))
    return folder, {name: t for part in halves() for name, t in part.items()}


@kind
def hf_shards(folder: Path) -> tuple[Path, Tensors]:
    """Files of torch.distributed.checkpoint's writer of .safetensors, one a process."""
    w, small = numbers(5, 3), numbers(2)
    parts: list[dict[str, Any]] = [{"w": (w[:3], (0, 0)), "small": (small, (0,))}, {"w": (w[3:], (3, 0))}]
    for i, part in enumerate(parts):
        info = {name: {"saved_offsets": list(offsets)} for name, (_, offsets) in part.items()}
        save_file({name: t.clone() for name, (t, _) in part.items()}, folder / f"shard-0000{i + 1}-model-00001-of-00001.safetensors",
                  {"DCP_SHARDING_INFO": json.dumps(info), "DCP_VERSION": "1.0", "format": "pt"})
    return folder, {"w": w, "small": small}


Part = tuple[tuple[int, ...], torch.Tensor]  # offsets, numbers


def write_dcp(folder: Path, tensors: dict[str, tuple[tuple[int, ...], list[Part]]], values: dict[str, Any], **more: Any) -> None:
    """A folder of torch.distributed.checkpoint: parts of tensors, one file for each place in their lists, and other values."""
    package, meta = "torch.distributed.checkpoint.", "torch.distributed.checkpoint.metadata."
    contents: list[bytearray] = [bytearray(), bytearray()]
    places: dict[Any, Any] = {}

    def put(name: str, value: Any, rank: int, index: dict[str, Any]) -> None:
        data = saved(value)
        place = {"relative_path": f"__{rank}_0.distcp", "offset": len(contents[rank]), "length": len(data), **more}
        contents[rank] += data
        places[Made(meta + "MetadataIndex", (), {"fqn": name, **index})] = Made(package + "filesystem._StorageInfo", (), place)

    entries: dict[str, Any] = {}
    for name, (shape, parts) in tensors.items():
        chunks = []
        for i, (offsets, part) in enumerate(parts):
            put(name, part.clone().contiguous(), i % 2, {"offset": torch.Size(offsets), "index": i})
            chunks.append(Made(meta + "ChunkStorageMetadata", (), {"offsets": torch.Size(offsets), "sizes": part.shape}))
        memory = Made(meta + "_MEM_FORMAT_ENCODING", (0,), call=True)
        properties = Made(meta + "TensorProperties", (), (parts[0][1].dtype, torch.strided, False, memory, False))
        entries[name] = Made(meta + "TensorStorageMetadata", (), {"properties": properties, "size": torch.Size(shape), "chunks": chunks})
    for name, value in values.items():
        put(name, value, 0, {"offset": None, "index": None})
        entries[name] = Made(meta + "BytesStorageMetadata", (), {})
    whole = {"state_dict_metadata": entries, "planner_data": {name: tuple(name.split(".")) for name in entries}, "storage_data": places,
             "storage_meta": None, "version": "1.0.0"}
    for rank, data in enumerate(contents):
        (folder / f"__{rank}_0.distcp").write_bytes(data)
    (folder / ".metadata").write_bytes(dumps(Made(meta + "Metadata", (), whole), 4))


@kind
def dcp(folder: Path) -> tuple[Path, Tensors]:
    """Two processes: a tensor by rows, one by both dimensions, one of one part, one without dimensions, other values."""
    w, grid, one = numbers(5, 3), numbers(4, 4, seed=1), torch.tensor(7)
    quarters = [((i, j), grid[i:i + 2, j:j + 2]) for i in (0, 2) for j in (0, 2)]
    write_dcp(folder, {"model.w": ((5, 3), [((0, 0), w[:3]), ((3, 0), w[3:])]), "grid": ((4, 4), quarters), "one": ((), [((), one)]),
                       "none": ((0, 2), [((0, 0), torch.zeros(0, 2))])}, {"step": 3, "optim.lr": [0.5, {"a": "b"}]})
    return folder, {"model.w": w, "grid": grid, "one": one, "none": torch.zeros(0, 2)}


@kind
def dcp_alone(folder: Path) -> tuple[Path, Tensors]:
    """Two processes that wrote without each other: each has metadata of its own parts."""
    w, small = numbers(5, 3), numbers(2)
    tensors: list[dict[str, Any]] = [{"w": ((5, 3), [((0, 0), w[:3])]), "small": ((2,), [((0,), small)])}, {"w": ((5, 3), [((3, 0), w[3:])])}]
    for rank, own in enumerate(tensors):
        inner = folder / "inner"
        os.mkdir(inner)
        write_dcp(inner, own, {"step": 3}, relative_path=f"__{rank}_0.distcp")
        os.rename(inner / "__0_0.distcp", folder / f"__{rank}_0.distcp")
        os.rename(inner / ".metadata", folder / f"__{rank}.metadata")
        shutil.rmtree(inner)
    return folder, {"w": w, "small": small}


@kind
def dcp_safetensors(folder: Path) -> tuple[Path, Tensors]:
    """Parts in a .safetensors file a process, of which the metadata tell places that are not true."""
    w = numbers(5, 3)
    parts = [((0, 0), w[:3].clone()), ((3, 0), w[3:].clone())]
    write_dcp(folder, {"w": ((5, 3), parts)}, {}, offset=0, length=8)
    for rank, (offsets, part) in enumerate(parts):
        save_file({"w": part}, folder / f"__{rank}_0.distcp", {"DCP_SHARDING_INFO": json.dumps({"w": {"saved_offsets": offsets}}), "DCP_VERSION": "1.0"})
    return folder, {"w": w}


@kind
def dtensors(folder: Path) -> tuple[Path, Tensors]:
    w, column, same = numbers(5, 2), numbers(3, 5), numbers(4)
    for rank in range(4):
        rows = w.chunk(3)[rank] if rank < 3 else w[:0]  # 2 2 1 0
        save({"w": dtensor(rows, (5, 2), (4,), (rank,), [0]), "same": dtensor(same, (4,), (4,), (rank,), [None], old=True),
              "grid": dtensor(_cut(column, rank), (3, 5), (2, 2), divmod(rank, 2), [0, 1])}, folder / f"rank{rank}.pt")
    return folder, {"full.w": w, "full.same": same, "full.grid": column}


def _cut(t: torch.Tensor, rank: int) -> torch.Tensor:
    i, j = divmod(rank, 2)
    return t.chunk(2)[i].chunk(2, 1)[j].clone()


@kind
def sharded_tensors(folder: Path) -> tuple[Path, Tensors]:
    w = numbers(5, 3)
    for rank, (first, last) in enumerate(((0, 3), (3, 5))):
        save(OrderedDict(w=sharded_tensor(w[first:last].clone(), (5, 3), (first, 0))), folder / f"rank{rank}.pt")
    return folder, {"full.w": w}


def zero(folder: Path, stage: int) -> tuple[Path, Tensors]:
    """DeepSpeed's files of two processes, with its fields and types: two groups, frozen parameters, buffers, and a second name
    of one."""
    groups = [{"a": numbers(3, 5), "b": numbers(7, seed=1)}, {"c": numbers(3, seed=2)}]
    frozen, buffer = numbers(5, seed=3).bfloat16(), torch.arange(3.0)
    inner = folder / "global_step3"
    os.mkdir(inner)
    (folder / "latest").write_text("global_step3")
    every = {name: t for group in groups for name, t in group.items()}
    held = {name: t.bfloat16() if stage < 3 else torch.zeros(0).bfloat16() for name, t in every.items()}
    held |= {"frozen": frozen if stage < 3 else torch.zeros(0).bfloat16(), "buffer": buffer}
    held["alias"] = held["a"]
    shapes = [OrderedDict((name, t.shape) for name, t in group.items()) for group in groups]
    for rank in range(2):
        fragments = OrderedDict(frozen=_share(frozen, rank) if stage == 3 else frozen)
        model: dict[str, Any] = {
            "module": OrderedDict(held), "buffer_names": ["buffer"], "optimizer": None, "param_shapes": shapes,
            "frozen_param_shapes": None if stage == 1 else OrderedDict(frozen=frozen.shape), "shared_params": {} if rank else {"alias": "a"},
            "frozen_param_fragments": None if stage == 1 else fragments, "lr_scheduler": None, "data_sampler": None, "random_ltd": None,
            "skipped_steps": 0, "global_steps": 3, "global_samples": 24, "dp_world_size": 2, "mp_world_size": 1,
            "checkpoint_parallel_dimensions": {"pp_degree": 1, "tp_degree": 1}, "ds_config": {"bf16": {"enabled": True}}, "ds_version": "0.19.8"}
        if stage == 3 or rank == 0:
            prefix = f"zero_pp_rank_{rank}_" if stage == 3 else ""
            save(model, inner / f"{prefix}mp_rank_00_model_states.pt")
        own = {"zero_stage": Made("deepspeed.runtime.zero.config.ZeroStageEnum", (stage,), call=True),
               "loss_scaler": Made("deepspeed.runtime.fp16.loss_scaler.LossScaler", (), {"cur_scale": 1.0, "dynamic": False}),
               "dynamic_loss_scale": False, "overflow": False, **_own(groups, rank, stage)}
        save({"optimizer_state_dict": own, "ds_config": {}, "ds_version": "0.19.8"}, inner / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
    moments = {f"optimizer.state.{name}.{key}": t for name in every for key, t in {**_moments(every[name]), "step": torch.tensor(3.0)}.items()}
    return folder, {f"full.{name}": t for name, t in {**every, "frozen": frozen, "buffer": buffer, "alias": every["a"]}.items()} | moments


def _moments(t: torch.Tensor) -> Tensors:
    return {"exp_avg": t / 3, "exp_avg_sq": t * t}


def _own(groups: list[Tensors], rank: int, stage: int) -> dict[str, Any]:
    """What a process has of the parameters."""
    kinds = [groups, *([{name: _moments(t)[key] for name, t in group.items()} for group in groups] for key in ("exp_avg", "exp_avg_sq"))]
    paddings = [[1, *[0] * (len(group) - 1)] for group in groups]
    flats, first, second = [[_part(group, rank, stage, padding) for group, padding in zip(kind, paddings, strict=True)] for kind in kinds]
    if stage == 3:  # parameters go on in the next
        flats, first, second = [[line[:7].clone(), line[7:].clone()] for line in map(torch.cat, (flats, first, second))]
    else:  # the moments of the last process have the padding, its parameters have not
        first, second = [[torch.cat([t, torch.zeros(len(t) % 2)]) for t in kind] for kind in (first, second)]
    state = {i: {"step": torch.tensor(3.0), "exp_avg": first[i], "exp_avg_sq": second[i]} for i in range(2)}
    options = {"betas": (0.9, 0.999), "eps": 1e-8, "foreach": None, "kinds": {(torch.BFloat16Storage, 1): 2}}
    base = {"state": state, "param_groups": [{"weight_decay": d, "lr": 4e-4, **options, "params": [i]} for i, d in enumerate((0.1, 0.0))]}
    if stage == 3:
        return {"partition_count": 2, "optimizer_state_dict": base, "fp32_flat_groups": flats}
    slices = [OrderedDict((name, Made("deepspeed.utils.tensor_fragment.fragment_address", (t.numel(), 0))) for name, t in group.items()) for group in groups]
    return {"clip_grad": 0.5, "base_optimizer_state": base, "single_partition_of_fp32_groups": flats, "group_paddings": [0, 1],
            "param_alignment_paddings": paddings, "partition_count": [2, 2], "ds_version": "0.19.8", "param_slice_mappings": slices}


def _part(group: Tensors, rank: int, stage: int, padding: list[int]) -> torch.Tensor:
    """What a process has of a group, in one vector: in stage 3 a share of each, else of all. The last one's is without padding."""
    if stage == 3:
        return torch.cat([_share(t, rank) for t in group.values()])
    line = torch.cat([torch.cat([t.reshape(-1), torch.zeros(n)]) for t, n in zip(group.values(), padding, strict=True)])
    length = -(-len(line) // 4) * 2
    return line[rank * length:(rank + 1) * length].clone()


@kind
def universal(folder: Path) -> tuple[Path, Tensors]:
    """DeepSpeed's form for other numbers of processes, as it makes it of stage 3: flat vectors, and steps with the groups."""
    _, wanted = zero(folder, 3)
    made, parts = folder / "made", folder / "global_step3"
    os.mkdir(made)
    for file in parts.glob("*_model_states.pt"):
        os.rename(file, made / file.name)
    shutil.rmtree(parts)
    os.unlink(folder / "latest")
    (folder / "latest_universal").write_text("made")
    for name, t in {"a": numbers(3, 5), "b": numbers(7, seed=1), "c": numbers(3, seed=2)}.items():
        os.makedirs(made / "zero" / name)
        for key, part in {"fp32": t, **_moments(t)}.items():
            torch.save(part.reshape(-1), made / "zero" / name / f"{key}.pt")
    base = {"state": {i: {"step": torch.tensor(3.0)} for i in range(2)}, "param_groups": []}
    save({"optimizer_state_dict": base, "param_groups": [{"lr": 0.5, "params": [i]} for i in range(2)]}, made / "zero" / "optimizer_state.pt")
    return folder, wanted


def _share(t: torch.Tensor, rank: int) -> torch.Tensor:
    """An equal share of a tensor, the last one filled up."""
    share = -(-t.numel() // 2)
    part = t.reshape(-1)[rank * share:(rank + 1) * share]
    return torch.cat([part, torch.full((share - len(part),), -1.0, dtype=t.dtype)])


@kind
def zero1(folder: Path) -> tuple[Path, Tensors]:
    return zero(folder, 1)


@kind
def zero2(folder: Path) -> tuple[Path, Tensors]:
    return zero(folder, 2)


@kind
def zero3(folder: Path) -> tuple[Path, Tensors]:
    return zero(folder, 3)


@kind
def trainer(folder: Path) -> tuple[Path, Tensors]:
    weights = {"w": numbers(3, 2), "b": numbers(3)}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    net = torch.nn.Linear(2, 3)
    optimizer = torch.optim.AdamW(net.parameters(), 0.1)
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    torch.save(optimizer.state_dict(), folder / "optimizer.pt")
    torch.save({"base_lrs": [0.1], "last_epoch": 1, "lr_lambdas": [None]}, folder / "scheduler.pt")
    torch.save({"numpy": ("MT19937", np.arange(4, dtype="u4"), 4, 0, 0.0), "cpu": torch.arange(4, dtype=torch.uint8)}, folder / "rng_state.pth")
    scheduler = Made("transformers.trainer_utils.SchedulerType", ("cosine",), call=True)
    save(Made("transformers.training_args.TrainingArguments", (), {"learning_rate": 0.1, "lr_scheduler_type": scheduler}),
         folder / "training_args.bin")
    (folder / "trainer_state.json").write_text(json.dumps({"log_history": [{"loss": 1.5, "step": 1}]}))
    moments = {f"optimizer.pt.state.{i}.{key}": t for i, row in optimizer.state_dict()["state"].items() for key, t in row.items()}
    return folder, {**{f"model.safetensors.{name}": t for name, t in weights.items()}, **moments,
                    "rng_state.pth.cpu": torch.arange(4, dtype=torch.uint8)}


@kind
def accelerate(folder: Path) -> tuple[Path, Tensors]:
    save_file({"w": numbers(3)}, folder / "model.safetensors", {"format": "pt"})
    torch.save({"state": {}, "param_groups": [{"lr": 0.1, "params": [0]}]}, folder / "optimizer.bin")
    torch.save({"step": 3, "random_state": (3, (1, 2), None), "torch_manual_seed": torch.arange(4, dtype=torch.uint8)}, folder / "random_states_0.pkl")
    return folder, {"model.safetensors.w": numbers(3), "random_states_0.pkl.torch_manual_seed": torch.arange(4, dtype=torch.uint8)}
