"""The browser's scripts: joining modules, pages, and their logic in Deno."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest

from tests.figures.deno import SCRIPTS, deno
from transformer.figures import module, style
from transformer.figures.live_page import live_script, worker_scripts
from transformer.figures.modules import CLIENT, join_modules
from transformer.figures.state import KINDS
from transformer.figures.views import COMPONENTS, EXPLORER, TABS, view_page
from transformer.ui.services.view_scripts import training_files

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
VIEW_FOLDERS = sorted(
    {
        "common",
        "app/try",
        *COMPONENTS.values(),
        *(path.rpartition("/")[0] for path in EXPLORER.values()),
    }
)
"""Folders of `CLIENT` whose scripts are joined."""
ASKING = {"try", "lesson", "classroom"}
"""Views that ask the server."""
HOSTILE = "</script><script>alert(1)</script><b>&\"'"
# Names, not addresses that anyone asks.
NAMESPACES = r'"http://www\.w3\.org/(2000/svg|1998/Math/MathML)"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_modules_are_joined_once_dependencies_first(folder: Path) -> None:
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


def test_styles_are_joined_dependencies_first(folder: Path) -> None:
    style = join_modules(ENTRY, folder).style
    assert [line for line in style.splitlines() if line] == [
        ".a { color: red; }",
        ".b { color: green; }",
        ".c { color: blue; }",
    ]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "base.js",
            'import { left } from "./left.js";\n',
            "Circular import: left.js → base.js → left.js.",
        ),
        ("left.js", 'import { four } from "./base.js";\n', "four from base.js, which exports one"),
        ("left.js", 'import { x } from "./gone.js";\n', "left.js imports from gone.js, which is"),
        (
            "left.js",
            "export const left = 1;\nconst two = 2;\n",
            "left.js and base.js both define",
        ),
        ("left.js", "const [two] = [2];\nexport const left = two;\n", "both define two"),
        ("left.js", 'import * as all from "./base.js";\n', "write it as import { a, b }"),
        ("left.js", 'import { one as o } from "./base.js";\n', "write it as import"),
        ("left.js", "export { left };\n", "write it as import"),
        ("left.js", "export const left = 1;\nexport default left;\n", "write it as"),
        ("left.js", "const left = 1;\n", "left from left.js, which exports nothing"),
        ("wide.css", '@import "right.css";\n', "Circular import: right.css → wide.css → right.css"),
        ("wide.css", '@import "gone.css";\n', "wide.css imports gone.css, which is not in"),
    ],
)
def test_unsupported_modules_are_refused(folder: Path, file: str, text: str, message: str) -> None:
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as error:  # noqa: PT011
        join_modules(ENTRY, folder)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("view", sorted({*COMPONENTS} - ASKING))
def test_scripts_load_nothing_and_parse_no_html(view: str) -> None:
    code = re.sub(r"(^|\s)//.*", "", re.sub(NAMESPACES, "", module(view))) + style(view)
    assert not re.search(r"https?:|@import|\burl\((?!#)|\bfetch\(|XMLHttpRequest|\bimport\b", code)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", code)
    assert "</script" not in code


def test_every_script_and_style_of_the_views_is_used() -> None:
    views = {view: folder for view, folder in COMPONENTS.items() if view != "try"}
    uses = [
        *((f"{folder}/{view}", f"{view}View") for view, folder in views.items()),
        ("common/file", "openFile"),
        ("common/view-loader", "servedView"),
        ("app/try/component", "tryComponent"),
        ("app/try/notebook", "tryWidget"),
        ("views/explorer/explorer-file", "openExplorer"),
        ("views/explorer/explorer-widget", "explorerWidget"),
    ]
    entries = [f'import {{ {name} }} from "./{file}.js";\n' for file, name in uses]
    joined = [live_script(), *(join_modules(entry) for entry in [f"{TABS}\n", *entries])]
    scripts = {path for folder in VIEW_FOLDERS for path in CLIENT.glob(f"{folder}/*.js")}
    used = {file for modules in joined for file in modules.files}
    assert {path.relative_to(CLIENT).as_posix() for path in scripts} <= used
    sheets = [path for folder in VIEW_FOLDERS for path in CLIENT.glob(f"{folder}/*.css")]
    ends = ["\n".join(path.read_text(encoding="utf-8").splitlines()[-3:]) for path in sheets]
    styles = "".join(modules.style for modules in joined)
    assert [end for end in ends if end not in styles] == []


def test_a_translation_in_a_page_stays_text() -> None:
    html = view_page("headgrid", {"title": HOSTILE}, HOSTILE)
    assert len(re.findall(r"</?script", html)) == 4  # its data, and what shows them
    assert "<b>" not in html


def test_kinds_of_attention_have_the_same_labels_in_python() -> None:
    text = (CLIENT / "common/head-codes.js").read_text(encoding="utf-8")
    labels = ", ".join(f'{kind}: "{label}"' for kind, label in KINDS.items())
    assert f"KINDS = {{ {labels} }};" in text


def test_javascript_tests_pass() -> None:
    assert " passed" in deno("test", "--quiet", "--no-check", "--allow-read", str(SCRIPTS))


def test_modules_that_a_browser_loads_come_with_those_that_they_import() -> None:
    training = {path: content.decode() for path, content in training_files().items()}
    pages = [path for path in training if path.endswith(".js")]
    for scripts, waiting in ((worker_scripts(), ["engine/worker.js"]), (training, pages)):
        checked: set[str] = set()
        while waiting:
            path = waiting.pop()
            assert path in scripts, f"{path} is missing"
            checked.add(path)
            imports = re.findall(r'^import [^"]*"(\.[^"]+)";', scripts[path], re.M)
            paths = {posixpath.normpath(f"{posixpath.dirname(path)}/{name}") for name in imports}
            waiting += paths - checked
        assert "model/kernels.js" in checked
