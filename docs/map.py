"""Write docs/map.md: every file of the house with the first sentence that it says of itself.

python docs/map.py            # writes it
python docs/map.py --check    # says whether it is what it would write
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.imports import FLOORS  # noqa: E402

MAP = ROOT / "docs" / "map.md"
SHOWN = ("app.py", "pages", "transformer", "benchmarks", "docs")
WIDTH = 28
HEAD = """# A map of the house

Imports point down the floors (the number beside a room) or stay on one, never up:
`tests/test_floors.py` holds it. `python docs/map.py` writes this page from what each file says of
itself in its first sentence.

```text
"""


def text() -> str:
    """The whole page."""
    lines = [line for name in SHOWN for line in entries(ROOT / name, 0)]
    return HEAD + "\n".join(lines) + "\n```\n"


def entries(path: Path, depth: int) -> Iterator[str]:
    """A file's line, or a folder's and those of all in it."""
    if path.is_dir():
        yield line(path.name + "/", floor(path), first_sentence(path / "__init__.py"), depth)
        inside = sorted(path.iterdir(), key=lambda one: (one.is_dir(), one.name))
        for one in inside:
            if not one.name.startswith((".", "__")):
                yield from entries(one, depth + 1)
    elif path.suffix in (".py", ".js"):
        yield line(path.name, floor(path), first_sentence(path), depth)


def line(name: str, floor: str, said: str, depth: int) -> str:
    """Names in one column, what is said of them in another."""
    return f"{'  ' * depth + name:<{WIDTH}} {floor:1} {said}".rstrip()


def floor(path: Path) -> str:
    """The floor of a room; nothing for what lies within one."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return str(FLOORS.get(name, ""))


def first_sentence(path: Path) -> str:
    """The first sentence of a docstring or of a script's first comment, without its full stop."""
    if not path.is_file():
        return ""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        said = ast.get_docstring(ast.parse(source)) or ""
    else:
        comment = re.match(r"(?://.*\n)+", source)
        said = re.sub(r"^// ?", "", comment.group(), flags=re.M) if comment else ""
    paragraph = " ".join(said.split("\n\n")[0].split())
    return re.split(r"(?<!et al)(?<=[^.])\.(?:\s|$)", paragraph, maxsplit=1)[0]


def main() -> None:
    made = text()
    if "--check" not in sys.argv[1:]:
        MAP.write_text(made, encoding="utf-8")
    elif made != MAP.read_text(encoding="utf-8"):
        sys.exit("docs/map.md is not what the files say of themselves: run python docs/map.py")


if __name__ == "__main__":
    main()
