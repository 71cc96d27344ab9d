"""Benchmarks find elements of a page by their text, which must exist in the app."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))
TEXT_ARGUMENTS = {
    "get_by_text": 0,
    "get_by_label": 0,
    "click": 0,
    "fill": 0,
    "slide": 0,
    "open_expander": 1,
}
"""Functions that find an element by its text, and the index of this argument."""


def searched_texts(source: str) -> Iterator[str]:
    """Yield the literal texts by which a benchmark finds elements."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        arguments = [keyword.value for keyword in node.keywords if keyword.arg == "name"]
        if name in TEXT_ARGUMENTS:
            arguments = node.args[TEXT_ARGUMENTS[name] : TEXT_ARGUMENTS[name] + 1]
        elif name != "get_by_role":
            continue
        for argument in arguments:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value


@pytest.fixture(scope="module")
def app_source() -> str:
    files = [ROOT / "app.py", *ROOT.glob("pages/*.py")]
    files += [*ROOT.glob("transformer/**/*.py"), *ROOT.glob("transformer/**/*.js")]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_searched_texts_exist_in_the_app(file: Path, app_source: str) -> None:
    texts = {*searched_texts(file.read_text(encoding="utf-8"))}
    assert {text for text in texts if text not in app_source} == set()


def test_texts_are_found_in_calls() -> None:
    source = (
        'page.get_by_role("button", name="Train").click()\n'
        'open_expander(page, "For teachers")\nf("x")'
    )
    assert {*searched_texts(source)} == {"Train", "For teachers"}


def test_messages_that_benchmarks_read_exist_in_the_app(app_source: str) -> None:
    from benchmarks.visitors import RUN_STATUS

    messages = [*RUN_STATUS.split("|"), "seconds of CPU time, the limit for a page"]
    assert [message for message in messages if message not in app_source] == []
