"""Parameter groups of torch's optimizers: dictionaries of settings, and of the parameters they apply to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def settings_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """All entries of a group except its parameters."""
    return {key: value for key, value in group.items() if key != "params"}
