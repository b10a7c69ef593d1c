"""Learning rates and weight decay by Megatron's kind of scheduler."""

from __future__ import annotations

from typing import Any

from tests.golden.runner import Case, Family


def _raises(case: Case, world: int) -> list[Any]:
    """Whether it is an error; of which kind is not said."""
    return [{"raises": case["out"]["raises"]}]


def _state(case: Case, world: int) -> list[Any]:
    """What a correct load gives: the fields that end in _fixed."""
    out = case["out"]
    if out["raises"]:
        return [{"raises": 1}]
    want = {"after_load": out["after_load_fixed"], "post": out["post_fixed"]}
    count = out["after_load_fixed"]["num_steps"]
    return [{"raises": 0, "value": want | {"state": out["state"] | {"num_steps": count}}}]


def _overrides(case: Case, world: int) -> list[Any]:
    out = case["out"]
    return [{"raises": 1} if out["raises"] else {"raises": 0, "value": {k: out.get(k) for k in ("value", "tuple")}}]


def _binding(case: Case) -> bool:
    return bool(case.get("binding", 1))


FAMILIES = [
    Family("sched_table", "sched.q", rtol=1e-12, atol=1e-15),
    Family("sched_state", "sched.q", _state, rtol=1e-12, atol=1e-15),
    Family("sched_overrides", "sched.q", _overrides),
    Family("sched_ctor", "sched.q", _raises, keep=_binding),
]
