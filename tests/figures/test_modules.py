"""Modules become one script, in the order of their imports; what cannot be joined is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer.figures.modules import join_modules

FILES = {
    "base.js": """// What all share.

export const one = 1;
const two = one + 1;
export function three() {
  // a sum
  return one + two; // stays
}
""",
    "left.js": 'import { one } from "./base.js";\n\nexport const left = one * 10;\n',
    "right.js": """import {
  one,
  three,
} from "./base.js";

/**
 * Types.
 * @type {number}
 */
export const right = three() + one;
""",
    "base.css": ".a { color: red; }\n",
    "right.css": '@import "wide.css";\n\n.c { color: blue; }\n',
    "wide.css": ".b { color: green; }\n",
}
ENTRY = """import { left } from "./left.js";
import { right } from "./right.js";
export default left + right;"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_each_module_stands_once_after_those_that_it_imports(folder: Path) -> None:
    joined = join_modules(ENTRY, folder)
    assert joined.files == ("base.js", "left.js", "right.js")
    assert (
        joined.script
        == """const one = 1;
const two = one + 1;
function three() {
  return one + two; // stays
}
const left = one * 10;
const right = three() + one;
export default left + right;
"""
    )


def test_a_style_comes_with_its_script_after_those_that_it_builds_on(folder: Path) -> None:
    style = join_modules(ENTRY, folder).style
    assert [line for line in style.splitlines() if line] == [
        ".a { color: red; }",
        ".b { color: green; }",
        ".c { color: blue; }",
    ]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("base.js", 'import { left } from "./left.js";\n', "circle: left.js → base.js → left.js."),
        ("left.js", 'import { four } from "./base.js";\n', "four from base.js, which exports one"),
        ("left.js", 'import { x } from "./gone.js";\n', "left.js imports from gone.js, which is"),
        (
            "left.js",
            "export const left = 1;\nconst two = 2;\n",
            "left.js and base.js both define",
        ),
        ("left.js", "const [two] = [2];\nexport const left = two;\n", "both define two"),
        ("left.js", 'import * as all from "./base.js";\n', "must be written as import { a, b }"),
        ("left.js", 'import { one as o } from "./base.js";\n', "must be written as import"),
        ("left.js", "export { left };\n", "must be written as import"),
        ("left.js", "export const left = 1;\nexport default left;\n", "must be written as"),
        ("left.js", "const left = 1;\n", "left from left.js, which exports nothing"),
        ("wide.css", '@import "right.css";\n', "circle: right.css → wide.css → right.css"),
        ("wide.css", '@import "gone.css";\n', "wide.css imports gone.css, which is not in"),
    ],
)
def test_what_cannot_be_joined_is_told(folder: Path, file: str, text: str, said: str) -> None:
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as error:  # noqa: PT011
        join_modules(ENTRY, folder)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
