"""The states of torch's random generators, to draw numbers again."""

from __future__ import annotations


class Random:
    """The states of torch's random generators, as they are now."""

    def __init__(self) -> None:
        import torch

        self.generators = [torch.default_generator]
        if torch.cuda.is_initialized():
            self.generators += torch.cuda.default_generators
        self.states = [generator.get_state() for generator in self.generators]

    def seed(self, n: int) -> None:
        """Draw the numbers of a seed from now on."""
        for generator in self.generators:
            generator.manual_seed(n)

    def restore(self) -> None:
        """Draw the numbers that would have been drawn."""
        for generator, state in zip(self.generators, self.states, strict=True):
            generator.set_state(state)

    def has_drawn(self) -> bool:
        """Have numbers been drawn since?"""
        return any(
            not bool((generator.get_state() == state).all())
            for generator, state in zip(self.generators, self.states, strict=True)
        )
