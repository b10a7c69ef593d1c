"""Python at the q prompt."""
