"""Every page on a model that came from elsewhere: Marian's biases, swish, two ways of cutting."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exchange import marian
from tests.pages.conftest import Visit, messages
from transformer.exchange import import_folder
from transformer.figures.places import STOPS
from transformer.ui.inside import SECTIONS
from transformer.ui.lab import BESIDE, LABS
from transformer.ui.pages import HOME, PAGES
from transformer.ui.positions import TOPICS

TEXT = "The baker paints a boat today."
ADDRESSES = [
    *((page, {}) for page in PAGES),
    *(("pages/attention.py", {"view": view}) for view in ("heads", "model", "heatmap")),
    ("pages/attention.py", {"view": "query-key"}),
    ("pages/attention.py", {"other": "She sells bread."}),
    ("pages/translate.py", {"method": "beam"}),
    ("pages/translate.py", {"method": "sample"}),
    ("pages/translate.py", {"method": "forced", "target": "Elle vend du pain."}),
    *(("pages/inside.py", {"section": section}) for section in SECTIONS),
    *(("pages/inside.py", {"box": box}) for box in STOPS),
    *(("pages/positions.py", {"topic": topic}) for topic in TOPICS),
    *(("pages/lab.py", {"lab": lab}) for lab in LABS),
    *(("pages/lab.py", {"lab": "moves", "beside": beside}) for beside in BESIDE),
    ("pages/why.py", {"part": "scores"}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """checkpoints/ with an imported model alone."""
    found = tmp_path_factory.mktemp("app") / "checkpoints"
    marian.save(found.parent / "opus-mt-en-fr", trained=True)
    import_folder(found.parent / "opus-mt-en-fr", found / "imported")
    return found


@pytest.mark.parametrize(
    ("page", "params"), ADDRESSES, ids=[f"{page} {params}" for page, params in ADDRESSES]
)
def test_a_page_opens_without_a_complaint(
    visit: Visit, folder: Path, page: str, params: dict[str, str]
) -> None:
    app = visit(page, folder, text=TEXT, **params)
    assert not messages(app)
    assert len(app.title) == 1


@pytest.mark.parametrize("page", [HOME, "pages/translate.py", "pages/attention.py"])
def test_the_language_to_write_is_chosen_in_a_box(visit: Visit, folder: Path, page: str) -> None:
    app = visit(page, folder, text=TEXT)
    box = app.selectbox("into")
    assert box.value == ""
    box.select("fra").run()
    assert app.query_params["text"] == f">>fra<< {TEXT}"
    app.selectbox("into").select("deu").run()
    assert app.query_params["text"] == f">>deu<< {TEXT}"
    assert app.selectbox("into").value == "deu"
    app.selectbox("into").select("").run()
    assert app.query_params["text"] == TEXT
    assert not messages(app)


def test_a_model_of_one_language_has_no_such_box(visit: Visit, checkpoints: Path) -> None:
    app = visit("pages/translate.py", checkpoints)
    assert not [box for box in app.selectbox if box.key == "into"]
