"""The families of models, one entry each: which modules a model consists of, by its settings."""
