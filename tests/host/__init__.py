"""Tests of kshell inside training programs: real programs, asked from outside."""
