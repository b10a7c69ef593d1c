"""The tests of kshell, in folders named as the rooms they test."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
