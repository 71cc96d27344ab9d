"""Models of other languages and imported models: named, selected and measured on every page."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.exchange import marian
from tests.pages.conftest import Visit, messages
from transformer.api.model_description import describe_model
from transformer.exchange import import_folder
from transformer.figures.figure1 import STOPS
from transformer.text.languages import front_matter
from transformer.text.sentences import PARALLEL_EXAMPLES
from transformer.ui.base.registry import PAGES
from transformer.ui.pages.inside import SECTION_LABELS, TOPIC_LABELS
from transformer.ui.pages.research import EXPERIMENTS

TEXT = "The baker paints a boat today."
ADDRESSES = [
    *((page, {}) for page in PAGES),
    *(("app.py?depth=heads", {"view": view}) for view in ("heads", "model", "heatmap")),
    ("app.py?depth=heads", {"view": "query-key"}),
    ("app.py?depth=heads", {"other": "She sells bread."}),
    ("app.py?depth=steps", {"method": "beam"}),
    ("app.py?depth=steps", {"method": "sample"}),
    ("app.py?depth=steps", {"method": "forced", "target": "Elle vend du pain."}),
    *(("pages/inside.py", {"section": section}) for section in SECTION_LABELS),
    *(("pages/inside.py", {"box": box}) for box in STOPS[::6]),
    *(("pages/inside.py", {"tab": "positions", "topic": topic}) for topic in TOPIC_LABELS),
    *(("pages/research.py", {"experiment": name}) for name in EXPERIMENTS),
    ("pages/inside.py", {"tab": "why", "part": "scores"}),
]


@pytest.fixture
def model_folder(tmp_path: Path, checkpoints: Path) -> Path:
    """Return a folder with copies of one model whose cards name other languages, or none."""
    cards: dict[str, Sequence[str]] = {"en-de": ("en", "de"), "en-fr": (), "no-languages": ()}
    for name, languages in {**cards, "fr-en": ("fr", "en"), "en-it": ("en", "it")}.items():
        shutil.copytree(checkpoints / "tiny", tmp_path / "all" / name)
        card = front_matter(languages) if languages else ""
        (tmp_path / "all" / name / "README.md").write_text(f"{card}# A tiny model\n")
    return tmp_path / "all"


def main_text(app: AppTest) -> str:
    blocks = [*app.title, *app.header, *app.subheader, *app.markdown, *app.caption, *app.info]
    return "\n".join(block.value for block in blocks).replace("\\", "")


def test_languages_come_from_the_model_card(model_folder: Path) -> None:
    german, french = describe_model(model_folder / "en-de"), describe_model(model_folder / "en-fr")
    assert (german.source, german.target, german.kind) == ("English", "German", "")
    assert (french.source, french.target, french.kind) == ("English", "French", "")
    reversed_model = describe_model(model_folder / "fr-en")
    assert (reversed_model.source, reversed_model.target, reversed_model.kind) == (
        "French",
        "English",
        "fr",
    )
    assert reversed_model.examples == PARALLEL_EXAMPLES["fr"]
    unknown = describe_model(model_folder / "no-languages")
    assert (unknown.source, unknown.target, unknown.languages) == ("Source", "Target", None)


def test_french_references_are_not_used_for_another_target_language(
    visit: Visit, model_folder: Path
) -> None:
    french = visit("pages/research.py", model_folder, experiment="alignment", sentences="120")
    assert "with gold links" in main_text(french)
    italian = visit(
        "pages/research.py", model_folder, experiment="alignment", sentences="120", model="en-it"
    )
    page_text = main_text(italian)
    assert "this model writes Italian" in page_text
    assert "120 without a translation (the model's own is used)" in page_text
    assert "no gold links" in page_text
    assert "Hand-aligned" not in italian.button_group[1].options
    into_english = visit("pages/research.py", model_folder, experiment="alignment", model="fr-en")
    assert not {"Bundled sentences", "Hand-aligned"} & {*into_english.button_group[1].options}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkpoints folder that has only an imported model."""
    checkpoint_folder = tmp_path_factory.mktemp("app") / "checkpoints"
    marian.save(checkpoint_folder.parent / "opus-mt-en-fr", trained=True)
    import_folder(checkpoint_folder.parent / "opus-mt-en-fr", checkpoint_folder / "imported")
    return checkpoint_folder


@pytest.mark.parametrize(
    ("page", "params"), ADDRESSES, ids=[f"{page} {params}" for page, params in ADDRESSES]
)
def test_a_page_opens_without_warnings(
    visit: Visit, folder: Path, page: str, params: dict[str, str]
) -> None:
    app = visit(page, folder, text=TEXT, **params)
    assert not messages(app)
    assert len(app.title) == 1
