"""Servers for the engine tests, and other people's warnings kept apart from ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.read.servers import Servers

# Warnings are errors, but those of the engines about themselves are theirs to mend.
THEIRS = ("pyspark", "py4j", "dask", "distributed", "ibis", "pandas", "psycopg", "sqlglot")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for module in THEIRS:
                item.add_marker(pytest.mark.filterwarnings(f"ignore:::{module}"))


@pytest.fixture(autouse=True)
def any_draws(short_chains: None) -> None:
    """These tests are about what is read, and how much of it."""


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    running = Servers()
    yield running
    running.stop()
