"""The q language: compiler, verbs, qSQL, iterators and what a session needs; torch and the console are above it."""
