"""Every rule is checked by a test that names it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

HOW_MANY = {"C": 8, "S": 2, "L": 12, "B": 7, "N": 5, "D": 4}
RULES = {f"{chapter}{number}" for chapter, last in HOW_MANY.items() for number in range(1, last + 1)}


def named_rules() -> Iterator[tuple[str, str]]:
    """Each rule id with which the docstring of a test begins, and where."""
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                ids = re.match(r"((?:[CSLBND]\d+(?:, )?)+):", ast.get_docstring(node) or "")
                for rule in ids.group(1).split(", ") if ids else ():
                    yield rule, f"{path.name}::{node.name}"


def test_every_rule_is_named_by_a_test() -> None:
    """No rule is left without a test."""
    assert RULES - {rule for rule, _ in named_rules()} == set()


def test_no_test_names_a_rule_that_is_none() -> None:
    """No test names a rule that does not exist."""
    assert [(rule, where) for rule, where in named_rules() if rule not in RULES] == []
