"""An aligner head and a gender report for the tiny checkpoint, with invented numbers."""

from __future__ import annotations

from transformer.analysis.alignment.aligner_head import AlignerHead, GoldErrors
from transformer.analysis.alignment.leaderboard import ALIGNMENT_METHODS
from transformer.analysis.evidence.bootstrap import Interval
from transformer.analysis.gender.measure import GenderReport
from transformer.analysis.gender.occupation_gender import UNDECIDED
from transformer.analysis.gender.pronoun_heads import PronounEffect, PronounHead
from transformer.analysis.gender.scores import Score

EFFECT = PronounEffect(
    pairs=60,
    heads=(PronounHead("cross", 1, 2, 0.5, 0.1, 0.3, 0.45, 0.05, -0.01, 0.11),),
    intact=Interval(0.31, 0.2, 0.4),
    off=Interval(0.12, 0.02, 0.2),
    random=Interval(0.3, 0.25, 0.35),
    right=0.2,
    right_off=0.1,
    right_random=0.19,
    flipped=0.15,
    flipped_random=0.05,
)
REPORT = GenderReport(
    source="invented",
    language="fr",
    sentences=400,
    pairs=200,
    person=120,
    other=200,
    undecided={UNDECIDED[0]: 80},
    scores={
        "person": (
            Score("accuracy", 0.6, 0.5, 0.7, 120),
            Score("male", 0.9, 0.8, 0.95, 60),
            Score("female", 0.3, 0.2, 0.4, 60),
            Score("changed", 0.25, 0.1, 0.3, 60),
        ),
        "any": (Score("accuracy", 0.55, 0.5, 0.6, 320),),
    },
    effect=EFFECT,
)
_RATES = {f"{by}-{to}": 0.5 for by, to in ALIGNMENT_METHODS}
_BASELINES = dict.fromkeys(("diagonal", "model 1", "statistical", "chance"), 0.5)
ALIGNER = AlignerHead(
    layer=0,
    head=1,
    score_kind="weights",
    target_row="output",
    weights_to="output",
    gold=(GoldErrors("gold", "invented", 9, _RATES, 0.4, 0.6, _BASELINES),),
)
