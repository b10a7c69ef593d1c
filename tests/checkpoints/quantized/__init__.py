"""Quantised weights: numbers of all types, blocks, layouts of several programs, GGUF files."""
