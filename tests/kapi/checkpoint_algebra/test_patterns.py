"""Patterns: what Python's re matches, in a time that hostile ones cannot extend."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.kapi.checkpoint_algebra.patterns import is_like, is_suffix, matches

PATTERNS = ["a", "abc", "a.c", "a*", "a+b?", "(ab|c)*d", "[a-c]+", "[^a-c]+", r"\d+", r"\w+\.\w+", r"layers\.(0|1)\.q_proj", "^a$", "a{2,3}",
            "a{2}", "a{,2}", "a{2,}", "(a|b){2}c", ".*", "(?:a|ab)(?:c|bcd)", "a|", "", "(a*)*b", "x{a}", "[]a]+", "[a-]+", r"a\.b", "a+?b", r"\D\S",
            "(^a|b)c", "a$|b"]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(st.text("abcd.01-]{}x_ ", max_size=8))
def test_names_match_as_in_python(pattern: str, name: str) -> None:
    assert matches(pattern, name) == (re.fullmatch(pattern, name) is not None)


TREE = st.recursive(st.sampled_from([*list("ab."), "[ab]", "[^a]", r"\w"]),
                    lambda inner: st.one_of(st.tuples(inner, inner).map("".join), st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
                                            st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}"])).map(lambda p: f"(?:{p[0]}){p[1]}")), max_leaves=6)


@given(TREE, st.text("ab", max_size=6))
def test_any_pattern_matches_as_in_python(pattern: str, name: str) -> None:
    assert matches(pattern, name) == (re.fullmatch(pattern, name) is not None)


@given(st.sampled_from(["q_proj", "a.q_proj", "layers.1", r"layers\.\d+", "q_proj|k_proj", ".*proj", "(q|k)_proj"]),
       st.lists(st.sampled_from(["a", "layers", "1", "12", "q_proj", "k_proj", "xq_proj"]), min_size=1, max_size=4))
def test_keys_of_adapters_match_as_in_peft(key: str, parts: list[str]) -> None:
    name = ".".join(parts)
    want = re.match(rf"(.*\.)?({key})$", name) is not None
    assert is_suffix(key, name) == want


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(.*.*)*x", "(a*)*" * 20 + "b", "(?:.*a){20}b"])
def test_hostile_patterns_take_no_time(pattern: str) -> None:
    start = time.monotonic()
    assert not matches(pattern, "a" * 200)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(("pattern", "why"), [("(a", "not complete"), ("a)", "without"), ("*a", "repeats nothing"), ("[a", "not complete"),
                                             ("(?=a)", "not known"), (r"(a)\1", "not known"), ("a{9999}" * 3, "too large"), ("(" * 99, "too deep"),
                                             ("((a{99}){99}){99}", "too large"), ("a" * 2000, "too long"), ("[b-a]", "range"), ("\\", "not complete")])
def test_patterns_that_are_refused(pattern: str, why: str) -> None:
    with pytest.raises(QError, match=why):
        matches(pattern, "a")


def test_like_of_q() -> None:
    for pattern, name, want in (("*.weight", "a.weight", True), ("*.weight", "aXweight", False), ("a?c", "abc", True), ("[ab]*", "bcd", True),
                                ("[^ab]*", "bcd", False), ("a.b", "a.b", True), ("a(b", "a(b", True), ("", "", True), ("*", "", True),
                                ("[0-9]", "5", True), ("a\\b", "a\\b", True)):
        assert is_like(pattern, name) == want, (pattern, name)
