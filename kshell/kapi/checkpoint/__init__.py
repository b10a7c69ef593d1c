"""Files: PyTorch checkpoints, sharded checkpoints, session snapshots.

May import train, distributed and the rooms below them.
"""
