"""Random generator states: a value that can be saved and restored, so that a resumed run repeats exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.errors import CallError, QError
from kshell.kapi.base.call import api
from kshell.kapi.base.device_options import accelerators, generator_of, is_device
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base import types as T
from kshell.values.base.build import symdict
from kshell.values.base.core import NIL, Dict, List, Value, Vec, sym_names
from kshell.values.session.context import running


def _bytes(data: bytes | np.ndarray) -> Vec:
    return Vec(T.X, np.frombuffer(bytes(data), np.uint8))


def own_state() -> Vec:
    """The state of q's own generator."""
    return _bytes(json.dumps(running().rng.bit_generator.state).encode())


def states() -> Value:
    """A dictionary of states as bytes: q's own generator under `q, torch's under their devices."""
    found = {"q": own_state(), "cpu": _bytes(torch.get_rng_state().numpy())}
    for name in accelerators():
        found[name] = _bytes(generator_of(name).get_state().numpy())
    return symdict(list(found), list(found.values()))


def _generator(data: bytes) -> Any:
    """A q generator with a saved state."""
    fresh = np.random.default_rng()
    try:
        fresh.bit_generator.state = json.loads(data)
        return fresh
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        pass
    raise CallError("rng", "`q is not the state of a generator")


def checked(d: Value) -> Callable[[], None]:
    """Check saved generator states, and return a function that restores them."""
    if d.__class__ is not Dict or d.k.__class__ is not Vec or d.k.t != T.S:
        raise CallError("rng", "expecting a dictionary made by rng[]")
    todo: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
    for name, x in zip(sym_names(d.k), d.v.items, strict=True):
        if x.__class__ is not Vec or x.t != T.X:
            raise QError(f"rng: state of `{name} is not a list of bytes")
        data = x.a.tobytes()
        if name == "q":
            todo.append((setattr, (running(), "rng", _generator(data))))
        elif name == "cpu" and len(data) == len(torch.get_rng_state()):
            state = torch.frombuffer(bytearray(data), dtype=torch.uint8)
            torch.Generator().set_state(state)
            todo.append((torch.set_rng_state, (state,)))
        elif name != "cpu" and is_device(name):
            if name in accelerators():
                generator, state = (
                    generator_of(name),
                    torch.frombuffer(bytearray(data), dtype=torch.uint8),
                )
                before = generator.get_state()
                generator.set_state(state)  # torch reports here what is wrong with it
                generator.set_state(before)
                todo.append((generator.set_state, (state,)))
        else:
            raise QError(f"rng: unrecognized state: `{name}")

    def put() -> None:
        for fn, args in todo:
            fn(*args)

    return put


def restore(d: Dict) -> None:
    """Restore generators to saved states; all are checked before any is set."""
    checked(d)()


@api(
    "rng", "rng[]", "rng dictionary", since="kshell", target="torch.get_rng_state", effect="reads0"
)
def rng(x: Value) -> Value:
    """The states of all random generators, q's and torch's; pass the value back to continue from there.

    q)s:rng[]
    q)a:rand 100f
    q)rng s
    q)a~rand 100f
    1b
    """
    if x is NIL or (x.__class__ is List and not x.items):
        return states()
    if x.__class__ is not Dict or x.keyed:
        raise CallError("rng", "expecting a dictionary made by rng[]")
    restore(x)
    return NIL
