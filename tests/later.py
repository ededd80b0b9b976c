"""Modules that load when a test first uses them: every worker of xdist collects every test."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any


class Later:
    """Stands for a module; warnings about itself while it loads are its own to mend."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks every name of a test file whether it is a fixture
            raise AttributeError(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(import_module(self._name), name)
