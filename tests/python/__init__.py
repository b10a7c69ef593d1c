"""kshell/python: the session of Python programs, and the prompt inside of one."""
