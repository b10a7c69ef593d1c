"""Models: data, options, training runs, averaging, logs. May import func, optim, loss and the rooms below them."""
