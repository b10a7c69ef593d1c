"""A module a family: `FAMILIES`, one `Family` a case file, and the q file of the same name with its functions."""
