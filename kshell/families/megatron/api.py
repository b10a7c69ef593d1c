"""The Megatron family: importing this module registers its overrides and schedules."""

from kshell.families.megatron import overrides, schedules  # noqa: F401
