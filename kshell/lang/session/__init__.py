"""Session features besides evaluation: commands, scripts, views, the timer, the debugger.

May import each and the rooms below it.
"""
