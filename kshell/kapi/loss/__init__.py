"""Losses, and metrics for predictions. May import module and the rooms below it."""
