"""The views are self-contained, and no text from outside becomes part of a page."""

from __future__ import annotations

import re

import pytest

from transformer.figures import module, style, translation_data, translation_page
from transformer.figures.views import COMPONENTS, EXPLORER, page, script

HOSTILE = "</script><script>alert(1)</script><b>&\"'"
# Names, not addresses that anyone asks.
NAMESPACES = r'"http://www\.w3\.org/(2000/svg|1998/Math/MathML)"'


@pytest.mark.parametrize("view", COMPONENTS)
def test_nothing_is_fetched_and_nothing_is_parsed_as_html(view: str) -> None:
    code = re.sub(r"(^|\s)//.*", "", re.sub(NAMESPACES, "", script(view))) + style(view)
    assert not re.search(r"https?:|@import|\burl\((?!#)|\bfetch\(|XMLHttpRequest|\bimport\(", code)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", code)
    assert "</script" not in code


@pytest.mark.parametrize("view", COMPONENTS)
def test_the_component_is_a_module_with_one_default_export(view: str) -> None:
    assert re.findall(r"^export .*", module(view), flags=re.M) == [
        "export default function ({ data, parentElement, setStateValue }) {"
    ]
    assert f"function {view}View(" in module(view)


@pytest.mark.parametrize("view", COMPONENTS)
def test_no_two_files_of_a_view_use_a_name_twice(view: str) -> None:
    names = re.findall(r"^(?:const|let|(?:async )?function) (\w+)", script(view), flags=re.M)
    listed = re.findall(r"^const \[([\w, ]+)\]", script(view), flags=re.M)
    names += [name for one in listed for name in one.split(", ")]
    assert sorted(names) == sorted(set(names))


def test_every_view_of_the_explorer_adds_its_tab() -> None:
    tabs = re.findall(r'^VIEWS(?:\.|\[")([\w-]+)(?:"\])? = ', script("explorer"), flags=re.M)
    assert tabs == list(EXPLORER)


def test_a_title_stays_text() -> None:
    written = page("explorer", "", title=HOSTILE)
    assert "alert(1)" not in written.replace("alert(1)&lt;/script", "")
    assert len(re.findall(r"</script>", written)) == 1


def test_a_translation_in_a_page_stays_text() -> None:
    written = translation_page(translation_data(HOSTILE, [HOSTILE], [HOSTILE]), HOSTILE)
    assert len(re.findall(r"</?script", written)) == 2
    assert "<b>" not in written
