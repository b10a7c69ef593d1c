"""Checkpoints as trees of values: of a file or a folder of any kind, and what is in them."""
