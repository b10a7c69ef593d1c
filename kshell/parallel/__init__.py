"""Several processes: launching them, their group, and collective operations.

Its modules import torch, so each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.parallel import (
        around,
        calculations,
        collect,
        console,
        group,
        launch,
        meet,
        shards,
    )
else:
    __getattr__ = lazy_package(__name__)
