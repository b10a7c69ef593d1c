"""Interactive tools: help, completion, plots, profiles, settings, notes.

May import every other room of kapi.
"""
