"""The verbs of the language, one file per topic. May import compiler, console and tables."""
