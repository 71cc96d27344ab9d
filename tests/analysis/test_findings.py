from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import spearmanr

from tests.analysis.shifted import quiet, shift_model
from transformer import Translator
from transformer.analysis.aligners import Leaderboard, leaderboard
from transformer.analysis.bootstrap import Bleu
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.findings import (
    FINDINGS,
    Untestable,
    blank_out,
    pruning_over_training,
    saves_of,
)
from transformer.analysis.findings import blanked as blanked_room
from transformer.analysis.findings import removal as removal_room
from transformer.analysis.findings import training as training_room
from transformer.analysis.findings import words as words_room
from transformer.analysis.findings.blanked import agreement, rank_correlations
from transformer.analysis.findings.finding import spread
from transformer.analysis.gates import Head
from transformer.analysis.hits import Hits
from transformer.analysis.passes import silent
from transformer.analysis.reports import report
from transformer.analysis.rollout import joint
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.training.run import RunFolder
from transformer.training.saving import LastWeights


@pytest.fixture(scope="module")
def tiny(tiny_model: Transformer, vocabulary: Vocabulary) -> Translator:
    return Translator(tiny_model, vocabulary)


@pytest.fixture(scope="module")
def corpus(pairs: list[tuple[str, str]]) -> Corpus:
    return Corpus("pairs", tuple(Sentence(*pair) for pair in pairs[:12]))


def without_output(translator: Translator) -> Translator:
    """A copy whose heads write nothing at all."""
    model = copy.deepcopy(translator.model).requires_grad_(False)
    for name, parameter in model.named_parameters():
        if name.endswith("w_o"):
            parameter.zero_()
    return Translator(model, translator.vocabulary)


def test_a_shift_head_is_positional_and_a_random_one_is_not(
    tiny: Translator, vocabulary: Vocabulary, corpus: Corpus
) -> None:
    with quiet():
        built = shift_model(vocabulary, (1, -2, 0))
    found = FINDINGS["positional"].run(built, corpus)
    assert found.verdict == "holds"
    assert found.figures["positional"].tolist() == [True, True, False]  # itself does not count
    assert found.figures["share"].tolist() == [1, 1, 1]
    assert found.reason == "2 of 3 encoder heads are positional: 0.0 (+1, 100%), 0.1 (−2, 100%)."
    random = FINDINGS["positional"].run(tiny, corpus)
    assert random.verdict == "doesn't hold"
    assert not random.figures["positional"].any()


@pytest.mark.parametrize("name", FINDINGS)
def test_a_few_sentences_test_nothing(tiny: Translator, corpus: Corpus, name: str) -> None:
    found = FINDINGS[name].run(tiny, corpus.first(3))
    assert found.verdict == "can't be tested here"
    assert found.reason.endswith(".")
    assert found.figures.empty


def test_sentences_are_taken_evenly(corpus: Corpus) -> None:
    assert spread(corpus, 3).sentences == corpus.sentences[::4]
    assert spread(corpus, 12) is corpus
    measured = FINDINGS["last-cross"]
    assert measured.most == 60


def costs(monkeypatch: pytest.MonkeyPatch, cost: dict[str, float], last_cross: float) -> None:
    """Each head that is off costs what its kind does, the last encoder–decoder layer's more."""

    def made(translator: Translator, parts: list, groups: list[list[Head]], progress: object):  # type: ignore[no-untyped-def]
        n = sum(len(part.numbers) for part in parts)
        noise = np.random.default_rng(3).normal(0, 0.01, (len(groups), n))
        last = ("cross", translator.model.config.n_layers - 1)
        each = [
            sum(cost[kind] + (last_cross if (kind, layer) == last else 0) for kind, layer, _ in g)
            for g in groups
        ]
        return np.full(n, 9.0), 9.0 + np.array(each)[:, None] + noise

    monkeypatch.setattr(removal_room, "losses_without", made)


@pytest.mark.parametrize(
    ("name", "cost", "last_cross", "verdict"),
    [
        ("single", {"encoder": 0.0, "decoder": 0.0, "cross": 1.0}, 0.0, "holds"),
        ("single", {"encoder": 1.0, "decoder": 0.0, "cross": 1.0}, 0.0, "doesn't hold"),
        ("single", {"encoder": -1.0, "decoder": -1.0, "cross": 1.0}, 0.0, "holds"),
        ("fragile", {"encoder": 0.1, "decoder": 0.2, "cross": 0.3}, 0.0, "holds"),
        ("fragile", {"encoder": 0.1, "decoder": 0.3, "cross": 0.2}, 0.0, "doesn't hold"),
        ("fragile", {"encoder": 0.2, "decoder": 0.2, "cross": 0.2}, 0.0, "doesn't hold"),
        ("last-cross", {"encoder": 0.1, "decoder": 0.1, "cross": 0.1}, 0.1, "holds"),
        ("last-cross", {"encoder": 0.1, "decoder": 0.1, "cross": 0.1}, 0.0, "doesn't hold"),
        ("last-cross", {"encoder": 0.3, "decoder": 0.1, "cross": 0.1}, 0.1, "doesn't hold"),
    ],
)
def test_what_heads_cost_decides(
    monkeypatch: pytest.MonkeyPatch,
    tiny: Translator,
    corpus: Corpus,
    name: str,
    cost: dict[str, float],
    last_cross: float,
    verdict: str,
) -> None:
    costs(monkeypatch, cost, last_cross)
    found = FINDINGS[name].run(tiny, corpus)
    assert found.verdict == verdict, found.reason
    assert (found.figures["low"] <= found.figures["growth"]).all()


def test_heads_that_write_nothing_are_not_missed(tiny: Translator, corpus: Corpus) -> None:
    found = FINDINGS["single"].run(without_output(tiny), corpus)
    assert found.verdict == "holds"
    assert (found.figures["growth"] == 0).all()
    assert len(found.figures) == 24
    last = FINDINGS["last-cross"].run(without_output(tiny), corpus)
    assert last.verdict == "doesn't hold"


N = 40


def board(monkeypatch: pytest.MonkeyPatch, best: dict[tuple[str, str, int], float]) -> None:
    """Two layers whose aligners find four links a sentence, so many of them right; else one."""
    ways = [(by, to) for by in ("weights", "norms") for to in ("output", "input")]
    noise = np.random.default_rng(0).integers(0, 2, N) - 0.5
    heads = {way: np.ones((2, 2, 3, N)) + noise for way in ways}
    for (by, to, layer), right in best.items():
        heads[by, to][:, layer] = right + noise / 4
    hits = Hits(heads, np.ones((2, N)), np.ones((2, N)), np.full(N, 4.0), np.full(N, 4.0))
    found = Leaderboard(pd.DataFrame(), hits, N, ())
    monkeypatch.setattr(words_room, "leaderboard", lambda *_: found)


@pytest.mark.parametrize(
    ("name", "best", "verdict"),
    [
        ("alignment-chance", {("weights", "input", 1): 3.0}, "holds"),
        ("alignment-chance", {("norms", "input", 1): 3.0}, "doesn't hold"),
        ("alignment-norms", {("norms", "input", 1): 3.0}, "holds"),
        ("alignment-norms", {("weights", "input", 1): 3.0}, "doesn't hold"),
        ("alignment-input", {("weights", "input", 0): 3.0}, "holds"),
        ("alignment-input", {("norms", "input", 0): 3.0}, "holds"),
        ("alignment-input", {("norms", "input", 1): 3.0}, "doesn't hold"),
        ("alignment-input", {("norms", "output", 0): 3.0}, "doesn't hold"),
    ],
)
def test_who_aligns_best_decides(
    monkeypatch: pytest.MonkeyPatch,
    tiny: Translator,
    name: str,
    best: dict[tuple[str, str, int], float],
    verdict: str,
) -> None:
    board(monkeypatch, best)
    lines = ["a b\tc d\t0-0"] * N
    found = FINDINGS[name].run(tiny, Corpus.of_lines(lines, "x"))
    assert found.verdict == verdict, found.reason
    # 3 of 4 found and 4 wanted are right: 1 - 2 · 3 / 8.
    wanted = next(iter(best))
    line = found.figures.set_index(["by", "layer"])
    if (key := (f"{wanted[0]}, {wanted[1]}", wanted[2])) in line.index:
        assert line.loc[key, "aer"] == pytest.approx(0.25, abs=0.01)


def test_errors_of_a_drawn_corpus_are_those_of_its_sentences(tiny: Translator) -> None:
    lines = [
        "She paints a boat.\tElle peint un bateau.\t0-0 1-1 2-2 3-3",
        "A pilot hides bread.\tUn pilote cache du pain.\t0-0 1-1 2-2 3-4 3?3",
    ]
    both = leaderboard(tiny, Corpus.of_lines(lines, "x"))
    twice = leaderboard(tiny, Corpus.of_lines([lines[0], lines[1], lines[1]], "x"))
    counts = both.hits.heads["norms", "input"][:, 1, 2]
    row = twice.table.query("by == 'norms' and to == 'input' and layer == 1 and head == 2")
    drawn = np.array([[1.0, 2.0]])
    assert both.hits.errors(counts, drawn)[0] == pytest.approx(row["aer"].item())


def test_blank_out_is_a_token_replaced(tiny: Translator, corpus: Corpus) -> None:
    trace = tiny.trace(corpus.sentences[0].source, corpus.sentences[0].target)
    found = blank_out(tiny, trace)
    assert found.shape == (len(trace.predicted_ids), len(trace.src_ids) - 1)
    column, tgt = 2, torch.tensor([trace.tgt_ids])
    logs = []
    with torch.no_grad():
        for replaced in (False, True):
            ids = list(trace.src_ids)
            if replaced:
                ids[column] = tiny.model.config.unk_id
            logs.append(tiny.model(torch.tensor([ids]), tgt)[0].log_softmax(-1))
    rows = range(len(trace.predicted_ids))
    wanted = (logs[1] - logs[0])[rows, list(trace.predicted_ids)]
    np.testing.assert_allclose(found[:, column], wanted, atol=1e-5)


def test_rank_correlations_are_scipys() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.integers(0, 4, (2, 3, 7)).astype(float), generator.random((3, 7))
    found = rank_correlations(a, b)
    for i, j in np.ndindex(found.shape):
        assert found[i, j] == pytest.approx(spearmanr(a[i, j], b[j]).statistic)
    assert np.isnan(rank_correlations(np.ones((1, 1, 4)), b[:1, :4])).all()


def test_agreement_of_one_sentence_is_the_mean_over_its_tokens(
    tiny: Translator, corpus: Corpus
) -> None:
    one = corpus.first(1)
    trace = tiny.trace(one.sentences[0].source, one.sentences[0].target)
    effect = np.abs(blank_out(tiny, trace))
    raw = trace.weights("cross", 1).mean(axis=0)
    rolled = joint(trace).source[1]
    wanted = [
        np.mean([spearmanr(a[:-1], b).statistic for a, b in zip(way, effect, strict=True)])
        for way in (raw, rolled)
    ]
    np.testing.assert_allclose(agreement(tiny, one, silent)[0, :, 1], wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "raw", "rolled", "verdict"),
    [
        ("rollout", (0.5, 0.2), (0.1, 0.6), "holds"),
        ("rollout", (0.1, 0.6), (0.5, 0.2), "doesn't hold"),
        ("rollout", (0.1, 0.4), (0.1, 0.4), "doesn't hold"),
        ("rollout-depth", (0.0, 0.0), (0.1, 0.6), "holds"),
        ("rollout-depth", (0.0, 0.9), (0.6, 0.1), "doesn't hold"),
    ],
)
def test_ranks_decide(
    monkeypatch: pytest.MonkeyPatch,
    tiny: Translator,
    corpus: Corpus,
    name: str,
    raw: tuple[float, float],
    rolled: tuple[float, float],
    verdict: str,
) -> None:
    noise = np.random.default_rng(2).normal(0, 0.05, (20, 2, 2))
    made = np.array([raw, rolled])[None] + noise
    monkeypatch.setattr(blanked_room, "agreement", lambda *_: made)
    found = FINDINGS[name].run(tiny, corpus)
    assert found.verdict == verdict, found.reason
    assert found.sentences == 20


def test_tolerance_compares_the_first_and_the_last_checkpoint(
    monkeypatch: pytest.MonkeyPatch, tiny: Translator, corpus: Corpus
) -> None:
    """One model translates as well without the heads; with the other half of the sentences are
    lost. They are told apart by how many weights are 0."""
    calm = without_output(tiny)
    asked: list[int] = []

    def bleu(translator: Translator, corpus: Corpus, references: list[str]) -> Bleu:
        zeros = sum(
            int((p == 0).sum()) for n, p in translator.model.named_parameters() if "w_o" in n
        )
        asked.append(zeros)
        weights = tiny.model.encoder.layers[0].self_attn.w_o.numel()
        # Of 24 heads 10 are gone: their columns of 24 / 4 attentions' W^O.
        pruned = zeros == 10 * weights // tiny.model.config.n_heads
        made = [*references[:6], *["x"] * 6] if pruned else references
        return Bleu(made, references)

    monkeypatch.setattr(training_room, "bleu_of", bleu)
    found = pruning_over_training([(20, calm), (10, tiny)], corpus)
    assert len(set(asked)) == 3  # none, 10 heads, all
    assert found.verdict == "holds", found.reason
    assert found.figures["step"].tolist() == [10, 20]
    assert found.figures["kept"].iloc[1] == 1
    assert found.figures["kept"].iloc[0] < 0.7
    assert pruning_over_training([(10, calm), (20, tiny)], corpus).verdict == "doesn't hold"
    with pytest.raises(Untestable, match="two are needed"):
        pruning_over_training([(10, tiny)], corpus)


def test_a_run_keeps_its_last_saves(tiny: Translator, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    last = LastWeights(run, 2)
    models = {step: copy.deepcopy(tiny.model).requires_grad_(False) for step in (10, 20, 30)}
    for step, model in models.items():
        model.embedding.weight.mul_(1 + step / 100)
        last.add(model, step)
    last.save_mean(tiny.model.config, tiny.vocabulary, "# A run\n")
    found = saves_of(run.path)
    assert [step for step, _ in found] == [20, 30]
    for step, translator in found:
        torch.testing.assert_close(translator.model.embedding.weight, models[step].embedding.weight)


def test_a_report_holds_all_of_it(tiny: Translator, corpus: Corpus) -> None:
    found = report(tiny, corpus, "finding-positional").to_dict()
    assert found["verdict"] == "doesn't hold"
    assert found["rule"] == FINDINGS["positional"].rule
    assert len(found["table"]) == 8
    assert found["measured"] == 12
    json.dumps(found, allow_nan=False)
