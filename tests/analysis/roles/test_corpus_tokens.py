"""Syntactic heads: tables of relations between tokens, hand-counted rows, and the rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.small_models import shift_model
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import GoldAnnotations, words_of
from transformer.analysis.roles import corpus_tokens
from transformer.analysis.roles.head_measures import HeadMeasures, measure_heads
from transformer.analysis.roles.head_roles import RELATION_TEXTS, head_roles
from transformer.text import Vocabulary

# "She helps old men.": the verb and the object have two tokens each.
PIECES = ("▁She", "▁help", "s", "▁old", "▁me", "n", ".", "</s>")
GOLD = GoldAnnotations(
    ("She", "helps", "old", "men", "."),
    ("Elle", "aide", "de", "vieux", "hommes", "."),
    frozenset(),
    frozenset(),
    (("subject", 1, 0), ("object", 1, 3), ("adjective", 3, 2)),
)


def nonzero_cells(table: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(table), strict=True)}


def test_any_token_of_a_word_may_attend_to_any_token_of_the_other() -> None:
    tables = corpus_tokens.relation_tables(PIECES, GOLD)
    assert {name: nonzero_cells(table) for name, table in tables.items()} == {
        "verb_subject": {(1, 0), (2, 0)},
        "subject_verb": {(0, 1), (0, 2)},
        "verb_object": {(1, 4), (1, 5), (2, 4), (2, 5)},
        "object_verb": {(4, 1), (4, 2), (5, 1), (5, 2)},
        "noun_adjective": {(4, 3), (5, 3)},
        "adjective_noun": {(3, 4), (3, 5)},
        "pieces": {(1, 2), (2, 1), (4, 5), (5, 4)},
    }
    assert corpus_tokens.relation_tables(PIECES, None).keys() == {"pieces"}
    assert (
        corpus_tokens.relation_tables(("▁She", "▁lies", ".", "</s>"), GOLD) == {}
    )  # other words than in the gold annotation


def test_the_best_offset_is_the_most_frequent() -> None:
    tables = corpus_tokens.relation_tables(PIECES, GOLD)
    # Both rows of the relation have offset +3; of the four "pieces" rows, −1 and +1 hit two each.
    assert corpus_tokens.best_offset([tables], "verb_object") == (3, 1.0, 2)
    assert corpus_tokens.best_offset([tables, {}, tables], "pieces") == (-1, 0.5, 8)
    assert corpus_tokens.best_offset([tables], "verb_subject") == (-1, 0.5, 2)
    offset, share, rows = corpus_tokens.best_offset([tables], "verb_adverb")
    assert (offset, rows) == (0, 0)
    assert np.isnan(share)


@pytest.fixture(scope="module")
def measured(vocabulary: Vocabulary) -> HeadMeasures:
    """Four heads with fixed offsets, measured over the grammar."""
    translator = shift_model(vocabulary, (-1, 1, 2, -3))
    return measure_heads(translator, Corpus("grammar", Corpus.bundled(120).sentences[48:]))


def test_offset_heads_reach_the_accuracy_of_their_offset(
    measured: HeadMeasures, vocabulary: Vocabulary
) -> None:
    """Compared with hits counted sentence by sentence; none of these heads is syntactic."""
    for name, (relation, down) in corpus_tokens.RELATIONS.items():
        for head, offset in enumerate((-1, 1, 2, -3)):
            hits, rows = 0, 0
            for sentence, pair in zip(measured.corpus.sentences, measured.pairs, strict=True):
                assert sentence.gold is not None
                word = words_of(vocabulary.tokens(pair.src[:-1]), sentence.gold.source_words)
                assert word is not None
                for relation_name, governor, dependent in sentence.gold.dependencies:
                    start, end = (governor, dependent) if down else (dependent, governor)
                    if relation_name != relation:
                        continue
                    for i in (i for i, each in enumerate(word) if each == start):
                        # The model attends to the nearest existing key other than </s>.
                        at = i + offset
                        rows += 1
                        hits += 0 <= at < len(word) and word[at] == end
            counted = measured.rows["encoder"][name].sum()
            assert rows >= counted  # one row may have two adjectives
            value = measured.table().query("kind == 'encoder'")[name].iloc[head]
            if not counted:
                assert np.isnan(value)
                continue
            if rows == counted:
                assert value == pytest.approx(hits / rows, abs=0.02), (name, offset)
            assert value <= measured.best_offsets[name][1] + 0.02
    groups = {
        role.group for card in head_roles(measured) if card.kind == "encoder" for role in card.met
    }
    assert "positional" in groups
    assert not groups & {"syntactic", "pieces"}


def test_a_head_is_syntactic_if_10_points_above_the_best_offset(measured: HeadMeasures) -> None:
    """Accuracies just below and above the threshold; with too few rows no head is syntactic."""
    name = "verb_subject"
    assert measured.rows["encoder"][name].sum() >= corpus_tokens.MIN_ROWS
    threshold = measured.best_offsets[name][1] + corpus_tokens.MARGIN
    for share, met in ((threshold - 0.005, False), (threshold, True), (1.0, True)):
        values = {kind: dict(named) for kind, named in measured.values.items()}
        accuracies = np.full_like(values["encoder"][name], np.nan)
        accuracies[:, :, measured.rows["encoder"][name] > 0] = share
        values["encoder"][name] = accuracies
        changed = replace(measured, values=values)
        first = next(card for card in head_roles(changed) if card.kind == "encoder")
        roles = [role for role in first.met if role.group == "syntactic"]
        assert bool(roles) == met
        for role in roles:
            assert (role.short, role.text) == RELATION_TEXTS[name]
            assert role.share == pytest.approx(share)
        few = {kind: dict(named) for kind, named in measured.rows.items()}
        few["encoder"][name] = np.zeros_like(few["encoder"][name])
        few["encoder"][name][0] = corpus_tokens.MIN_ROWS - 1
        with_few_rows = next(
            c for c in head_roles(replace(changed, rows=few)) if c.kind == "encoder"
        )
        assert "syntactic" not in {role.group for role in with_few_rows.met}
