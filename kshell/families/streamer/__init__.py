"""STREAMER's optimizer: layers that learn at different paces.

Its modules import torch, so each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.families.streamer import optimizer
else:
    __getattr__ = lazy_package(__name__)
