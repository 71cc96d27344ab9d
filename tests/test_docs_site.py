"""The documentation as a site: every page is in it, and its links, anchors and API names exist."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
PAGES = sorted(DOCS.glob("*.md"))
with_repository_links = runpy.run_path(str(DOCS / "site_links.py"))["with_repository_links"]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as MkDocs and GitHub generate them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = CONFIG.split("\nnav:\n")[1]
    listed = re.findall(r": (\S+\.md)$", navigation, flags=re.M)
    assert sorted(listed) == [page.name for page in PAGES if page.name != "package.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    for target, anchor in links:
        path = page.parent / target if target else page
        assert anchor in anchors(path), f"{target}#{anchor}"


def test_every_name_of_the_api_page_exists_and_is_documented() -> None:
    names = re.findall(r"^::: (\S+)$", (DOCS / "api.md").read_text(encoding="utf-8"), flags=re.M)
    assert len(names) == len({*names}) >= 25
    for name in names:
        module, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(module), attribute)
        assert value.__doc__, name


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[a](python.md#activation-patching)", "[a](python.md#activation-patching)"),
        ("![a](home.png)", "![a](home.png)"),
        ("[a](../SECURITY.md#x)", "[a](https://host/r/blob/main/SECURITY.md#x)"),
        ("[a](pages-workflow.yml)", "[a](https://host/r/blob/main/docs/pages-workflow.yml)"),
        ("[a](https://elsewhere/x.py)", "[a](https://elsewhere/x.py)"),
        ("[a](#here)", "[a](#here)"),
    ],
)
def test_links_out_of_docs_point_to_the_repository(link: str, expected: str) -> None:
    assert with_repository_links(link, "page.md", "https://host/r/") == expected


def test_pages_load_nothing_from_another_host() -> None:
    assert re.search(r"^  font: false", CONFIG, flags=re.M)
    assert not re.search(r"^repo_url:", CONFIG, flags=re.M)
    assert not re.search(r"^extra_(css|javascript):", CONFIG, flags=re.M)
