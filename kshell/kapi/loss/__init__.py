"""Losses, and measures of predictions. May import module and the rooms below it."""
