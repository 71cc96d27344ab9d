"""The Translate page: what it says of single steps."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pages.conftest import Visit, shown
from transformer.inference import Translator


def test_sampling_says_when_it_drew_from_the_tail(visit: Visit, translator: Translator) -> None:
    text = "The baker paints a boat."
    options = {"temperature": "2.0", "top_p": "1.0", "exact": "1"}
    trace = translator.trace(text, method="sample", temperature=2.0, top_p=1.0, seed=1)
    logits = trace["hook_logits"].astype(np.float64)
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    rows = zip(shares, trace.predicted_ids, strict=True)
    before = [row[row > row[piece]].sum() for row, piece in rows]
    steps = shown(visit("pages/translate.py", text=text, method="sample", **options))[1]["steps"]
    assert [step.get("tail") for step in steps] == [
        pytest.approx(share, abs=1e-4) if share >= 0.9 else None for share in before
    ]
    assert any("tail" in step for step in steps)
    plain = shown(visit("pages/translate.py", text=text, method="sample", exact="1"))[1]["steps"]
    assert not any("tail" in step for step in plain)  # the top 0.9 alone is drawn from
