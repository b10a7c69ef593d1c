"""kshell/lang/verbs: what verbs compute, and of which type the result is."""
