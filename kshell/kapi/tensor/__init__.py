"""Tensors and containers of tensors: creation, indexing, shapes, operators, text, gradients. May import base and
math."""
