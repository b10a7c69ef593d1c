"""Values: the q types, lists, dictionaries, tables and functions, and words about them for errors.

May import nothing else of values.
"""
