"""Iterators, and their vectorized versions. May import compiler, tables and verbs."""
