"""The k-api: functions of q over torch, behind handles.

What each of its rooms may import is in tests/whole/test_layers.py.
"""
