"""Modules: types and options, trees, parameters, forward calculation. May import base, math and tensor."""
