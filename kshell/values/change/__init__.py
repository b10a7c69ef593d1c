"""Values joined, amended and grown in place, and the global variables that hold them.

May import every other room of values.
"""
