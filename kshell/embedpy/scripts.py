"""Files of Python code, `\\l f.p`."""

from __future__ import annotations

import ast
import os
import re

from kshell.embedpy import code
from kshell.embedpy.applying import guarded
from kshell.lang.session.loading import PYTHON_FILE
from kshell.values.base.build import string
from kshell.values.base.core import Value
from kshell.values.engine.apply import apply1

_PREFIX = re.compile(r"^p\)", re.MULTILINE)  # some programs have it before each line of such a file


@PYTHON_FILE.set
def run(path: str, handler: Value | None = None) -> None:
    """Run a file in `__main__`, all of it or, if it is no Python, nothing. A program's own `.p.e` gets its statements
    one by one."""
    with open(path, "rb") as f:
        content = f.read()
    text = guarded("e", lambda: _PREFIX.sub("", content.decode("utf-8")))
    if handler is None:
        guarded("e", code.execute, text, os.path.abspath(path), 1)
        return
    for statement in guarded("e", ast.parse, text).body:
        apply1(handler, string(ast.get_source_segment(text, statement) or ""))
