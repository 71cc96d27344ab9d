"""Sentences about a picture agree with the numbers that are drawn, for random texts and sizes.

The numbers themselves are computed once more, with NumPy or torch.nn.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.figures.deno import drawn
from tests.pages.conftest import Visit, charts, messages, numbers, visible_text
from tests.pages.test_positions import write_untrained_run
from tests.pages.test_why import rows_by_label
from transformer import Translator
from transformer.figures.packed_trace import describe
from transformer.ui.pages.inside.why.sizes import NAMES

SEEDS = range(3)
WORDS = ("the", "a", "baker", "paints", "hides", "books", "boat", "at", "night", "again", "old")


def random_text(rng: np.random.Generator) -> str:
    words = " ".join(rng.choice(WORDS, rng.integers(2, 7)))
    return f"{words.capitalize()}{rng.choice(['.', '?', ''])}"


def model_probabilities(translator: Translator, trace: Any) -> torch.Tensor:
    """Return the softmax of the model's logits at each step of a packed trace."""
    vocabulary = translator.vocabulary
    ids = {vocabulary.token(number): number for number in range(len(vocabulary))}
    src, tgt = (torch.tensor([[ids[token] for token in trace[side]]]) for side in ("src", "tgt"))
    with torch.no_grad():
        return nn.functional.softmax(translator.model(src, tgt)[0].double(), dim=-1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
def test_the_steps_give_the_probabilities_of_the_model(
    translator: Translator, seed: int, method: str
) -> None:
    options = {"seed": seed, "temperature": 1.5, "top_p": 1.0} if method == "sample" else {}
    text = random_text(np.random.default_rng(seed))
    trace = translator.trace(text, method=method, **options)
    data = {"trace": describe(trace, []), "words": False, "live": False, "forced": -1}
    rows = drawn("table", data)
    expected = model_probabilities(translator, data["trace"])
    assert [row["chosen"]["id"] for row in rows] == list(trace.predicted_ids)
    for row in rows:
        for candidate in row["candidates"]:
            share = float(expected[row["first"], candidate["id"]])
            assert candidate["probability"] == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_lengths_and_score_terms_are_those_that_are_drawn(
    visit: Visit, translator: Translator, seed: int
) -> None:
    text = random_text(np.random.default_rng(seed))
    app = visit("pages/inside.py?tab=positions", topic="added", text=text)
    captions = re.findall(
        r"embedding ([\d.]+), position ([\d.]+)\. Without √d_model .* length ([\d.]+)\.",
        visible_text(app, kinds=("caption",)),
    )
    sqrt_d_model = translator.model.config.d_model**0.5
    assert len(captions) == 2
    for caption, chart in zip(captions, charts(app), strict=True):
        embedding, position, _ = (numbers(trace["y"]).mean() for trace in chart["data"])
        expected = (embedding, position, embedding / sqrt_d_model)
        np.testing.assert_allclose([float(number) for number in caption], expected, atol=0.006)

    app = visit(
        "pages/inside.py?tab=positions",
        topic="parts",
        text=text,
        side=("source", "target")[seed % 2],
    )
    found = re.search(
        r"head (\d+) is the most positional one: (\d+)%", visible_text(app, kinds=("caption",))
    )
    assert found
    shares = next(chart for chart in charts(app) if chart["layout"].get("barmode") == "stack")
    positional = sum(
        numbers(trace["x"]) for trace in shares["data"] if trace["name"].endswith("→ position")
    )
    assert float(found[2]) == pytest.approx(100 * positional.max(), abs=0.5)
    heads = shares["layout"]["yaxis"]["ticktext"]
    assert heads[int(positional.argmax())] == f"head {found[1]}"


@pytest.mark.parametrize("positions", ["learned", "none", "sinusoidal"])
def test_only_sinusoids_are_described_as_waves(
    visit: Visit, tmp_path: Path, positions: str
) -> None:
    write_untrained_run(
        tmp_path / "run", positions, **({} if positions != "learned" else {"max_len": 40})
    )
    (tmp_path / "models").mkdir()
    (tmp_path / "run/checkpoint").rename(tmp_path / "models/one")
    texts = [
        visible_text(
            visit("pages/inside.py?tab=positions", tmp_path / "models", topic=topic, text="a b c")
        )
        for topic in ("matrix", "added")
    ]
    said = [
        "change quickly from position to position" in texts[0],
        "All sinusoids have the same length" in texts[1],
    ]
    assert said == [positions == "sinusoidal"] * 2


@pytest.mark.parametrize("seed", SEEDS)
def test_table_1_says_what_its_numbers_say(visit: Visit, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = (int(2 ** rng.uniform(low, 12)) for low in (1, 3))
    k, r = int(2 * rng.integers(0, 16) + 1), int(2 * rng.integers(0, 64) + 1)
    if seed % 3 == 0:
        n = d if seed % 2 else min(d + 1, 4096)
    sizes = {name: str(value) for name, value in (("n", n), ("d", d), ("k", k), ("r", r))}
    app = visit("pages/inside.py?tab=why", part="table", **sizes)
    text = visible_text(app, kinds=("markdown",))
    costs = {
        "Self-attention": n * n * d,
        "Recurrent": n * d * d,
        "Convolutional": k * n * d * d,
        "Restricted self-attention": min(r, n) * n * d,
    }
    cells = rows_by_label(app, "Table 1 at")
    lowest = [name for name, cost in costs.items() if cost == min(costs.values())]
    assert [name for name in costs if "lowest" in cells[name][1]] == lowest
    assert f"Lowest cost here: **{', '.join(lowest).lower()}**" in text
    found = re.search(r"self-attention costs ([\d.e+,]+) times (less|more)", text)
    ratio = costs["Recurrent"] / costs["Self-attention"]
    if found:
        assert float(found[1].replace(",", "")) > 1
        assert (found[2] == "less") == (ratio > 1)
    else:
        assert ("nearly the same" in text) == (ratio != 1)
        assert ratio == pytest.approx(1, abs=0.006)

    app = visit("pages/inside.py?tab=why", part="paths", **sizes)
    assert not messages(app)
    size = min(n, 128)
    table = rows_by_label(app, f"n = {size}, k = {k}")
    for name in NAMES.values():
        value, measured = (cell.split(",")[0] for cell in table[name][2:4])
        assert value == measured
    assert table["Recurrent"][3] == f"1, {size - 1} steps"


@pytest.mark.parametrize("d_k", [1, 16, 100, 1024])
def test_the_sentence_about_gradients_follows_from_the_table(visit: Visit, d_k: int) -> None:
    app = visit("pages/inside.py?tab=why", part="scores", dk=str(d_k), seed=str(d_k % 7 + 1))
    text = visible_text(app, kinds=("markdown",))
    [caption] = re.findall(
        r"<caption>(\d+ random queries[^<]*)", visible_text(app, kinds=("html",))
    )
    [median, mean] = map(float, rows_by_label(app, caption)["q·k"][5:7])
    assert ("the median is far below the mean" in text) == (median < mean / 2)
    saturated = rows_by_label(app, caption)
    assert f"saturated in **{saturated['q·k'][4]}**" in text
    assert f"that of **q·k / √d_k** in **{saturated['q·k / √d_k'][4]}**" in text
