"""Hook of the documentation site: make links to files outside docs/ point to the repository.

In the repository these links are relative, so that they work in a checkout and on GitHub.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Return the page with absolute links to files that are not on the site; called by MkDocs."""
    return with_repository_links(markdown, page.file.src_uri, config["extra"]["repository"])


def with_repository_links(markdown: str, page: str, repository: str) -> str:
    """Replace relative links that leave docs/, or lead to a file or folder that the site leaves
    out.

    Args:
        page: its path below docs/.
        repository: the address of the repository, whose branch is main.
    """

    def absolute_link(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), match[1]))
        is_on_site = path.startswith("docs/") and path.endswith((".md", ".png"))
        if is_on_site and path != "docs/package.md":
            return match[0]
        return f"{repository.rstrip('/')}/blob/main/{path}{match[2] or ''}"

    return _LINK.sub(absolute_link, markdown)
