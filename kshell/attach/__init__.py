"""A query prompt inside a running PyTorch program: the q session in it, where it listens, and its clients."""
