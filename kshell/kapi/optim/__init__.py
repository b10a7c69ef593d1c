"""Optimizers and schedulers: groups, state, tables, wrappers. May import module and the rooms below it."""
