"""All patches in one sweep, compared with single patches by hand and with exact expectations."""

from __future__ import annotations

import json
import random

import numpy as np
import pandas as pd
import pytest
import torch

from tests.analysis.small_models import MARIAN, logits, new_model
from transformer import Hooks, Translator
from transformer.analysis.interventions import patching_sweep as module
from transformer.analysis.interventions.patches import patched
from transformer.analysis.interventions.patching_sweep import PatchingSweep, patching_sweep
from transformer.hooks import HookPoint
from transformer.text import Vocabulary

CLEAN, CORRUPTED, DIFFERING_POSITION = "She hides a boat.", "She rides a boat.", 5
TARGETS = ("Elle cache.", "Elle vend.")
SHAPES = {
    "the paper's": {},
    "Marian's": MARIAN,
    "additive": {"score": "additive", "positions": "learned"},
}


@pytest.fixture(scope="module", params=SHAPES)
def translator(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Translator:
    return new_model(vocabulary, **SHAPES[request.param])


@pytest.fixture(scope="module")
def sweep(translator: Translator) -> PatchingSweep:
    return patching_sweep(translator, CLEAN, CORRUPTED, targets=TARGETS)


def difference(translator: Translator, text: str, hooks: Hooks | None = None) -> float:
    """Return the difference of the two answers' logits, which follow "Elle ", from one forward
    pass."""
    encode = translator.vocabulary.encode
    ids = [encode(target, target=True) for target in TARGETS]
    first_difference = next(n for n, (a, b) in enumerate(zip(*ids, strict=False)) if a != b)
    last = logits(translator, text, ids[0][: first_difference + 1], hooks=hooks)[-1].double()
    return float(last[ids[0][first_difference]] - last[ids[1][first_difference]])


def test_the_sweep_equals_single_patches(translator: Translator, sweep: PatchingSweep) -> None:
    clean = difference(translator, CLEAN)
    corrupted = difference(translator, CORRUPTED)
    assert sweep.clean == pytest.approx(clean, abs=1e-5)
    assert sweep.corrupted == pytest.approx(corrupted, abs=1e-5)
    # The target is the whole first translation, which begins with the patched positions.
    own_trace = translator.trace(CORRUPTED, TARGETS[0])
    donor = translator.trace(CLEAN, TARGETS[0])
    n_tgt = len(sweep.prefix_tokens)
    lines = sweep.table.to_dict("records")
    sample = (
        random.Random(1).sample(lines, 40)
        + [patch for patch in lines if patch["part"] == "heads"][::5]
    )
    assert {patch["part"] for patch in sample} == {"stream", "attention", "ffn", "heads"}
    for patch in sample:
        if patch["part"] == "heads":
            all_positions = range(
                len(own_trace.src_tokens) if patch["stack"] == "encoder" else n_tgt
            )
            hooks = patched(own_trace, donor, patch["site"], all_positions, heads=[patch["head"]])
        else:
            hooks = patched(own_trace, donor, patch["site"], [patch["position"]])
        by_hand = difference(translator, CORRUPTED, hooks)
        assert patch["logit_difference"] == pytest.approx(by_hand, abs=1e-5), patch
        share = (by_hand - corrupted) / (clean - corrupted)
        assert patch["restored"] == pytest.approx(share, abs=2e-5 / abs(clean - corrupted)), patch


def test_patches_without_effect_are_0_and_complete_ones_1(
    translator: Translator, sweep: PatchingSweep
) -> None:
    rounding = 2e-5 / abs(sweep.clean - sweep.corrupted)
    sites, encoder = sweep.map("stream", "encoder")
    assert sites[0] == "encoder.embed.hook_output"
    assert encoder.shape == (1 + 2 * 2, len(sweep.clean_tokens))
    # The sentences differ in one token, so only the patch of its embedding restores everything.
    np.testing.assert_allclose(
        encoder[0], np.eye(len(encoder[0]))[DIFFERING_POSITION], atol=rounding
    )
    sites, decoder = sweep.map("stream", "decoder")
    assert decoder.shape == (1 + 3 * 2, len(sweep.prefix_tokens))
    # Before the first cross-attention no decoder patch has an effect, and in the last layer only
    # one at the position that predicts the answer.
    before = sites.index("decoder.layers.0.cross_attn_norm.hook_output")
    np.testing.assert_allclose(decoder[:before], 0, atol=rounding)
    last = np.eye(decoder.shape[1])[-1]
    np.testing.assert_allclose(decoder[-1], last, atol=rounding)
    # A decoder position affects only later ones, so in the last layer the stream of the last
    # position
    # determines the result.
    np.testing.assert_allclose(sweep.map("ffn", "decoder")[1][-1, :-1], 0, atol=rounding)
    np.testing.assert_allclose(sweep.heads("decoder")[0], 0, atol=rounding)
    assert np.abs(sweep.heads("cross")).max() > 100 * rounding
    assert np.abs(sweep.heads("encoder")).max() > 100 * rounding


def test_every_patched_activation_has_rows(translator: Translator, sweep: PatchingSweep) -> None:
    config, table = translator.model.config, sweep.table
    assert sweep.prefix_tokens == ("<s>", "▁", "E", "ll", "e", "▁")
    assert sweep.answers == ("c", "ve")
    n_src, n_tgt = len(sweep.clean_tokens), len(sweep.prefix_tokens)
    n, heads = config.n_layers, 3 * config.n_layers * config.n_heads
    sites = {"stream": (1 + 2 * n, 1 + 3 * n), "attention": (n, 2 * n), "ffn": (n, n)}
    for part, (encoder, decoder) in sites.items():
        assert (table["part"] == part).sum() == encoder * n_src + decoder * n_tgt
    assert (table["part"] == "heads").sum() == heads
    assert len(table) == (1 + 4 * n) * n_src + (1 + 6 * n) * n_tgt + heads
    points = translator.model.get_submodule
    assert all(isinstance(points(name), HookPoint) for name in set(table["site"]))


def test_small_batches_give_the_same_sweep_and_can_be_cancelled(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = new_model(vocabulary)
    expected = patching_sweep(translator, CLEAN, CORRUPTED, targets=TARGETS)
    monkeypatch.setattr(module, "MAX_POSITIONS", 7 * len(expected.clean_tokens))
    shares: list[float] = []

    def progress(share: float, stage: str) -> None:
        shares.append(share)
        if share > 0.5 and stop:
            raise InterruptedError

    stop = False
    repeated = patching_sweep(translator, CLEAN, CORRUPTED, targets=TARGETS, progress=progress)
    rounding = 2e-5 / abs(expected.clean - expected.corrupted)
    np.testing.assert_allclose(
        repeated.table["restored"], expected.table["restored"], atol=rounding
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) > len(expected.table) / 7
    stop = True
    with pytest.raises(InterruptedError):
        patching_sweep(translator, CLEAN, CORRUPTED, targets=TARGETS, progress=progress)


def test_a_sweep_survives_a_json_round_trip(sweep: PatchingSweep) -> None:
    repeated = PatchingSweep.from_dict(json.loads(json.dumps(sweep.to_dict())))
    pd.testing.assert_frame_equal(repeated.table, sweep.table)
    for name in ("clean_tokens", "corrupted_tokens", "prefix_tokens", "answers", "clean"):
        assert getattr(repeated, name) == getattr(sweep, name)


@pytest.mark.parametrize(
    ("clean", "corrupted", "targets", "message"),
    [
        (
            CLEAN,
            "She hides a boat again.",
            TARGETS,
            r"has \d+ tokens and the corrupted one \d+;",
        ),
        (CLEAN, CLEAN, TARGETS, "both sentences are the same; replace a word"),
        (CLEAN, CORRUPTED, (TARGETS[0],) * 2, "do not differ: 'Elle cache.'; replace a word that"),
        (CLEAN, " ", TARGETS, "There is no text to translate; write a sentence first."),
        (CLEAN, CORRUPTED, ("", "Elle vend."), "There is no translation to force"),
    ],
)
def test_invalid_arguments_are_refused(
    vocabulary: Vocabulary, clean: str, corrupted: str, targets: tuple[str, str], message: str
) -> None:
    translator = new_model(vocabulary)
    with pytest.raises(ValueError, match=message) as caught:
        patching_sweep(translator, clean, corrupted, targets=targets)
    assert "\n" not in str(caught.value)


def test_equal_answers_are_refused(vocabulary: Vocabulary) -> None:
    """In a model whose decoder reads nothing of the source there is nothing to restore."""
    translator = new_model(vocabulary)
    with torch.no_grad():
        for layer in translator.model.decoder.layers:
            layer.cross_attn.w_o.zero_()  # type: ignore[union-attr, operator]
    with pytest.raises(ValueError, match="the two must differ"):
        patching_sweep(translator, CLEAN, CORRUPTED, targets=TARGETS)


def test_the_models_translations_are_the_default_targets(translator: Translator) -> None:
    """The answers are where the greedy outputs first differ; identical outputs are refused."""
    outputs = [translator.translate(text, candidates=1).ids for text in (CLEAN, CORRUPTED)]
    parts = next((n for n, (a, b) in enumerate(zip(*outputs, strict=False)) if a != b), None)
    if parts is None:
        with pytest.raises(ValueError, match="do not differ"):
            patching_sweep(translator, CLEAN, CORRUPTED)
        return
    sweep = patching_sweep(translator, CLEAN, CORRUPTED)
    pieces = translator.vocabulary.tokens
    assert sweep.answers == tuple(pieces([ids[parts]])[0] for ids in outputs)
    assert sweep.prefix_tokens == ("<s>", *pieces(outputs[0][:parts]))
    assert (
        sweep.clean > 0 > sweep.corrupted
    )  # each answer is the most probable one for its own sentence
