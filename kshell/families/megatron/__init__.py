"""Megatron's schedules and overrides of parameter groups. A module of it is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.families.megatron import overrides, scheduler, schedules
else:
    __getattr__ = lazy_package(__name__)
