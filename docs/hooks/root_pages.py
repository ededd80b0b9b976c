"""Pages that are files of the repository's root: the README is the first page of the site.

One source: links are turned from the root's folder to that of the pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
COPIES = ("CITATION.cff", "LICENSE")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the root's pages, and the files that they link to."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=from_docs(text)))
    for name in COPIES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"{name}.txt", content=text))
    for script in sorted((ROOT / "examples").glob("*.py")):
        text = script.read_text(encoding="utf-8")
        files.append(File.generated(config, f"examples/{script.name}.txt", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn the tutorials' links to scripts of the repository into links to their copies."""
    return re.sub(r"\]\(\.\./\.\./examples/(\w+\.py)\)", r"](../examples/\1.txt)", markdown)


def from_docs(text: str) -> str:
    """Turn links of the root's folder into links of the folder `docs`."""
    text = text.replace("](docs/", "](").replace('src="docs/', 'src="').replace('="docs/', '="')
    for source, page in PAGES.items():
        text = text.replace(f"]({source}", f"]({page}")
    for name in COPIES:
        text = text.replace(f"]({name})", f"]({name}.txt)")
    return re.sub(r"\]\(examples/(\w+\.py)\)", r"](examples/\1.txt)", text)
