"""The Jupyter kernel: `python -m kshell.kernel install`, then open a q notebook."""
