"""A module whose forward is a user's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from kshell.errors import said


class Callback(nn.Module):
    """forward(*inputs) is fn(module, *inputs); fn may use the module's children, parameters and buffers."""

    def __init__(
        self,
        fn: Callable[..., Any],
        inputs: int = 1,
        parameters: dict[str, Tensor] | None = None,
        buffers: dict[str, Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.fn, self.inputs = fn, inputs
        self.call = fn  # the function to call: compilation replaces it by one that is not traced
        for name, t in (parameters or {}).items():
            # a parameter of another module is shared, not copied
            if not isinstance(t, nn.Parameter):
                t = nn.Parameter(t, requires_grad=t.is_floating_point() or t.is_complex())
            self.register_parameter(name, t)
        for name, t in (buffers or {}).items():
            self.register_buffer(name, t)

    @property
    def most_inputs(self) -> int:
        return self.inputs

    def forward(self, *inputs: Any) -> Any:
        if len(inputs) != self.inputs:
            raise said(
                ValueError(
                    f"callback: {len(inputs)} tensor(s) supplied, but {self.inputs} expected"
                )
            )
        return self.call(self, *inputs)
