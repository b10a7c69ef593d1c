"""Tensor functions that compute, as tables with one row each. May import base."""
