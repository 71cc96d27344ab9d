"""Errors of all aligners, compared with single traces and with aligners of known errors."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import torch

from transformer import Translator
from transformer.analysis.alignment.aligner_errors import aligned_words, measure_aligners
from transformer.analysis.alignment.error_rate import alignment_error
from transformer.analysis.attribution import norms
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import words_of
from transformer.analysis.roles.head_measures import measure_heads
from transformer.analysis.roles.head_roles import head_roles
from transformer.config import ModelConfig
from transformer.measures.words import merge
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.tasks import TASKS


def row_of(table: pd.DataFrame, *key: object) -> pd.Series:
    """Return the row of an aligner, method, layer and head (-1: none)."""
    columns = ["aligner", "by", "to", "layer", "head"]
    is_row = [tuple(row) == key for row in table[columns].fillna(-1).itertuples(index=False)]
    (result,) = np.flatnonzero(is_row)
    return table.iloc[result]


@pytest.fixture(scope="module")
def sentence() -> Corpus:
    """Return a sentence of the grammar with one-to-one links between as many words on both sides.

    Some words are in another position.
    """
    examples = TASKS["french"].pairs(400, seed=5)
    lines = [
        f"{e.src}\t{e.tgt}\t{' '.join(f'{i}-{j}' for i, j in e.alignment or ())}"
        for e in examples
        if sorted(j for _, j in e.alignment or ()) == list(range(len(e.tgt.split())))
        and len({*e.src.split()}) == len(e.src.split()) == len(e.tgt.split())
        and sum(i != j for i, j in e.alignment or ()) > 1
    ]
    return Corpus.from_lines(lines[:1], "grammar")


@pytest.fixture(scope="module")
def perfect_aligner(sentence: Corpus) -> Translator:
    """Return a model with a perfect aligner: head 0 of its only layer attends to the word just
    read.

    Word vectors are one-hot, and a French word has that of its English counterpart; there are no
    positions, the other sublayers write nothing and the norms have no effect, so W^Q = W^K compare
    only words. Head 1 is the inverse: its lowest weight is on the correct word.
    """
    vocabulary = Vocabulary.from_symbols(TASKS["french"].symbols)
    pair_sentence = sentence.sentences[0]
    assert pair_sentence.gold is not None
    d_k = 32
    config = ModelConfig(
        vocab_size=len(vocabulary), d_model=2 * d_k, n_heads=2, n_layers=1, positions="none"
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Transformer(config).eval().requires_grad_(False)
    embedding = torch.zeros_like(model.embedding.weight)
    for i, j in pair_sentence.gold.sure:
        pair = pair_sentence.source.split()[i], pair_sentence.target.split()[j]
        for word in pair:
            embedding[vocabulary.encode(word)[0], i] = 1.0
    embedding[vocabulary.bos_id, d_k - 1] = embedding[vocabulary.eos_id, d_k - 2] = 1.0
    model.embedding.weight.copy_(embedding)
    for name, parameter in model.named_parameters():
        if any(part in name for part in ("self_attn.w_o", "ffn.w_2")):
            parameter.zero_()
    attention = model.decoder.layers[0].cross_attn
    for head, sign in enumerate((1, -1)):
        head_slice = slice(head * d_k, (head + 1) * d_k)
        attention.w_q[head_slice] = 10 * sign * torch.eye(d_k, config.d_model)
        attention.w_k[head_slice] = 10 * torch.eye(d_k, config.d_model)
    return Translator(model, vocabulary)


def test_a_perfect_aligner_has_no_errors(sentence: Corpus, perfect_aligner: Translator) -> None:
    table = measure_aligners(perfect_aligner, sentence).table
    best = row_of(table, "head", "weights", "input", 0, 0)
    assert best["aer"] == 0
    assert row_of(table, "head", "weights", "input", 0, 1)["aer"] == 1
    assert row_of(table, "head", "weights", "output", 0, 0)["aer"] > 0.5
    roles = {(c.kind, c.head): c.role for c in head_roles(measure_heads(perfect_aligner, sentence))}
    assert roles["cross", 0].text == "aligns the word it has just read"
    assert roles["cross", 1].group != "aligner"


@pytest.fixture(scope="module")
def sharp_translator(translator: Translator) -> Translator:
    """Return a copy whose heads put nearly all weight on one piece, sometimes on `</s>`."""
    model = copy.deepcopy(translator.model).requires_grad_(False)
    for layer in model.decoder.layers:
        layer.cross_attn.w_qkv[: model.config.d_model] *= 6
    return Translator(model, translator.vocabulary)


@pytest.fixture(scope="module")
def corpus_with_possible_links(pairs: list[tuple[str, str]]) -> Corpus:
    """Return sentences with possible links, and a word separate from its full stop."""
    links = ("0-0 1?0 1-1 2-2", "1-0 0-1 2?2", "0-0 1-1 2-2 3?2")
    return Corpus.from_lines(
        [f"{s}\t{t}\t{link}" for (s, t), link in zip(pairs[:3], links, strict=True)] + ["a\tb"],
        "mixed",
    )


@pytest.mark.parametrize("by", ["weights", "norms"])
@pytest.mark.parametrize("to", ["output", "input"])
@pytest.mark.parametrize("ends", [False, True])
def test_errors_equal_those_of_single_traces(
    sharp_translator: Translator, corpus_with_possible_links: Corpus, by: str, to: str, ends: bool
) -> None:
    """Computed sentence by sentence with `norms` and set arithmetic, pooling the links of all
    sentences; with `ends` a word with its largest score on `</s>` has no link."""
    errors = measure_aligners(sharp_translator, corpus_with_possible_links, allow_unaligned=ends)
    dropped = 0
    assert (errors.n_sentences, errors.left_out) == (3, ())
    predicted: dict[tuple[int, int], set[tuple[int, int]]] = {}
    sure, possible = set(), set()
    for number, sentence in enumerate(corpus_with_possible_links.sentences[:3]):
        gold = sentence.gold
        assert gold is not None
        sure |= {(100 * number + i, j) for i, j in gold.sure}
        possible |= {(100 * number + i, j) for i, j in gold.possible}
        trace = sharp_translator.trace(sentence.source, sentence.target)
        source = words_of(trace.src_tokens[:-1], gold.source_words)
        target = words_of(trace.predicted_tokens[:-1], gold.target_words)
        assert source
        assert target
        for layer in range(trace.n_layers):
            if by == "weights":
                heads = trace.weights("cross", layer)
                scores = [*heads, heads.mean(0)]
            else:
                weights = trace.weights("cross", layer)
                vectors = norms.vectors(sharp_translator.model, trace, "cross", layer)
                summed = np.einsum("hqk,hkd->qkd", weights, vectors)
                scores = [
                    *norms.contributions(sharp_translator.model, trace, "cross", layer),
                    np.linalg.norm(summed, axis=-1),
                ]
            for head, head_scores in enumerate(scores):
                rows = head_scores[1:] if to == "input" else head_scores[:-1]
                end = len(gold.source_words)
                merged = (
                    merge(rows, target, [*source, end])
                    if ends
                    else merge(rows[:, :-1], target, source)
                )
                best = merged.argmax(-1)
                dropped += int((best == end).sum())
                predicted.setdefault((layer, head), set()).update(
                    (100 * number + int(i), j) for j, i in enumerate(best) if i < end
                )
    assert (dropped > 0) == ends
    for (layer, head), links in predicted.items():
        single = head < sharp_translator.model.config.n_heads
        row = row_of(
            errors.table, "head" if single else "layer", by, to, layer, head if single else -1
        )
        assert row["aer"] == pytest.approx(alignment_error(links, sure, possible))


def test_the_diagonal_equals_hand_counted_errors(translator: Translator) -> None:
    """4 source words, 2 target words: the diagonal is 1 and 3."""
    corpus = Corpus.from_lines(["a b c d\te f\t1-0 2-1"], "x")
    table = measure_aligners(translator, corpus).table.set_index("aligner")
    assert table.loc["diagonal", "aer"] == pytest.approx(1 - 2 * 1 / 4)
    assert table["aer"].is_monotonic_increasing


def test_predicting_and_reading_rows_are_compared() -> None:
    """Three pieces of two target words over two source words, and a final `</s>`."""
    weights = np.zeros((1, 4, 3), np.float32)
    weights[0, :, :2] = [[0.1, 0.4], [0.45, 0.1], [0.2, 0.7], [0.9, 0.0]]
    weights[0, :, 2] = 1 - weights[0, :, :2].sum(-1)
    targets, best = aligned_words(weights, [0, 1], [0, 0, 1])
    assert (targets.tolist(), best.tolist()) == ([0, 1], [[0, 1]])
    assert aligned_words(weights, [0, 1], [0, 0, 1], "input")[1].tolist() == [[1, 0]]
    # A word without a token of its own has no weights as a query or as a key.
    targets, best = aligned_words(weights, [0, 2], [0, 0, 2])
    assert (targets.tolist(), best.tolist()) == ([0, 2], [[0, 2]])


def test_sentences_with_unmatched_words_are_left_out(perfect_aligner: Translator) -> None:
    """In a vocabulary of symbols an unknown word is `<unk>`, which has no spelling."""
    corpus = Corpus.from_lines(["the cat sleeps .\tle chat dort .\t0-0", "zzz .\tle .\t0-0"], "x")
    errors = measure_aligners(perfect_aligner, corpus)
    assert (errors.n_sentences, errors.left_out) == (1, (1,))
    with pytest.raises(ValueError, match="in none of 1 sentences"):
        measure_aligners(perfect_aligner, Corpus("x", corpus.sentences[1:]))
    with pytest.raises(ValueError, match="has no gold links"):
        measure_aligners(perfect_aligner, Corpus.from_lines(["the cat\tle chat"], "x"))
