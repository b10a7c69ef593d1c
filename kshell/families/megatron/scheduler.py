"""Learning rate and weight decay as functions of the step count, after Megatron-LM's OptimizerParamScheduler.

The schedule is a pure function of the count (`lr_at`, `wd_at`, on arrays of counts), so it can be tabulated without an
optimizer; `step` writes its values to the optimizer's parameter groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kshell.errors import said

Floats = NDArray[np.float64]
Group = Mapping[str, Any]

LR_STYLES = ("constant", "linear", "cosine", "inverse-square-root", "WSD")
WSD_STYLES = ("linear", "cosine", "exponential", "minus_sqrt")
WD_STYLES = ("constant", "linear", "cosine")
# settings that a parameter group may override
OVERRIDES = ("max_lr", "min_lr", "start_wd", "end_wd", "wd_mult")

# settings in a saved state, and their names in older states
_SAVED = (
    "init_lr",
    "max_lr",
    "lr_warmup_steps",
    "lr_decay_style",
    "lr_decay_steps",
    "min_lr",
    "start_wd",
    "end_wd",
    "wd_incr_style",
    "wd_incr_steps",
    "wsd_decay_steps",
    "lr_wsd_decay_style",
)
_OLDER = {
    "max_lr": ("start_lr",),
    "lr_warmup_steps": ("warmup_iter", "warmup_steps"),
    "lr_decay_steps": ("end_iter", "decay_steps"),
    "lr_decay_style": ("decay_style",),
}
_TWO_SOURCES = "settings come from the scheduler or from the checkpoint, not from both"
_COUNT = ("num_steps", "num_iters")
_WHOLE = ("lr_decay_steps", "wd_incr_steps", "wsd_decay_steps")
# optional in a state
_LATER = (
    "init_lr",
    "start_wd",
    "end_wd",
    "wd_incr_style",
    "wd_incr_steps",
    "wsd_decay_steps",
    "lr_wsd_decay_style",
)


class OptimizerParamScheduler:
    """Warm-up from init_lr to max_lr over lr_warmup_steps, then decay towards min_lr until lr_decay_steps in one of
    LR_STYLES; weight decay from start_wd to end_wd over wd_incr_steps in one of WD_STYLES. After Megatron-LM's class of
    this name (megatron.core.optimizer_param_scheduler).

    `optimizer` is anything with `param_groups`; a group may override the settings in OVERRIDES. If start_wd and end_wd
    are None, weight decay is left alone. The style WSD stays at max_lr and decays in the last wsd_decay_steps, in one
    of WSD_STYLES. Contradictory settings raise ValueError.

    `load_state_dict` follows the flags: with override_opt_param_scheduler the settings given here are kept; with
    use_checkpoint_opt_param_scheduler those in the state are taken; with neither they must be equal.
    """

    def __init__(
        self,
        optimizer: Any,
        init_lr: float,
        max_lr: float,
        min_lr: float,
        lr_warmup_steps: float,
        lr_decay_steps: int,
        lr_decay_style: str,
        start_wd: float | None,
        end_wd: float | None,
        wd_incr_steps: int,
        wd_incr_style: str,
        use_checkpoint_opt_param_scheduler: bool = True,
        override_opt_param_scheduler: bool = False,
        wsd_decay_steps: int | None = None,
        lr_wsd_decay_style: str | None = None,
    ) -> None:
        self.use_checkpoint = bool(use_checkpoint_opt_param_scheduler)
        self.override = bool(override_opt_param_scheduler)
        if self.override and self.use_checkpoint:
            raise ValueError(_TWO_SOURCES)
        self.optimizer = optimizer
        self.init_lr, self.max_lr, self.min_lr = init_lr, max_lr, min_lr
        self.lr_warmup_steps, self.lr_decay_steps = lr_warmup_steps, lr_decay_steps
        self.lr_decay_style = lr_decay_style
        self.start_wd, self.end_wd = start_wd, end_wd
        self.wd_incr_steps, self.wd_incr_style = wd_incr_steps, wd_incr_style
        self.wsd_decay_steps, self.lr_wsd_decay_style = wsd_decay_steps, lr_wsd_decay_style
        self.num_steps = 0
        check(vars(self))
        for group in optimizer.param_groups:
            self._check_group(group)
        self.write()

    # -------------------------------------------------------------- the schedule

    def _own(self, group: Group | None, name: str) -> Any:
        value = None if group is None else group.get(name)
        return getattr(self, name) if value is None else value

    def _check_group(self, group: Group) -> None:
        check(
            {
                **vars(self),
                **{
                    override: group[override]
                    for override in OVERRIDES
                    if group.get(override) is not None
                },
                "init_lr": 0.0,
            }
        )

    def lr_at(self, steps: ArrayLike, group: Group | None = None) -> Floats:
        """The learning rate of a parameter group after each number of steps."""
        n = np.atleast_1d(np.asarray(steps, dtype=np.float64))
        top, low = float(self._own(group, "max_lr")), float(self._own(group, "min_lr"))
        warm, end = float(self.lr_warmup_steps), float(self.lr_decay_steps)
        if self.lr_decay_style == "constant":
            out = np.full(n.shape, top)
        else:
            if self.lr_decay_style == "inverse-square-root":
                out = np.maximum(low, top * math.sqrt(max(warm, 1.0)) / np.sqrt(np.maximum(n, 1.0)))
            else:
                out = low + self._share(n, warm, end) * (top - low)
            out = np.where(n > end, low, out)
        if warm > 0:
            out = np.where(n <= warm, self.init_lr + (top - self.init_lr) * n / warm, out)
        return out

    def _share(self, n: Floats, warm: float, end: float) -> Floats:
        """The remaining fraction of the way from min_lr to max_lr."""
        if self.lr_decay_style == "WSD":
            last = float(self.wsd_decay_steps or 0)
            y = np.clip((n - (end - last)) / last, 0.0, 1.0) if last else np.zeros(n.shape)
            return _FALL[self.lr_wsd_decay_style or "exponential"](y)
        return _FALL[self.lr_decay_style](np.clip((n - warm) / (end - warm), 0.0, 1.0))

    def wd_at(self, steps: ArrayLike, group: Group | None = None) -> Floats | None:
        """The weight decay of a parameter group after each number of steps; None if it is not scheduled."""
        start, end = self._own(group, "start_wd"), self._own(group, "end_wd")
        if start is None or end is None:
            return None
        n = np.atleast_1d(np.asarray(steps, dtype=np.float64))
        mult = group.get("wd_mult") if group is not None else None
        out = np.full(n.shape, float(end))
        if self.wd_incr_style != "constant" and self.wd_incr_steps > 0:
            x = n / self.wd_incr_steps
            rise = x if self.wd_incr_style == "linear" else 0.5 * (np.cos(np.pi * (1 - x)) + 1.0)
            out = np.where(n > self.wd_incr_steps, out, start + rise * (end - start))
        return out * float(1.0 if mult is None else mult)

    def get_lr(self, group: Group | None = None) -> float:
        """The current learning rate of a group."""
        return float(self.lr_at(self.num_steps, group)[0])

    def get_wd(self, group: Group | None = None) -> float | None:
        """The current weight decay of a group."""
        found = self.wd_at(self.num_steps, group)
        return None if found is None else float(found[0])

    # -------------------------------------------------------------- steps

    def step(self, increment: int = 1) -> None:
        """Advance the count, and set every parameter group."""
        self.num_steps += increment
        self.write()

    def write(self) -> None:
        """Set the learning rate and weight decay of every parameter group for the current count."""
        for group in self.optimizer.param_groups:
            rate, decay = self.get_lr(group), self.get_wd(group)
            held = group.get("lr")
            if hasattr(held, "fill_"):
                # a rate in a tensor is updated in place: something may have captured it
                held.fill_(rate)
            else:
                group["lr"] = rate
            if decay is not None:
                group["weight_decay"] = decay

    # -------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """The settings and the count."""
        return {k: getattr(self, k) for k in _SAVED} | {"num_steps": self.num_steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load settings from a state as the flags say, then its count, and set the groups accordingly. A rejected state
        (ValueError, KeyError) changes nothing."""
        new = {}
        for key in _SAVED:
            given = next((state[k] for k in (key, *_OLDER.get(key, ())) if k in state), None)
            if given is None:
                if key not in _LATER:
                    raise KeyError(f"the state has no {key}")
                continue
            own = getattr(self, key)
            if self.override:
                continue
            if not self.use_checkpoint and given != own:
                raise ValueError(f"{key} is {own} here and {given} in the state")
            new[key] = _whole(given) if key in _WHOLE else given
        count = next((state[k] for k in _COUNT if k in state), None)
        if count is None:
            raise KeyError("the state has no num_steps")
        if not _finite(count) or count < 0:
            raise ValueError("num_steps is not a number from 0 on")
        check({**vars(self), **new})
        for key, value in new.items():
            setattr(self, key, value)
        self.num_steps = _whole(count)
        self.write()


_FALL = {
    "linear": lambda x: 1.0 - x,
    "cosine": lambda x: 0.5 * (np.cos(np.pi * x) + 1.0),
    "exponential": lambda x: 2.0 * np.power(0.5, x) - 1.0,
    "minus_sqrt": lambda x: 1.0 - np.sqrt(x),
}


def check(settings: Mapping[str, Any]) -> None:
    """Check that the settings of a scheduler are consistent; ValueError if not."""
    s = dict(settings)
    _check_rates(s)
    _check_styles(s)
    _check_weight_decay(s)


def _check_rates(s: dict[str, Any]) -> None:
    """Are the rates and step counts numbers, and in order?"""
    for key in (
        "init_lr",
        "max_lr",
        "min_lr",
        "lr_warmup_steps",
        "lr_decay_steps",
        "wd_incr_steps",
    ):
        if not _finite(s[key]):
            raise said(ValueError(f"{key} is {s[key]}, expecting a finite number"))
    for key in ("min_lr", "init_lr"):
        if s[key] < 0:
            raise said(ValueError(f"{key} is {s[key]:g}, expecting 0 or above"))
    if s["max_lr"] < s["min_lr"]:
        raise ValueError(f"max_lr {s['max_lr']:g} is below min_lr {s['min_lr']:g}")
    if s["init_lr"] > s["max_lr"]:
        raise ValueError(f"init_lr {s['init_lr']:g} is above max_lr {s['max_lr']:g}")
    if s["lr_decay_steps"] <= 0:
        raise said(
            ValueError(f"lr_decay_steps is {s['lr_decay_steps']:g}, expecting a number above 0")
        )
    if not 0 <= s["lr_warmup_steps"] < s["lr_decay_steps"]:
        raise said(
            ValueError(
                f"lr_warmup_steps is {s['lr_warmup_steps']:g}, expecting 0 or above and less than "
                f"lr_decay_steps {s['lr_decay_steps']:g}"
            )
        )


def _check_styles(s: dict[str, Any]) -> None:
    """Are the styles known, with the settings they need?"""
    if s["lr_decay_style"] not in LR_STYLES:
        raise ValueError(f"unknown lr_decay_style {s['lr_decay_style']}")
    if s["lr_decay_style"] == "WSD":
        if s["wsd_decay_steps"] is None:
            raise ValueError("WSD needs wsd_decay_steps")
        if not _finite(s["wsd_decay_steps"]) or s["wsd_decay_steps"] < 0:
            raise said(
                ValueError(f"wsd_decay_steps is {s['wsd_decay_steps']}, expecting 0 or above")
            )
    if s["lr_wsd_decay_style"] is not None and s["lr_wsd_decay_style"] not in WSD_STYLES:
        raise ValueError(f"unknown lr_wsd_decay_style {s['lr_wsd_decay_style']}")
    if s["wd_incr_style"] not in WD_STYLES:
        raise ValueError(f"unknown wd_incr_style {s['wd_incr_style']}")


def _check_weight_decay(s: dict[str, Any]) -> None:
    """Is the weight decay nonnegative, and constant or increasing?"""
    if s["wd_incr_steps"] < 0:
        raise said(ValueError(f"wd_incr_steps is {s['wd_incr_steps']:g}, expecting 0 or above"))
    if (s["start_wd"] is None) != (s["end_wd"] is None):
        raise ValueError("start_wd and end_wd go together")
    if s["start_wd"] is not None:
        if not (
            _finite(s["start_wd"]) and _finite(s["end_wd"]) and 0 <= s["start_wd"] <= s["end_wd"]
        ):
            raise ValueError(
                f"weight decay from start_wd {s['start_wd']:g} to end_wd {s['end_wd']:g}, "
                "expecting it to go from 0 or above upwards"
            )
        if s["wd_incr_style"] == "constant" and s["start_wd"] != s["end_wd"]:
            raise ValueError(
                f"start_wd {s['start_wd']:g} and end_wd {s['end_wd']:g} of constant weight decay, "
                "expecting them equal"
            )


def _whole(x: Any) -> Any:
    """An integer count that may come as a float, as it does from JSON."""
    return int(x) if isinstance(x, float) and x.is_integer() else x


def _finite(x: Any) -> bool:
    return isinstance(x, int | float) and math.isfinite(x)


# ------------------------------------------------------------------ overrides of parameter groups


def combine_param_group_overrides(overrides: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """The union of overrides (None: no override); ValueError if a key has two values. Any keys are allowed."""
    out: dict[str, Any] = {}
    for found in overrides:
        for key, value in (found or {}).items():
            if key in out and out[key] != value:
                raise ValueError(f"Conflicting overrides for {key}: {out[key]} and {value}")
            out[key] = value
    return out


def param_group_override_to_tuple(
    override: Mapping[str, Any] | None,
) -> tuple[tuple[str, Any], ...] | None:
    """An override as a key for grouping parameters: its items sorted by name."""
    return None if override is None else tuple(sorted(override.items()))


def get_canonical_lr_for_logging(groups: Iterable[Mapping[str, Any]]) -> Any:
    """The learning rate of the first group marked `default_config`; None if there is none."""
    return next((group.get("lr") for group in groups if group.get("default_config")), None)
