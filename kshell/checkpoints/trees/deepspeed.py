"""The folders of DeepSpeed's ZeRO: each process has a part of the weights and of the optimizer's state, in one long
vector a group. They are joined by the names and sizes that the files tell; nothing is read until it is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from math import prod
from typing import Any

from kshell.checkpoints.base.stored import WIDTHS, Stored
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Branch
from kshell.checkpoints.trees.leaves import FULL
from kshell.errors import QError

OPTIMIZER = "optimizer"  # the key of the optimizers' state that is put together so
OTHER_VERSION = (KeyError, TypeError, AttributeError, IndexError)  # of files that have other fields
_MODEL = re.compile(r"(zero_pp_rank_(\d+)_)?mp_rank_(\d+)_model_states\.pt")
_OPTIM = re.compile(r"(bf16_)?zero_pp_rank_(\d+)_mp_rank_(\d+)_optim_states\.pt")


class Slice(Stored):
    """Consecutive items of tensors of one dimension that follow each other, in a shape."""

    def __init__(self, parts: list[Stored], first: int, shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = parts[0].dtype, shape
        self._parts, self._first = parts, first
        if first + prod(shape) > sum(part.count for part in parts):
            raise ValueError("a parameter is longer than its group")

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all kinds."""
        width = WIDTHS[self.dtype]
        at, done = self._first * width + start, 0
        for part in self._parts:
            if at < part.nbytes and done < len(out):
                count = min(part.nbytes - at, len(out) - done)
                part.into(out[done : done + count], at)
                done, at = done + count, 0
            else:
                at = max(at - part.nbytes, 0) if done == 0 else at


def folder_of(path: str, names: list[str]) -> str | None:
    """The folder with the files of a checkpoint: this one, or that which its file `latest` names; None if it is none of
    DeepSpeed's."""
    if any(_OPTIM.fullmatch(name) for name in names):
        return path
    return named_folder(path, "latest") if "latest" in names else None


def named_folder(path: str, file: str) -> str:
    """The folder inside another that a file of it names. ValueError if it names none."""
    with open(os.path.join(path, file), "rb") as f:
        tag = f.read(256).decode().strip()
    inner = os.path.join(path, tag)
    if tag != os.path.basename(tag) or tag in ("", ".", "..") or not os.path.isdir(inner):
        raise ValueError(f"{file} names no folder in it")
    return inner


def read(folder: str, open_file: Callable[[str], Any]) -> dict[str, Any]:
    """The files of a folder by name; before them the whole weights of all processes in float32, under `full`, the state
    of their optimizers by the names of parameters, under `optimizer`, and counts of steps."""
    files = files_in(folder, open_file)
    names = list(files)
    optim = _by_rank(files, _OPTIM)
    model = _by_rank(files, _MODEL)
    if (
        not optim
        or not model
        or any(len(ranks) > 1 for ranks in (_parallel(names, _OPTIM), _parallel(names, _MODEL)))
    ):
        return files  # parts of tensors of several processes side by side, which only the model can join
    try:
        zero = _Zero(optim, model)
        whole = {FULL: zero.weights()}
    except OTHER_VERSION:
        return files
    try:
        state = {OPTIMIZER: zero.optimizer()}
    except OTHER_VERSION:
        state = {}
    joined = whole | state
    return joined | {key: x for key, x in zero.counts().items() if key not in joined} | files


def files_in(folder: str, open_file: Callable[[str], Any]) -> dict[str, Any]:
    """The files of a folder by name."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".pt"))
    return {name: open_file(os.path.join(folder, name)) for name in names}


def models_of(files: dict[str, Any]) -> list[Any]:
    """The files that hold the model, in the order of their processes; none if these are parallel in other ways."""
    return _by_rank(files, _MODEL) if len(_parallel(list(files), _MODEL)) == 1 else []


def _by_rank(files: dict[str, Any], form: re.Pattern[str]) -> list[Any]:
    found = [(int(m[2] or 0), tree) for name, tree in files.items() if (m := form.fullmatch(name))]
    return [tree for _, tree in sorted(found, key=lambda pair: pair[0])]


def _parallel(names: list[str], form: re.Pattern[str]) -> set[str]:
    return {m[3] for name in names if (m := form.fullmatch(name))}


def plain(branch: Branch, x: Any = None) -> Any:
    """A value with all that is in it, of dictionaries and lists; an object of an unknown class is a branch."""
    value = branch.meanings.of(branch.graph if x is None else x)
    if isinstance(value, dict):
        return {
            _key(branch, key): plain(branch, part) if part is not None else None
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(branch, part) if part is not None else None for part in value]
    return Branch(branch.meanings, value) if value.__class__ in (Node, Global) else value


def _key(branch: Branch, key: Any) -> Any:
    if key.__class__ is tuple:
        return tuple(_key(branch, part) for part in key)
    return Branch(branch.meanings, key) if key.__class__ in (Node, Global) else key


class Model:
    """What the files say that hold the model, in the order of the processes."""

    def __init__(self, files: list[Any]) -> None:
        self.models = [_fields(tree) for tree in files]
        self.first = self.models[0]
        self.shapes: list[dict[str, Any]] = self.first["param_shapes"]  # a group each

    def completed(self, found: dict[str, Stored]) -> dict[str, Stored]:
        """The whole weights, of the parameters that were trained: with frozen ones, buffers, those of which nobody has
        a master copy, and others by their second names."""
        module = self.first["module"]
        found = found | self._frozen()
        for name in self.first.get("buffer_names") or []:
            found[name] = module[name]
        for name, tensor in module.items():
            if isinstance(tensor, Stored) and name not in found and tensor.count:
                found[name] = tensor  # those of stage 3 are empty
        for alias, name in (self.first.get("shared_params") or {}).items():
            found[alias] = found[name]
        if any(not isinstance(tensor, Stored) for tensor in found.values()):
            raise TypeError("a parameter that is no tensor")
        return found

    def counts(self) -> dict[str, Any]:
        """Steps, versions and other plain values of the model's file."""
        kinds = (int, float, str, bool)
        return {key: value for key, value in self.first.items() if value.__class__ in kinds}

    def named(self, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The groups of an optimizer, in which numbers stand for vectors, with the names of the parameters in these."""
        return [
            {**group, "params": [name for i in group["params"] for name in self.shapes[i]]}
            for group in groups
        ]

    def _frozen(self) -> dict[str, Stored]:
        found: dict[str, Stored] = {}
        for name, size in (self.first.get("frozen_param_shapes") or {}).items():
            parts = [
                fragment
                for model in self.models
                if isinstance(
                    fragment := (model.get("frozen_param_fragments") or {}).get(name), Stored
                )
            ]
            if parts:
                found[name] = Slice(parts, 0, tuple(size))
            else:  # stage 1 has none
                found[name] = self.first["module"][name]
        return found


class _Zero(Model):
    """What the files of all processes say, in the order of their ranks."""

    def __init__(self, optim: list[Any], model: list[Any]) -> None:
        super().__init__(model)
        self.states = [self._of(tree, "optimizer_state_dict") for tree in optim]
        self.stage = int(_number(self.states[0]["zero_stage"]))
        count = self.states[0]["partition_count"]
        wanted = max(count) if isinstance(count, list) else count
        if len(self.states) != wanted:
            raise QError(
                f"ckpt: {wanted} processes have written this checkpoint, {len(self.states)} are there"
            )

    @staticmethod
    def _of(tree: Any, key: str) -> dict[str, Any]:
        return _fields(Branch(tree.meanings, tree.meanings.of(tree.graph)[key]))

    def weights(self) -> dict[str, Stored]:
        """The whole weights by name: parameters in float32, buffers and others."""
        key = "fp32_flat_groups" if self.stage == 3 else "single_partition_of_fp32_groups"
        return self.completed(self._cut([state[key] for state in self.states]))

    def optimizer(self) -> dict[str, Any]:
        """The state of the optimizer by the names of parameters, and its groups: as torch's get_state_dict has them."""
        key = "optimizer_state_dict" if self.stage == 3 else "base_optimizer_state"
        inner = [state[key] for state in self.states]
        vectors = [list(part["state"].values()) for part in inner]  # a dictionary a group
        state: dict[str, dict[str, Any]] = {name: {} for group in self.shapes for name in group}
        for field in vectors[0][0]:
            values = [[group[field] for group in groups] for groups in vectors]
            if all(isinstance(part, Stored) and part.shape for part in values[0]):
                for name, tensor in self._cut(values).items():
                    state[name][field] = tensor
            else:  # a count of steps, of all parameters of a group
                for value, group in zip(values[0], self.shapes, strict=True):
                    for name in group:
                        state[name][field] = value
        return {"state": state, "param_groups": self.named(inner[0]["param_groups"])}

    def _cut(self, vectors: list[list[Stored]]) -> dict[str, Stored]:
        """The parameters, of the vectors that each process has: one for each group."""
        found: dict[str, Stored] = {}
        if self.stage == 3:
            self._thirds(vectors, found)
            return found
        for group, shapes in enumerate(self.shapes):
            parts = [each[group] for each in vectors]
            padding = self._padding(group)
            at = 0
            for i, (name, size) in enumerate(shapes.items()):
                shape = tuple(size)
                found[name] = Slice(parts, at, shape)
                at += prod(shape) + (padding[i] if i < len(padding) else 0)
        return found

    def _padding(self, group: int) -> list[int]:
        every = self.states[0].get("param_alignment_paddings")
        return every[group] if isinstance(every, list) and group < len(every) else []

    def _thirds(self, vectors: list[list[Stored]], found: dict[str, Stored]) -> None:
        """Stage 3: each process has an equal share of each parameter."""
        at = 0
        for shapes in self.shapes:
            for name, size in shapes.items():
                shape = tuple(size)
                share = -(-prod(shape) // len(vectors))
                parts: list[Stored] = [Slice(each, at, (share,)) for each in vectors]
                at += share
                found[name] = Slice(parts, 0, shape)


def _fields(tree: Any) -> dict[str, Any]:
    found = plain(tree)
    if not isinstance(found, dict):
        raise TypeError("no dictionary")
    return found


def _number(x: Any) -> int:
    """A stage: a number, or an object of an enumeration made of one."""
    return int(x.graph.args[0]) if isinstance(x, Branch) else int(x)
