"""Write docs/map.md: every package with the first sentence of its docstring."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAP = ROOT / "docs" / "map.md"
PACKAGE = ROOT / "transformer"
WIDTH = 28
HEAD = """# Package map

Each line is a package, or a module directly in `transformer/`, with the first sentence of its
docstring. `[tool.importlinter]` in `pyproject.toml` says which package may import which.
`python docs/map.py` writes this page.

```text
"""


def text() -> str:
    """Return the whole page."""
    lines = [
        line("app.py", ROOT / "app.py", 0),
        f"{'pages/':<{WIDTH}} One thin file per page",
        line("transformer/", PACKAGE / "__init__.py", 0),
        *entries(PACKAGE, 1),
    ]
    return HEAD + "\n".join(lines) + "\n```\n"


def entries(folder: Path, depth: int) -> Iterator[str]:
    """Yield the lines of the packages in `folder`, and at the top of its modules as well."""
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        if path.is_dir() and (path / "__init__.py").is_file():
            yield line(path.name + "/", path / "__init__.py", depth)
            yield from entries(path, depth + 1)
        elif depth == 1 and path.suffix == ".py" and not path.name.startswith("__"):
            yield line(path.name, path, depth)


def line(name: str, source: Path, depth: int) -> str:
    """Return the name and the description of a package or module."""
    return f"{'  ' * depth + name:<{WIDTH}} {first_sentence(source)}"


def first_sentence(source: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<!et al)(?<=[^.])\.(?:\s|$)", paragraph, maxsplit=1)[0]


if __name__ == "__main__":
    MAP.write_text(text(), encoding="utf-8")
