"""Tests of the port: the wire, and real processes that talk to each other."""
