"""Pickles: that they are read without running them, what they mean, and that they are written as they were."""
