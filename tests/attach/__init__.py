"""Tests of attaching to a running program."""
