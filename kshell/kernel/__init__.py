"""The Jupyter kernel: `python -m kshell.kernel install`, then a notebook of q."""
