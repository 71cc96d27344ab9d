"""Private names of Streamlit, Starlette, uvicorn and asyncio that the app uses.

    python -m tests.private_names [FOLDER]

prints them for every file; it reads the source without running it. Private are modules that their
package does not document (`streamlit.runtime`, …) and names with a leading underscore that a file
imports, passes to `getattr` or `setattr`, or, in `transformer/ui`, reads from another object.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("streamlit", "starlette", "uvicorn", "uvloop", "asyncio")
PRIVATE_MODULES = tuple(
    f"streamlit.{name}" for name in ("runtime", "web", "proto", "cli_util", "net_util", "file_util")
)
ROOT = Path(__file__).resolve().parents[1]


def private_names(source: str, *, attributes: bool = True) -> set[str]:
    """Return the private names in a source; `attributes` includes attributes of other objects."""
    tree = ast.parse(source)
    names = {name for node in ast.walk(tree) for name in _imported_names(node) if _is_private(name)}
    if attributes:
        own_names = set(_defined_names(tree))
        names |= {name for node in ast.walk(tree) for name in _private_attributes(node, own_names)}
    return names


def _imported_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)


def _private_attributes(node: ast.AST, own_names: set[str]) -> Iterator[str]:
    """Yield the attribute with a leading underscore that the node reads or sets, unless it is in
    `own_names`, because a file may use its own private attributes."""
    if isinstance(node, ast.Attribute):
        if _has_underscore(node.attr) and node.attr not in own_names:
            yield ast.unparse(node)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr"):
        name = str(node.args[1].value) if isinstance(node.args[1], ast.Constant) else ""
        if _has_underscore(name):
            yield f"{ast.unparse(node.args[0])}.{name}"


def _is_private(name: str) -> bool:
    """Return whether a module or a name in it is private to one of `PACKAGES`."""
    parts = name.split(".")
    in_private_module = any(name == m or name.startswith(f"{m}.") for m in PRIVATE_MODULES)
    return in_private_module or (parts[0] in PACKAGES and any(map(_has_underscore, parts)))


def _has_underscore(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _defined_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that the file itself gives to functions, classes, fields and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls"):
            yield node.attr


def private_names_by_file(root: Path) -> dict[Path, set[str]]:
    """Return the private names of every file of the app under `root` that has any."""
    files = [*root.glob("app.py"), *root.glob("pages/*.py"), *root.glob("transformer/**/*.py")]
    names = {}
    for file in sorted(files):
        in_ui = not file.is_relative_to(root / "transformer") or "ui" in file.parts
        names[file] = private_names(file.read_text("utf-8"), attributes=in_ui)
    return {file: private for file, private in names.items() if private}


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    files = private_names_by_file(root)
    for file, names in files.items():
        print(f"{file.relative_to(root)}: {', '.join(sorted(names))}")
    print(f"{sum(map(len, files.values()))} private names in {len(files)} files")


if __name__ == "__main__":
    main()
