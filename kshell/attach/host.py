"""The program that is asked. Nothing listens yet."""

from __future__ import annotations


def listen() -> None:
    """Listen from now on."""


def listen_at_first_step() -> None:
    """Listen from the first step of an optimizer on."""
