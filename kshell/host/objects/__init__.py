"""The modules and optimizers of a program: their parts, what changes in them, copies of them, their calls repeated."""
