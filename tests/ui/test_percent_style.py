"""Percentages in displayed texts: no space before the sign, as in "12%"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("analysis", "figures", "measures", "text", "ui")
SPACED = re.compile(r"\d[ \u00a0\u2009\u202f]%(?![{\w])(?! \d)")


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield all strings of a module, with "0" for each inserted value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values
            )


def test_python_texts() -> None:
    spaced = [
        f"{file.relative_to(ROOT)}: {match[0]} in {text[:60]}"
        for package in PACKAGES
        for file in (ROOT / "transformer" / package).rglob("*.py")
        for text in texts(ast.parse(file.read_text(encoding="utf-8")))
        if (match := SPACED.search(text))
    ]
    assert not spaced


def test_browser_texts() -> None:
    scripts = list((ROOT / "transformer" / "figures" / "browser").rglob("*.js"))
    assert scripts
    spaced = [
        f"{file.name}: {match[0]}"
        for file in scripts
        for match in re.finditer(r"[\d}] %(?=[`\"' .,;:)])(?! \w)", file.read_text("utf-8"))
    ]
    assert not spaced


def test_the_pattern_finds_spaced_percentages() -> None:
    for space in (" ", "\u00a0", "\u202f"):
        assert SPACED.search(f"95{space}% interval")
        assert SPACED.search(f"12.5{space}%")
    assert not SPACED.search("12%")
    assert not SPACED.search("7 % 3")
