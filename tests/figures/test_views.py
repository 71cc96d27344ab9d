"""The views are self-contained, and no text from outside becomes part of a page."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

from transformer.figures import Labels, module, pack, page, style, translation_data, unpack
from transformer.figures.views import View, script

HOSTILE = "</script><script>alert(1)</script><b>&\"'"
VIEWS: tuple[View, ...] = ("attention", "translation")


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_fetched_and_nothing_is_parsed_as_html(view: View) -> None:
    code = script(view) + style(view)
    assert not re.search(r"https?:|@import|url\(|\bfetch\(|XMLHttpRequest|\bimport\(", code)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", code)
    assert "</script" not in code


@pytest.mark.parametrize("view", VIEWS)
def test_the_component_is_a_module_with_one_default_export(view: View) -> None:
    assert re.findall(r"^export .*", module(view), flags=re.M) == [
        "export default function ({ data, parentElement, setStateValue }) {"
    ]
    assert f"function {view}View(" in module(view)


def test_labels_and_title_of_a_page_stay_text() -> None:
    data = pack([np.ones((1, 1, 1), np.float32)], Labels([HOSTILE], [HOSTILE]))
    written = page("attention", data, title=HOSTILE)
    assert "alert(1)" not in written.replace("alert(1)&lt;/script", "")
    assert len(re.findall(r"</script>", written)) == 1
    inside = re.search(r'atob\("([^"]+)"\)', written)
    assert inside
    assert unpack(base64.b64decode(inside[1])).header["rows"] == [HOSTILE]


def test_a_translation_in_a_page_stays_text() -> None:
    written = page("translation", translation_data(HOSTILE, [HOSTILE], [HOSTILE]))
    assert len(re.findall(r"</?script", written)) == 2
    assert "<b>" not in written
