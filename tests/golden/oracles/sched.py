"""Schedules of Megatron's kind, one number at a time."""

from __future__ import annotations

import math
from typing import Any

Cfg = dict[str, Any]
BASE: Cfg = {"init_lr": 0.0, "max_lr": 0.08, "min_lr": 0.004, "lr_warmup_steps": 8, "lr_decay_steps": 64,
             "start_wd": 0.01, "end_wd": 0.05, "wd_incr_steps": 40, "wd_incr_style": "linear"}
POINTS = [0, 1, 4, 7, 8, 9, 17, 32, 39, 40, 41, 55, 63, 64, 65, 200]
GROUPS = [{}, {"max_lr": 0.2}, {"min_lr": 0.01, "wd_mult": 0.25}, {"start_wd": 0.0, "end_wd": 0.3}]


def lr(c: Cfg, group: Cfg, n: float) -> float:
    top, low = group.get("max_lr", c["max_lr"]), group.get("min_lr", c["min_lr"])
    warm, last, style = c["lr_warmup_steps"], c["lr_decay_steps"], c["lr_decay_style"]
    if warm > 0 and n <= warm:
        return c["init_lr"] + (top - c["init_lr"]) * n / warm
    if style == "constant":
        return top
    if n > last:
        return low
    if style == "inverse-square-root":
        return max(low, top * math.sqrt(max(warm, 1)) / math.sqrt(max(n, 1)))
    if style == "WSD":
        start = last - c["wsd_decay_steps"]
        if n <= start:
            return top
        y = (n - start) / c["wsd_decay_steps"]
        share = {"linear": 1 - y, "cosine": (math.cos(math.pi * y) + 1) / 2, "exponential": 2 * 0.5 ** y - 1,
                 "minus_sqrt": 1 - math.sqrt(y)}[c["lr_wsd_decay_style"]]
    else:
        x = (n - warm) / (last - warm)
        share = 1 - x if style == "linear" else (math.cos(math.pi * x) + 1) / 2
    return low + share * (top - low)


def wd(c: Cfg, group: Cfg, n: float) -> float:
    a, b = group.get("start_wd", c["start_wd"]), group.get("end_wd", c["end_wd"])
    steps, style = c["wd_incr_steps"], c["wd_incr_style"]
    if style == "constant" or n > steps or not steps:
        out = b
    else:
        x = n / steps
        out = a + (b - a) * (x if style == "linear" else (math.cos(math.pi * (1 - x)) + 1) / 2)
    return out * group.get("wd_mult", 1.0)


def now(c: Cfg, groups: list[Cfg], n: int, key: str = "step") -> dict[str, Any]:
    return {key: n, "lr": [lr(c, g, n) for g in groups], "wd": [wd(c, g, n) for g in groups]}


def tables() -> list[dict[str, Any]]:
    out = []
    for style in ("constant", "linear", "cosine", "inverse-square-root"):
        for tag, more in (("", {}), ("-cold", {"lr_warmup_steps": 0}), ("-fraction", {"lr_warmup_steps": 8.5}),
                          ("-from", {"init_lr": 0.02, "wd_incr_style": "cosine"})):
            out.append((style + tag, {**BASE, "lr_decay_style": style, **more}, [{}]))
        out.append((f"{style}-groups", {**BASE, "lr_decay_style": style}, GROUPS))
    for fall in ("linear", "cosine", "exponential", "minus_sqrt"):
        for steps in (16, 56, 60):  # as long as what follows the warm-up, and longer
            c = {**BASE, "lr_decay_style": "WSD", "wsd_decay_steps": steps, "lr_wsd_decay_style": fall}
            out.append((f"wsd-{fall}-{steps}", c, GROUPS[:2]))
    flat = {"wd_incr_style": "constant", "start_wd": 0.03, "end_wd": 0.03}
    out.append(("wd-constant", {**BASE, **flat, "lr_decay_style": "linear"}, [{}, {"wd_mult": 2.0}]))
    out.append(("wd-at-once", {**BASE, "wd_incr_steps": 0, "lr_decay_style": "linear"}, [{}]))
    out.append(("down-to-a-group", {**BASE, "init_lr": 0.07, "lr_decay_style": "cosine"}, [{}, {"max_lr": 0.05}]))
    return [{"name": name, "in": {"cfg": c, "groups": g, "points": POINTS}, "out": [now(c, g, n) for n in POINTS]}
            for name, c, g in out]


SAVED = {"max_lr": 0.06, "min_lr": 0.002, "lr_warmup_steps": 4, "lr_decay_steps": 100, "lr_decay_style": "cosine",
         "num_steps": 30, "start_wd": 0.02, "end_wd": 0.1, "wd_incr_steps": 20, "wd_incr_style": "cosine"}
OLD = {"start_lr": 0.06, "min_lr": 0.002, "warmup_iter": 4, "end_iter": 100, "decay_style": "linear", "num_iters": 30}


def states() -> list[dict[str, Any]]:
    linear = {**BASE, "lr_decay_style": "linear"}
    own = {k: linear[k] for k in SAVED if k != "num_steps"} | {"num_steps": 30}
    strict = {"use_checkpoint_opt_param_scheduler": 0}
    override = {**strict, "override_opt_param_scheduler": 1}
    groups = [{}, {"max_lr": 0.3, "wd_mult": 0.5}]
    taken = {"max_lr": 0.06, "min_lr": 0.002, "lr_warmup_steps": 4, "lr_decay_steps": 100}
    rows = [("checkpoint", {}, [], SAVED, {**linear, **SAVED}), ("checkpoint-later", {}, [7, 3], SAVED, linear | SAVED),
            ("override", override, [], SAVED, linear), ("override-later", override, [90], SAVED, linear),
            ("strict-same", strict, [5], own, linear), ("strict-other", strict, [], SAVED, None),
            ("old-names", {}, [2], OLD, {**linear, **taken}),
            ("old-names-2", {}, [], {"start_lr": 0.06, "min_lr": 0.002, "warmup_steps": 4, "decay_steps": 100,
                                     "decay_style": "linear", "num_steps": 30}, {**linear, **taken}),
            ("fraction", {}, [1], SAVED | {"lr_warmup_steps": 12.5}, linear | SAVED | {"lr_warmup_steps": 12.5}),
            ("no-count", {}, [], {k: v for k, v in SAVED.items() if k != "num_steps"}, None)]
    out = []
    for name, flags, pre, state, result in rows:
        given = {"cfg": {**linear, **flags}, "pre": pre, "state": state, "post": [1, 10, 100], "groups": groups}
        want: dict[str, Any] = {"raises": int(result is None)}
        if result is not None:
            counts = [31, 41, 141]
            want |= {"after_load_fixed": now(result, groups, 30, "num_steps"),
                     "state": {k: result[k] for k in SAVED if k != "num_steps"} | {"num_steps": 30},
                     "post_fixed": [now(result, groups, n, "num_steps") for n in counts]}
        out.append({"name": name, "in": given, "out": want})
    return out


def overrides() -> list[dict[str, Any]]:
    rows: list[tuple[str, list[Any], Any]] = [
        ("none", [None, None], {}), ("with-none", [{"max_lr": 0.3}, None, {"wd_mult": 0.5}],
                                     {"max_lr": 0.3, "wd_mult": 0.5}),
        ("same-twice", [{"end_wd": 0.1, "min_lr": 0.0}, {"end_wd": 0.1}], {"end_wd": 0.1, "min_lr": 0.0}),
        ("carried", [{"wd_mult": 1.0}, {"another": 3.0}], {"wd_mult": 1.0, "another": 3.0}),
        ("conflict", [{"end_wd": 0.1}, None, {"end_wd": 0.2}], None)]
    return [{"name": name, "in": given, "out": {"raises": 1} if want is None else
             {"raises": 0, "value": want, "tuple": [[k, want[k]] for k in sorted(want)]}} for name, given, want in rows]


def constructors() -> list[dict[str, Any]]:
    wsd = {"lr_decay_style": "WSD", "wsd_decay_steps": 10, "lr_wsd_decay_style": "linear"}
    rows = [("plain", {}, 0), ("wsd", wsd, 0), ("null", {"wsd_decay_steps": None, "lr_wsd_decay_style": None}, 0),
            ("flat", {"max_lr": 0.004}, 0), ("min>max", {"min_lr": 0.09}, 1),
            ("neg-min", {"min_lr": -0.1}, 1), ("init>max", {"init_lr": 0.1}, 1), ("no-decay", {"lr_decay_steps": 0}, 1),
            ("warm=decay", {"lr_warmup_steps": 64}, 1), ("falling-wd", {"start_wd": 0.06}, 1),
            ("neg-wd", {"start_wd": -0.01}, 1), ("no-wsd-steps", {k: wsd[k] for k in ("lr_decay_style",)}, 1),
            ("unknown-style", {"lr_decay_style": "stairs"}, 1), ("unknown-wd", {"wd_incr_style": "stairs"}, 1),
            ("unknown-wsd", {**wsd, "lr_wsd_decay_style": "stairs"}, 1), ("wd-constant", {"wd_incr_style": "constant"}, 1),
            ("both", {"override_opt_param_scheduler": 1, "use_checkpoint_opt_param_scheduler": 1}, 1)]
    return [{"name": name, "in": {**BASE, "lr_decay_style": "cosine", **more}, "out": {"raises": bad}, "binding": 1}
            for name, more, bad in rows]


def files() -> dict[str, dict[str, Any]]:
    return {"sched_table": {"about": "Learning rates and weight decays of the parameter groups after numbers of steps.",
                            "cases": tables()},
            "sched_state": {"about": "A state loaded into a scheduler that was stepped by each of pre: rates and decays "
                                     "after it, the state, and the same after each of post.", "cases": states()},
            "sched_overrides": {"about": "Overrides combined, and their key.", "cases": overrides()},
            "sched_ctor": {"about": "Which settings are refused.", "cases": constructors()}}
