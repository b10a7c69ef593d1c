"""Pickles in checkpoints: read as graphs of objects, what these mean, and written back; nothing is run."""
