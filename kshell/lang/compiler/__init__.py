"""The compiler: q trees become Python functions. May import parse and values."""
