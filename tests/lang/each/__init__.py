"""kshell/lang/each: iterators, and the ways to do all items at once."""
