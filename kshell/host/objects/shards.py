"""Modules that `fully_shard` has distributed, after a layer was replaced.

torch makes a unit of each module that it was called for: the unit has a part of each parameter in the module that is in
no unit further in, and gathers and reduces them together. A layer in the place of a unit becomes a unit with the same
mesh and policies; the parameters of another layer join the unit around it. All processes do that after the same step,
and each cuts its parts from the same new parameters. What leaves is kept with its module, so an undo has it again.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

from kshell.errors import QError

FULLY_SHARD = "torch.distributed.fsdp._fully_shard"
# of a module that is in no unit any more the parts of its parameters; of a unit its group, which may be empty
KEPT = "_kshell_shards"
# what programs set of a unit's communication, and the unit in its place has too
_SETTINGS = (
    "reduce_grads",
    "all_reduce_grads",
    "reshard_after_backward",
    "gradient_divide_factor",
    "force_sum_reduction_for_comms",
    "reduce_scatter_unused_params",
    "reduce_scatter_max_input_buffers",
    "unshard_async_op",
    "unshard_in_backward",
    "_all_gather_comm",
    "_reduce_scatter_comm",
    "_all_reduce_hook",
    "_all_reduce_hook_stream",
)


class Shards:
    """The distributed modules among some objects, as they are now."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self.objects = objects
        modules = [x for x in objects.values() if hasattr(x, "named_modules")]
        self.tops = [x for x in modules if any(map(is_unit, x.modules()))]
        self.before = [_structure(top) for top in self.tops]
        self.units = [{n: m for n, m in top.named_modules() if is_unit(m)} for top in self.tops]
        self.known = {id(p): p for top in self.tops for p in top.parameters()}
        self.cuts = {
            id(part.sharded_param): part for state in self._states() for part in _parts(state)
        }
        self.swapped: dict[int, tuple[Any, Any]] = {}  # new parameters, each with its part

    def changed(self) -> bool:
        """Are there other modules or parameters than before?"""
        return [_structure(top) for top in self.tops] != self.before

    def check(self) -> None:
        """An error if they cannot follow what has changed."""
        if not self.changed():
            return
        alone = [(m, state_of(old)) for m, old, _ in self._in_place_of_units()]
        for _, state in alone:
            _check_unit(state)
        apart = {id(p) for m, _ in alone for p in m.parameters()}
        for state in self._states():
            kept, new = self._wanted(state)
            if any(id(p) not in apart for p in new) or set(kept) != set(_parts(state)):
                _check_unit(state)
            if any(not p.shape for p in new):
                raise _nyi("a parameter without dimensions cannot be divided")

    def follow(self) -> None:
        """Let them follow what has changed."""
        if not self.changed():
            return
        for module, old, path in self._in_place_of_units():
            self._divide(module, state_of(old), path)
        for state in self._states():
            self._regroup(state)
        for state in self._states():
            if state._is_root:
                _link(state)
        for x in self.objects.values():
            for group in getattr(x, "param_groups", ()):
                params = [self.swapped.get(id(p), (p, p))[1] for p in group["params"]]
                group["params"][:] = params

    def _states(self) -> list[Any]:
        """The units in the modules now, each once."""
        found = {id(s): s for top in self.tops for m in top.modules() if (s := state_of(m))}
        return list(found.values())

    def _in_place_of_units(self) -> Iterator[tuple[Any, Any, str]]:
        """Layers in places where units were, with these and the place, inner ones first."""
        for top, units in zip(self.tops, self.units, strict=True):
            for path, old in reversed(units.items()):
                module = dict(top.named_modules()).get(path)
                if module is not None and not is_unit(module):
                    yield module, old, path

    # ------------------------------------------------------------ a layer that becomes a unit

    def _divide(self, module: Any, old: Any, path: str) -> None:
        """Make a unit of a layer, as the one was that it replaces."""
        source = _group(old) or self._example()
        plain = dict(module.named_parameters())
        _cast(plain.values(), source)
        mine = _group(old)
        importlib.import_module(FULLY_SHARD).fully_shard(
            module,
            mesh=source.mesh_info.mesh,
            reshard_after_forward=None
            if old._auto_reshard_after_forward
            else bool(mine and mine._reshard_after_forward),
            mp_policy=old._mp_policy,
            offload_policy=source.offload_policy,
            shard_placement_fn=self._placements(plain, dict(_named_parts(old))),
        )
        new = state_of(module)
        for name in _SETTINGS if _group(new) and mine else ():
            setattr(_group(new), name, getattr(mine, name))
        if _group(new):
            _group(
                new
            ).mesh_info.reduce_scatter_process_group = source.mesh_info.reduce_scatter_process_group
        for state in self._states():
            for ahead in (state._states_to_forward_prefetch, state._states_to_backward_prefetch):
                ahead[:] = [new if other is old else other for other in ahead]
        self._swap(plain, dict(module.named_parameters()))

    def _swap(self, plain: dict[str, Any], parts: dict[str, Any]) -> None:
        self.swapped.update({id(p): (p, parts[name]) for name, p in plain.items()})

    def _placements(self, plain: dict[str, Any], old: dict[str, Any]) -> Any:
        """Along which dimension each new parameter is divided: as the one with its name was; None if all are divided
        along the first."""
        found = {
            id(p): part.fsdp_placement
            for name, p in plain.items()
            if (part := old.get(name)) is not None and 0 < part.fsdp_placement.dim < p.dim()
        }
        return (lambda p: found.get(id(p))) if found else None

    def _example(self) -> Any:
        """A group of parameters, from which one without parameters learns how they are divided."""
        groups = [group for state in self._states() for group in state._fsdp_param_groups]
        if not groups:
            raise _nyi("no parameter tells how they are divided")
        return groups[0]

    # ------------------------------------------------------------ parameters that join or leave a unit

    def _wanted(self, state: Any) -> tuple[list[Any], list[Any]]:
        """The parts that a unit has now, and parameters that have none."""
        init = importlib.import_module(f"{FULLY_SHARD}._fsdp_init")
        modules = init._get_managed_modules(state._modules)
        known = {id(part.sharded_param): part for part in _parts(state)}
        for m in modules:
            known.update({id(part.sharded_param): part for part in m.__dict__.get(KEPT, ())})
        params = init._get_managed_states(modules)[0]
        new = [p for p in params if id(p) not in known and id(p) not in self.known]
        if any(hasattr(p, "placements") for p in new):
            raise _nyi("a parameter is divided already")
        return [known[id(p)] for p in params if id(p) in known], new

    def _regroup(self, state: Any) -> None:
        """Give a unit the parts of the parameters that are in its modules now."""
        parts, new = self._wanted(state)
        before = _parts(state)
        if not new and set(parts) == set(before):
            return
        group = _group(state) or vars(state).get(KEPT)
        if new:
            added = self._added(state, group or self._example(), new)
            group, parts = group or added, [*parts, *added.fsdp_params]
        for part in before:
            if part not in parts:
                part._module_info.module.__dict__.setdefault(KEPT, []).append(part)
        for part in parts:
            part._module_info.module.__dict__.pop(KEPT, None)
        group.fsdp_params[:] = parts
        state._fsdp_param_groups[:] = [group] if parts else []
        vars(state)[KEPT] = group
        _hook_again(group)

    def _added(self, state: Any, source: Any, new: list[Any]) -> Any:
        """A group of the parts of new parameters, like another one."""
        _cast(new, source)
        names = {id(p): n for m in state._modules for n, p in m.named_parameters()}
        plain = {names[id(p)]: p for p in new}
        after = source.post_forward_mesh_info if source in state._fsdp_param_groups else None
        if not state._fsdp_param_groups and not (
            state._is_root and state._auto_reshard_after_forward
        ):
            after = source.mesh_info
        group = type(source)(
            new,
            state._modules,
            source.mesh_info,
            after,
            source.device,
            self._placements(plain, {}),
            state._mp_policy,
            source.offload_policy,
        )
        self._swap(
            plain, {n: part.sharded_param for n, part in zip(plain, group.fsdp_params, strict=True)}
        )
        return group


# ------------------------------------------------------------------ torch's own


def is_unit(m: Any) -> bool:
    """Was `fully_shard` called for a module?"""
    kind = getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", None)
    return kind is not None and isinstance(m, kind)


def state_of(m: Any) -> Any:
    """torch's state of a unit; None of another module."""
    return m._get_fsdp_state() if is_unit(m) else None


def _group(state: Any) -> Any:
    """The group of a unit's parameters; None if it has none."""
    return state._fsdp_param_groups[0] if state._fsdp_param_groups else None


def _parts(state: Any) -> list[Any]:
    return [part for group in state._fsdp_param_groups for part in group.fsdp_params]


def _named_parts(state: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a unit by the names of their parameters in its module."""
    known = {id(part.sharded_param): part for part in _parts(state)}
    for name, p in state._modules[0].named_parameters():
        if id(p) in known:
            yield name, known[id(p)]


def _structure(top: Any) -> list[tuple[str, int]]:
    """The modules and parameters by name."""
    found = [(name, id(m)) for name, m in top.named_modules()]
    return found + [(name, id(p)) for name, p in top.named_parameters()]


def _check_unit(state: Any) -> None:
    """An error if the parameters of a unit cannot be exchanged."""
    if type(state).__name__ != "FSDPState" or len(state._modules) > 1:
        raise _nyi("the unit is of another kind, or of several modules")
    if len(state._fsdp_param_groups) > 1:
        raise _nyi("the parameters of the unit are divided over several meshes")
    group = _group(state)
    if group is None:
        return
    if not group.is_sharded:
        raise _nyi("the unit has its parameters whole between two steps")
    after = group.post_forward_mesh_info
    if group.mesh_info.is_spmd_mesh or after not in (None, group.mesh_info):
        raise _nyi("the parameters of the unit are divided in two ways")


def _cast(params: Any, group: Any) -> None:
    """Give new parameters the type of the others in a group, which computes with one type."""
    for p in params:
        if group._orig_dtype is not None and p.is_floating_point():
            p.data = p.data.to(group._orig_dtype)


def _hook_again(group: Any) -> None:
    """Let a group see to the modules that it has now when states are saved and loaded."""
    for handles in (
        group._module_to_pre_save_state_dict_hook_handle,
        group._module_to_pre_load_state_dict_hook_handle,
    ):
        for handle in handles.values():
            handle.remove()
        handles.clear()


def _link(root: Any) -> None:
    """Let the outermost unit know the units in it, as at its first forward call."""
    states = {id(s): s for m in root._modules[0].modules() if (s := state_of(m))}
    root._state_ctx.all_states[:] = states.values()
    for state in states.values():
        state._is_root = state is root
        state._state_ctx, state._comm_ctx = root._state_ctx, root._comm_ctx
        for i, group in enumerate(state._fsdp_param_groups):
            group.comm_ctx, group._module_fqn = root._comm_ctx, None
            group._param_group_index, group._num_param_groups = i, len(state._fsdp_param_groups)
    root._init_fqns()
    for state in states.values():
        for group in state._fsdp_param_groups:
            group.lazy_init()


def _nyi(why: str) -> QError:
    return QError("nyi: child under fully_shard", hint=why)
