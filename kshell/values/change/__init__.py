"""Joining, amending and growing values, and the global variables that hold them.

May import every other room of values.
"""
