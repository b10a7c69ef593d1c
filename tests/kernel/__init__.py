"""kshell/kernel and kshell/notebook.py: the Jupyter kernel and the magics."""
