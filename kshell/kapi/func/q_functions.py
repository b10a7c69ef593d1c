"""q functions under torch.compile.

torch cannot inspect q code, so the function is traced: it runs once with tensors that have sizes and types but no
values, and the torch operations it calls become the program to compile. This is repeated for each kind of input.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.base.call import invoke
from kshell.kapi.base.convert import as_tensors, is_array, kname
from kshell.kapi.base.handles import TensorHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.func.calls import QFunction, wrapped
from kshell.values.base.core import NIL, Value
from kshell.values.base.functions import Prim

_DYNAMIC = 112  # the q type of a function that is not q code


class Traced:
    """A q function of tensors, and its traced programs: one for each number, size, type and device of inputs, and for
    each combination of required gradients."""

    def __init__(self, f: Value, backend: str) -> None:
        self.f, self.backend = QFunction(f, "compile"), backend
        self.programs: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *args: Value) -> Value:
        if args == (NIL,):
            raise QError("compile: expecting tensors or arrays, given nothing")
        for x in args:
            if x.__class__ is not TensorHandle and not is_array(x):
                raise CallError("compile", expecting="tensor or array for input", given=kname(x))
        given, handles = as_tensors(args)
        # the function may write to its inputs, and q arrays are never written
        tensors = [
            t if x.__class__ is TensorHandle else t.clone()
            for x, t in zip(args, given, strict=True)
        ]
        return wrapped(invoke("compile", self._calculate, tensors), handles)

    def _calculate(self, tensors: list[Any]) -> Any:
        kind = (
            torch.is_grad_enabled(),
            *(
                (tensor.shape, tensor.stride(), tensor.dtype, tensor.device, tensor.requires_grad)
                for tensor in tensors
            ),
        )
        program = self.programs.get(kind)
        if program is None:
            program = self.programs[kind] = self._program(tensors)
        return program(*tensors)

    def _program(self, tensors: list[Any]) -> Callable[..., Any]:
        from torch.fx.experimental.proxy_tensor import make_fx

        # it prints a traceback for any wrong argument
        log = logging.getLogger("torch._subclasses.fake_tensor")
        silent, log.disabled = log.disabled, True
        try:
            # recorded above autograd, so that gradients flow through it; it also holds tensors that are not inputs
            graph = make_fx(
                self.f, tracing_mode="fake", pre_dispatch=True, _allow_non_fake_inputs=True
            )(*tensors)
        finally:
            log.disabled = silent
        return (
            graph
            if self.backend == "eager"
            else torch.compile(graph, backend=self.backend, fullgraph=True)
        )


def compiled(f: Value, backend: str) -> Prim:
    """A q function that computes this q function's result with torch.compile."""
    return Prim("compile", {-1: Traced(f, backend)}, None, _DYNAMIC)
