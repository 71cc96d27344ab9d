"""Syntax scores: trees from CoNLL-U, hits compared with the grammar measures, closed forms."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import words_of
from transformer.analysis.corpora.passes import encode_corpus
from transformer.analysis.corpora.trees import Tree, read_trees
from transformer.analysis.roles import syntax
from transformer.analysis.roles.head_measures import measure_heads
from transformer.analysis.roles.syntax import SyntaxScore, syntax_scores
from transformer.analysis.roles.syntax_report import (
    SYNTAX_FILE,
    SyntaxReport,
    load_syntax_report,
    save_syntax_report,
)
from transformer.checkpoint import checkpoint_hash
from transformer.config import ModelConfig
from transformer.text import CorpusError

CONLLU = """# sent_id = a1
# text = The cat (au lait) sees him.
1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\t_\t_\t8\tnsubj\t_\t_
3\t(\t(\tPUNCT\t_\t_\t6\tpunct\t_\tSpaceAfter=No
4-5\tau\t_\t_\t_\t_\t_\t_\t_\t_
4\tà\tà\tADP\t_\t_\t6\tcase\t_\t_
5\tle\tle\tDET\t_\t_\t6\tdet\t_\t_
6\tlait\tlait\tNOUN\t_\t_\t2\tnmod\t_\tSpaceAfter=No
7\t)\t)\tPUNCT\t_\t_\t6\tpunct\t_\t_
8\tsees\tsee\tVERB\t_\t_\t0\troot\t_\t_
8.1\tsees\tsee\tVERB\t_\t_\t_\t_\t_\t_
9\thim\the\tPRON\t_\t_\t8\tobj\t_\tSpaceAfter=No
10\t.\t.\tPUNCT\t_\t_\t8\tpunct\t_\t_

# sent_id = a2
# text = Old dogs slept.
1\tOld\told\tADJ\t_\t_\t2\tamod\t_\t_
2\tdogs\tdog\tNOUN\t_\t_\t3\tnsubj:outer\t_\t_
3\tslept\tsleep\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_
"""


def test_trees_count_surface_words_and_use_our_relation_names(tmp_path: Path) -> None:
    path = tmp_path / "trees.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    first, second = read_trees(path)
    assert (first.id, second.id) == ("a1", "a2")
    assert first.words == ("The", "cat", "(", "au", "lait", ")", "sees", "him", ".")
    assert "".join(first.words) == first.text.replace(" ", "")
    assert set(first.dependencies) == {("subject", 6, 1), ("object", 6, 7)}
    assert set(second.dependencies) == {("adjective", 1, 0), ("subject", 2, 1)}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1\tonly\tthree\n", r"line 1: 3 columns; CoNLL-U has 10"),
        ("x" + "\t_" * 9 + "\n", r"line 1: the first column is 'x'; CoNLL-U has a word's number"),
        ("\n\n", "has no sentence"),
    ],
)
def test_invalid_conllu_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "bad.conllu"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=reason):
        read_trees(path)


def grammar_trees(corpus: Corpus) -> tuple[list[Tree], list[Tree]]:
    """Return the trees of the grammar's sentences, and of their translations, which have no
    dependencies."""
    sources, targets = [], []
    for number, sentence in enumerate(corpus.sentences):
        assert sentence.gold is not None
        gold = sentence.gold
        sources.append(Tree(str(number), sentence.source, gold.source_words, gold.dependencies))
        targets.append(Tree(str(number), sentence.target, gold.target_words, ()))
    return sources, targets


def test_encoder_hits_equal_the_grammar_measures(translator: Translator) -> None:
    """`measures/grammar.py` computes the same independently, with masks over padded batches."""
    bundled = Corpus.bundled(400)
    corpus = Corpus(
        "grammar", tuple(s for s in bundled.sentences if s.gold and s.gold.dependencies)[:80]
    )
    assert len(corpus) == 80
    measured = measure_heads(translator, corpus)
    sources, targets = grammar_trees(corpus)
    pairs = encode_corpus(translator, corpus)
    strongest = syntax._strongest_tokens(translator, pairs, lambda share, stage: None)["encoder"]
    tokens = [translator.vocabulary.tokens(pair.src[:-1]) for pair in pairs]
    for relation, measure in (
        ("predicate to subject", "verb_subject"),
        ("object to verb", "object_verb"),
        ("adjective to noun", "adjective_noun"),
    ):
        hits, rows = np.zeros(strongest[0].shape[:2]), 0
        for tree, pieces, table in zip(sources, tokens, strongest, strict=True):
            words = words_of(pieces, tree.words)
            if words is None:
                continue
            arcs = syntax._arcs(tree, words, relation, "encoder")
            hits += syntax._hits(arcs, table)
            rows += sum(len(query) for query, _ in arcs)
        counted = measured.rows["encoder"][measure]
        shares = measured.values["encoder"][measure].astype(np.float64)
        assert rows == counted.sum() > 30
        # Of two keys with equal weight, the measures count half each, and these scores one.
        np.testing.assert_allclose(hits, np.nansum(shares * counted, axis=-1), atol=1.01)
    assert len(syntax_scores(translator, sources, targets)) > 0


def constant_heads(best: list[int], n_heads: int = 2) -> np.ndarray:
    """Return one layer; head 1 has these strongest keys, head 0 always key 0."""
    table = np.zeros((1, n_heads, len(best)), np.int16)
    table[0, 1] = best
    return table


def test_a_syntactic_head_beats_the_offset() -> None:
    rng = np.random.default_rng(1)
    arcs, strongest = [], []
    for _ in range(200):
        column = int(rng.integers(1, 9))
        arcs.append([([0], [column])])
        strongest.append(constant_heads([column, *[0] * 9]))
    score = syntax._score("encoder", "verb to object", arcs, strongest)
    assert score is not None
    assert (score.layer, score.head, score.accuracy, score.rows) == (0, 1, 1.0, 100)
    offsets = [arc[0][1][0] for arc in arcs]
    assert score.offset_accuracy == sum(x == score.offset for x in offsets[1::2]) / 100
    assert score.syntactic
    assert score.low < 1 - score.offset_accuracy < score.high


def test_decoder_rows_count_only_earlier_words() -> None:
    tree = Tree("x", "a b", ("a", "b"), (("object", 0, 1),))
    words = [0, 1]
    assert syntax._arcs(tree, words, "verb to object", "decoder") == []
    assert syntax._arcs(tree, words, "object to verb", "decoder") == [([2], [1])]
    assert syntax._arcs(tree, words, "verb to object", "encoder") == [([0], [1])]


def test_few_rows_give_no_verdict() -> None:
    arcs = [[([0], [1])]] * 40
    assert syntax._score("encoder", "verb to object", arcs, [constant_heads([1, 0])] * 40) is None


def test_both_languages_need_the_same_sentences(translator: Translator) -> None:
    tree = Tree("x", "a", ("a",), ())
    with pytest.raises(ValueError, match="1 source trees and 0 target trees; both sides need"):
        syntax_scores(translator, [tree], [])


SCORE = SyntaxScore("encoder", "verb to object", 1, 2, 0.5, 0.1, 0.3, -2, 0.3, 120)


def test_a_report_is_loaded_only_for_its_weights(checkpoints: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(checkpoints / "tiny", folder)
    config = ModelConfig.preset("tiny", vocab_size=320)
    digest = checkpoint_hash(folder)
    report = SyntaxReport("made here", 240, (SCORE,))
    assert load_syntax_report(folder, digest, config) is None
    save_syntax_report(folder, report)
    assert checkpoint_hash(folder) == digest
    assert load_syntax_report(folder, digest, config) == report
    assert load_syntax_report(folder, "0" * 16, config) is None
    values = json.loads((folder / SYNTAX_FILE).read_text())
    for wrong in ({"layer": 9}, {"relation": "<b>"}, {"accuracy": 7}, {"low": "x"}):
        changed = {**values, "scores": [{**values["scores"][0], **wrong}]}
        (folder / SYNTAX_FILE).write_text(json.dumps(changed))
        assert load_syntax_report(folder, digest, config) is None
    table = report.chart_table("encoder")
    assert list(table["accuracy"]) == [0.5, 0.3]
    assert list(table["low"]) == pytest.approx([0.4, 0.3])
    assert report.chart_table("decoder").empty
