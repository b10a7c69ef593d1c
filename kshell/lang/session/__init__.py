"""What a session does beside evaluating: commands, scripts, views, the timer, the debugger.

May import each and the rooms below it.
"""
