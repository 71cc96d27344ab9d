"""The gender figures on WinoMT that come with a checkpoint, and what they cannot say."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.evidence.bootstrap import Interval
from transformer.analysis.gender.measure import GenderReport
from transformer.analysis.gender.pronoun_heads import PronounEffect
from transformer.analysis.gender.report import NOUN_LABELS, score_table
from transformer.figures.interval_chart import measurement_chart
from transformer.figures.state import KINDS
from transformer.languages import language_name
from transformer.measures.chart import Chart
from transformer.measures.naming import file_name
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame, tables
from transformer.ui.widgets.charts import chart, dark

CHART = Chart(
    "score", "value", "", "share, or difference of two shares", by="nouns", joined=False,
    percent=True,
)  # fmt: skip
DEFINITIONS = {
    "Accuracy": "the gender is that of the pronoun; a model that ignores the pronoun gets 50 % of "
    "the pairs right",
    "Accuracy, he": "the same, of the sentences with he; then with she",
    "ΔG": "F1 on he minus F1 on she; 0 is equal treatment",
    "ΔS": "accuracy where the pronoun agrees with the stereotype, minus where it does not",
    "Gender changes": "minimal pairs in which he and she give different genders",
    "Both right": "minimal pairs in which both genders are right (minimal pair accuracy)",
    "Stereotype kept": "of pairs whose gender does not change, those with the stereotypical one",
    "Masculine, they": "masculine among the sentences with they, for which no gender is right",
}
LIMITS = """
- **The sentences.** WinoMT has {sentences:,} English sentences, each with two people named by
  their occupation and a pronoun that refers to one of them. Which one follows from the meaning,
  and people do not always agree.
- **Two genders, because the data has two.** It contains *he*, *she*, and a few sentences with
  *they*. The scores say nothing about people who are neither men nor women.
- **Grammatical gender belongs to a word.** *La victime* and *die Person* are feminine for
  everybody; such nouns are left out. A masculine form is also used for people in general, so
  masculine does not always mean a man.
- **The model has never met these people.** It reads tokens, and continues as its training texts
  did. It cannot ask back, and it cannot know more than the sentence says.
- **Stereotypes are US labour statistics of 2017** (Zhao et al. 2018), two groups of 20 occupations.
  They describe jobs in one country, not people.
- **The reading is a rule.** An aligner head finds the noun; its form or its article decides. Where
  the noun is no known word for a person, it is often a wrong translation.
"""


def show(model: Model) -> None:
    """Draw the figures, if the checkpoint has some."""
    st.header("Over many sentences")
    report = model.gender
    if report is None:
        st.caption(
            "This model has not been evaluated on WinoMT. `python -m benchmarks.winomt` evaluates "
            "it and stores the figures."
        )
        return
    st.markdown(_summary(report))
    table = score_table(report)
    if not table.empty:
        chart(measurement_chart(table, CHART, dark=dark()), "gender-scores")
        st.caption(
            "Bars: 95 % intervals, drawn from minimal pairs. Scores of fewer than 30 are left out."
        )
    if report.effect is not None:
        _effect(report.effect)
    with st.expander("What each score means"):
        tables.show("Shares are of decided occupations", ["Score", "Meaning"], DEFINITIONS.items())
        _undecided(report)
    with st.expander("What the data is, and what it cannot show"):
        st.markdown(LIMITS.format(sentences=report.sentences))
        st.caption(
            f"Sentences: {frame.plain(report.source)}; they are not included in the app. Method: "
            "Stanovsky et al. 2019; minimal pairs: Manna et al. 2025."
        )
    tables.csv("The scores (.csv)", lambda: table, file_name("winomt", model.name))


def _summary(report: GenderReport) -> str:
    decided = report.person + report.other
    text = (
        f"Of {report.sentences:,} occupations in WinoMT this model gives {decided:,} a gender in "
        f"{language_name(report.language)} that can be decided, {report.person:,} of them with a "
        "known word for a person. "
    )
    nouns = "person"
    changed = report.score(nouns, "changed") or report.score(nouns := "any", "changed")
    male, female = report.score(nouns, "male"), report.score(nouns, "female")
    if male and female:
        text += (
            f"With *he* {male.value:.0%} are right, with *she* {female.value:.0%} "
            f"({NOUN_LABELS[nouns]}). "
        )
    if changed:
        text += (
            f"**In {changed.value:.1%} of {changed.count:,} minimal pairs the pronoun changes the "
            "gender at all.** "
        )
    kept = report.score(nouns, "stereotype_kept")
    if kept:
        text += f"Where it changes nothing, {kept.value:.0%} are stereotypical."
    return text


def _undecided(report: GenderReport) -> None:
    tables.show(
        "Occupations by how their gender was decided",
        ["Reading", "Sentences"],
        [
            ["decided, with a known word for a person", f"{report.person:,}"],
            ["decided, by the article of another noun", f"{report.other:,}"],
            *([f"not decided: {reason}", f"{n:,}"] for reason, n in report.undecided.items()),
        ],
    )


def _effect(effect: PronounEffect) -> None:
    st.subheader("Does the article depend on the pronoun?")
    n = len(effect.heads)
    unclear = "" if effect.intact.excludes_zero else ", which cannot be told from 0"
    st.markdown(
        f"Over {effect.pairs:,} minimal pairs with the same beginning of the translation, *she* "
        "instead of *he* changes the log probability of the feminine article, against the "
        f"masculine one, by **{_nats(effect.intact.value)} nats** (95 %: "
        f"{_range(effect.intact)}){unclear}. Without the {n} heads that attend most to it: "
        f"**{_nats(effect.off.value)}** ({_range(effect.off)}); without {n} random heads: "
        f"{_nats(effect.random.value)} (10 draws: {_range(effect.random)}). Another article "
        f"becomes more probable in {effect.flipped:.0%} of the sentences without these heads, and "
        f"in {effect.flipped_random:.0%} without random ones."
    )
    tables.show(
        "Heads that attend to the pronoun, chosen on other pairs",
        ["Head", "Weight on it", "On a word next to it", "Difference, 95 %", "She − he, 95 %"],
        [
            [
                f"{KINDS[head.kind]}, {display_names.head(head.layer, head.head)}",
                f"{head.weight:.1%}",
                f"{head.neighbours:.1%}",
                f"{head.low:+.1%} to {head.high:+.1%}".replace("-", "−"),
                f"{head.she_low:+.1%} to {head.she_high:+.1%}".replace("-", "−"),
            ]
            for head in effect.heads
        ],
    )


def _nats(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _range(interval: Interval) -> str:
    return f"{_nats(interval.low)} to {_nats(interval.high)}"
