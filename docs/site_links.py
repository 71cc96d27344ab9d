"""Hook of the documentation site: links to files outside docs/ lead to the repository.

In the repository those links are relative, so that they work on a disk and on a forge as well.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Return the page with absolute links to what is not on the site; MkDocs calls this."""
    return with_repository_links(markdown, page.file.src_uri, config["extra"]["repository"])


def with_repository_links(markdown: str, page: str, repository: str) -> str:
    """Replace relative links that leave docs/, or lead to a file or folder that the site leaves
    out.

    Args:
        page: its path below docs/.
        repository: the address of the repository, whose branch is main.
    """

    def replaced(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), match[1]))
        shown = target.startswith("docs/") and target.endswith((".md", ".png"))
        if shown and target != "docs/package.md":
            return match[0]
        return f"{repository.rstrip('/')}/blob/main/{target}{match[2] or ''}"

    return _LINK.sub(replaced, markdown)
