"""Models from folders of the hub: their settings and weights become modules of kshell's own types.

May import checkpoint and the rooms below it.
"""
