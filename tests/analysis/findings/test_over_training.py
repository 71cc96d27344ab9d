"""The saves of a training run that are stored for the findings about learning."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

from tests.analysis.small_models import without_output
from transformer import Translator
from transformer.analysis.corpora import Corpus
from transformer.analysis.evidence.bootstrap import BleuCounts
from transformer.analysis.findings import (
    FINDINGS,
    UntestableError,
    load_run_checkpoints,
    pruning_over_training,
)
from transformer.analysis.findings import over_training as training_module
from transformer.analysis.findings.over_training import SCORES_FILE, CheckpointScores, write_scores
from transformer.checkpoint import save_checkpoint
from transformer.training.run import RunFolder
from transformer.training.saving import WeightAverager


def test_tolerance_compares_the_first_and_the_last_checkpoint(
    monkeypatch: pytest.MonkeyPatch, translator: Translator, corpus: Corpus
) -> None:
    """Pruning does not change the outputs of one model, and half of those of the other. The fake
    BLEU distinguishes them by the number of zero weights."""
    without_heads = without_output(translator)
    zero_counts: list[int] = []

    def bleu(translator: Translator, corpus: Corpus, references: list[str]) -> BleuCounts:
        zeros = sum(
            int((p == 0).sum()) for n, p in translator.model.named_parameters() if "w_o" in n
        )
        zero_counts.append(zeros)
        weights = translator.model.encoder.layers[0].self_attn.w_o.numel()
        # 10 of 24 heads are pruned: their columns in the W^O of 24 / 4 attentions are 0.
        pruned = zeros == 10 * weights // translator.model.config.n_heads
        hypotheses = [*references[:6], *["x"] * 6] if pruned else references
        return BleuCounts(hypotheses, references)

    monkeypatch.setattr(training_module, "corpus_bleu", bleu)
    finding = pruning_over_training([(20, without_heads), (10, translator)], corpus)
    assert len(set(zero_counts)) == 3  # none, 10 heads, all
    assert finding.verdict == "holds", finding.reason
    assert finding.figures["step"].tolist() == [10, 20]
    assert finding.figures["kept"].iloc[1] == 1
    assert finding.figures["kept"].iloc[0] < 0.7
    assert (
        pruning_over_training([(10, without_heads), (20, translator)], corpus).verdict == "refuted"
    )
    with pytest.raises(UntestableError, match="two are needed"):
        pruning_over_training([(10, translator)], corpus)


def test_a_run_keeps_early_and_late_saves(translator: Translator, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    last = WeightAverager(run, 2)
    models = {
        step: copy.deepcopy(translator.model).requires_grad_(False) for step in range(10, 80, 10)
    }
    for step, model in models.items():
        model.embedding.weight.mul_(1 + step / 100)
        last.add(model, step)
    assert len(last) == 2
    last.save_mean(translator.model.config, translator.vocabulary, "# A run\n")
    saves = load_run_checkpoints(run.path)
    assert [step for step, _ in saves] == [10, 20, 40, 60, 70]
    for step, translator in saves:
        torch.testing.assert_close(translator.model.embedding.weight, models[step].embedding.weight)
    mean = (models[60].embedding.weight + models[70].embedding.weight) / 2
    averaged = Translator.load(run.path / "checkpoint").model.embedding.weight
    torch.testing.assert_close(averaged, mean, rtol=2**-10, atol=1e-6)


def test_a_checkpoint_includes_the_scores_of_its_early_saves(
    translator: Translator, corpus: Corpus, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    save_checkpoint(folder, translator.model, translator.vocabulary, "# Mine\n")
    tolerance = FINDINGS["tolerance"]
    finding = tolerance.run(Translator.load(folder), corpus)
    assert finding.verdict == "can't be tested here"
    assert "several training steps" in finding.reason
    all_correct = ["a b c d e f"] * 12
    half_correct = [*all_correct[:6], *["x y z"] * 6]
    saved = [
        CheckpointScores(
            100, BleuCounts(all_correct, all_correct), BleuCounts(half_correct, all_correct)
        ),
        CheckpointScores(
            400, BleuCounts(all_correct, all_correct), BleuCounts(all_correct, all_correct)
        ),
    ]
    write_scores(folder / SCORES_FILE, saved)
    finding = tolerance.run(Translator.load(folder), corpus)
    assert finding.verdict == "holds"
    assert finding.figures["step"].tolist() == [100, 400]
    assert finding.figures["kept"].iloc[1] == 1
    assert finding.figures["bleu_pruned"].iloc[0] == pytest.approx(saved[0].pruned.score)
    for broken in (
        "[",
        "{}",
        '{"step": 1, "whole": [[1]], "pruned": [[1]]}',
        '{"step": 1, "whole": [[-1,0,0,0,0,0,0,0,0,0]], "pruned": [[1,0,0,0,0,0,0,0,0,0]]}',
        "[" * 10_000,
        "",
    ):
        (folder / SCORES_FILE).write_text(broken)
        finding = tolerance.run(Translator.load(folder), corpus)
        assert finding.effect is None
        assert "cannot be used" in finding.reason
        assert str(tmp_path) not in finding.reason
