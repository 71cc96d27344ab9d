"""A report over a corpus, as a page asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformer.analysis.corpora import Corpus
from transformer.jobs import Computation
from transformer.jobs.computation import of_report
from transformer.ui import models
from transformer.ui.kit.computed import computed
from transformer.ui.models import Model


def measured(
    model: Model,
    corpus: Corpus,
    what: str,
    options: Mapping[str, Any] | None = None,
    *,
    button: str = "Measure",
    about: str = "",
) -> dict[str, Any] | None:
    """What `analysis.reports.report(…, what, options)` finds, as JSON holds it; None until then.

    After `corpus.chosen`, which knows who is asking. Draws as `computed`.
    """
    return computed(question(model, corpus, what, options), button=button, about=about)


def question(
    model: Model, corpus: Corpus, what: str, options: Mapping[str, Any] | None = None
) -> Computation:
    """What is asked for a report."""
    return of_report(models.checkpoints()[model.name], model.hash, what, corpus, options)
