"""Quantised weights in files: their numbers are computed when they are asked for."""
