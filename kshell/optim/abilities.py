"""Abilities of an optimizer beyond torch's contract, as methods and flags that every optimizer answers.

Optimizers of kshell derive from `Abilities` and override what they do. `abilities` gives those of any other optimizer:
none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer


class Abilities:
    """An optimizer that can do no more than torch's own. Subclasses come before torch's class in the list of bases."""

    meets = False  # are a step and new parameters collective calls, made by all processes at once?
    keeps_extra = False  # is there state beside that of the parameters?
    by_process = False  # and is it each process's own?
    gathers = (
        False  # does a step take losses by layer, and update now and then? By the last five methods
    )

    def attached(self) -> None:
        """Parameters or groups were added, or options were changed. An error here takes the change back."""

    def backward(self, loss: Tensor, **options: Any) -> None:
        """Calculate the gradients of a loss."""
        loss.backward(**options)

    # ------------------------------------------------------------ state beside that of the parameters

    def get_extra(self) -> dict[str, Any]:
        """The state that belongs to no parameter: numbers, tensors, lists and dictionaries."""
        return {}

    def set_extra(self, extra: dict[str, Any]) -> None:
        """Go on from a state that `get_extra` gave."""

    # ------------------------------------------------------------ gradients gathered over several steps

    def gather(self, together: bool = False) -> bool:
        """Take in the losses given since the last step; is an update due? With `together` all processes must agree."""
        return True

    def update(self) -> None:
        """Update the parameters by what was gathered."""
        raise NotImplementedError

    def undo(self) -> None:
        """The update that was due was not made."""

    def settle(self) -> None:
        """A step ends."""

    def forget(self) -> None:
        """The gradients were dropped."""


class Extra(Abilities):
    """An optimizer with state beside that of its parameters. It is the entry `extra` of the state_dict."""

    keeps_extra = True

    def state_dict(self) -> dict[str, Any]:
        """torch's state, and the entry `extra`."""
        return {**super().state_dict(), "extra": self.get_extra()}  # type: ignore[misc]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "extra"})  # type: ignore[misc]
        self.set_extra(state_dict.get("extra", {}))


_NONE = Abilities()


def abilities(optimizer: Optimizer) -> Abilities:
    """The abilities of an optimizer; of one that is not of kshell, those of torch's own."""
    return optimizer if isinstance(optimizer, Abilities) else _NONE
