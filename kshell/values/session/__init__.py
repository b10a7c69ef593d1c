"""The running session: its context, interrupts, memory, progress, and restrictions by `reval`. May import base."""
