"""The compiler: trees of q become Python functions. May import parse and values."""
