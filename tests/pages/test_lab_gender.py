"""Gender bias: one minimal pair, its heads switched off, the figures, and unsuitable input."""

from __future__ import annotations

import shutil
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.gender_figures import ALIGNER, EFFECT, REPORT
from tests.pages.conftest import Visit, button, charts, messages, numbers, view, visible_text
from transformer import Translator
from transformer.analysis.alignment.aligner_head import save_aligner_head
from transformer.analysis.gender.report import save_gender_report
from transformer.analysis.gender.sentences import EXAMPLES
from transformer.analysis.interventions.switching import switched_off
from transformer.ui.pages.lab import gender

PAGE = "pages/lab.py"


@pytest.fixture(scope="module")
def evaluated(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of checkpoints with an aligner head and gender figures."""
    folder = tmp_path_factory.mktemp("evaluated") / "checkpoints"
    shutil.copytree(checkpoints / "tiny", folder / "tiny")
    save_aligner_head(folder / "tiny", ALIGNER)
    save_gender_report(folder / "tiny", REPORT)
    return folder


def open_lab(visit: Visit, folder: Path, **params: str) -> AppTest:
    return visit(PAGE, folder, **{"lab": "gender", **params})


def page_text(app: AppTest) -> str:
    return unescape(visible_text(app))


def test_both_sentences_are_shown_with_their_translations(visit: Visit, evaluated: Path) -> None:
    app = open_lab(visit, evaluated)
    assert not messages(app)
    text = page_text(app)
    translator = Translator.load(evaluated / "tiny", "cpu")
    for pronoun in ("he", "she"):
        source = f"The doctor thanked the nurse because {pronoun} was kind."
        assert f'<span style="text-decoration:underline">{pronoun}</span> was kind.' in text
        for word in translator.translate(source, candidates=1).text.split():
            assert word.strip(".,!?") in text
    assert "Effect of the pronoun" in text
    assert "These heads attend most to the pronoun over WinoMT" in text


def test_the_button_switches_the_heads_off_and_on(visit: Visit, evaluated: Path) -> None:
    app = open_lab(visit, evaluated, pair=EXAMPLES[1])
    assert "Without these heads" not in page_text(app)
    button(app, "Switch these heads off").click().run()
    assert not messages(app)
    assert app.query_params["without_pronoun_heads"] in ("1", ["1"])
    text = page_text(app)
    assert "Without these heads" in text
    assert "of 4 genders differ" in text
    translator = Translator.load(evaluated / "tiny", "cpu")
    head = EFFECT.heads[0]
    off = switched_off(translator.model.config, [(head.kind, head.layer, head.head)])
    source = EXAMPLES[1].replace(" he ", " she ")
    for word in translator.translate(source, hooks=off, candidates=1).text.split():
        assert word.strip(".,!?") in text
    button(app, "Switch these heads on").click().run()
    assert "Without these heads" not in page_text(app)
    assert view(app).without_pronoun_heads == 0


def test_a_share_without_weights_is_a_dash() -> None:
    assert gender.percent(float("nan")) == "–"
    assert gender.percent(0.125) == "12%"


def test_the_figures_are_shown_with_their_intervals(visit: Visit, evaluated: Path) -> None:
    app = open_lab(visit, evaluated)
    text = page_text(app)
    assert "WinoMT is a test set of 400 sentences" in text
    assert "With *he* 90% of the genders are right, with *she* 30%" in text
    assert "The pronoun changes the gender in 25.0% of 60 minimal pairs" in text
    assert "**+0.310 nats**" in text
    assert "**+0.120** (+0.020 to +0.200)" in text
    first, second = charts(app)[-1]["data"]
    assert (first["name"], second["name"]) == ("nouns for people", "every aligned noun")
    assert list(numbers(first["y"])) == [0.6, 0.9, 0.3, 0.25]
    assert list(numbers(second["error_y"]["array"])) == pytest.approx([0.05])
    assert "Grammatical gender belongs to a word" in text


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        ("The doctor thanked the nurse.", "The sentence has no pronoun; it needs he, she"),
        ("She was late.", "The sentence has no known occupation; use two"),
        ("", "The sentence has no pronoun"),
        ("The nurse <b>said</b> she " + "very " * 900, "The text has"),
    ],
)
def test_an_unsuitable_sentence_is_reported_in_one_sentence(
    visit: Visit, evaluated: Path, pair: str, reason: str
) -> None:
    app = open_lab(visit, evaluated, pair=pair)
    (message,) = messages(app)
    assert reason.lower() in message.lower()
    # The figures do not depend on the sentence.
    assert "a test set of 400 sentences" in page_text(app)


def test_a_model_without_an_aligner_or_figures_says_so(
    visit: Visit, checkpoints: Path, evaluated: Path, tmp_path: Path
) -> None:
    app = open_lab(visit, checkpoints)
    assert not messages(app)
    assert "This model has no aligner head" in app.info[0].value
    folder = tmp_path / "only aligner"
    shutil.copytree(evaluated / "tiny", folder / "tiny")
    (folder / "tiny" / "winomt.json").unlink()
    app = open_lab(visit, folder)
    assert "has not been evaluated on WinoMT" in page_text(app)
    assert "These heads attend most to the pronoun in this pair" in page_text(app)


def test_another_language_pair_says_what_is_needed(
    visit: Visit, evaluated: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "japanese"
    shutil.copytree(evaluated / "tiny", folder / "tiny")
    card = folder / "tiny" / "README.md"
    card.write_text(card.read_text().replace("[en, fr]", "[en, ja]"), encoding="utf-8")
    app = open_lab(visit, folder)
    assert not messages(app)
    assert (
        "This experiment needs a model that translates English into French or German"
        in app.info[0].value
    )
    assert "into Japanese" in app.info[0].value
