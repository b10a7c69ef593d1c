"""The verbs of the language, a file a topic. May import compiler, console and tables."""
