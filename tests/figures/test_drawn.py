"""What the explorer derives in the browser from a packed trace, compared with Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.figures.deno import drawn
from tests.figures.fake_traces import HOSTILE, FakeTrace, fake_trace
from transformer import Translator
from transformer.app_folders import APP_FOLDER
from transformer.figures import PackedTrace, explorer_data
from transformer.measures.registry import measure_heads
from transformer.measures.words import plain_words, special, word_labels, words

KINDS = ("encoder", "decoder", "cross")
SRC = ["▁the", "▁red", "▁um", "brella", ".", "▁the", "</s>"]
TGT = ["<s>", "▁le", "▁para", "pluie", "▁rouge", ".", "▁le"]
TRACES = {
    "words": fake_trace(SRC, TGT),
    "any tokens": fake_trace([*HOSTILE, "[SEP]", "▁", "?"], ["<s>", "▁a", "b", "<0xC3>", "<0xA9>"]),
    "punctuation": fake_trace([".", "</s>"], ["<s>", "!"]),
}
Numbers = npt.NDArray[np.floating[Any]]


def pool(weights: Numbers, limit: int) -> Numbers:
    """Return the maximum of each block of cells, with at most `limit` blocks a side."""
    for axis in (1, 2):
        count = weights.shape[axis]
        starts = np.arange(min(limit, count)) * count // min(limit, count)
        weights = np.maximum.reduceat(weights, starts, axis=axis)
    return weights


@pytest.fixture(scope="module")
def sides() -> dict[str, dict[str, Any]]:
    """What is drawn of each trace."""
    return {
        name: drawn("explorer", explorer_data([PackedTrace(trace)], {}))["sides"][0]
        for name, trace in TRACES.items()
    }


@pytest.mark.parametrize("name", TRACES)
def test_labels_are_those_of_python(name: str, sides: dict[str, dict[str, Any]]) -> None:
    trace = TRACES[name]
    texts = {"src": trace.src_tokens, "tgt": trace.tgt_tokens, "predicted": trace.predicted_tokens}
    for text, tokens in texts.items():
        plain, plain_labels = plain_words(tokens)
        labels = {label: value for label, value in sides[name][text].items() if label != "names"}
        assert labels == {
            "tokens": [*tokens],
            "words": words(tokens),
            "word_labels": word_labels(tokens),
            "plain": plain,
            "plain_labels": plain_labels,
            "special": special(tokens),
            "lang": "",
        }


@pytest.mark.parametrize("name", TRACES)
def test_measures_are_those_of_python(name: str, sides: dict[str, dict[str, Any]]) -> None:
    trace, side = TRACES[name], sides[name]
    for kind in KINDS:
        layers = [measure_heads(trace, kind, layer) for layer in range(3)]
        assert side["measures"][kind].keys() == layers[0].keys()
        assert side["measureNames"][kind] == [*layers[0]]
        for measure, values in side["measures"][kind].items():
            expected = np.stack([layer[measure] for layer in layers])
            np.testing.assert_allclose(values, expected, atol=5e-4, err_msg=f"{kind} {measure}")
        assert side["clearest"][kind] == [*PackedTrace(trace).clearest(kind)]


@pytest.mark.parametrize("name", TRACES)
def test_a_pinned_word_has_the_greatest_weight_of_another(
    name: str, sides: dict[str, dict[str, Any]]
) -> None:
    trace, side = TRACES[name], sides[name]
    texts = {
        "encoder": (trace.src_tokens, trace.src_tokens),
        "decoder": (trace.tgt_tokens, trace.tgt_tokens),
        "cross": (trace.predicted_tokens, trace.src_tokens),
    }
    for kind, (rows, columns) in texts.items():
        links = np.stack(
            [
                word_links(trace.weights(kind, layer), rows, columns, same=kind != "cross")
                for layer in range(3)
            ]
        )
        for way, axis in (("to", -2), ("from", -1)):
            pins = side["pins"][kind][way]
            greatest = links.max(axis=axis)
            weights = np.reshape(pins["weights"], greatest.shape)
            np.testing.assert_allclose(weights, greatest, atol=1e-4)
            other = np.reshape(pins["others"], greatest.shape)
            reached = np.take_along_axis(links, np.expand_dims(other, axis), axis).squeeze(axis)
            np.testing.assert_allclose(reached, greatest, atol=1e-4)


def word_links(
    weights: Numbers, rows: tuple[str, ...], columns: tuple[str, ...], *, same: bool
) -> Numbers:
    """Return all weights (head, row word, column word), from which the maxima are taken."""
    (of_row, row_labels), (of_column, column_labels) = plain_words(rows), plain_words(columns)
    result = np.zeros((len(weights), len(row_labels), len(column_labels)))
    for h, i, j in np.ndindex(*weights.shape):
        r, c = of_row[i], of_column[j]
        if row_labels[r] and column_labels[c] and not (same and r == c):
            result[h, r, c] += weights[h, i, j] / of_row.count(r)
    return result


def test_thumbnails_hold_all_heads_and_keep_the_greatest_weight() -> None:
    trace = fake_trace(["▁a"] * 70, ["<s>"] * 20, layers=2, heads=2)
    side = drawn("explorer", explorer_data([PackedTrace(trace)], {}))["sides"][0]
    for kind in KINDS:
        for layer in range(2):
            expected = np.rint(255 * np.sqrt(pool(trace.weights(kind, layer), 64)))
            for head, thumb in enumerate(side["thumbs"][kind][layer]):
                shape = (thumb["height"], thumb["width"])
                assert shape == expected.shape[1:]
                levels = np.reshape(thumb["values"], shape)
                np.testing.assert_allclose(levels, expected[head], atol=1)


def test_two_sides_have_paired_tokens_and_a_side_may_lack_kinds() -> None:
    second = fake_trace(["▁um", "▁end"], ["<s>", "▁rouge"], kinds=["cross"])
    both = [PackedTrace(TRACES["words"], "A"), PackedTrace(second, "B")]
    data = drawn("explorer", explorer_data(both, {"kind": "encoder"}))
    pairs = [pair for pair in data["pairs"]["tgt_tokens"] if None not in pair]
    assert pairs == [[0, 0], [4, 1]]
    assert len(data["pairs"]["src_tokens"]) == 7 + 2 - 1
    alone = drawn("explorer", explorer_data([PackedTrace(second)], {"kind": "encoder"}))
    assert (alone["pairs"], alone["start"]["kind"]) == (None, "cross")
    encoder = fake_trace(["▁a", "▁b"], [], kinds=["encoder"])
    assert (
        drawn("explorer", explorer_data([PackedTrace(encoder)], {}))["start"]["kind"] == "encoder"
    )


ALIGNED = [0, 2, 3, 1, 4, 5]  # le the, para um, pluie brella, rouge red, ici now
N_LAYERS, N_HEADS = 2, 3


def notices(
    overrides: dict[tuple[str, int, int], Numbers], aligner: Any = None, src: Any = None
) -> dict[str, Any]:
    """Return the notices on a trace of uniform weights with these overrides, by role."""
    source = ["▁the", "▁red", "▁um", "brella", "▁now", "</s>"] if src is None else src
    target = ["<s>", "▁le", "▁para", "pluie", "▁rouge", "▁ici"] if src is None else ["<s>"]
    weights = {}
    for kind in KINDS:
        rows = len(source if kind == "encoder" else target)
        columns = len(target if kind == "decoder" else source)
        uniform = np.ones((N_LAYERS, N_HEADS, rows, columns), np.float32)
        uniform = np.tril(uniform) if kind == "decoder" else uniform
        weights[kind] = uniform / uniform.sum(axis=-1, keepdims=True)
    for (kind, layer, head), matrix in overrides.items():
        weights[kind][layer, head] = matrix
    trace: FakeTrace = fake_trace(source, target, layers=N_LAYERS, heads=N_HEADS, **weights)
    data = drawn("explorer", explorer_data([PackedTrace(trace)], {}, aligner=aligner))
    return {
        notice["role"]: {**notice, "text": "".join(part for part, _ in notice["segments"])}
        for notice in data["notices"]
    }


def rows_attending_to(columns: list[int], width: int, weight: float = 0.9) -> Numbers:
    """Return rows that put `weight` on their column and spread the rest evenly."""
    rows = np.full((len(columns), width), (1 - weight) / (width - 1), np.float32)
    rows[range(len(columns)), columns] = weight
    return rows


def position(notice: dict[str, Any]) -> tuple[str, int, int]:
    state = notice["state"]
    return state["kind"], state["layer"], state["head"]


def test_uniform_weights_give_no_notice() -> None:
    assert notices({}) == {}


def test_each_kind_of_head_is_noticed() -> None:
    found = notices(
        {
            ("cross", 1, 2): rows_attending_to(ALIGNED, 6),
            ("encoder", 0, 1): rows_attending_to([5, 0, 1, 1, 5, 5], 6, 0.8),
            ("encoder", 1, 0): rows_attending_to([5] * 6, 6, 0.97),
        }
    )
    assert position(found["aligns"]) == ("cross", 1, 2)
    # Both words have two tokens: 0.9 on one token and 0.02 on the other.
    assert found["aligns"]["text"] == (
        "To write parapluie, one head attends to umbrella with weight 0.92. 4 of 4 words give "
        "their source word at least half:"
    )
    assert found["aligns"]["state"]["tokens"] == "q1,q2"
    assert position(found["previous-word"]) == ("encoder", 0, 1)
    assert found["previous-word"]["text"] == (
        "red attends to the previous word, the, with weight 0.80. 2 of 3 words give the previous "
        "word at least half:"
    )
    assert position(found["sink"]) == ("encoder", 1, 0)
    total = 3 * N_LAYERS * N_HEADS
    assert found["sink"]["text"].startswith(f"1 of {total} heads attend mostly to a sink")
    assert "the end-of-sentence token" in found["sink"]["text"]


def test_a_measured_aligner_is_always_noticed_with_its_own_rows() -> None:
    """le, para, pluie, rouge are written by rows 0 to 3 and read by rows 1 to 4."""
    later = {("cross", 1, 2): rows_attending_to([5, 0, 2, 3, 1, 4], 6)}
    reading = SimpleNamespace(layer=1, head=2, weights_to="input")
    aligns = notices(later, reading)["aligns"]
    assert position(aligns) == ("cross", 1, 2)
    assert aligns["state"]["word_row"] == "input"
    assert aligns["state"]["tokens"] == "q2,q3"
    assert aligns["text"].startswith(
        "After writing parapluie, the head that best follows human-made links attends most to "
        "umbrella, with 0.92 of its attention:"
    )
    writing = SimpleNamespace(layer=1, head=2, weights_to="output")
    assert (
        "To write rouge, the head that best follows human-made links attends most to umbrella"
        in notices(later, writing)["aligns"]["text"]
    )
    assert "It is uncertain on this sentence" in notices({}, reading)["aligns"]["text"]


def test_a_sharp_head_that_does_not_align_is_no_aligner() -> None:
    # Sharp and one to one, but each word attends to a neighbour; the other heads agree.
    aligned = rows_attending_to(ALIGNED, 6, 0.7)
    overrides = {("cross", 1, head): aligned for head in range(N_HEADS)}
    overrides |= {
        ("cross", 0, 0): rows_attending_to([1, 0, 1, 2, 4, 5], 6, 0.99),
        ("cross", 0, 1): aligned,
    }
    assert position(notices(overrides)["aligns"]) == ("cross", 0, 1)
    same = rows_attending_to([2] * 6, 6)
    assert "aligns" not in notices({("cross", 0, 0): same, ("cross", 1, 1): same})


def test_the_first_decoder_row_does_not_count() -> None:
    rest = np.tril(np.full((6, 6), 1e-3, np.float32))
    rest[:, 0] = [1, 0.4, 0.4, 0.4, 0.4, 0.4]
    assert notices({("decoder", 0, 0): rest}) == {}
    rest[1:, 0] = 0.6
    sink = notices({("decoder", 0, 0): rest})["sink"]
    assert position(sink) == ("decoder", 0, 0)
    assert "the start token. This one gives it 0.60" in sink["text"]


WORDS = ("the", "a", "her", "umbrella", "sea", "student", "never", "has", "red", "mother", "said")
MARKS = ("", "", ",", ".", "?")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(APP_FOLDER / "checkpoints/en-fr", "cpu")


@pytest.mark.parametrize("seed", range(8))
def test_notices_of_random_sentences_agree_with_what_is_drawn(
    seed: int, translator: Translator
) -> None:
    """Words and weights in the text are those of the table that the notice's button opens."""
    rng = np.random.default_rng(seed)
    drawn_words = [f"{rng.choice(WORDS)}{rng.choice(MARKS)}" for _ in range(rng.integers(3, 9))]
    side = PackedTrace(translator.trace(" ".join(drawn_words).capitalize()))
    to = ("input", "output")[seed % 2]
    aligner = SimpleNamespace(layer=4, head=seed % 8, weights_to=to)
    data = drawn("explorer", explorer_data([side], {}, aligner=aligner if seed < 6 else None))
    for notice in data["notices"]:
        text = "".join(part for part, _ in notice["segments"])
        table = notice["drawn"]
        weights = np.array(table["weights"])
        if notice["role"] == "sink":
            column = int(notice["state"]["tokens"].removeprefix("k"))
            layer, head = notice["state"]["layer"], notice["state"]["head"]
            rows = side.traced.weights(notice["state"]["kind"], layer)[head]
            rows = rows[1:] if notice["state"]["kind"] == "decoder" else rows
            assert_written(text, float(rows[:, column].mean()))
            continue
        names = [word for word, is_word in notice["segments"] if is_word]
        first = int(notice["state"]["tokens"].split(",")[0].removeprefix("q"))
        row = next(i for i, entry in enumerate(table["rows"]) if first in entry["members"])
        query, key = (names[0], names[1])
        assert query in table["rows"][row]["text"]
        candidates = [
            weight
            for name, weight in zip(table["columns"], weights[row], strict=True)
            if key in name
        ]
        assert any(f"{weight:.2f}" in text or weight >= 0.995 for weight in candidates)
        if notice["role"] == "aligns" and seed < 6:
            is_word = [any(map(str.isalnum, entry["text"])) for entry in table["rows"]]
            is_word = [
                word and not entry["text"].startswith("<")
                for word, entry in zip(is_word, table["rows"], strict=True)
            ]
            n_unsure = int((weights[is_word, :-1].max(axis=1) < 0.5).sum())
            assert ("It is uncertain" in text) == (n_unsure == sum(is_word))


def assert_written(text: str, weight: float) -> None:
    assert f"{weight:.2f}" in text or (weight >= 0.995 and "more than 0.99" in text)
