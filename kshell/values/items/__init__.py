"""Items of lists, dictionaries and tables: by position, sorted, by content.

May import base and session.
"""
