"""Finding: the longer a model is trained, the more heads it can lose (Michel et al. 2019, section
6).

A checkpoint may be stored with the scores of earlier checkpoints of its run, as the counts that
BLEU is computed from.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors.torch import load_file

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, no_progress
from transformer.analysis.evidence.bootstrap import (
    BleuCounts,
    BootstrapSamples,
    max_difference_interval,
    resampled_counts,
)
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import (
    Finding,
    PublishedFinding,
    UntestableError,
    format_effect,
    require_sentences,
)
from transformer.analysis.importance.ablation import corpus_bleu, reference_texts, without_heads
from transformer.analysis.importance.by_gradient import gradient_importance
from transformer.checkpoint import load_checkpoint
from transformer.inference import Translator
from transformer.measures.chart import Chart
from transformer.text.files import atomic_path

PRUNED_SHARE = 0.4
"""Share of all heads that is removed; late in training, the paper's models tolerate this."""
MIN_BLEU = 1.0
FLOOR = 1.0
"""Smallest difference that matters, in percentage points of the full model's BLEU."""


def pruning_over_training(
    checkpoints: Sequence[tuple[int, Translator]], corpus: Corpus, progress: Progress = no_progress
) -> Finding:
    """Test the finding on several checkpoints of one run, each with its step.

        pruning_over_training(load_run_checkpoints("runs/mine"), Corpus.bundled(60)).reason
        checkpoints = [(step, Translator.load(f"copies/{step}")) for step in (500, 1000, 2000)]

    From each checkpoint the 40% of heads with the least importance (by gradient) are removed; BLEU
    against the corpus's targets is divided by BLEU with all heads.

    Raises:
        UntestableError: a ValueError, for fewer than two checkpoints with a BLEU of at least 1, or
            a short corpus.
    """
    require_sentences(len(corpus))
    return tolerance_finding(score_checkpoints(checkpoints, corpus, progress))


def score_checkpoints(
    checkpoints: Sequence[tuple[int, Translator]], corpus: Corpus, progress: Progress = no_progress
) -> list[CheckpointScores]:
    """Return BLEU of each checkpoint, sorted by step, with all heads and without the least
    important ones."""
    scores = []
    for number, (step, translator) in enumerate(sorted(checkpoints, key=lambda save: save[0])):
        progress(number / len(checkpoints), f"pruning the checkpoint of step {step}")
        exact = Translator(translator.model, translator.vocabulary, "fp32")
        references = reference_texts(exact, corpus)
        order = gradient_importance(translator, corpus).normalised().order()
        full = corpus_bleu(exact, corpus, references)
        pruned = without_heads(exact, order[: round(PRUNED_SHARE * len(order))])
        scores.append(CheckpointScores(step, full, corpus_bleu(pruned, corpus, references)))
    progress(1.0, "pruned")
    return scores


def tolerance_finding(scores: Sequence[CheckpointScores]) -> Finding:
    """Return the finding from the scores of several checkpoints.

    Raises:
        UntestableError: if fewer than two reach `MIN_BLEU`.
    """
    usable = [save for save in scores if save.full.score >= MIN_BLEU]
    if len(usable) < 2:
        raise UntestableError(
            f"{len(usable)} of {len(scores)} checkpoints reach a BLEU of {MIN_BLEU:g}; two are "
            "needed, from different steps of one run."
        )
    sentences = len(usable[0].full.counts)
    resampled = resampled_counts(sentences)
    table = pd.DataFrame(
        [(x.step, x.pruned.score / x.full.score, x.full.score, x.pruned.score) for x in usable],
        columns=["step", "kept", "bleu", "bleu_pruned"],
    )
    shares = [
        x.pruned.resampled_scores(resampled) / np.maximum(x.full.resampled_scores(resampled), 1e-9)
        for x in usable
    ]
    samples = BootstrapSamples(
        table["kept"].to_numpy(dtype=np.float64), np.stack(shares), sentences
    )
    intervals = samples.simultaneous_intervals()
    table.insert(2, "low", [interval.low for interval in intervals])
    table.insert(3, "high", [interval.high for interval in intervals])
    effect = Effect(
        f"share of BLEU that remains without {PRUNED_SHARE:.0%} of the heads, last checkpoint "
        "minus first",
        "points",
        max_difference_interval(samples[-1:], samples[:1]).scaled(100),
        FLOOR,
    )
    first, last = table.iloc[0], table.iloc[-1]
    reason = (
        f"Without {PRUNED_SHARE:.0%} of the heads, {first.kept:.0%} of BLEU remains at step "
        f"{first.step:.0f} and {last.kept:.0%} at step {last.step:.0f}: a "
        f"difference of {format_effect(effect, 0)}."
    )
    return Finding(table, effect, reason, sentences)


def load_run_checkpoints(run: str | os.PathLike[str]) -> list[tuple[int, Translator]]:
    """Return the stored checkpoints of a run, each with its step.

    A run from the command line stores the last few (setting `average`, by default five),
    `save_every` steps apart, and those at one, two, four … times that step. A run from the Train
    page stores only the last.

    Raises:
        CheckpointError: a ValueError, if the run has no checkpoint yet.
    """
    model, vocabulary = load_checkpoint(Path(run) / "checkpoint")
    checkpoints = []
    for path in sorted((Path(run) / "weights").glob("[0-9]*.safetensors")):
        restored = copy.deepcopy(model)
        restored.load_state_dict(load_file(path))
        checkpoints.append((int(path.stem), Translator(restored, vocabulary)))
    return checkpoints


def _test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    folder = translator.folder
    if folder is not None and (folder / SCORES_FILE).is_file():
        return tolerance_finding(read_scores(folder / SCORES_FILE))
    if folder is not None and folder.name == "checkpoint" and (folder.parent / "weights").is_dir():
        return pruning_over_training(load_run_checkpoints(folder.parent), corpus, progress)
    raise UntestableError(
        "This needs checkpoints of several training steps, but this folder has only the last. A "
        "run trained on the command line can be tested in its own folder; from Python, pass "
        "several checkpoints to analysis.findings.pruning_over_training."
    )


TOLERANCE = PublishedFinding(
    "tolerance",
    "The longer a model has been trained, the more heads can be removed from it.",
    "Michel et al. 2019, section 6",
    "From two or more checkpoints of one run, the 40% of heads with the least importance (by "
    "gradient) are removed. The effect is the share of BLEU that remains at the last checkpoint "
    "minus that at the first, in percentage points (paired bootstrap over sentences). The claim "
    "holds if the whole 95% interval is above 1 point, and is refuted if it is below. If scores of "
    "earlier checkpoints are stored with this one, they are used, and the chosen corpus is not.",
    _test,
    max_sentences=60,
    chart=Chart("step", "kept", "training step", "share of BLEU that remains", percent=True),
    minutes=0,
)


SCORES_FILE = "pruned-saves.json"
"""Name of the file in a checkpoint's folder."""
MAX_BYTES = 1_000_000


@dataclass(frozen=True, eq=False)
class CheckpointScores:
    """BLEU of one checkpoint's translations of a corpus, with all heads and without some."""

    step: int
    full: BleuCounts
    pruned: BleuCounts


def write_scores(path: str | os.PathLike[str], scores: Sequence[CheckpointScores]) -> None:
    """Write a line for each checkpoint: its step and, for each sentence, the counts for BLEU."""
    lines = [
        {
            "step": save.step,
            "whole": save.full.counts.astype(int).tolist(),
            "pruned": save.pruned.counts.astype(int).tolist(),
        }
        for save in scores
    ]
    with atomic_path(path) as temporary:
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        temporary.write_text(text, encoding="utf-8")


def read_scores(path: Path) -> list[CheckpointScores]:
    """Read what `write_scores` wrote.

    Raises:
        UntestableError: if the file is too large, of another format, or has too few sentences.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError("it is too large")
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        scores = [
            CheckpointScores(int(line["step"]), _bleu(line["whole"]), _bleu(line["pruned"]))
            for line in lines
        ]
        counts = {len(bleu.counts) for save in scores for bleu in (save.full, save.pruned)}
        if len(counts) != 1:
            raise ValueError("its lines have different numbers of sentences")
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise UntestableError(
            f"{path.name} in the checkpoint's folder cannot be used: it must have a line for each "
            "checkpoint, as write_scores writes it."
        ) from error
    require_sentences(counts.pop())
    return sorted(scores, key=lambda save: save.step)


def _bleu(counts: object) -> BleuCounts:
    array = np.asarray(counts, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 10 or not (array >= 0).all() or array.max() > 1e6:
        raise ValueError("there must be ten counts for each sentence")
    return BleuCounts.from_counts(array)
