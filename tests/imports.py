"""The imports of all modules, read from the source without running it, and their layers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

Graph = dict[str, set[str]]

# Add every new top-level package with its layer; `docs/map.py` reads this table.
LAYERS = {
    "app": 7,
    "pages": 7,
    "transformer.ui": 6,
    "transformer.classroom": 5,
    "transformer.cluster": 5,
    "transformer.jobs": 5,
    "transformer.analysis": 4,
    "transformer.training": 4,
    "transformer.inference": 3,
    "transformer.exchange": 3,
    "transformer.checkpoint": 2,
    "transformer.model": 1,
    "transformer.allocator": 0,
    "transformer.cancellation": 0,
    "transformer.config": 0,
    "transformer.device": 0,
    "transformer.app_folders": 0,
    "transformer.hook_axes": 0,
    "transformer.hook_names": 0,
    "transformer.hooks": 0,
    "transformer.languages": 0,
    "transformer.measures": 0,
    "transformer.run_config": 0,
    "transformer.text": 0,
    "transformer.figures": 0,
}

UI_LAYERS = (
    ("streamlit_fixes",),
    # URL parameters of pages, the list of pages, paths of the server, and visitor ids.
    (*("address", "model_description", "shell.registry", "shell.server_paths", "shell.visitor"),),
    ("state",),
    ("services",),
    ("shell",),
    ("widgets",),
    ("shell.page",),
)
"""The layers inside transformer/ui, lowest first; the folders of the pages are above all of them.
The `__init__.py` of a page declares the parameters of its URL and belongs to the second layer."""
UI = "transformer.ui."


def ui_layer(module: str, page_folders: Iterable[str] = ()) -> int:
    """Return the layer of a module inside transformer/ui."""
    name = module.removeprefix(UI)
    if name.removeprefix("pages.") in page_folders:
        return 1
    layers = {prefix: layer for layer, names in enumerate(UI_LAYERS) for prefix in names}
    parts = name.split(".")
    for length in (2, 1):  # the longest prefix decides
        if ".".join(parts[:length]) in layers:
            return layers[".".join(parts[:length])]
    return len(UI_LAYERS)


def sources(root: Path) -> dict[str, Path]:
    """Return the file of every module of the app: app.py, pages/ and transformer/."""
    files = [*root.glob("app.py"), *root.glob("pages/*.py"), *root.glob("transformer/**/*.py")]
    modules = {}
    for file in files:
        parts = file.relative_to(root).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return modules


def imported(module: str, file: Path, modules: Iterable[str]) -> set[str]:
    """Return what one file imports: modules of this app by their full name, other packages by the
    first part of their name.

    This includes imports inside functions and imports for type checkers only.
    """
    known_modules, imported_names = set(modules), set()
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parent = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*parent, *([node.module] if node.module else [])])
            # In `from package import name`, `name` may be a module or defined in the package.
            full_names = {alias.name: f"{base}.{alias.name}" for alias in node.names}
            names = [name if name in known_modules else base for name in full_names.values()]
        else:
            continue
        for name in names:
            is_internal = name.split(".")[0] in {"app", "pages", "transformer"}
            imported_names.add(name if is_internal else name.split(".")[0])
    return imported_names


def graph(root: Path) -> Graph:
    """Return every module of the app with its imports."""
    files = sources(root)
    return {module: imported(module, file, files) for module, file in files.items()}


def find_cycle(import_graph: Mapping[str, set[str]]) -> list[str]:
    """Return a cycle in `import_graph`, with the first node repeated at the end, or [] if there is
    none."""
    visited: set[str] = set()

    def search(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in visited:
            return []
        for successor in sorted(import_graph.get(node, ())):
            if cycle := search(successor, [*path, node]):
                return cycle
        visited.add(node)
        return []

    for start in sorted(import_graph):
        if cycle := search(start, []):
            return cycle
    return []


def reachable_modules(start: str, import_graph: Mapping[str, set[str]]) -> set[str]:
    """Return all modules that `start` imports, directly or through others."""
    reached: set[str] = set()
    pending = [start]
    while pending:
        for name in import_graph.get(pending.pop(), ()):
            if name not in reached:
                reached.add(name)
                pending.append(name)
    return reached
