"""select, exec, update, delete, joins and the keywords of tables. May import verbs, compiler and tables."""
