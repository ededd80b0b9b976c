"""Chains stop after one batch here: how long they must go on is for tests/draws to say."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def enough(one_batch: None) -> None:
    """Let chains arrive, and stop; a test that needs fewer steps asks for `short_chains`."""
