"""Tables as values: columns, keys, rows, pattern matching. May import values and store."""
