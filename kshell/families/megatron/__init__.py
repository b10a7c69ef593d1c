"""Megatron's schedules and parameter group overrides. Its modules are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.families.megatron import overrides, scheduler, schedules
else:
    __getattr__ = lazy_package(__name__)
