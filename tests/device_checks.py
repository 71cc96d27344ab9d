"""Everything that computes with a model, in small: does it run on the model's device?

`tests/pretend_device.py` runs these checks on a device that refuses what a GPU refuses, and
`python -m benchmarks.gpu` on a GPU.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from transformer import Hooks, Translator
from transformer.analysis.attribution.direct_logits import direct_logits
from transformer.analysis.attribution.norms import contributions
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.importance.ablation import leave_one_out, measure_without
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.inside.figure_boxes import boxes
from transformer.analysis.inside.logit_lens import lens
from transformer.analysis.inside.open_box import opened_box
from transformer.analysis.interventions import (
    masked_tokens,
    patched,
    replaced_row,
    switched_off,
    to_mean,
    uniform,
)
from transformer.analysis.interventions.blanking import blank_cells
from transformer.analysis.positions.score_parts import score_parts
from transformer.analysis.positions.tables import reordering_effect
from transformer.analysis.roles.head_measures import measure_heads
from transformer.exchange.pretrained import FolderFormat
from transformer.inference.alternatives import word_alternatives
from transformer.measures.kinds import Head
from transformer.model import Transformer
from transformer.text.batching import pad_batch
from transformer.training.layer_race import compute
from transformer.training.learner import Learner
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TrainingRun
from transformer.training.run_folder import RunFolder
from transformer.training.train_folder import train_run

TOY = Path(__file__).resolve().parents[1] / "checkpoints/runs/toy-reverse/checkpoint"
TEXT, SIMILAR_TEXT = "a b c d", "a e c d"
"""Sources of equal length, for a model of the task "reverse"."""
CORPUS = Corpus("two", (Sentence("a b c", "c b a"), Sentence("d e", "e d")))
HEADS: list[Head] = [("cross", 0, 0), ("encoder", 1, 1)]
PAIRS = [([5, 6, 7, 2], [7, 6, 5, 2]), ([8, 9, 2], [9, 8, 2])]


def decoding(translator: Translator) -> None:
    """Decode by every method, alone and in a batch, and from a prefix."""
    options: list[dict[str, Any]] = [{}, {"beam_size": 3}, {"method": "sample", "seed": 1}]
    for chosen in [*options, {"method": "sample", "seed": 1, "top_p": 0.9, "top_k": 5}]:
        assert translator.translate(TEXT, **chosen).text
        assert len(translator.translate_batch([TEXT, "a b"] * 5, **chosen)) == 10
    assert translator.translate(TEXT, prefix="d").text.startswith("d")
    assert translator.translate(TEXT, target="d c b a").ids
    word_alternatives(translator, translator.translate(TEXT))


def traces_and_hooks(translator: Translator) -> None:
    """Record every tensor, put one back, and edit the model's tensors by hooks."""
    trace = translator.trace(TEXT)
    assert np.isfinite(trace.weights("cross", 0)).all()
    _, cache = translator.run_with_cache(TEXT, trace.text)
    name = "encoder.hook_memory"
    put_back = Hooks({name: lambda x, _: cache[name].expand_as(x)})
    assert translator.translate(TEXT, hooks=put_back).text == trace.text
    donor = translator.trace(SIMILAR_TEXT)
    config = translator.model.config
    for hooks in (
        switched_off(config, HEADS),
        uniform(config, HEADS),
        to_mean(config, HEADS, [trace]),
        patched(trace, donor, name, [1]),
        patched(trace, donor, "decoder.layers.0.cross_attn.hook_heads", [1], heads=[2]),
        replaced_row(trace, ("cross", 0, 0), 1, [1.0] * len(trace.src_ids)),
        masked_tokens(trace, [1]),
    ):
        translator.translate(TEXT, hooks=hooks)
        translator.translate(TEXT, hooks=hooks, beam_size=2)
        translator.trace(TEXT, hooks=hooks)


def attribution(translator: Translator) -> None:
    """Split a logit into the contributions of all parts, and a head's output over its keys."""
    model, trace = translator.model, translator.trace(TEXT)
    direct_logits(model, trace, 1)
    contributions(model, trace, "cross", 0)


def ablation(translator: Translator) -> None:
    """Measure the importance of heads and of cells."""
    gradient_importances(translator, CORPUS)
    measure_without(translator, CORPUS, [HEADS], bleu=True)
    leave_one_out(translator, CORPUS, HEADS)
    measure_heads(translator, CORPUS)
    blank_cells(translator, translator.trace(TEXT), HEADS[0])


def inside(translator: Translator) -> None:
    """Open every box of Figure 1, and the experiments on positions."""
    trace = translator.trace(TEXT)
    for box in boxes(translator.model.config):
        opened_box(trace, translator, box.name)
    lens(trace, translator)
    score_parts(translator.model, trace)
    reordering_effect(translator, "a b", "b a")


def exchange(translator: Translator) -> None:
    """Save the model in both formats and load it again on the device."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in get_args(FolderFormat):
            path = Path(folder) / kind
            translator.save_pretrained(path, format=kind, languages=("en", "fr"))
            loaded = Translator.load(path, device=translator.device.type)
            assert loaded.translate(TEXT).text == translator.translate(TEXT).text


def training(translator: Translator) -> None:
    """Train with both penalties or on packed rows with R-Drop, with evaluations, resuming and
    averaged weights, and all layers."""
    device = translator.device.type
    settings = {"save_every": 3, "average": 2, "valid_every": 3, "batch_tokens": 200}
    variants: dict[str, dict[str, float]] = {
        "penalties": {"sharpness_penalty": 0.1, "diversity_penalty": 0.1},
        "packed": {"packed_length": 40, "r_drop": 1.0},
    }
    with tempfile.TemporaryDirectory() as folder:
        for (name, variant), steps in itertools.product(variants.items(), (6, 9)):
            run = RunFolder(Path(folder) / name)  # the run with more steps resumes
            options = {**settings, **variant, "steps": steps, "dropout": 0.1}
            config: TrainingRun = make_run_config(
                "reverse", settings=options, options={"n_train": 50, "n_valid": 8}, device=device
            )
            run.write_config(config)
            assert train_run(run.path) == "finished", run.state()["reason"]
            run.change_state("queued")
            assert Translator.load(run.checkpoint_path, device=device).translate(TEXT).ids
    compute({"seeds": [1], "steps": 2, "device": device}, lambda *_: None)  # the race of layers


def precision(translator: Translator) -> None:
    """Take a step in bf16 with float32 master weights."""
    model = Transformer(translator.model.config).to(translator.device)
    src, tgt = zip(*PAIRS, strict=True)
    batch = pad_batch(src, tgt, pad_id=0, bos_id=1)
    learner = Learner(model, torch.bfloat16)
    learner.compute_gradients(batch.to(translator.device), 0.1, 0.1, 0.1)
    assert np.isfinite(learner.update(0.001, 1.0))
    assert np.isfinite(learner.validate([batch]).plain)


CHECKS: tuple[Callable[[Translator], None], ...] = (
    decoding,
    traces_and_hooks,
    attribution,
    ablation,
    inside,
    exchange,
    training,
    precision,
)
