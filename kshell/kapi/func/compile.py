"""Execution of modules and functions: autocast, activation checkpointing, compilation."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from kshell import nn
from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, items, name_of, names_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_named, kname
from kshell.kapi.base.handles import ModuleHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.q_calls import applied
from kshell.kapi.func import transforms  # noqa: F401  (its functions are registered before these)
from kshell.kapi.func.autocast import cast_name
from kshell.kapi.func.calls import is_function
from kshell.kapi.func.q_functions import compiled
from kshell.kapi.module.api import device_of_module, of_module
from kshell.values.base.build import bools
from kshell.values.base.core import NIL, Value
from kshell.values.base.symbols import Sym


@api(
    "autocast", "autocast(dtype;f;x;..)", since="kshell", target="torch.amp.autocast", effect="none"
)
def autocast(x: Value) -> Value:
    """Apply a q function under torch's autocast.

    Products and convolutions are computed in bfloat16 or half, sensitive operations in float. Call backward outside.
    For a model's runs, use the options `autocast` of train and test.

    q)m:module enlist(`linear;2;1)
    q)dtype forward(m;3 2#1e)
    `float
    q)dtype autocast(`bfloat16;forward;(m;3 2#1e))
    `bfloat16
    q)dtype autocast(`bfloat16;{mse(forward(x;y);z)};m;3 2#1e;3 1#tensor 1 1 1e)
    `float
    """
    args = items(x)
    if len(args) < 2:
        raise QError(
            f"autocast: expecting (data type;function;argument;..), given {len(args)} "
            f"arg{'s' * (len(args) != 1)}"
        )
    dtype = dtype_named(cast_name("autocast", args[0]))
    if not is_function(args[1]) or isinstance(args[1], ModuleHandle):
        raise CallError("autocast", expecting="function, its name or text", given=kname(args[1]))
    with ExitStack() as casts:
        casts.enter_context(torch.autocast("cpu", dtype=dtype))
        if torch.cuda.is_available():
            casts.enter_context(torch.autocast("cuda", dtype=dtype))
        return applied(args[1], args[2:])


@api(
    "checkpoint",
    "checkpoint m",
    "checkpoint(m;flag)",
    "checkpoint(m;names)",
    "checkpoint(m;names;flag)",
    held=True,
    since="kshell",
    target="torch.utils.checkpoint.checkpoint",
    effect="changes",
)
def checkpoint(x: Value) -> Value:
    """Turn activation checkpointing on or off for a module, or for the named modules in it; without a flag, report it.

    A checkpointed module stores only its inputs for backward and recomputes the rest: less memory for more time, with
    the same numbers. The flag is not part of a module's definition or state.

    q)m:module seq(`sequential;(`linear;`a;2;8);`tanh;(`linear;`b;8;1))
    q)checkpoint(m;`a`b;1b)
    q)checkpoint(m;`a`1`b)
    101b
    q)checkpoint m
    0b
    """
    m, rest = of_module(x, "checkpoint")
    parts, single = [m], True
    if rest and flag_of(rest[0]) is None:
        parts, single, rest = _modules_of(m, rest[0]), rest[0].__class__ is Sym, rest[1:]
    if not rest:
        flags = [nn.recompute.recomputes(part) for part in parts]
        return flags[0] if single else bools(flags)
    flag = flag_of(rest[0])
    if flag is None or len(rest) > 1:
        raise QError(
            f"checkpoint: expected boolean scalar, given {kname(rest[0])}"
            if flag is None
            else f"checkpoint: expecting up to 3 args, given {len(items(x))}"
        )
    for part in parts:
        nn.recompute.set_recompute(part, flag)
    return NIL


def _modules_of(m: Any, x: Value) -> list[Any]:
    """The modules with the given names inside a module."""
    names = names_of(x)
    if names is None:
        raise CallError("checkpoint", expected="name(s) or flag", given=kname(x))
    modules = dict(m.named_modules())
    for name in names:
        if not name or name not in modules:
            raise QError(f"checkpoint: no module named `{name}")
    return [modules[name] for name in names]


_COMPILERS = ("g++", "clang++", "cl")


@api(
    "compile",
    "compile m",
    "compile(m;backend)",
    "compile(m;flag)",
    "compile f",
    "compile(f;backend)",
    held=True,
    since="kshell",
    target="torch.compile",
    effect="changes",
)
def compile_(x: Value) -> Value:
    """Compile a module's forward pass, or a q function, with torch.compile.

    A module is compiled at its next call and for each new kind of input; 0b removes the compiled code. The backend is
    torch's default, inductor, or another one, such as eager. inductor needs a C++ compiler for the CPU, Triton for
    GPUs. Compilation is not part of a module's definition or state.

    For a q function, given directly or by name, the result is a function of tensors and arrays that is compiled for
    each new kind of input. It is traced with tensors that have no values, so it cannot read them or branch on them.
    Other values it uses are frozen at that point, but tensors and modules stay the same objects, with their gradients.

    q)m:module seq(`sequential;(`linear;3;4);`relu)
    q)y:evaluate(m;2 3#1e)
    q)compile(m;`eager)
    q)y~evaluate(m;2 3#1e)
    1b
    q)compile(m;0b)
    q)f:compile({Sum x*x};`eager)
    q)f 1 2 3e
    14e
    """
    args = [x] if is_function(x) else items(x)  # a string is one
    if args and is_function(args[0]) and not isinstance(args[0], ModuleHandle):
        return compiled(args[0], _backend(args[1:], "backend", "cpu"))
    m, rest = of_module(x, "compile")
    flag = flag_of(rest[0]) if rest else True
    if flag is False:
        m._compiled_call_impl = None
        return NIL
    backend = _backend(
        [] if flag and len(rest) == 1 else rest, "backend or flag", device_of_module(m).type
    )
    _compile_module(m, backend)
    return NIL


def _compile_module(m: Any, backend: str) -> None:
    for part in m.modules():
        if isinstance(part, nn.callback.Callback):  # torch cannot inspect q code as it does Python
            part.call = torch.compiler.disable(part.fn)
    m.compile(backend=backend)


def _backend(given: Sequence[Value], what: str, device: str) -> str:
    """The backend named in a call, checked for its requirements; by default torch's default."""
    backend = name_of(given[0]) if given else "inductor"
    if len(given) > 1:
        raise QError(f"compile: expecting 1-2 args, given {len(given) + 1}")
    if backend is None:
        raise CallError("compile", expected=what, given=kname(given[0]))
    if backend not in torch.compiler.list_backends(exclude_tags=()):
        raise QError(
            f"compile: unrecognized backend `{backend}, expecting one of "
            + "".join("`" + backend for backend in torch.compiler.list_backends())
            + "`eager`aot_eager"
        )
    if backend == "inductor":
        _check_inductor(device)
    return backend


def _check_inductor(device: str) -> None:
    """Are the requirements of torch's default backend installed? An error here is better than one at the first forward
    pass."""
    if device == "cpu":
        named = os.environ.get("CXX", "")
        if not any(shutil.which(compiler) for compiler in (named, *_COMPILERS) if compiler):
            raise QError(
                "compile: no C++ compiler found; install one, set CXX, or give the backend `eager"
            )
    elif device == "cuda" and not torch.utils._triton.has_triton():
        raise QError("compile: no Triton found; install it, or give the backend `eager")
