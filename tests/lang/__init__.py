"""kshell/lang: the compiler, queries, display and what a session does beside evaluation."""
