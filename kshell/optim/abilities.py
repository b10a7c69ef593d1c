"""Abilities of an optimizer beyond torch's contract, as methods and flags that every optimizer has.

kshell's optimizers derive from `Abilities` and override what they support. `abilities` returns the abilities of any
other optimizer: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer


class Abilities:
    """An optimizer without abilities beyond torch's. Subclasses list it before torch's class among their bases."""

    meets = False  # are stepping and adding parameters collective calls?
    keeps_extra = False  # is there state besides per-parameter buffers?
    by_process = False  # and does it differ between processes?
    gathers = False  # does a step take losses per layer, with occasional updates? See the last five methods

    def attached(self) -> None:
        """Parameters or groups were added, or options changed. An error here undoes the change."""

    def backward(self, loss: Tensor, **options: Any) -> None:
        """Compute the gradients of a loss."""
        loss.backward(**options)

    # ------------------------------------------------------------ state beside that of the parameters

    def get_extra(self) -> dict[str, Any]:
        """The state that belongs to no parameter: numbers, tensors, lists and dictionaries."""
        return {}

    def set_extra(self, extra: dict[str, Any]) -> None:
        """Restore a state from `get_extra`."""

    # ------------------------------------------------------------ gradients gathered over several steps

    def gather(self, together: bool = False) -> bool:
        """Process the losses given since the last step; is an update due? With `together`, all processes must agree."""
        return True

    def update(self) -> None:
        """Update the parameters from what was accumulated."""
        raise NotImplementedError

    def undo(self) -> None:
        """The due update failed."""

    def settle(self) -> None:
        """End of a step."""

    def forget(self) -> None:
        """The gradients were dropped."""


class Extra(Abilities):
    """An optimizer with state besides per-parameter buffers. It is stored as the entry `extra` of the state_dict."""

    keeps_extra = True

    def state_dict(self) -> dict[str, Any]:
        """torch's state, plus the entry `extra`."""
        return {**super().state_dict(), "extra": self.get_extra()}  # type: ignore[misc]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from `state_dict`."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "extra"})  # type: ignore[misc]
        self.set_extra(state_dict.get("extra", {}))


_NONE = Abilities()


def abilities(optimizer: Optimizer) -> Abilities:
    """The abilities of an optimizer; for one that is not kshell's, those of torch's own."""
    return optimizer if isinstance(optimizer, Abilities) else _NONE
