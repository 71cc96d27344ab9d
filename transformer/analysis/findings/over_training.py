"""Pruning tolerance grows over training (Michel et al. 2019, section 6); and early saves' scores.

The scores are kept beside a checkpoint as counts that BLEU is made of, not as weights.
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
from transformer.analysis.corpora.passes import Progress, silent
from transformer.analysis.evidence.bootstrap import BleuCounts, Drawn, draws, lead
from transformer.analysis.evidence.verdicts import Effect
from transformer.analysis.findings.finding import Finding, Published, Untestable, enough, size
from transformer.analysis.importance.ablation import bleu_of, references_of, without_heads
from transformer.analysis.importance.by_gradient import gradient_importance
from transformer.checkpoint import load_checkpoint
from transformer.inference import Translator
from transformer.measures.chart import Chart
from transformer.text.files import atomic_path

PRUNED = 0.4
"""Share of all heads that goes; from some epoch on the paper's models do without so many."""
LEAST_BLEU = 1.0
FLOOR = 1.0
"""Points of the BLEU that is left: half a BLEU of fifty."""


def pruning_over_training(
    saves: Sequence[tuple[int, Translator]], corpus: Corpus, progress: Progress = silent
) -> Finding:
    """Test it on several checkpoints of one run, each with its step.

        pruning_over_training(saves_of("runs/mine"), Corpus.bundled(60)).reason
        saves = [(step, Translator.load(f"copies/{step}")) for step in (500, 1000, 2000)]

    Of each the 40% of heads go that matter least to it (gradient measure); BLEU that is left is
    divided by BLEU with all heads, against the corpus's targets.

    Raises:
        Untestable: a ValueError, for fewer than two checkpoints that translate at all (BLEU of at
            least 1), or a short corpus.
    """
    enough(len(corpus))
    return judged(scores_of(saves, corpus, progress))


def scores_of(
    saves: Sequence[tuple[int, Translator]], corpus: Corpus, progress: Progress = silent
) -> list[SavedScores]:
    """BLEU of each save, by its step, with all heads and without those that matter least to it."""
    found = []
    for number, (step, translator) in enumerate(sorted(saves, key=lambda save: save[0])):
        progress(number / len(saves), f"pruning the checkpoint of step {step}")
        exact = Translator(translator.model, translator.vocabulary, "fp32")
        references = references_of(exact, corpus)
        order = gradient_importance(translator, corpus).normalised().order()
        whole = bleu_of(exact, corpus, references)
        less = without_heads(exact, order[: round(PRUNED * len(order))])
        found.append(SavedScores(step, whole, bleu_of(less, corpus, references)))
    progress(1.0, "pruned")
    return found


def judged(scores: Sequence[SavedScores]) -> Finding:
    """The finding, from what each save scored. Raises Untestable if fewer than two of them
    translate at all."""
    able = [one for one in scores if one.whole.score >= LEAST_BLEU]
    if len(able) < 2:
        raise Untestable(
            f"{len(able)} of {len(scores)} checkpoints reach a BLEU of {LEAST_BLEU:g}; two are "
            "needed, from different steps of one run."
        )
    sentences = len(able[0].whole.counts)
    drawn = draws(sentences)
    table = pd.DataFrame(
        [(x.step, x.pruned.score / x.whole.score, x.whole.score, x.pruned.score) for x in able],
        columns=["step", "kept", "bleu", "bleu_pruned"],
    )
    kept = [x.pruned.drawn(drawn) / np.maximum(x.whole.drawn(drawn), 1e-9) for x in able]
    found = Drawn(table["kept"].to_numpy(dtype=np.float64), np.stack(kept), sentences)
    each = found.together()
    table.insert(2, "low", [one.low for one in each])
    table.insert(3, "high", [one.high for one in each])
    effect = Effect(
        f"BLEU left without {PRUNED:.0%} of the heads, the last checkpoint less the first",
        "points",
        lead(found[-1:], found[:1]).times(100),
        FLOOR,
    )
    first, last = table.iloc[0], table.iloc[-1]
    reason = (
        f"Without {PRUNED:.0%} of the heads {first.kept:.0%} of the BLEU is left at step "
        f"{first.step:.0f} and {last.kept:.0%} at step {last.step:.0f}: a "
        f"difference of {size(effect, 0)}."
    )
    return Finding(table, effect, reason, sentences)


def saves_of(run: str | os.PathLike[str]) -> list[tuple[int, Translator]]:
    """The weights that a run keeps, each with its step: a few early saves and the last ones.

    From the shell the last five are kept (`average` of its settings), `save_every` steps apart,
    and those at once, twice, four times … that step; one from the Train page keeps the last alone.

    Raises:
        CheckpointError: a ValueError, if the run has no checkpoint yet.
    """
    model, vocabulary = load_checkpoint(Path(run) / "checkpoint")
    found = []
    for path in sorted((Path(run) / "weights").glob("[0-9]*.safetensors")):
        made = copy.deepcopy(model)
        made.load_state_dict(load_file(path))
        found.append((int(path.stem), Translator(made, vocabulary)))
    return found


def _test(translator: Translator, corpus: Corpus, progress: Progress) -> Finding:
    folder = translator.folder
    if folder is not None and (folder / SCORES).is_file():
        return judged(read_scores(folder / SCORES))
    if folder is not None and folder.name == "checkpoint" and (folder.parent / "weights").is_dir():
        return pruning_over_training(saves_of(folder.parent), corpus, progress)
    raise Untestable(
        "This needs the model at several steps of its training, and this checkpoint is its end "
        "alone. The checkpoint of a run from the shell can be tested where it was made; from "
        "Python, analysis.findings.pruning_over_training takes several."
    )


TOLERANCE = Published(
    "tolerance",
    "The longer a model has trained, the more heads it can do without.",
    "Michel et al. 2019, section 6",
    "From two or more checkpoints of one run the 40% of heads go that matter least (gradient "
    "measure). The effect is by how many points the share of BLEU that is left is greater at the "
    "last one than at the first (paired bootstrap over sentences). It holds if that is surely "
    "above 1 point, and is refuted if it is surely below. A checkpoint may bring what its early "
    "saves scored; its own sentences count then, whatever corpus is chosen.",
    _test,
    most=60,
    chart=Chart("step", "kept", "step of training", "BLEU that is left", percent=True),
    minutes=0,
)


SCORES = "pruned-saves.json"
"""In a checkpoint's folder."""
MAX_BYTES = 1_000_000


@dataclass(frozen=True, eq=False)
class SavedScores:
    """One save: BLEU of its translations of a corpus, with all heads and without some."""

    step: int
    whole: BleuCounts
    pruned: BleuCounts


def write_scores(path: str | os.PathLike[str], scores: Sequence[SavedScores]) -> None:
    """A line a save: its step and, for each sentence, the counts that BLEU is made of."""
    lines = [
        {
            "step": one.step,
            "whole": one.whole.counts.astype(int).tolist(),
            "pruned": one.pruned.counts.astype(int).tolist(),
        }
        for one in scores
    ]
    with atomic_path(path) as temporary:
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        temporary.write_text(text, encoding="utf-8")


def read_scores(path: Path) -> list[SavedScores]:
    """What `write_scores` wrote. Raises Untestable if the file is too large, of another kind, or of
    too few sentences."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError("it is too large")
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        scores = [
            SavedScores(int(line["step"]), _bleu(line["whole"]), _bleu(line["pruned"]))
            for line in lines
        ]
        counts = {len(bleu.counts) for one in scores for bleu in (one.whole, one.pruned)}
        if len(counts) != 1:
            raise ValueError("its saves have different sentences")
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise Untestable(
            f"{path.name} in the checkpoint's folder cannot be used: it should have what "
            "pruning_over_training counted, a line a save."
        ) from error
    enough(counts.pop())
    return sorted(scores, key=lambda one: one.step)


def _bleu(counts: object) -> BleuCounts:
    found = np.asarray(counts, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != 10 or not (found >= 0).all() or found.max() > 1e6:
        raise ValueError("ten counts a sentence")
    return BleuCounts.of_counts(found)
