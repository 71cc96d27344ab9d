"""Which heads wrote a token: the boards, what they add up to, and how far to believe them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.pages.conftest import Visit, messages, run_program
from transformer import Translator

TEXT = "The baker hides books."


def test_the_boards_are_those_of_the_token_and_the_program_prints_them(
    visit: Visit, checkpoints: Path
) -> None:
    app = visit("pages/lab.py", lab="moves", text=TEXT, step="2", exact="1")
    assert not messages(app)
    said = next(box.value for box in app.markdown if box.value.startswith("The logit of"))
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    trace = translator.trace(TEXT)
    with torch.no_grad():
        src, tgt = torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids])
        logits = translator.model(src, tgt)[0, 2].double()
    above = float(logits[trace.predicted_ids[2]] - logits.mean())
    assert f"lies {above:+.2f} above the mean".replace("-", "−") in said
    parts = [float(one.replace("−", "-")) for one in re.findall(r"[+−]\d+\.\d\d(?=,|:)", said)]
    np.testing.assert_allclose(sum(parts), above, atol=0.005 * (len(parts) + 1))

    boards = [json.loads(one.proto.spec) for one in app.get("plotly_chart")][-2:]
    layers, heads = translator.model.config.n_layers, translator.model.config.n_heads
    for board in boards:
        assert len(board["layout"]["yaxis"]["ticktext"]) == layers
        assert len(board["layout"]["xaxis"]["ticktext"]) == heads
    believed = next(box.value for box in app.markdown if "How far to believe it?" in box.value)
    assert re.search(r"correlation [+−][01]\.\d\d over all heads", believed)


def test_the_program_prints_the_same(visit: Visit) -> None:
    app = visit("pages/lab.py", lab="moves", text=TEXT, step="1", exact="1")
    program = next(box.value for box in app.code if "direct_logits" in box.value)
    assert "direct_logits(translator.model, trace, 1)" in program
    space: dict[str, Any] = {}
    run_program(program, space)
    found = space["found"]
    assert found.value == pytest.approx(found.table["adds"].sum())
    assert f"{found.value:+.2f}".replace("-", "−") in "\n".join(box.value for box in app.markdown)
