"""Modules: types and options, trees, parameters, forward passes. May import base, math and tensor."""
