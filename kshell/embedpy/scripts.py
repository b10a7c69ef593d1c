"""Files of Python code, `\\l f.p`."""

from __future__ import annotations

import ast
import os
import re

from kshell.embedpy import definitions
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
        definitions.execute(text, os.path.abspath(path), 1)
        return
    for statement in guarded("e", ast.parse, definitions.parted(text)[0]).body:
        apply1(handler, string(_source(text, statement)))


def _source(text: str, statement: ast.stmt) -> str:
    """The text of a statement, with its decorators."""
    decorators = getattr(statement, "decorator_list", ())
    first = min((d.lineno for d in decorators), default=statement.lineno)
    above = text.splitlines(keepends=True)[first - 1 : statement.lineno - 1]
    return "".join(above) + (ast.get_source_segment(text, statement) or "")
