"""Every verb has rows in tests/cases: enough of them, and enough that end in an error."""

from __future__ import annotations

from collections import Counter

import pytest

from kshell import registry
from kshell.parse.lex import scan
from kshell.session import Session
from tests import ROOT
from tests.support.runner import Case, cases

Session()  # registers the verbs
ROWS, ERRORS = 8, 2  # a verb; a quarter of the rows that it must have are errors
CASES = [case for path in sorted((ROOT / "tests" / "cases").glob("*.q")) for case in cases(path)]
VERBS = {e.name: e for e in registry.entries("verb") if e.file.find("kshell_plugin") < 0}


def uses(case: Case) -> set[str]:
    """The verbs that a row names, as the lexer tells words and operators from what is inside a string."""
    return {token.text for token in scan("\n" + case.text)} & set(VERBS)


def test_a_verb_has_rows_and_errors() -> None:
    rows, errors = Counter[str](), Counter[str]()
    for case in CASES:
        for name in uses(case):
            rows[name] += 1
            errors[name] += case.expected.startswith("'")
    few = [name for name in VERBS if name != ":" and (rows[name] < ROWS or errors[name] < ERRORS)]
    assert len(VERBS) > 200 and not few, [f"{name}: {rows[name]} rows, {errors[name]} errors" for name in few]
