"""Every class name of the package is defined once."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from tests import imports

ROOT = Path(__file__).resolve().parents[1]


def classes(root: Path) -> dict[str, list[str]]:
    """Return the modules that define each class name of the package."""
    modules_by_class = defaultdict(list)
    for module, file in imports.sources(root).items():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                modules_by_class[node.name].append(module)
    return modules_by_class


def test_no_two_classes_share_a_name() -> None:
    modules_by_class = classes(ROOT)
    assert len(modules_by_class) > 100
    assert {name: modules for name, modules in modules_by_class.items() if len(modules) > 1} == {}


def test_a_name_defined_twice_is_found(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / "transformer").mkdir(exist_ok=True)
        (tmp_path / "transformer" / name).write_text("class Batch: ...")
    assert classes(tmp_path) == {"Batch": ["transformer.a", "transformer.b"]}
