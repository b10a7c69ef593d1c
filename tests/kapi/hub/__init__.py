"""Models from folders of the hub."""
