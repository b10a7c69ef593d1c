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
from kshell.checkpoints.pickles.meanings import Branch
from kshell.checkpoints.trees.leaves import FULL
from kshell.errors import QError

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
    if "latest" not in names:
        return None
    with open(os.path.join(path, "latest"), "rb") as f:
        tag = f.read(256).decode().strip()
    inner = os.path.join(path, tag)
    if tag != os.path.basename(tag) or tag in ("", ".", "..") or not os.path.isdir(inner):
        raise ValueError("latest names no folder in it")
    return inner


def read(folder: str, open_file: Callable[[str], Any]) -> dict[str, Any]:
    """The files of a folder by name; before them the whole weights of all processes in float32, under
    `full`, and counts of steps."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".pt"))
    files = {name: open_file(os.path.join(folder, name)) for name in names}
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
        return {FULL: zero.weights()} | zero.counts() | files
    except (KeyError, TypeError, AttributeError, IndexError):
        return files  # of another version


def _by_rank(files: dict[str, Any], form: re.Pattern[str]) -> list[Any]:
    found = [(int(m[2] or 0), tree) for name, tree in files.items() if (m := form.fullmatch(name))]
    return [tree for _, tree in sorted(found, key=lambda pair: pair[0])]


def _parallel(names: list[str], form: re.Pattern[str]) -> set[str]:
    return {m[3] for name in names if (m := form.fullmatch(name))}


def _plain(branch: Branch, x: Any = None) -> Any:
    """A value with all that is in it, of dictionaries and lists."""
    value = branch.meanings.of(branch.graph if x is None else x)
    if isinstance(value, dict):
        return {
            key: _plain(branch, part) if part is not None else None for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(branch, part) if part is not None else None for part in value]
    return value


class _Zero:
    """What the files of all processes say, in the order of their ranks."""

    def __init__(self, optim: list[Any], model: list[Any]) -> None:
        self.states = [self._of(tree, "optimizer_state_dict") for tree in optim]
        self.models = [_fields(tree) for tree in model]
        self.model = self.models[0]
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
        """The whole weights by name: parameters in float32, buffers, frozen ones and others by their second names."""
        module = self.model["module"]
        found: dict[str, Stored] = {}
        for group, shapes in enumerate(self.model["param_shapes"]):
            found |= self._third(shapes) if self.stage == 3 else self._group(group, shapes)
        found |= self._frozen()
        for name in self.model.get("buffer_names") or []:
            found[name] = module[name]
        for name, tensor in module.items():  # of which nobody has a master copy
            if isinstance(tensor, Stored) and name not in found and tensor.count and self.stage < 3:
                found[name] = tensor
        for alias, name in (self.model.get("shared_params") or {}).items():
            found[alias] = found[name]
        if any(not isinstance(tensor, Stored) for tensor in found.values()):
            raise TypeError("a parameter that is no tensor")
        return found

    def counts(self) -> dict[str, Any]:
        """Steps, versions and other plain values of the model's file."""
        kinds = (int, float, str, bool)
        return {key: value for key, value in self.model.items() if value.__class__ in kinds}

    def _group(self, group: int, shapes: dict[str, Any]) -> dict[str, Stored]:
        """Stages 1 and 2: the processes' parts of a group one after the other, cut into parameters."""
        parts = [state["single_partition_of_fp32_groups"][group] for state in self.states]
        padding = self._padding(group)
        found: dict[str, Stored] = {}
        at = 0
        for i, (name, size) in enumerate(shapes.items()):
            shape = tuple(size)
            found[name] = Slice(parts, at, shape)
            at += prod(shape) + (padding[i] if i < len(padding) else 0)
        return found

    def _padding(self, group: int) -> list[int]:
        every = self.states[0].get("param_alignment_paddings")
        return every[group] if isinstance(every, list) and group < len(every) else []

    def _third(self, shapes: dict[str, Any]) -> dict[str, Stored]:
        """Stage 3: each process has an equal share of each parameter."""
        found: dict[str, Stored] = {}
        for name, size in shapes.items():
            shape = tuple(size)
            count = prod(shape)
            share = -(-count // len(self.states))
            parts: list[Stored] = [
                Slice(state["fp32_flat_groups"], self._at, (share,)) for state in self.states
            ]
            self._at += share
            found[name] = Slice(parts, 0, shape)
        return found

    _at = 0  # items of each process that are taken, in stage 3

    def _frozen(self) -> dict[str, Stored]:
        found: dict[str, Stored] = {}
        for name, size in (self.model.get("frozen_param_shapes") or {}).items():
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
                found[name] = self.model["module"][name]
        return found


def _fields(tree: Any) -> dict[str, Any]:
    found = _plain(tree)
    if not isinstance(found, dict):
        raise TypeError("no dictionary")
    return found


def _number(x: Any) -> int:
    """A stage: a number, or an object of an enumeration made of one."""
    return int(x.args[0]) if hasattr(x, "args") else int(x)
