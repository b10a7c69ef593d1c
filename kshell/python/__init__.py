"""kshell for Python programs: a session with Python values, data frames, the prompt inside a program."""
