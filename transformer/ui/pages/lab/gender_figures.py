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
    "Accuracy": "the gender agrees with the pronoun; a model that ignores the pronoun gets 50% of "
    "the pairs right",
    "Accuracy, he": "the same for the sentences with he",
    "Accuracy, she": "the same for the sentences with she",
    "ΔG": "F1 score for he minus F1 score for she; 0 is equal treatment",
    "ΔS": "accuracy where the pronoun agrees with the stereotype, minus accuracy where it does not",
    "Gender changes": "minimal pairs in which he and she give different genders",
    "Both right": "minimal pairs in which both genders are right (minimal pair accuracy)",
    "Stereotype kept": "pairs with the stereotypical gender, among those whose gender is the same "
    "with he and she",
    "Masculine, they": "masculine genders in the sentences with they, for which no gender is right",
}
LIMITS = """
- **The sentences.** WinoMT has {sentences:,} English sentences, each with two people named by
  their occupation and a pronoun that refers to one of them. Which one it is follows from the
  meaning, and people do not always agree.
- **Two genders, because the data has two.** It contains *he*, *she*, and a few sentences with
  *they*. The scores say nothing about people who are neither men nor women.
- **Grammatical gender belongs to a word.** *La victime* and *die Person* are feminine for
  everybody; such nouns are left out. A masculine form is also used for people in general, so
  masculine does not always mean a man.
- **The model has never met these people.** It reads tokens, and continues as its training texts
  did. It cannot ask, and it cannot know more than the sentence says.
- **Stereotypes are US labour statistics of 2017** (Zhao et al. 2018), two groups of 20 occupations.
  They describe jobs in one country, not people.
- **The gender is decided by a rule.** An aligner head finds the noun; its form or its article
  decides. A noun that is no known word for a person is often a wrong translation.
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
            "Bars: 95% bootstrap intervals over minimal pairs. Scores over fewer than 30 "
            "sentences or pairs are left out."
        )
    if report.effect is not None:
        _effect(report.effect)
    with st.expander("What each score means"):
        tables.show(
            "Shares of the occupations whose gender could be decided",
            ["Score", "Meaning"],
            DEFINITIONS.items(),
        )
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
        f"WinoMT is a test set of {report.sentences:,} sentences whose pronoun refers to an "
        "occupation. In "
        f"{decided:,} of this model's {language_name(report.language)} translations the gender of "
        f"that occupation can be decided, in {report.person:,} of them from a known word for a "
        "person. "
    )
    nouns = "person"
    changed = report.score(nouns, "changed") or report.score(nouns := "any", "changed")
    male, female = report.score(nouns, "male"), report.score(nouns, "female")
    if male and female:
        text += (
            f"With *he* {100 * male.value:.0f}% of the genders are right, with *she* "
            f"{100 * female.value:.0f}% ({NOUN_LABELS[nouns]}). "
        )
    if changed:
        text += (
            f"**The pronoun changes the gender in {100 * changed.value:.1f}% of "
            f"{changed.count:,} minimal pairs.** "
        )
    unchanged = report.score(nouns, "stereotype_kept")
    if unchanged:
        text += (
            f"In {100 * unchanged.value:.0f}% of the other pairs the gender is the stereotypical "
            "one."
        )
    return text


def _undecided(report: GenderReport) -> None:
    tables.show(
        "How the gender of each occupation was decided",
        ["Gender", "Sentences"],
        [
            ["decided from a known word for a person", f"{report.person:,}"],
            ["decided from the article of another noun", f"{report.other:,}"],
            *([f"not decided: {reason}", f"{n:,}"] for reason, n in report.undecided.items()),
        ],
    )


def _effect(effect: PronounEffect) -> None:
    st.subheader("Does the article depend on the pronoun?")
    n = len(effect.heads)
    zero_note = "" if effect.intact.excludes_zero else ", not significantly different from 0"
    st.markdown(
        f"Measured in {effect.pairs:,} minimal pairs whose two translations are the same up to the "
        "article: *she* instead of *he* changes the log-odds of the feminine against the masculine "
        f"article by **{_nats(effect.intact.value)} nats** (95% interval "
        f"{_range(effect.intact)}{zero_note}). Without the {n} heads that attend most to the "
        f"pronoun it is **{_nats(effect.off.value)}** ({_range(effect.off)}), without {n} random "
        f"heads {_nats(effect.random.value)} (range of 10 draws: {_range(effect.random)}). "
        f"The more probable article changes in {100 * effect.flipped:.0f}% of the sentences "
        f"without these heads, and in {100 * effect.flipped_random:.0f}% without random ones."
    )
    tables.show(
        "Heads that attend to the pronoun: chosen on half of the pairs, measured on the other half",
        [
            "Head",
            "Weight on the pronoun",
            "Weight on a word next to it",
            "Difference, 95% interval",
            "Weight on she − weight on he, 95% interval",
        ],
        [
            [
                f"{KINDS[head.kind]}, {display_names.head(head.layer, head.head)}",
                f"{100 * head.weight:.1f}%",
                f"{100 * head.neighbours:.1f}%",
                f"{100 * head.low:+.1f}% to {100 * head.high:+.1f}%".replace("-", "−"),
                f"{100 * head.she_low:+.1f}% to {100 * head.she_high:+.1f}%".replace("-", "−"),
            ]
            for head in effect.heads
        ],
    )


def _nats(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _range(interval: Interval) -> str:
    return f"{_nats(interval.low)} to {_nats(interval.high)}"
