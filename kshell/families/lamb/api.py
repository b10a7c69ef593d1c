"""LAMB, for large batches."""

from __future__ import annotations

from kshell.extend import Option, optimizer_row


def _number(name: str, default: float, torch_name: str = "") -> Option:
    return Option(name, "double", float(default), torch_name)


def _flag(name: str) -> Option:
    return Option(name, "boolean", True)


optimizer_row(
    "lamb",
    "kshell.families.lamb.optimizer.Lamb",
    """Layer-wise adaptive moments for large batches: Adam's update scaled by a trust ratio.

With globalnorm, gradients are divided by their global norm. The ratio of the norms of parameter and update is
clipped to trustmin and trustmax if trustclip is set.

q)first exec trustmax from opt[opt`lamb]`options
1f
""",
    _number("lr", 0.001),
    _number("beta1", 0.9, "betas.0"),
    _number("beta2", 0.999, "betas.1"),
    _number("eps", 1e-8),
    _number("decay", 0, "weight_decay"),
    _flag("unbiased"),
    _flag("globalnorm"),
    _flag("trustclip"),
    _number("trustmin", 0),
    _number("trustmax", 1),
    state={k: k for k in ("step", "exp_avg", "exp_avg_sq")},
    pytorch="",
)
