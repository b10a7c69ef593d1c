"""Several processes: collective calls, and modules and optimizers distributed over processes.

May import optim and the rooms below it.
"""
