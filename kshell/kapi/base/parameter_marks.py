"""The attributes by which kshell marks parameters. Snapshots keep them."""

from __future__ import annotations

FROZEN = "kshell_frozen"  # `adapt` froze it, and `unadapt` gives it gradients again
