"""The k-api: q functions over torch, behind handles. tests/whole/test_layers.py says what each of its rooms may
import.
"""
