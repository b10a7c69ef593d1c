"""What every room of the k-api stands on: handles, arguments, conversions, errors, and torch at its first use.

May import nothing else of kapi.
"""
