"""The salient heads of a sentence, on hand-made weights and on a real trace."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.analysis.alignment.aligner_errors import TargetRow
from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.analysis.roles import sentence_heads
from transformer.analysis.roles.sentence_heads import (
    LayeredTrace,
    SalientHead,
    alignment,
    salient_heads,
    strongest_pairs,
)
from transformer.inference import Trace
from transformer.measures.words import merge, plain_words, rows_of_written, word_labels, words

LAYERS, HEADS = 2, 3
SRC = ("▁the", "▁red", "▁um", "brella", ".", "</s>")
TGT = ("<s>", "▁le", "▁para", "pluie", "▁rouge", ".")
Weights = npt.NDArray[np.float32]


@dataclass
class TraceWithWeights:
    """A trace of uniform weights, except for `overrides`."""

    overrides: dict[tuple[str, int, int], Weights]
    src_tokens: tuple[str, ...] = SRC
    tgt_tokens: tuple[str, ...] = TGT

    @property
    def predicted_tokens(self) -> tuple[str, ...]:
        return (*self.tgt_tokens[1:], "</s>")

    def depth(self, kind: str) -> int:
        return LAYERS

    def weights(self, kind: str, layer: int) -> Weights:
        rows, columns = (
            len(self.src_tokens if kind == "encoder" else self.tgt_tokens),
            len(self.tgt_tokens if kind == "decoder" else self.src_tokens),
        )
        uniform = np.ones((rows, columns), np.float32)
        uniform = np.tril(uniform) if kind == "decoder" else uniform
        uniform /= uniform.sum(axis=-1, keepdims=True)
        return np.stack([self.overrides.get((kind, layer, head), uniform) for head in range(HEADS)])


def rows_attending_to(columns: list[int], width: int, weight: float = 0.9) -> Weights:
    """Return rows that put `weight` on their column and spread the rest evenly."""
    rows = np.full((len(columns), width), (1 - weight) / (width - 1), np.float32)
    rows[range(len(columns)), columns] = weight
    return rows


ALIGNED = rows_attending_to([0, 2, 3, 1, 4, 5], 6)  # le the, para um, pluie brella, rouge red
PREVIOUS_TOKEN = rows_attending_to([5, 0, 1, 1, 5, 5], 6, 0.8)
END_TOKEN = rows_attending_to([5] * 6, 6, 0.97)


def salient_heads_by_pattern(trace: LayeredTrace) -> dict[str, SalientHead]:
    return {head.pattern: head for head in salient_heads(trace)}


def aligner(to: TargetRow, layer: int = 1, head: int = 2) -> AlignerHead:
    return AlignerHead(layer, head, "weights", to, to, ())


def test_a_measured_aligner_is_always_reported() -> None:
    clear = TraceWithWeights(
        {("cross", 0, 0): ALIGNED, ("cross", 1, 2): rows_attending_to([0, 1, 1, 3, 4, 5], 6, 0.6)}
    )
    aligns = {head.pattern: head for head in salient_heads(clear, aligner("output"))}["aligner"]
    assert (aligns.layer, aligns.head, aligns.measured, aligns.target_row) == (1, 2, True, "output")
    assert {head.pattern: head for head in salient_heads(clear)}["aligner"].head == 0


def test_an_aligner_may_use_the_row_that_reads_the_word() -> None:
    """le, para, pluie, rouge are written by rows 0 to 3 and read by rows 1 to 4."""
    later = rows_attending_to([5, 0, 2, 3, 1, 4], 6)
    aligns = {
        head.pattern: head
        for head in salient_heads(TraceWithWeights({("cross", 1, 2): later}), aligner("input"))
    }["aligner"]
    assert (aligns.word, aligns.attended_word) == ("parapluie", "umbrella")
    assert aligns.weight == pytest.approx(0.94)  # 0.9 and twice 0.02, as for “umbrella.”
    assert aligns.rows == (2, 3)
    assert (aligns.count, aligns.total) == (2, 3)  # “rouge.” has the row of the full stop too
    wrong = {
        head.pattern: head
        for head in salient_heads(TraceWithWeights({("cross", 1, 2): later}), aligner("output"))
    }["aligner"]
    assert wrong.count == 0


def test_an_uncertain_link_is_reported_with_its_weight() -> None:
    trace = TraceWithWeights({("cross", 1, 2): rows_attending_to([5] * 6, 6, 0.4)})
    aligns = {head.pattern: head for head in salient_heads(trace, aligner("input"))}["aligner"]
    assert aligns.count == 0
    assert aligns.weight < sentence_heads.MIN_SHARE


def test_uniform_weights_give_no_notice() -> None:
    assert salient_heads(TraceWithWeights({})) == []


def test_each_kind_of_head_is_recognised() -> None:
    trace = TraceWithWeights(
        {("cross", 1, 2): ALIGNED, ("encoder", 0, 1): PREVIOUS_TOKEN, ("encoder", 1, 0): END_TOKEN}
    )
    heads = salient_heads_by_pattern(trace)
    aligns = heads["aligner"]
    assert (aligns.kind, aligns.layer, aligns.head) == ("cross", 1, 2)
    assert (aligns.word, aligns.attended_word, aligns.rows) == ("parapluie", "umbrella", (1, 2))
    # 0.9 on one token, 0.02 on the other, and 0.02 on the full stop, which pictures show with it.
    assert aligns.weight == pytest.approx(0.94, abs=1e-6)
    assert aligns.share == pytest.approx((0.9 + 0.92 + 0.9) / 3, abs=1e-6)
    assert (aligns.count, aligns.total) == (2, 3)  # “rouge.” has the row of the full stop too
    previous = heads["previous"]
    assert (previous.kind, previous.layer, previous.head) == ("encoder", 0, 1)
    assert (previous.word, previous.attended_word, previous.rows) == ("red", "the", (1,))
    assert (previous.count, previous.total, previous.weight) == (2, 2, pytest.approx(0.8, abs=1e-6))
    sink = heads["sink"]
    assert (sink.kind, sink.layer, sink.head, sink.attended_word) == ("encoder", 1, 0, "</s>")
    assert sink.share == pytest.approx(0.97, abs=1e-6)
    assert (sink.count, sink.total) == (1, 3 * LAYERS * HEADS)


def test_a_sharp_head_that_does_not_align_is_no_aligner() -> None:
    # Sharp and one to one, but each word attends to a neighbour; the other heads agree.
    neighbour_rows = rows_attending_to([1, 0, 1, 2, 4, 5], 6, 0.99)
    aligned = rows_attending_to([0, 2, 3, 1, 4, 5], 6, 0.7)
    overrides = {("cross", 1, head): aligned for head in range(HEADS)}
    overrides |= {("cross", 0, 0): neighbour_rows, ("cross", 0, 1): aligned}
    aligns = salient_heads_by_pattern(TraceWithWeights(overrides))["aligner"]
    assert (aligns.layer, aligns.head) == (0, 1)


def test_a_head_on_one_word_is_no_aligner() -> None:
    same = rows_attending_to([2] * 6, 6)
    assert "aligner" not in salient_heads_by_pattern(
        TraceWithWeights({("cross", 0, 0): same, ("cross", 1, 1): same})
    )


def test_the_first_decoder_row_does_not_count() -> None:
    rest = np.tril(np.full((6, 6), 1e-3, np.float32))
    rest[:, 0] = [1, 0.4, 0.4, 0.4, 0.4, 0.4]
    assert salient_heads(TraceWithWeights({("decoder", 0, 0): rest})) == []
    rest[1:, 0] = 0.6
    [head] = salient_heads(TraceWithWeights({("decoder", 0, 0): rest}))
    assert (head.pattern, head.kind, head.attended_word) == ("sink", "decoder", "<s>")
    assert head.share == pytest.approx(0.6, abs=1e-6)


@pytest.mark.parametrize("tokens", [("▁a", "</s>"), (".", "</s>"), ("▁a", ".", "▁b", "</s>")])
def test_fewer_than_two_words_give_no_notice(tokens: tuple[str, ...]) -> None:
    trace = replace(TraceWithWeights({}), src_tokens=tokens, tgt_tokens=("<s>",))
    assert {head.pattern for head in salient_heads(trace)} <= {"sink"}


def test_with_equal_weights_a_word_has_one_link() -> None:
    pairs = strongest_pairs(np.full((1, 3, 4), 0.25))
    assert pairs.sum() == 1
    shares, _ = alignment(np.eye(3)[None])
    assert shares[0] == 1


def test_notices_agree_with_the_trace(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_heads, "MIN_SHARE", 0.0)
    heads = salient_heads(trace)
    assert {head.pattern for head in heads} == {"aligner", "previous", "sink"}
    for item in heads:
        weights = trace.weights(item.kind, item.layer)[item.head].astype(float)
        if item.pattern == "sink":
            rows = weights[1:] if item.kind == "decoder" else weights
            column = 0 if item.kind == "decoder" else -1
            assert item.weight == pytest.approx(rows[:, column].mean(), abs=1e-6)
            continue
        keys = trace.tgt_tokens if item.kind == "decoder" else trace.src_tokens
        numbers, labels = plain_words(keys)
        candidates = [
            sum(weights[row, i] for row in item.rows for i, n in enumerate(numbers) if n == number)
            / len(item.rows)
            for number, label in enumerate(labels)
            if label == item.attended_word
        ]
        assert any(abs(weight - item.weight) < 1e-6 for weight in candidates)


WORDS = (
    ("▁the",),
    ("▁um", "brella"),
    ("▁umbrella", "."),
    ("▁Yes", "!"),
    ("▁—",),
    ("▁it", "'s", ","),
)
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(
    lambda chosen: [piece for word in chosen for piece in word]
)


@given(sentences, sentences, st.integers(0, 2**32 - 1), st.sampled_from(["output", "input"]))
def test_a_measured_aligner_is_described_by_the_weights_that_pictures_show(
    source: list[str], target: list[str], seed: int, to: TargetRow
) -> None:
    """Pictures show whole words with their punctuation: `words`."""
    src, tgt = (*source, "</s>"), ("<s>", *target)
    rows = np.random.default_rng(seed).dirichlet([0.2] * len(src), len(tgt)).astype(np.float32)
    trace = TraceWithWeights({("cross", 1, 2): rows}, src, tgt)
    found = [head for head in salient_heads(trace, aligner(to)) if head.pattern == "aligner"]
    if not found:
        return
    written = trace.predicted_tokens
    shown = merge(rows_of_written(rows.astype(float), to), words(written), words(src))
    columns = [n for n, label in enumerate(word_labels(src)) if label.strip(".,!—</s>")]
    is_word = [bool(label.strip(".,!—</s>")) for label in word_labels(written)]
    greatest = shown[is_word][:, columns].max(axis=-1)
    [head] = found
    assert (head.count, head.total) == ((greatest >= 0.5).sum(), len(greatest))
    assert np.isclose(greatest, head.weight).any()
