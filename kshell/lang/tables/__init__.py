"""Tables as values: columns, keys, rows, and what a pattern takes apart. May import values and store."""
