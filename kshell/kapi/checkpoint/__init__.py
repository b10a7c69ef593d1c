"""Files: checkpoints of PyTorch, sharded checkpoints, snapshots of sessions.

May import train, distributed and the rooms below them.
"""
