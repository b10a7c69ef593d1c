"""Values: the q types, lists, dictionaries, tables and functions, and their descriptions for errors.

May import nothing else from values.
"""
