"""Measures of heads over a corpus, compared with the measures of single traces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from tests.analysis.small_models import assert_progress_and_cancelling, shift_model
from transformer import Translator, measures
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.roles import corpus_tokens as tokens
from transformer.analysis.roles.corpus_tokens import rarity
from transformer.analysis.roles.head_measures import HeadMeasures, measure_heads
from transformer.analysis.roles.head_roles import RULES, HeadRole, head_roles
from transformer.inference.trace import WEIGHTS, Trace
from transformer.measures import MEASURES
from transformer.measures.pieces import is_control
from transformer.text import Vocabulary

Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def corpus(pairs: Pairs) -> Corpus:
    texts = [*pairs[:5], ("a boat, a boat; a boat", "un bateau, a bateau"), ("She", "Elle")]
    return Corpus("some", tuple(Sentence(*pair) for pair in texts))


@pytest.fixture(scope="module")
def measured(translator: Translator, corpus: Corpus) -> HeadMeasures:
    return measure_heads(translator, corpus)


@pytest.fixture(scope="module")
def traces(translator: Translator, corpus: Corpus) -> list[Trace]:
    return [translator.trace(s.source, s.target) for s in corpus.sentences]


@pytest.mark.parametrize("kind", WEIGHTS)
def test_each_sentence_equals_the_measures_alone(
    measured: HeadMeasures, traces: list[Trace], kind: str
) -> None:
    control = 0 if kind == "decoder" else -1
    formulas = {
        "entropy": measures.entropy,
        "distance": measures.distance,
        "confidence": lambda w: measures.confidence(w, skip=(control,)),
        "first": lambda w: measures.share(w, 0),
        "last": lambda w: measures.share(w, -1),
    }
    for number, trace in enumerate(traces):
        for layer in range(trace.n_layers):
            for name, measure in formulas.items():
                values = measured.values[kind][name][layer, :, number]
                np.testing.assert_allclose(values, measure(trace.weights(kind, layer)), atol=2e-5)


@pytest.mark.parametrize("kind", WEIGHTS)
def test_offsets_of_one_sentence_equal_the_measures(
    translator: Translator, corpus: Corpus, traces: list[Trace], kind: str
) -> None:
    for number in (0, 5):
        alone = measure_heads(translator, Corpus("one", corpus.sentences[number : number + 1]))
        table = alone.table().set_index(["kind", "layer", "head"]).loc[kind]
        for layer in range(traces[number].n_layers):
            weights = traces[number].weights(kind, layer)
            assert table.loc[layer]["offset"].tolist() == measures.offset(weights).tolist()
            np.testing.assert_allclose(table.loc[layer]["positional"], measures.positional(weights))
            if kind != "decoder":
                reversed_weights = weights[:, :, ::-1]
                assert table.loc[layer]["backwards_offset"].tolist() == [
                    *measures.offset(reversed_weights)
                ]
                np.testing.assert_allclose(
                    table.loc[layer]["backwards"], measures.positional(reversed_weights)
                )


def is_whole_word(row: Sequence[str], position: int) -> bool:
    """Return whether this token is a whole word."""
    after = row[position + 1] if position + 1 < len(row) else "</s>"
    return row[position][0] == "▁" and row[position][1:].isalnum() and after[0] in "▁<,.;"


def measured_rows(trace: Trace, kind: str, name: str, layer: int, head: int) -> list[float]:
    """Return the rows of a measure that needs the tokens, one after the other."""
    w = trace.weights(kind, layer)[head]
    rows, columns = trace.labels(kind)
    words = trace.predicted_tokens if kind == "cross" else rows
    values = []
    for i, row in enumerate(w):
        visible = columns[: i + 1] if kind == "decoder" else columns
        if name == "punctuation":
            values.append(sum(x for x, token in zip(row, columns, strict=True) if token in ",.;"))
        elif name == "duplicate":
            duplicates = [
                j
                for j, token in enumerate(visible)
                if token == words[i]
                and is_whole_word(words, i)
                and is_whole_word(columns, j)
                and (kind == "cross" or j != i)
            ]
            values += [row[duplicates].sum()] if duplicates else []
        elif name == "delimiters":
            delimiters = [j for j, token in enumerate(columns) if token in ("<s>", "</s>", *",.;")]
            values += [row[delimiters].sum()] if i > 0 or kind != "decoder" else []
        elif name in ("previous", "itself", "next"):
            j = i + {"previous": -1, "itself": 0, "next": 1}[name]
            values += [row[j]] if 0 <= j < len(columns) else []
    return values


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize(
    "name", ["punctuation", "delimiters", "duplicate", "previous", "itself", "next"]
)
def test_token_measures_weight_every_row_of_the_corpus_equally(
    measured: HeadMeasures, traces: list[Trace], kind: str, name: str
) -> None:
    if name not in measured.values[kind]:
        assert (kind, name) in {("cross", "previous"), ("cross", "itself"), ("cross", "next")} | {
            ("decoder", "next")
        }
        return
    table = measured.table().set_index(["kind", "layer", "head"])
    for layer, head in ((0, 1), (1, 3)):
        rows = [measured_rows(trace, kind, name, layer, head) for trace in traces]
        assert measured.rows[kind][name].tolist() == [len(each) for each in rows]
        for number, each in enumerate(rows):
            result = measured.values[kind][name][layer, head, number]
            assert (
                np.isnan(result) if not each else result == pytest.approx(np.mean(each), abs=1e-5)
            )
        pooled_mean = np.mean([value for each in rows for value in each])
        assert table.loc[(kind, layer, head), name] == pytest.approx(pooled_mean, abs=1e-5)


def test_rare_tokens_are_ranked_by_id_or_by_frequency(
    translator: Translator,
    corpus: Corpus,
    vocabulary: Vocabulary,
    traces: list[Trace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The highest id of a learned vocabulary, but bytes first; of symbols the least frequent. A
    sentence without one beyond the most frequent does not count (Voita et al.: 500)."""
    pieces = vocabulary.tokens(range(len(vocabulary)))
    measured = measure_heads(translator, corpus)
    assert not measured.rows["encoder"]["rare"].any()  # of 320 pieces none is beyond 500
    rare = rarity(pieces, measured.pairs)
    highest = [max(rare[id] for id in trace.src_ids[:-1]) for trace in traces]
    threshold = sorted(highest)[3]
    frequent = sum(rare[id] < threshold and not is_control(p) for id, p in enumerate(pieces))
    monkeypatch.setattr(tokens, "FREQUENT", frequent)
    measured = measure_heads(translator, corpus)
    rows = [len(t.src_ids) * (top >= threshold) for t, top in zip(traces, highest, strict=True)]
    assert measured.rows["encoder"]["rare"].tolist() == rows
    assert 0 in rows
    ids = sorted(range(len(pieces)), key=lambda id: rare[id])
    assert ids[-1] == pieces.index("<0xFF>")
    assert ids[-257] == len(pieces) - 1
    for number in np.flatnonzero(rows):
        weights = traces[number].weights("encoder", 0)[:, :, :-1]
        rarest = max(range(weights.shape[-1]), key=lambda j: rare[traces[number].src_ids[j]])
        np.testing.assert_allclose(
            measured.values["encoder"]["rare"][0, :, number],
            (weights.argmax(-1) == rarest).mean(-1),
        )
    symbols = rarity(["<s>", "▁a", "▁b", "▁c"], [measured.pairs[0].__class__([1, 2, 1], [1])])
    assert symbols == [0, -2, -1, 0]


def test_chance_level_equals_uniform_heads(measured: HeadMeasures, traces: list[Trace]) -> None:
    lengths = np.array([len(trace.src_ids) for trace in traces])
    assert measured.chance["encoder"]["entropy"] == pytest.approx(
        (lengths * np.log2(lengths)).sum() / lengths.sum()
    )
    assert measured.chance["encoder"]["first"] == pytest.approx(len(lengths) / lengths.sum())
    rows = np.concatenate([1 / np.arange(1, len(trace.tgt_ids) + 1) for trace in traces])
    assert measured.chance["decoder"]["first"] == pytest.approx(rows.mean())


def test_a_head_with_a_fixed_offset_is_completely_positional(vocabulary: Vocabulary) -> None:
    translator = shift_model(vocabulary, (-1, 1, 0, -2))
    texts = ("The baker sells bread at night.", "She hides a boat.", "A pilot finds books today.")
    measured = measure_heads(translator, Corpus("x", tuple(Sentence(t, "Elle") for t in texts)))
    table = measured.table().query("kind == 'encoder'")
    assert table["offset"].tolist() == [-1, 1, 0, -2]
    assert table["positional"].tolist() == [1.0] * 4
    roles = [card.role for card in head_roles(measured) if card.kind == "encoder"]
    assert [role.text for role in roles] == [
        "attends to the previous token",
        "attends to the next token",
        "attends to its own position",
        "attends two tokens back",
    ]
    assert measured.strongest_keys["encoder"].offsets(0, 0)[-1] == sum(
        len(pair.src) - 1 for pair in measured.pairs
    )


def test_missing_targets_are_greedy_translations(
    translator: Translator, measured: HeadMeasures, corpus: Corpus
) -> None:
    source = corpus.sentences[0].source
    own = measure_heads(translator, Corpus("x", (Sentence(source), corpus.sentences[1])))
    assert own.pairs[0].out == list(translator.translate(source).ids)
    assert [pair.own for pair in own.pairs] == [True, False]
    assert own.pairs[1] == measured.pairs[1]


def test_progress_reaches_1_and_its_errors_end_the_measurement(
    translator: Translator, corpus: Corpus
) -> None:
    bare = Corpus("x", tuple(Sentence(s.source, s.target) for s in corpus.sentences[:3]))
    assert assert_progress_and_cancelling(partial(measure_heads, translator, bare))[0] == 0.0


def test_long_batches_equal_single_sentences(translator: Translator) -> None:
    """Sentences of different lengths in groups of limited size give the same numbers in order."""
    texts = [" ".join(["bread"] * n) for n in (90, 3, 120, 7, 110, 1)]
    batched = measure_heads(translator, Corpus("x", tuple(Sentence(t, "du pain") for t in texts)))
    for number in (0, 2, 5):
        alone = measure_heads(translator, Corpus("x", (Sentence(texts[number], "du pain"),)))
        for kind in WEIGHTS:
            np.testing.assert_allclose(
                batched.values[kind]["entropy"][:, :, number],
                alone.values[kind]["entropy"][:, :, 0],
                atol=1e-5,
            )


def test_cards_name_their_rules_and_survive_a_round_trip(measured: HeadMeasures) -> None:
    cards = head_roles(measured, n_strongest=2)
    config = measured.values["encoder"]["entropy"].shape
    assert len(cards) == 3 * config[0] * config[1]
    for card in cards:
        assert card.rule == RULES[card.role.group]
        assert set(card.measures) >= set(MEASURES)
        assert HeadRole.from_dict(card.to_dict()) == card
        values = measured.sentence_values(card.kind, card.layer, card.head, card.measure)
        assert all(share == pytest.approx(values[number]) for number, share in card.strongest)
