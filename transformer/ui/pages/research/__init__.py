"""The page Research: an index, and one experiment at a time on what heads do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from transformer.analysis.findings import FINDINGS
from transformer.measures import MEASURES
from transformer.ui.base.address import View, field
from transformer.ui.base.registry import Page


class Experiment(NamedTuple):
    """An experiment: its title, and the question that it answers."""

    title: str
    question: str


EXPERIMENTS = {
    "importance": Experiment("Importance of heads", "Which heads does the model need?"),
    "attribution": Experiment("Direct logit attribution", "Which parts of the model write a word?"),
    "alignment": Experiment("Word alignment", "Do heads connect each word with its translation?"),
    "roles": Experiment("Head roles", "What does each head do over many sentences?"),
    "findings": Experiment("Findings", "Which claims of papers hold for this model?"),
}
EXPERIMENT_LABELS = {"": "All experiments"} | {name: e.title for name, e in EXPERIMENTS.items()}
SCORE_LABELS = {"weights": "by weights", "norms": "by norms"}
ROW_LABELS = {"output": "at the predicting position", "input": "at the reading position"}
OPEN_LABELS = {"": "None", **{name: finding.claim for name, finding in FINDINGS.items()}}
GRID_MEASURES = {measure.name: measure.label for measure in MEASURES.values()}


@dataclass(frozen=True)
class Research(View):
    """Address fields of the page.

    Attributes:
        experiment: one of `EXPERIMENTS`; "" is the index of all experiments.
        against: the id of a candidate of the selected step to contrast its token with; -1 is none.
        colour: the measure that a grid of all heads shows.
        score_kind, target_row: scores and row of the alignment, as in `align_words`.
        finding: the open finding, whose card is below its row; "" is none.
    """

    experiment: str = field("", "Experiment", choices=EXPERIMENT_LABELS)
    against: int = field(-1, "Compare with token", bounds=(-1, 2**31 - 1))
    colour: str = field("entropy", "Coloured by", choices=GRID_MEASURES)
    score_kind: str = field("weights", "Scores", choices=SCORE_LABELS)
    target_row: str = field("output", "Row", choices=ROW_LABELS)
    finding: str = field("", "Open", choices=OPEN_LABELS)


PAGE = Page(
    "pages/research.py",
    "Research",
    Research,
    link_text="**Research**: is attention an explanation? →",
    summary="Experiments that measure what heads do; published claims, tested.",
)
