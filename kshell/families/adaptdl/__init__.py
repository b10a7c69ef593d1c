"""AdaptDL's scaling rules: learning rates that follow the batch size.

Its modules import torch, so each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.families.adaptdl import rule_rows, rules
else:
    __getattr__ = lazy_package(__name__)
