"""Python at the q prompt, in the forms of embedPy: the names of `.p`, and values that hold a Python object."""
