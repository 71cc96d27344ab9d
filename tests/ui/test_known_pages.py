"""The pages that the server knows are those that Streamlit would find."""

from __future__ import annotations

from pathlib import Path

from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from transformer.ui.pages import BY_PATH
from transformer.ui.server import known_pages

ROOT = Path(__file__).resolve().parents[2]


def test_every_page_of_the_app_is_known_by_its_path() -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not app.exception
    pages = known_pages._pages(str(ROOT / "app.py"))
    assert {page.url_path for page in pages} == {*BY_PATH}
    assert [page.url_path for page in pages if page._default] == [""]


def test_pages_are_looked_for_once_and_each_drawing_has_its_own(tmp_path: Path) -> None:
    assert script_runner._mpa_v1 is known_pages._run_page
    (tmp_path / "pages").mkdir()
    main = tmp_path / "main.py"
    main.write_text("import streamlit as st\nst.write('the first')\n")
    (tmp_path / "pages" / "other.py").write_text("import streamlit as st\nst.write('the other')\n")
    app = AppTest.from_file(str(main)).run()
    for _ in range(2):  # a page may be run once: it would say so if the drawings shared it
        assert app.switch_page("pages/other.py").run().markdown[0].value == "the other"
        assert app.switch_page("main.py").run().markdown[0].value == "the first"
        assert not app.exception
    first = known_pages._pages(str(main))
    assert known_pages._pages(str(main)) is first
    assert not any(page._can_be_called for page in first)
