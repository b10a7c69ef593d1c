"""The state of an optimizer as one tree of leaves: everything that shows, counts, moves, saves or restores it walks
this tree.

An optimizer has buffers per parameter, torch's `state[p]`, and some have extra state: `Abilities.get_extra`. Both are
numbers, names, None and tensors, in lists, tuples and dictionaries of any depth. Nothing else in kshell reads the state
of an optimizer, except the optimizers themselves and their fused kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer

from kshell import parallel
from kshell.optim.abilities import abilities
from kshell.optim.leaves import Path, leaves_of, mapped


class Leaf(NamedTuple):
    """One leaf of an optimizer's state: `path` leads to it, ("exp_avg",) or ("old_dirs", 3) say, from the buffers of
    the parameter `owner`, or from the extra state if that is None."""

    path: Path
    value: Any
    owner: Tensor | None


# ------------------------------------------------------------------ types


def fitted(value: Any, like: Any, p: Tensor) -> Any:
    """A buffer for the parameter p, from a q value or a file, converted to the types of a sample that the optimizer
    made.

    Without a sample (None), tensors move to the device of p, and floats get its type. A tensor stands for its items if
    the optimizer has a list.
    """
    if isinstance(value, dict):
        by_name = like if isinstance(like, dict) else {}
        return {key: fitted(value, by_name.get(key), p) for key, value in value.items()}
    known = like if isinstance(like, list | tuple) else ()
    if isinstance(value, Tensor) and known is like:
        value = (
            value.tolist()
            if like and isinstance(like[0], int | float)
            else [item.clone() for item in value]
        )
    if isinstance(value, list | tuple):
        likes = [*known, *[None] * (len(value) - len(known))]
        made = [fitted(v, own, p) for v, own in zip(value, likes, strict=False)]
        return tuple(made) if isinstance(like, tuple) else made
    if isinstance(like, Tensor) and isinstance(value, Tensor | int | float):
        return _part(torch.as_tensor(value).to(device=like.device, dtype=like.dtype), p)
    if isinstance(like, float) and isinstance(value, int):
        return float(value)
    if isinstance(value, Tensor):
        floats = value.is_floating_point() and p.is_floating_point()
        return _part(value.to(device=p.device, dtype=p.dtype if floats else None), p)
    return value


def _part(t: Tensor, p: Tensor) -> Tensor:
    """This process's shard of a buffer, if p is sharded; an empty shard has as many dimensions as p, which q loses."""
    if not t.numel() and not p.numel():
        t = t.new_empty(p.shape)
    if hasattr(p, "full_tensor"):
        return parallel.around.part_like(t, p)
    return t


# ------------------------------------------------------------------ the state of an optimizer


class StateTree:
    """The state of an optimizer. `names` are the names under which its buffers are shown, {shown: torch's}; `transient`
    are buffers recomputed at each step, which are never shown or saved."""

    __slots__ = ("names", "optimizer", "transient")

    def __init__(
        self,
        optimizer: Optimizer,
        names: Mapping[str, str] | None = None,
        transient: Collection[str] = (),
    ) -> None:
        self.optimizer, self.names, self.transient = optimizer, names or {}, transient

    def __len__(self) -> int:
        """The number of parameters that have state."""
        return len(self.optimizer.state)

    def owners(self) -> list[Tensor]:
        """The parameters that have state."""
        return list(self.optimizer.state)

    def of(self, p: Tensor) -> dict[str, Any]:
        """The buffers of a parameter under torch's names; none before its first step."""
        return {
            key: value
            for key, value in self.optimizer.state.get(p, {}).items()
            if key not in self.transient
        }

    def named(self, p: Tensor) -> dict[str, Any]:
        """The buffers of a parameter as shown: the documented ones in order, None for an unused one, then any others;
        none before its first step."""
        kept = self.of(p)
        if not kept:
            return {}
        documented = {*self.names.values()}
        return {shown: kept.get(own) for shown, own in self.names.items()} | {
            key: value for key, value in kept.items() if key not in documented
        }

    def extra(self) -> dict[str, Any]:
        """The state that belongs to no parameter."""
        return abilities(self.optimizer).get_extra()

    def leaves(self) -> Iterator[Leaf]:
        """All leaves, the buffers of each parameter first."""
        yield from self.buffers()
        for path, value in leaves_of(self.extra()):
            yield Leaf(path, value, None)

    def buffers(self) -> Iterator[Leaf]:
        """The leaves that belong to parameters."""
        for owner in self.owners():
            for path, value in leaves_of(self.of(owner)):
                yield Leaf(path, value, owner)

    # ------------------------------------------------------------ changes

    def put(self, p: Tensor, kept: dict[str, Any]) -> None:
        """Set the buffers of a parameter."""
        self.optimizer.state[p] = kept

    def add(self, p: Tensor, name: str, value: object) -> None:
        """Add a buffer for a parameter."""
        self.optimizer.state[p][name] = value

    def drop(self, p: Tensor) -> None:
        """Drop the buffers of a parameter."""
        self.optimizer.state.pop(p, None)

    def clear(self) -> None:
        """Drop the buffers of all parameters."""
        self.optimizer.state.clear()

    def copy(self) -> dict[Tensor, dict[str, Any]]:
        """A copy of the current buffers, for `restore`. Steps write to tensors, and replace those in lists."""
        return {
            key: mapped(
                lambda path, v: v.clone() if isinstance(v, Tensor) and len(path) == 1 else v,
                dict(kept),
            )
            for key, kept in self.optimizer.state.items()
        }

    def restore(self, copied: Mapping[Tensor, dict[str, Any]]) -> None:
        """Restore a copy."""
        self.clear()
        self.optimizer.state.update(copied)

    def forget_from(self, n: int) -> None:
        """Drop the buffers of all but the first n parameters that got some."""
        for owner in self.owners()[n:]:
            self.drop(owner)

    def exchange(self, new: Mapping[int, Tensor], convert: Callable[[Leaf, Tensor], Any]) -> None:
        """Replace the parameters with the ids in `new` by others, in the groups and in the state; a leaf becomes
        convert(leaf, the new parameter)."""
        state = self.optimizer.state
        for p in list(state):
            now = new.get(id(p))
            if now is not None:
                state[now] = mapped(partial(_converted, convert, p, now), state.pop(p))
        for group in self.optimizer.param_groups:
            group["params"][:] = [new.get(id(param), param) for param in group["params"]]


def _converted(
    convert: Callable[[Leaf, Tensor], Any], p: Tensor, now: Tensor, path: Path, value: Any
) -> Any:
    return convert(Leaf(path, value, p), now)


# ------------------------------------------------------------------ moves

# a parameter before moving: the object, and its type then
Was = tuple[Tensor, torch.dtype]


def follow(o: Optimizer, was: Mapping[int, Was]) -> None:
    """Move the state of an optimizer after its parameters have moved.

    `was` has, by the id of each moved parameter, the current parameter (the same object, except on devices like meta,
    for which torch makes another) and its previous type. Buffers go to the parameter's device; those with its previous
    type get its current type. A step counter stays on the CPU unless the group is fused or capturable, as in torch's
    `load_state_dict`. Inner optimizers (of single-precision copies, of layers) follow too, and float tensors in the
    extra state go to the first parameter's device.
    """
    groups = {id(param): group for group in o.param_groups for param in group["params"]}
    for held in list(vars(o).values()):
        for inner in held if isinstance(held, list) else [held]:
            if isinstance(inner, Optimizer):
                follow(inner, {**was, **_copies(o, inner, groups, was)})

    def convert(leaf: Leaf, now: Tensor) -> Any:
        group = groups.get(id(leaf.owner), {})
        counter = leaf.path[0] == "step" and not (group.get("fused") or group.get("capturable"))
        return _moved(leaf.value, now, was[id(leaf.owner)][1], counter)

    StateTree(o).exchange({key: now for key, (now, _) in was.items()}, convert)
    _move_extra(o, {id(now) for now, _ in was.values()})


def _moved(x: object, p: Tensor, dtype: torch.dtype, counter: bool) -> Any:
    """A buffer as the parameter requires it."""
    if not isinstance(x, Tensor) or (counter and x.device.type == "cpu"):
        return x
    return x.to(
        device=p.device,
        dtype=p.dtype if x.dtype == dtype and x.is_floating_point() and x.dim() else None,
    )


def _move_extra(o: Optimizer, moved: Collection[int]) -> None:
    """Move the extra state of an optimizer whose first parameter was moved."""
    first = next((param for group in o.param_groups for param in group["params"]), None)
    if first is None or id(first) not in moved:
        return
    kept = StateTree(o).extra()
    device = first.device

    def away(v: object) -> bool:
        return isinstance(v, Tensor) and v.is_floating_point() and v.device != device

    if any(away(v) for _, v in leaves_of(kept)):
        abilities(o).set_extra(mapped(lambda _, v: v.to(device) if away(v) else v, kept))


def _copies(
    o: Optimizer, inner: Optimizer, own: Mapping[int, object], was: Mapping[int, Was]
) -> dict[int, Was]:
    """The inner optimizer's own parameters, group by group, moved to the device of the outer ones."""
    out = {}
    for group, mine in zip(o.param_groups, inner.param_groups, strict=False):
        first = group["params"][0] if group["params"] else None
        device = None if first is None else was.get(id(first), (first,))[0].device
        for param in mine["params"]:
            if id(param) not in own and device is not None and param.device != device:
                _move(param, device)
                out[id(param)] = param, param.dtype
    return out


def _move(p: Tensor, device: torch.device) -> None:
    """Move a parameter and its gradient; it stays the same object, even on devices like meta."""
    there, gradient = p.data.to(device), None if p.grad is None else p.grad.to(device)
    if torch._has_compatible_shallow_copy_type(p.data, there):
        p.data = there
    else:
        p.grad = None
        torch.utils.swap_tensors(p, torch.nn.Parameter(there, p.requires_grad))
    p.grad = gradient
