"""The views are self-contained, and no text from outside becomes part of a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from transformer.figures import module, modules, style, translation_data, translation_page
from transformer.figures.modules import join_modules
from transformer.figures.views import COMPONENTS, EXPLORER, TABS, page

HOSTILE = "</script><script>alert(1)</script><b>&\"'"
# Names, not addresses that anyone asks.
NAMESPACES = r'"http://www\.w3\.org/(2000/svg|1998/Math/MathML)"'


@pytest.mark.parametrize("view", COMPONENTS)
def test_nothing_is_fetched_and_nothing_is_parsed_as_html(view: str) -> None:
    code = re.sub(r"(^|\s)//.*", "", re.sub(NAMESPACES, "", module(view))) + style(view)
    assert not re.search(r"https?:|@import|\burl\((?!#)|\bfetch\(|XMLHttpRequest|\bimport\b", code)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", code)
    assert "</script" not in code


@pytest.mark.parametrize("view", COMPONENTS)
def test_the_component_is_a_module_with_one_default_export(view: str) -> None:
    made = "mountExplorer(TABS)" if view == "explorer" else f"mounted({view}View)"
    assert re.findall(r"^export .*", module(view), flags=re.M) == [f"export default {made};"]
    assert f"function {view}View(" in module(view)


@pytest.mark.parametrize("view", COMPONENTS)
def test_no_text_goes_over_a_line(view: str) -> None:
    """Whole lines that are comments are left out: none of them may be the middle of a text."""
    for line in module(view).splitlines():
        assert line.count("`") % 2 == 0, line


def test_every_view_of_the_explorer_has_its_tab() -> None:
    joined = join_modules(TABS)
    assert {f"{script}.js" for script in EXPLORER.values()} <= set(joined.files)
    tabs = re.findall(r"^const (\w+)Tab = \{ label: ", joined.script, flags=re.M)
    assert tabs == list(EXPLORER.values())


def test_no_script_and_no_style_lies_about_unused() -> None:
    uses = [(view, f"{view}View") for view in COMPONENTS]
    uses += [("file", "openFile"), ("served", "servedView")]
    names = [f'import {{ {name} }} from "./{file}.js";' for file, name in uses]
    entry = [TABS, 'import { mountExplorer } from "./explorer-use.js";', *names]
    joined = join_modules("\n".join(entry) + "\n")
    folder = Path(modules.__file__).parent / "browser"
    assert {*joined.files} == {path.name for path in folder.glob("*.js")}
    styles = [path.read_text(encoding="utf-8").splitlines()[-1] for path in folder.glob("*.css")]
    assert [line for line in styles if line not in joined.style] == []


def test_a_title_stays_text() -> None:
    written = page("", title=HOSTILE)
    assert "alert(1)" not in written.replace("alert(1)&lt;/script", "")
    assert len(re.findall(r"</script>", written)) == 1


def test_a_translation_in_a_page_stays_text() -> None:
    written = translation_page(translation_data(HOSTILE, [HOSTILE], [HOSTILE]), HOSTILE)
    assert len(re.findall(r"</?script", written)) == 4  # its data, and what shows them
    assert "<b>" not in written
