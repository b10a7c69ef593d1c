"""What Megatron's family registers."""

from kshell.families.megatron import overrides, schedules  # noqa: F401
