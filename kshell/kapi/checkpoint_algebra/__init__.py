"""The algebra of checkpoints: comparing, renaming, averaging and merging tensors by name, one at a time.

May import checkpoint and the rooms below it.
"""
