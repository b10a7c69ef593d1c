"""What a person at the prompt uses: help, completion, plots, profiles, settings, notes.

May import every other room of kapi.
"""
