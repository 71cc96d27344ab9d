"""The published findings, measured on models with known heads and by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.small_models import shift_model, without_output
from transformer import Translator
from transformer.analysis.alignment.aligner_errors import (
    measure_aligners,
)
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import no_progress
from transformer.analysis.findings import FINDINGS
from transformer.analysis.findings import single_heads as single_heads_module
from transformer.analysis.findings.by_measure import published_finding
from transformer.analysis.reports import report
from transformer.analysis.roles.head_measures import measure_heads
from transformer.measures import MEASURES, PublishedClaim
from transformer.text import Vocabulary


def test_an_offset_head_is_positional_and_a_random_one_is_not(
    translator: Translator, vocabulary: Vocabulary, corpus: Corpus
) -> None:
    offset_model = shift_model(vocabulary, (1, -2, 0))
    finding = FINDINGS["positional"].run(offset_model, corpus)
    assert finding.verdict == "holds"
    assert finding.figures["positional"].tolist() == [True, True, False]  # offset 0 does not count
    assert finding.figures["share"].tolist() == [1, 1, 1]
    assert (
        finding.reason == "2 of 3 encoder heads are positional: L0·H0 (+1, 100%), L0·H1 (−2, 100%)."
    )
    random = FINDINGS["positional"].run(translator, corpus)
    assert random.verdict == "does not hold here"
    assert not random.figures["positional"].any()


@pytest.mark.parametrize("name", FINDINGS)
def test_few_sentences_give_no_verdict(translator: Translator, corpus: Corpus, name: str) -> None:
    finding = FINDINGS[name].run(translator, corpus.first(3))
    assert finding.verdict == "can't be tested here"
    assert finding.effect is None
    assert finding.reason.endswith(".")
    assert finding.figures.empty


def test_a_claim_of_a_measure_is_tested_on_its_heads(
    translator: Translator, corpus: Corpus
) -> None:
    """The figures equal those of `measure_heads`."""
    measure = MEASURES["itself"]
    claim = PublishedClaim("A head of the second layer looks at itself.", "nobody", 0.99, layer=1)
    finding = published_finding(measure, claim).run(translator, corpus)
    table = measure_heads(translator, corpus).table().query("kind == 'encoder' and layer == 1")
    assert finding.figures["share"].to_numpy() == pytest.approx(
        table["itself"].to_numpy(), abs=1e-6
    )
    assert finding.verdict == "does not hold here"
    assert finding.effect is not None
    assert finding.effect.interval.value == pytest.approx(100 * table["itself"].max(), abs=1e-4)
    in_all_layers = published_finding(measure, replace(claim, layer=None, floor=0.0)).run(
        translator, corpus
    )
    assert in_all_layers.verdict == "holds"
    assert len(in_all_layers.figures) == 8
    untested = FINDINGS["rare"].run(translator, corpus)  # of 320 pieces none is beyond 500
    assert untested.verdict == "can't be tested here"
    assert "none has a token beyond" in untested.reason


def test_heads_with_zero_output_can_be_removed(translator: Translator, corpus: Corpus) -> None:
    finding = FINDINGS["single"].run(without_output(translator), corpus)
    assert finding.verdict == "holds"
    assert (finding.figures["growth"] == 0).all()
    assert len(finding.figures) == 24
    assert (finding.figures["needed"] == "no").all()


def test_the_cost_of_a_head_is_a_fraction_of_the_loss(
    translator: Translator, corpus: Corpus
) -> None:
    """A long sentence counts more than a short one."""
    finding = FINDINGS["single"].run(translator, corpus)
    most_costly = finding.figures.iloc[-1]
    kind = {"cross-attention": "cross"}.get(most_costly["kind"], most_costly["kind"])
    baseline, ablated_losses = single_heads_module.losses(
        translator,
        corpus,
        [[(kind, int(most_costly["layer"]), int(most_costly["head"]))]],
        no_progress,
    )
    assert most_costly["growth"] == pytest.approx(
        ablated_losses.sum() / baseline.sum() - 1, rel=1e-6
    )
    assert finding.effect is not None
    assert finding.effect.interval.value == pytest.approx(100 * finding.figures["growth"].median())
    assert (finding.figures["low"] <= finding.figures["growth"]).all()


def test_errors_of_a_sample_equal_those_of_its_sentences(translator: Translator) -> None:
    lines = [
        "She paints a boat.\tElle peint un bateau.\t0-0 1-1 2-2 3-3",
        "A pilot hides bread.\tUn pilote cache du pain.\t0-0 1-1 2-2 3-4 3?3",
    ]
    combined = measure_aligners(translator, Corpus.from_lines(lines, "x"))
    with_repetition = measure_aligners(
        translator, Corpus.from_lines([lines[0], lines[1], lines[1]], "x")
    )
    counts = combined.counts.heads["norms", "input"][:, 1, 2]
    row = with_repetition.table.query(
        "by == 'norms' and to == 'input' and layer == 1 and head == 2"
    )
    resampled = counts @ np.array([1.0, 2.0])
    error = 1 - resampled[:2].sum() / (resampled[2] + combined.counts.n_sure @ np.array([1.0, 2.0]))
    assert error == pytest.approx(row["aer"].item())
    samples = with_repetition.counts.bootstrap_samples(
        [with_repetition.counts.heads["norms", "input"][:, 1, 2]]
    )
    assert 1 - samples.values[0] == pytest.approx(row["aer"].item())


def test_a_report_contains_all_findings(translator: Translator, corpus: Corpus) -> None:
    result = report(translator, corpus, "finding-positional").to_dict()
    assert result["verdict"] == "does not hold here"
    assert result["unit"] == "% of the rows"
    assert result["low"] <= result["value"] <= result["high"] < result["floor"] == 90
    assert result["needs"] == "above"
    assert "simultaneous" in result["correction"]
    assert result["rule"] == FINDINGS["positional"].rule
    assert len(result["table"]) == 8
    assert result["measured"] == 12
    json.dumps(result, allow_nan=False)
