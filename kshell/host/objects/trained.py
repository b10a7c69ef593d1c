"""Optimizers after their parameters were frozen or replaced.

An optimizer passes over a parameter without a gradient. One that keeps its last gradient, or one of zeros, would be
moved on by momentum and decay; and LBFGS moves all parameters along the directions that it remembers."""

from __future__ import annotations

from typing import Any

from kshell.host.objects.kept import states_of


class Trained:
    """The optimizers among some objects, and the parameters that they train, as they are now."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self.before = [(o, _flags(o)) for o in objects.values() if hasattr(o, "param_groups")]

    def follow(self) -> None:
        """Let them follow what has changed."""
        for optimizer, flags in self.before:
            now = _flags(optimizer)
            if _known(now) == _known(flags):
                continue
            trained = {id(p) for p, flag in flags if flag}
            for p, flag in now:
                if not flag and id(p) in trained:
                    p.grad = None
            if _is_flat(optimizer):
                states_of(optimizer).clear()  # directions of the parameters before
        self.measure()

    def measure(self) -> None:
        """Let LBFGS count anew the numbers in its parameters, which it does once."""
        for optimizer, _ in self.before:
            if _is_flat(optimizer):
                optimizer._numel_cache = None


def _is_flat(optimizer: Any) -> bool:
    """Does it see all its parameters as one, as LBFGS does?"""
    return hasattr(optimizer, "_numel_cache")


def _flags(optimizer: Any) -> list[tuple[Any, bool]]:
    return [(p, p.requires_grad) for group in optimizer.param_groups for p in group["params"]]


def _known(flags: list[tuple[Any, bool]]) -> list[tuple[int, bool]]:
    return [(id(p), flag) for p, flag in flags]
