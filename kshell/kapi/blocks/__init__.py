"""Building blocks of today's models as module types, and the continuation of sequences with them.

May import module and the rooms below it.
"""
