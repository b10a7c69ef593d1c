"""kshell/families: the numbers of each family's optimizers and rules."""
