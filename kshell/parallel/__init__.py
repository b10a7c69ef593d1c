"""Several processes: launching them, their group, and what they do together."""
