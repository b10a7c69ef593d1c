"""kshell for Python programs: the session with Python's values on its outside, frames, the prompt inside a program."""
