"""Tensors that are in files."""
