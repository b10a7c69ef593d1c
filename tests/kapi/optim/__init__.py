"""kshell/kapi/optim and kshell/optim: optimizers, schedulers, parameter tables and state."""
