"""kshell/shell: the command, the prompt, the debugger and the console of several processes."""
