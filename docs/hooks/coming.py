"""Pages that are being written: they are in the navigation as soon as they are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig

COMING = ("priors.md", "report.md", "page.md", "verification.md")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave out of the navigation those that are not there yet."""
    absent = {page for page in COMING if not (Path(config.docs_dir) / page).exists()}
    config.nav = _without(config.nav, absent)
    return config


def _without(nav: Any, absent: set[str]) -> Any:
    kept = []
    for entry in nav:
        (name, value), *_ = entry.items()
        if isinstance(value, list):
            kept.append({name: _without(value, absent)})
        elif value not in absent:
            kept.append(entry)
    return kept
