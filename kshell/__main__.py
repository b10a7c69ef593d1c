"""`python -m kshell`: the kshell command."""

from kshell.shell.cli import main

main()
