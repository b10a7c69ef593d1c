"""Checkpoints of all kinds, files and folders: that they open, and what is in them; parts that are missing or elsewhere."""
