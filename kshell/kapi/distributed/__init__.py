"""Several processes: collective calls, and modules and optimizers spread over them.

May import optim and the rooms below it.
"""
