"""The reports on a checkpoint over a corpus, by name: for the command line and for the pages.

Each of `REPORTS` returns the parts of a `Report`: a table, and everything else for JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from transformer.analysis.alignment.aligner_errors import measure_aligners
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, no_progress, scaled_progress
from transformer.analysis.findings import FINDINGS, PublishedFinding
from transformer.analysis.importance.ablation import leave_one_out, measure_without
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.interventions.switching import named_heads
from transformer.analysis.roles.head_measures import HeadMeasures, measure_heads
from transformer.analysis.roles.head_roles import RELATION_TEXTS, RULES, head_roles
from transformer.config import did_you_mean
from transformer.inference import Translator
from transformer.inference.translator import load_unchanged
from transformer.measures import MEASURES

MAX_OFFSET = 16
"""Larger offsets are counted at this one: the centre of the distribution matters most."""


@dataclass(frozen=True)
class Report:
    """Figures of one checkpoint over one corpus.

    Attributes:
        subject: the name of the report, one of `REPORTS`.
        table: the figures, a row for each head, aligner or finding.
        more: what does not fit a table.
        computed: precision, device and threads (`Translator.computed_with`).
    """

    subject: str
    corpus: Corpus
    table: pd.DataFrame
    more: Mapping[str, Any]
    computed: Mapping[str, str | int]

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON.

        Keys: "what" (the subject), "corpus" (its name, hash and number of sentences), "computed"
        (precision, device and threads), "table" (a list of rows; null where a figure does not
        apply) and those of `more`.
        """
        about = {"name": self.corpus.name, "hash": self.corpus.hash, "sentences": len(self.corpus)}
        lines = json.loads(self.table.to_json(orient="records", double_precision=15))
        return {
            "what": self.subject,
            "corpus": about,
            "computed": {**self.computed},
            "table": lines,
            **self.more,
        }


def report(
    translator: Translator,
    corpus: Corpus,
    subject: str,
    options: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> Report:
    """Compute the report `subject`, one of `REPORTS`.

    Args:
        options: for "ablation" and "without": bleu, whether to translate the corpus each time; for
            "without": heads, those to switch off, as "e3.2,c5".

    Raises:
        ValueError: for another subject or option, and as the measurement does.
    """
    if subject not in REPORTS:
        raise ValueError(
            f"{subject!r} cannot be measured: choose one of {', '.join(REPORTS)}"
            f"{did_you_mean(subject, REPORTS)}"
        )
    for name in options or {}:
        if name not in OPTIONS.get(subject, ()):
            raise ValueError(f"{subject} has no option {name!r}")
    table, more = REPORTS[subject](translator, corpus, progress, **(options or {}))
    return Report(subject, corpus, table, more, translator.computed_with)


def compute(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return what `analyse --json` writes, for a checkpoint that must not have changed.

    Args:
        request: "checkpoint", its folder; "hash"; "corpus", as `Corpus.to_dict`; "what"; "options".

    Raises:
        ValueError, OSError: for a checkpoint that has changed, and as the measurement does.
    """
    progress(0.0, "loading the model")
    translator = load_unchanged(request["checkpoint"], request["hash"])
    corpus = Corpus.from_dict(request["corpus"])
    return report(translator, corpus, request["what"], request["options"], progress).to_dict()


Figures = tuple[pd.DataFrame, dict[str, Any]]


def _heads(translator: Translator, corpus: Corpus, progress: Progress) -> Figures:
    """Return a card for every head, and the number of its rows with their largest weight at each
    offset.

    The latter are "offsets"; "texts" are the sentences that the cards' "strongest" refer to, from
    0.
    """
    measured = measure_heads(translator, corpus, progress)
    cards, keys = head_roles(measured), measured.strongest_keys
    table = measured.table()
    table.insert(3, "role", [card.role.group for card in cards])
    table.insert(4, "does", [card.role.text for card in cards])
    decode = translator.vocabulary.decode
    texts = [
        [sentence.source, decode(pair.out)]
        for sentence, pair in zip(corpus.sentences, measured.pairs, strict=True)
    ]
    chance = {
        kind: {name: None if value != value else value for name, value in values.items()}
        for kind, values in measured.chance.items()
    }
    n_own = sum(pair.own for pair in measured.pairs)
    return table, {
        "cards": [card.to_dict() for card in cards],
        "offsets": [
            [list(pair) for pair in zip(counts.index.tolist(), counts.tolist(), strict=True)]
            for counts in (keys[c.kind].offsets(c.layer, c.head, MAX_OFFSET) for c in cards)
        ],
        "chance": chance,
        "best_offsets": {name: list(best) for name, best in measured.best_offsets.items()},
        "texts": texts,
        "own_translations": n_own,
        "rules": RULES,
        "measures": {measure.name: measure.note for measure in MEASURES.values()},
    }


def _notable(translator: Translator, corpus: Corpus, progress: Progress) -> Figures:
    """Return the most notable heads, for a model card."""
    return notable_heads(translator, corpus, progress), {}


def _importance(translator: Translator, corpus: Corpus, progress: Progress) -> Figures:
    """Return the gradient importance (Michel et al. 2019), raw and normalised within each layer.

    By their equation for each sentence, and by their program for each position ("position").
    """
    importance = gradient_importances(translator, corpus, progress=progress)
    table = importance["sentence"].to_frame()
    table["normalised"] = importance["sentence"].normalised().to_frame()["importance"]
    table["position"] = importance["position"].to_frame()["importance"]
    table["position_normalised"] = importance["position"].normalised().to_frame()["importance"]
    return table, {}


def _ablation(
    translator: Translator, corpus: Corpus, progress: Progress, bleu: bool = False
) -> Figures:
    """Remove each head in turn."""
    ablation = leave_one_out(translator, corpus, bleu=bleu, progress=progress)
    return ablation.to_frame(), {"loss": ablation.loss, "bleu": ablation.bleu}


def _without(
    translator: Translator, corpus: Corpus, progress: Progress, heads: str = "", bleu: bool = False
) -> Figures:
    """Switch off all of these heads together."""
    selected = named_heads(translator.model.config, heads)
    ablation = measure_without(translator, corpus, [selected], bleu=bleu, progress=progress)
    table = ablation.to_frame().drop(columns=["kind", "layer", "head"], errors="ignore")
    return table, {"loss": ablation.loss, "bleu": ablation.bleu}


def _findings(translator: Translator, corpus: Corpus, progress: Progress) -> Figures:
    """Return all published findings, a row each; "findings" has their figures."""
    rows, findings = [], []
    for n, published in enumerate(FINDINGS.values()):
        finding = published.run(
            translator, corpus, scaled_progress(progress, n / len(FINDINGS), 1 / len(FINDINGS))
        )
        findings.append({**published.about(), **finding.to_dict()})
        rows.append({key: value for key, value in findings[-1].items() if key != "figures"})
    return pd.DataFrame(rows), {"findings": findings}


def _finding(published: PublishedFinding) -> Callable[..., Figures]:
    def measure(translator: Translator, corpus: Corpus, progress: Progress) -> Figures:
        finding = published.run(translator, corpus, progress)
        summary = finding.summary()
        summary["measured"] = summary.pop("sentences")
        # Without figures the reason is the table, so that a file of it is not empty.
        table = finding.figures if len(finding.figures) else pd.DataFrame([summary])
        return table, {**published.about(), **summary}

    return measure


REPORTS: dict[str, Callable[..., Figures]] = {
    "heads": _heads,
    "known": _notable,
    "importance": _importance,
    "ablation": _ablation,
    "without": _without,
    "findings": _findings,
    **{f"finding-{name}": _finding(published) for name, published in FINDINGS.items()},
}
"""Everything that `analyse --what` and a page's computation can request."""
OPTIONS = {"ablation": ("bleu",), "without": ("heads", "bleu")}
"""Options of the reports that have any."""


VERB = ("subject_verb", "object_verb", "adverb_verb")
COLUMNS = ("what", "kind", "layer", "head", "figure", "beside", "of")


def notable_heads(
    translator: Translator, corpus: Corpus, progress: Progress = no_progress
) -> pd.DataFrame:
    """Return the best positional head, the best head of a verb relation, and the best aligner.

    Each has its head, its figure, and in "beside" a value to compare it with: the offset for the
    first, the best offset's own share for the second, the diagonal's alignment error for the third.
    A row is missing if the corpus lacks the links of a grammar, or gold alignments.
    """
    measured = measure_heads(translator, corpus, scaled_progress(progress, 0, 0.6))
    lines = [_positional(measured), *_verb(measured)]
    if any(sentence.gold is not None for sentence in corpus.sentences):
        aligners = measure_aligners(translator, corpus, scaled_progress(progress, 0.6, 0.4)).table
        best = aligners[aligners["aligner"] == "head"].iloc[0]
        diagonal = float(aligners.loc[aligners["aligner"] == "diagonal", "aer"].iloc[0])
        description = f"aligns words, by {best['by']} at its {best['to']}: alignment error"
        head = ("cross", int(best["layer"]), int(best["head"]))
        lines.append((description, *head, float(best["aer"]), diagonal, "diagonal"))
    return pd.DataFrame(lines, columns=COLUMNS)


Line = tuple[str, str, int, int, float, float, str]


def _positional(measured: HeadMeasures) -> Line:
    table = measured.table()
    table = table[(table["kind"] == "encoder") & (table["offset"] != 0)]
    best = table.nlargest(1, "positional").iloc[0]
    head = ("encoder", int(best["layer"]), int(best["head"]))
    shares = float(best["positional"]), float(best["offset"])
    return ("attends to a fixed offset", *head, *shares, "offset")


def _verb(measured: HeadMeasures) -> Iterator[Line]:
    """Yield the best head of a verb relation, compared with the best offset (Voita et al. 2019,
    5.2)."""
    table = measured.table()
    encoder = table[table["kind"] == "encoder"]
    candidates = []
    for name in VERB:
        if encoder[name].notna().any():
            best = encoder.nlargest(1, name).iloc[0]
            offset, share = measured.best_offsets[name]
            margin = float(best[name]) - share
            head = ("encoder", int(best["layer"]), int(best["head"]))
            label = RELATION_TEXTS[name][1]
            candidates.append(
                (margin, (label, *head, float(best[name]), share, f"offset {offset:+d}"))
            )
    if candidates:
        yield max(candidates)[1]
