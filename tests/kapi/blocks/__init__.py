"""Building blocks of transformers, and the continuation of sequences with them."""
