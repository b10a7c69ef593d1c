"""Items of lists, dictionaries and tables: at positions, in order, found by their content.

May import base and session.
"""
