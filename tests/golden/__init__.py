"""Numbers that optimizers, schedulers and scaling rules must give, through q in kshell.

`python -m tests.golden` runs every case of every file in the folder named by KSHELL_GOLDEN, or in tests/golden/cases.
"""
