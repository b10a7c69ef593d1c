"""Megatron's overrides of parameter groups."""
