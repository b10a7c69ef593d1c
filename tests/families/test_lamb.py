"""LAMB against its formula (arXiv 1904.00962, algorithm 2), written out in numpy."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.session import Session

RATE, DECAY = 0.05, 0.1
SETTINGS = st.fixed_dictionaries({
    "eps": st.sampled_from([1e-8, 1e-3, 0.5]), "unbiased": st.booleans(), "globalnorm": st.booleans(),
    "trustclip": st.booleans(), "decay": st.sampled_from([0.0, DECAY]), "trustmax": st.sampled_from([0.2, 1.0, 50.0]),
    "trustmin": st.sampled_from([0.0, 0.5, 1.0])}).map(lambda o: {**o, "trustmin": o["trustmin"] * o["trustmax"]})


@given(SETTINGS)
@settings(max_examples=25)
def test_steps_are_those_of_the_formula(options: dict[str, float | bool]) -> None:
    s = Session(out=io.StringIO(), err=io.StringIO())
    words = ";".join(f"{int(value)}b" if isinstance(value, bool) else repr(value) for value in options.values())
    s.run("a:tensor(1 2 -3f;`grad);b:tensor((.5 .25f;-1 4f);`grad);v:vector(a;b)")
    s.run(f"o:opt(`lamb;v;{RATE};{''.join('`' + name for name in options)}!({words}))")
    parameters = [p for group in s.run("o").obj.torch.param_groups for p in group["params"]]
    mine = [p.detach().numpy().copy() for p in parameters]
    means, squares = [np.zeros_like(p) for p in mine], [np.zeros_like(p) for p in mine]
    for t in range(1, 4):
        grads = [np.cos(p * t) for p in mine]
        for p, grad in zip(parameters, grads, strict=True):
            p.grad = p.new_tensor(grad)
        s.run("step o")
        norm = np.sqrt(sum((g * g).sum() for g in grads)) if options["globalnorm"] else 1.0
        for p, grad, mean, square in zip(mine, grads, means, squares, strict=True):
            g = grad / norm
            mean *= 0.9
            mean += 0.1 * g
            square *= 0.999
            square += 0.001 * g * g
            low = np.sqrt(square / (1 - 0.999**t) if options["unbiased"] else square) + options["eps"]
            u = (mean / (1 - 0.9**t) if options["unbiased"] else mean) / low + options["decay"] * p
            ratio = np.linalg.norm(p) / np.linalg.norm(u)
            p -= RATE * u * (np.clip(ratio, options["trustmin"], options["trustmax"]) if options["trustclip"] else ratio)
        for p, q in zip(parameters, mine, strict=True):
            assert p.detach().numpy() == pytest.approx(q, rel=1e-9)
