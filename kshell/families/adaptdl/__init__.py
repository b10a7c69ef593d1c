"""AdaptDL's scaling rules: rates that follow the size of the batch.

Its modules import torch, so each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.families.adaptdl import rule_rows, rules
else:
    __getattr__ = lazy_package(__name__)
