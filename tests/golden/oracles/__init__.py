"""Where the project's own cases come from: a module a family, which computes them in another way than kshell does.

`python -m tests.golden.oracles` writes the files of `tests/golden/cases` that have an oracle here. An oracle is plain
Python or numpy, one number at a time, all processes in one loop, from the formulas of the documentation.
"""
