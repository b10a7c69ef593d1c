"""The foundation of every room of the k-api: handles, arguments, conversions, errors, and torch at its first use.

May import nothing else of kapi.
"""
