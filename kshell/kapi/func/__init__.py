"""Higher-order functions: torch.func, compiled and checkpointed modules, autocast.

May import optim and the rooms below it.
"""
