"""Functions of tensors that calculate, a table of rows each. May import base."""
