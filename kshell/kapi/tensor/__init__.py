"""Tensors and what holds them: making, indexing, shapes, operators, text, gradients. May import base and math."""
