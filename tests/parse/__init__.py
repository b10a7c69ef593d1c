"""kshell/parse: trees, literals, errors and scripts."""
