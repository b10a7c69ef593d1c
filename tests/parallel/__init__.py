"""kshell/parallel: jobs of several processes, and what all of them refuse."""
