"""select, exec, update, delete, joins and table keywords. May import verbs, compiler and tables."""
