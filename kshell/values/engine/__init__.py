"""How functions and verbs run: any value applied to arguments, atomic verbs on arrays, conversions of type.

May import items and the rooms below it.
"""
