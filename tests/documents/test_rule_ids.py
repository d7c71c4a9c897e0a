"""Every rule is checked by a test that names it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support.places import ROOT, TESTS

PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
RULES = re.findall(r"^\(rule-([A-Z]\d+)\)=$", PAGE, flags=re.MULTILINE)
NUMBER_OF_RULES = {"C": 8, "S": 2, "L": 12, "B": 7, "N": 5, "D": 4}


def named_rules() -> Iterator[tuple[str, str]]:
    """Each rule id with which the docstring of a test begins, and where."""
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                ids = re.match(r"((?:[CSLBND]\d+(?:, )?)+):", ast.get_docstring(node) or "")
                for rule in ids.group(1).split(", ") if ids else ():
                    yield rule, f"{path.name}::{node.name}"


def test_the_page_has_every_rule_once_and_in_order() -> None:
    """No rule can vanish from the page, and with it from the tests below."""
    assert [f"{chapter}{k}" for chapter, last in NUMBER_OF_RULES.items() for k in range(1, last + 1)] == RULES
    assert re.findall(r"^\*\*([A-Z]\d+)\. .*?\*\*", PAGE, flags=re.MULTILINE) == RULES
    for rule in RULES:
        assert f"(rule-{rule})=\n**{rule}. " in PAGE


def test_every_rule_is_named_by_a_test() -> None:
    """No rule is left without a test."""
    assert set(RULES) - {rule for rule, _ in named_rules()} == set()


def test_no_test_names_a_rule_that_is_none() -> None:
    """No test names a rule that does not exist."""
    assert [(rule, where) for rule, where in named_rules() if rule not in RULES] == []
