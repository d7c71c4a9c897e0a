"""Fixtures that several test files share."""

from __future__ import annotations

import pytest

from tests.tables import EngineTable, Table, TwinTable


@pytest.fixture(params=["engine", "twin"])
def table(request: pytest.FixtureRequest) -> type[Table]:
    """The implementation under test: every rule must hold in the engine and in its slow twin."""
    tables: dict[str, type[Table]] = {"engine": EngineTable, "twin": TwinTable}
    return tables[request.param]
