"""The session that is running: its context, interrupts, memory, progress, and what `reval` forbids. May import base."""
