"""The q language: compiler, verbs, qSQL, iterators and session support; torch and the console are above it."""
