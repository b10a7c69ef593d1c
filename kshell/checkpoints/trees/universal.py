"""DeepSpeed's "universal" folders, which other numbers of processes can load: a folder for each parameter, with a file
of its weights and one of each of its moments."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import prod
from typing import Any

from kshell.checkpoints.base.stored import Stored
from kshell.checkpoints.pickles.meanings import Branch
from kshell.checkpoints.trees.deepspeed import (
    OPTIMIZER,
    OTHER_VERSION,
    Model,
    files_in,
    models_of,
    named_folder,
    plain,
)
from kshell.checkpoints.trees.leaves import FULL
from kshell.errors import QError

_WEIGHTS = "fp32"
_STATE = "optimizer_state.pt"  # of all parameters, beside their folders


class _Later(Stored):
    """A tensor that has a file of its own, which is open only while it is read: there may be thousands of them."""

    def __init__(self, path: str, shape: tuple[int, ...] | None, open_file: Callable[[str], Any]):
        self._path, self._open = path, open_file
        self._state = self._now()
        found = self._found()
        self.dtype, self._own = found.dtype, found.shape
        self.shape = found.shape if shape is None else shape
        if prod(self.shape) != found.count:
            raise QError(f"ckpt: {path} has a tensor of another size than its parameter")

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all kinds."""
        if self._now() != self._state:
            raise QError(f"ckpt: {self._path} has changed since it was opened")
        self._found().into(out, start)

    def _found(self) -> Stored:
        """The tensor of the file: alone in stage 3, else in a dictionary."""
        tree = self._open(self._path)
        found = plain(tree) if isinstance(tree, Branch) else tree
        found = found.get("param") if isinstance(found, dict) else found
        if not isinstance(found, Stored):
            raise QError(f"ckpt: {self._path} has no tensor of a parameter")
        return found

    def _now(self) -> tuple[int, int]:
        found = os.stat(self._path)
        return found.st_size, found.st_mtime_ns


def folder_of(path: str, names: list[str]) -> str | None:
    """The folder with the folders of parameters in its `zero`: this one, or that which its file names; None if there is
    none."""
    if _is_universal(path):
        return path
    inner = named_folder(path, "latest_universal") if "latest_universal" in names else ""
    return inner if inner and _is_universal(inner) else None


def _is_universal(path: str) -> bool:
    return bool(_parameters(os.path.join(path, "zero")))


def _parameters(zero: str) -> list[str]:
    """The names of parameters that have a folder."""
    if not os.path.isdir(zero):
        return []
    names = sorted(os.listdir(zero))
    return [name for name in names if os.path.isfile(os.path.join(zero, name, f"{_WEIGHTS}.pt"))]


def read(folder: str, open_file: Callable[[str], Any]) -> dict[str, Any]:
    """The weights under `full`, the state of the optimizer by the names of parameters under `optimizer`, counts of
    steps, and the files by name."""
    zero = os.path.join(folder, "zero")
    files = files_in(folder, open_file)
    if os.path.isfile(os.path.join(zero, _STATE)):
        files[f"zero/{_STATE}"] = open_file(os.path.join(zero, _STATE))
    try:
        model = Model(models) if (models := models_of(files)) else None
        shapes = {} if model is None else {k: v for part in model.shapes for k, v in part.items()}
    except OTHER_VERSION:
        model, shapes = None, {}
    weights: dict[str, Stored] = {}
    state: dict[str, dict[str, Any]] = {}
    for name in [*shapes, *(name for name in _parameters(zero) if name not in shapes)]:
        shape = tuple(shapes[name]) if name in shapes else None
        for file in sorted(os.listdir(os.path.join(zero, name))):
            key, suffix = os.path.splitext(file)
            if suffix != ".pt":
                continue
            found = _Later(os.path.join(zero, name, file), _shape(key, shape), open_file)
            if key == _WEIGHTS:
                weights[name] = found
            else:
                state.setdefault(name, {})[key] = found
    joined: dict[str, Any] = {FULL: weights}
    try:
        joined = {FULL: weights if model is None else model.completed(weights)}
        joined[OPTIMIZER] = _optimizer(state, model, files[f"zero/{_STATE}"])
    except OTHER_VERSION:
        pass
    counts = {} if model is None else model.counts()
    return joined | {key: x for key, x in counts.items() if key not in joined} | files


def _shape(key: str, shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if key == "step" else shape


def _optimizer(
    state: dict[str, dict[str, Any]], model: Model | None, whole: Branch
) -> dict[str, Any]:
    """The state of the optimizer, and its groups. Counts of steps are in each folder, or with the groups."""
    found = plain(whole)
    groups = found["param_groups"]
    numbered = (found.get("optimizer_state_dict") or {}).get("state") or {}
    if model is not None:
        groups = model.named(groups)
        for number, shapes in enumerate(model.shapes):
            for name in shapes:
                own = state.setdefault(name, {})
                if "step" not in own and "step" in numbered.get(number, {}):
                    state[name] = {"step": numbered[number]["step"], **own}
    return {"state": state, "param_groups": groups}
