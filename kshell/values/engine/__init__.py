"""How functions and verbs run: applying values to arguments, atomic verbs on arrays, type conversions.

May import items and the rooms below it.
"""
