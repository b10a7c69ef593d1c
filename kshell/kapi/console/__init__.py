"""Tools for a person at the prompt: help, completion, plots, profiles, settings, notes.

May import every other room of kapi.
"""
