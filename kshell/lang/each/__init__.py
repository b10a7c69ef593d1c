"""Iterators, and the ways to do all items at once. May import compiler, tables and verbs."""
