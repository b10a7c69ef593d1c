"""The documentation, the examples and the tutorials do what they say."""
