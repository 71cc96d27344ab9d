"""Write docs/map.md: every package with the first sentence of its docstring.

python docs/map.py            # writes it
python docs/map.py --check    # fails if the file is out of date
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.imports import LAYERS  # noqa: E402

MAP = ROOT / "docs" / "map.md"
PACKAGE = ROOT / "transformer"
WIDTH = 28
HEAD = """# Package map

Each line is a package, or a module directly in `transformer/`, with its import layer and the first
sentence of its docstring. A module imports only from its own layer or a lower one, which
`tests/test_import_layers.py` checks. `python docs/map.py` writes this page.

```text
"""


def text() -> str:
    """Return the whole page."""
    lines = [
        line("app.py", ROOT / "app.py", ROOT / "app.py", 0),
        line("pages/", ROOT / "pages", None, 0),
        line("transformer/", PACKAGE, PACKAGE / "__init__.py", 0),
        *entries(PACKAGE, 1),
    ]
    return HEAD + "\n".join(lines) + "\n```\n"


def entries(folder: Path, depth: int) -> Iterator[str]:
    """Yield the lines of the packages in `folder`, and at the top of its modules as well."""
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        if path.is_dir() and (path / "__init__.py").is_file():
            yield line(path.name + "/", path, path / "__init__.py", depth)
            yield from entries(path, depth + 1)
        elif depth == 1 and path.suffix == ".py" and not path.name.startswith("__"):
            yield line(path.name, path, path, depth)


def line(name: str, path: Path, source: Path | None, depth: int) -> str:
    """Return the name, the import layer (top-level packages only) and the description."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    description = first_sentence(source) if source else "One thin file per page"
    layer = LAYERS.get(module, 7 if name == "pages/" else "")
    return f"{'  ' * depth + name:<{WIDTH}} {layer!s:1} {description}".rstrip()


def first_sentence(path: Path) -> str:
    """Return the first sentence of a docstring, or of a script's first comment."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(source)) or ""
    else:
        comment = re.match(r"(?://.*\n)+", source)
        text = re.sub(r"^// ?", "", comment.group(), flags=re.M) if comment else ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<!et al)(?<=[^.])\.(?:\s|$)", paragraph, maxsplit=1)[0]


def main() -> None:
    page = text()
    if "--check" not in sys.argv[1:]:
        MAP.write_text(page, encoding="utf-8")
    elif page != MAP.read_text(encoding="utf-8"):
        sys.exit("docs/map.md is out of date: run python docs/map.py")


if __name__ == "__main__":
    main()
