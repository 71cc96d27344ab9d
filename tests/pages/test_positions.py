"""The tab Positions without a browser: topics, addresses, missing models and invalid input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.pages.conftest import Visit, charts, measure, messages, view, visible_text
from transformer import Translator
from transformer.analysis.positions import ORDER_PAIR
from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig
from transformer.jobs import Jobs
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config
from transformer.ui.pages.inside import TOPIC_LABELS
from transformer.ui.pages.inside.positions import extrapolation

PAGE = "pages/inside.py?tab=positions"


def write_untrained_run(path: Path, positions: str, **shape: Any) -> None:
    """Write an untrained model as the checkpoint of a run on the task reverse."""
    vocabulary = Vocabulary.from_symbols(TASKS["reverse"].symbols)
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "vocab_size": len(vocabulary)}
    config = ModelConfig(positions=positions, **sizes, **shape)  # type: ignore[arg-type]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(config).eval()
    path.mkdir(parents=True)
    save_checkpoint(path / "checkpoint", model, vocabulary, "# A model\n")
    run = make_run_config(
        "reverse", settings={"positions": positions}, options={"longest": 6}, title=path.name
    )
    (path / "config.json").write_text(json.dumps(run.to_dict()), encoding="utf-8")
    (path / "state.json").write_text('{"status": "finished", "step": 1}', encoding="utf-8")


def write_two_runs(folder: Path) -> None:
    """Write a run with learned positions and one with sinusoids."""
    write_untrained_run(folder / "learned-run", "learned", max_len=12)
    write_untrained_run(folder / "sinusoidal-run", "sinusoidal")


@pytest.mark.parametrize("topic", TOPIC_LABELS)
def test_every_topic_opens_by_its_address(visit: Visit, topic: str, jobs: Jobs) -> None:
    app = visit(PAGE, topic=topic)
    assert not messages(app)
    assert view(app).topic == topic
    assert (app.button_group[0].value, app.button_group[1].value) == ("positions", topic)
    if topic not in ("learned", "far"):
        assert charts(app)
        assert all(chart["data"] for chart in charts(app))


@pytest.mark.parametrize("topic", ["matrix", "added", "parts"])
def test_any_text_is_accepted_as_a_sentence(visit: Visit, topic: str) -> None:
    app = visit(PAGE, topic=topic, text="<b>x</b> 👩‍🚀")
    assert not messages(app)
    for chart in charts(app):
        axes = [chart["layout"].get(f"{axis}axis", {}).get("ticktext", []) for axis in "xy"]
        assert not any("<b>" in label for labels in axes for label in labels)


@pytest.mark.parametrize(
    ("text", "reason"), [("  ", "write a sentence first"), ("a " * 900, "512")]
)
def test_an_invalid_sentence_is_reported(visit: Visit, text: str, reason: str) -> None:
    app = visit(PAGE, topic="matrix", text=text)
    assert reason in messages(app)[0]
    assert not charts(app)
    assert charts(app.button_group[1].set_value("waves").run())  # needs no sentence


@pytest.mark.parametrize("waves", ["64", "-1", "a", "1,,2", "1,2,3,4,5,6,7"])
def test_invalid_waves_are_reported(visit: Visit, waves: str) -> None:
    app = visit(PAGE, topic="waves", waves=waves)
    assert "up to 6 dimensions from 0 to 63" in messages(app)[0]


def test_a_head_is_selected_and_linked(visit: Visit) -> None:
    app = visit(PAGE, topic="parts", side="target", exact="1")
    head = view(app).head
    assert head >= 0
    first, *_, sum_chart = charts(app)
    assert first["layout"]["yaxis"]["ticktext"][0] == f"head {head + 1}"
    assert len(charts(app)) == 6
    assert sum_chart["layout"]["title"]["text"].startswith("sum of all four")
    app.selectbox[0].select((head + 1) % 4).run()
    assert view(app).head == (head + 1) % 4
    app.button_group[-1].set_value("attention").run()
    assert charts(app)[1]["data"][0]["zmax"] == 1


def test_learned_positions_are_compared_with_sinusoids(
    visit: Visit, jobs: Jobs, tmp_path: Path
) -> None:
    write_two_runs(tmp_path / "runs")
    app = visit(PAGE, topic="learned", learned="learned-run")
    assert not messages(app)
    learned, sinusoids, similarity = charts(app)
    assert learned["layout"]["yaxis"]["ticktext"][6:8] == ["7", "8 untrained"]
    assert len(learned["layout"]["yaxis"]["ticktext"]) == 12
    assert similarity["data"]
    assert sinusoids["data"]
    assert "Training used the first 7 positions" in visible_text(app)


def test_every_length_is_measured_and_stored(visit: Visit, jobs: Jobs, tmp_path: Path) -> None:
    write_two_runs(tmp_path / "runs")
    address = {"topic": "far", "model": "sinusoidal-run", "learned": "learned-run"}
    app = visit(PAGE, **address)
    assert not charts(app)
    measure(app, "Measure every length")
    (chart,) = charts(app)
    assert [trace["name"] for trace in chart["data"]] == ["sinusoidal", "learned"]
    text = visible_text(app)
    assert "cannot read 12 symbols" in text
    assert "The text has 13 tokens; at most 12 can be translated at once." in text
    assert text.count("no vector") == 9 + 1  # nine lengths, and the explanation
    # Another visitor sees the stored result at once.
    assert len(charts(visit(PAGE, **address))) == 1


@pytest.mark.parametrize("topic", ["learned", "far"])
def test_without_a_learned_model_the_page_links_to_training(
    visit: Visit, jobs: Jobs, topic: str
) -> None:
    app = visit(PAGE, topic=topic)
    assert any("Train a model" in link.proto.label for link in app.get("page_link"))


def test_two_orders_of_the_same_words_are_translated_without_positions(
    visit: Visit, translator: Translator
) -> None:
    texts = visible_text(visit(PAGE, topic="learned"))
    for sentence in ORDER_PAIR:
        assert translator.translate(sentence).text in texts


def test_later_positions_are_measured_for_a_language(
    visit: Visit, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extrapolation, "START_POSITIONS", (0, 40))
    monkeypatch.setattr(extrapolation, "JOINED_COUNTS", (1, 2, 400))
    app = visit(PAGE, topic="far")
    measure(app, "Measure later positions")
    (chart,) = charts(app)
    assert len(chart["data"]) == 3
    assert "at most 512 can be translated at once" in visible_text(app)


def test_the_shipped_run_with_learned_positions_is_shown_and_named(visit: Visit) -> None:
    checkpoints = Path(__file__).parents[2] / "checkpoints"
    app = visit(PAGE, checkpoints, topic="learned")
    captions = [caption.value.replace("\\", "") for caption in app.caption]
    assert any("toy: reverse-learned" in caption for caption in captions)
    assert charts(app)
    assert not messages(app)
    texts = visible_text(visit(PAGE, checkpoints, topic="far"))
    assert "Reverse a sequence" in texts
    assert "train a model of each" not in texts
