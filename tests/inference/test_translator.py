"""The public methods of a translator, and their error messages."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.inference import models
from transformer.checkpoint import CheckpointError, save_checkpoint
from transformer.hooks import Hooks
from transformer.inference.results import Candidate, Translation
from transformer.inference.translator import Translator
from transformer.text.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[2]
TEXT = "The baker sells the lamp again."
TARGET = "Le boulanger vend encore la lampe."


def test_a_translation_contains_its_decoding_steps(translator: Translator) -> None:
    result = translator.translate(TEXT, max_len=10, candidates=4)
    vocabulary = translator.vocabulary
    assert result.source == TEXT
    assert result.src_ids == tuple(vocabulary.encode(TEXT))
    assert result.text == vocabulary.decode(result.ids)
    assert list(result.tokens) == vocabulary.tokens(result.ids)
    assert result.method == "greedy"
    assert len(result.steps) == len(result.ids)
    for i, step in enumerate(result.steps):
        assert step.position == i
        assert step.input_tokens == ("<s>", *result.tokens[:i])
        assert len(step.candidates) == 4
        assert step.candidates[0].token == step.chosen.token == result.tokens[i]
        assert step.probability == pytest.approx(step.candidates[0].probability, abs=1e-6)
        for candidate in step.candidates:
            assert candidate.token == vocabulary.token(candidate.id)
    total = sum(torch.tensor(step.probability).log().item() for step in result.steps)
    assert result.log_probability == pytest.approx(total, abs=1e-4)
    assert result.score == pytest.approx(result.log_probability / (15 / 6) ** 0.6, abs=1e-6)


def test_a_forced_target_gets_the_score_of_the_model(translator: Translator) -> None:
    result = translator.translate(TEXT, target=TARGET)
    ids = translator.vocabulary.encode(TARGET)
    src = torch.tensor([translator.vocabulary.encode(TEXT)])
    with torch.no_grad():
        logits = translator.model(src, torch.tensor([[1, *ids[:-1]]]))[0]
    log_probabilities = logits.log_softmax(dim=-1)[range(len(ids)), ids]
    assert list(result.ids) == ids
    assert (result.text, result.method, result.finished) == (TARGET, "forced", True)
    for step, log_probability in zip(result.steps, log_probabilities, strict=True):
        assert step.probability == pytest.approx(float(log_probability.exp()), abs=1e-6)
    assert result.log_probability == pytest.approx(float(log_probabilities.sum()), abs=1e-4)
    assert translator.translate(TEXT, target=ids[:-1]).finished is False


def test_hooks_affect_their_call_only(translator: Translator) -> None:
    before = translator.translate(TEXT, max_len=8)
    hooks = Hooks({"encoder.hook_memory": lambda memory, name: torch.flip(memory, [1]) * 3})
    changed = translator.translate(TEXT, max_len=8, hooks=hooks)
    assert changed.log_probability != before.log_probability
    assert translator.translate(TEXT, max_len=8) == before
    batch = translator.translate_batch([TEXT], max_len=8, hooks=hooks)[0]
    assert batch.ids == changed.ids
    forced = translator.translate(TEXT, target=TARGET, hooks=hooks)
    assert forced.score != translator.translate(TEXT, target=TARGET).score
    with pytest.raises(ValueError, match=r"no hook 'encoder\.hook_memry'; did you mean"):
        translator.translate(TEXT, hooks=Hooks({"encoder.hook_memry": lambda x, name: None}))


def test_results_survive_json_and_pickle(translator: Translator) -> None:
    for options in ({}, {"beam_size": 3}, {"method": "sample"}, {"target": TARGET}):
        limit = {} if "target" in options else {"max_len": 7}
        result = translator.translate(TEXT, **options, **limit)
        loaded = Translation.from_dict(json.loads(json.dumps(result.to_dict())))
        assert loaded == result
        assert loaded.steps == result.steps
        assert pickle.loads(pickle.dumps(result)) == result
    assert isinstance(result.steps[0].candidates[0], Candidate)
    with pytest.raises(ValueError, match="not a translation"):
        Translation.from_dict({"text": "?"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "gredy"}, "must be one of greedy, beam, sample, forced, not 'gredy'.*'greedy'"),
        ({"beam_sise": 3}, "no option 'beam_sise'; did you mean 'beam_size'"),
        ({"beam_size": 65}, "at most 64, not 65"),
        ({"max_len": 0}, "max_len must be at least 1 and at most 562, not 0"),
        ({"beam_size": True}, "beam_size must be a whole number, not True"),
        ({"beam_size": 3, "method": "greedy"}, "beam_size 3 needs method 'beam', not 'greedy'"),
        ({"length_penalty": float("nan")}, "length_penalty must be from -100 to 100"),
        ({"temperature": 0.5}, "temperature needs method 'sample', not 'greedy'"),
        ({"method": "sample", "temperature": 0.0}, "temperature must be above 0, not 0"),
        ({"method": "sample", "top_p": 1.5}, "top_p must be above 0 and at most 1, not 1.5"),
        ({"method": "forced"}, "needs a target"),
        ({"method": "greedy", "target": TARGET}, "omitted, not 'greedy'"),
        ({"target": ""}, "There is no translation to force; write one"),
        ({"target": [5, 2, 6]}, "Target id 2 at position 1 is a control token"),
        ({"target": [5, 999]}, "Target id 999 is not from 0 to 319"),
        ({"target": [5] * 563}, "The translation to force has 563 tokens; at most 562 can"),
    ],
)
def test_invalid_options_are_refused(
    translator: Translator, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        translator.translate(TEXT, **options)


@pytest.mark.parametrize(
    "text", ["", "   ", "\n\t", "\u200b", "\u200d\ufeff", "\x00", "\x1b\x07", " \u2060\u3000\u202e"]
)
def test_blank_text_is_refused(translator: Translator, text: str) -> None:
    for call in (translator.translate, translator.trace, lambda t: translator.translate_batch([t])):
        with pytest.raises(ValueError, match="no text to translate; write a sentence first"):
            call(text)


def test_errors_about_too_long_texts_name_length_and_limit(
    translator: Translator, vocabulary: Vocabulary
) -> None:
    text = "baker " * 800
    pieces = len(vocabulary.encode(text))
    with pytest.raises(ValueError, match=f"has {pieces} tokens; at most 512 can be translated"):
        translator.translate(text)
    short_model = models.untrained(positions="learned", max_len=9, vocab_size=len(vocabulary))
    short_translator = Translator(short_model, vocabulary)
    assert len(short_translator.translate("bread.").ids) <= 9
    with pytest.raises(ValueError, match=r"tokens; at most 9 can"):
        short_translator.translate(TEXT)
    with pytest.raises(ValueError, match="max_len is 10; this model learned 9 positions"):
        short_translator.translate("bread.", max_len=10)
    with pytest.raises(ValueError, match="tokens; at most 9 can be forced"):
        short_translator.translate("bread.", target=TARGET)
    with pytest.raises(ValueError, match="2 texts and 1 targets"):
        translator.translate_batch([TEXT, TEXT], targets=[TARGET])


def test_the_longest_text_is_translated(translator: Translator, vocabulary: Vocabulary) -> None:
    """A text of almost 512 tokens, the maximum."""
    text = " ".join(["bread"] * 120) + "."
    assert 400 < len(vocabulary.encode(text)) <= 512
    assert len(translator.translate(text, max_len=20).ids) == 20


def test_unsuitable_models_are_refused(vocabulary: Vocabulary) -> None:
    with pytest.raises(ValueError, match="model has 20 pieces, the vocabulary has 320"):
        Translator(models.untrained(), vocabulary)
    training = models.untrained(vocab_size=len(vocabulary)).train()
    with pytest.raises(ValueError, match="training mode"):
        Translator(training, vocabulary)


def test_a_checkpoint_folder_becomes_the_same_translator(
    translator: Translator, tmp_path: Path
) -> None:
    save_checkpoint(tmp_path / "model", translator.model, translator.vocabulary, "A card.")
    loaded = Translator.load(tmp_path / "model", device=translator.device.type)
    assert loaded.device == translator.device
    assert loaded.translate(TEXT, max_len=9) == translator.translate(TEXT, max_len=9)
    with pytest.raises(CheckpointError, match="no checkpoint folder"):
        Translator.load(tmp_path / "missing", device="cpu")
    with pytest.raises(ValueError, match="device must be one of"):
        Translator.load(tmp_path / "model", device="tpu")


def test_importing_the_package_does_not_import_torch() -> None:
    """`import transformer` is fast; names are imported on first use."""
    script = (
        "import sys, transformer\n"
        "assert 'torch' not in sys.modules\n"
        "assert 'Translator' in dir(transformer)\n"
        "from transformer import Hooks, Trace, Translator\n"
        "assert Translator.__module__ == 'transformer.inference.translator'\n"
        "try: transformer.Translater\n"
        "except AttributeError as error: print(error)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "no attribute 'Translater'" in process.stdout


# Run in a new process without the tests' checker of types and shapes, which refuses them first.


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_translator_can_be_copied_and_pickled(copied: Callable[[Any], Any]) -> None:
    translator = Translator.load("toy-reverse", "cpu")
    other = copied(translator)
    assert other.model is not translator.model
    assert other.translate("a b c").text == translator.translate("a b c").text == "c b a"
    assert other.folder == translator.folder


FORK = """
import multiprocessing, torch
torch.set_num_threads(2)
from transformer import Translator
translator = Translator.load("toy-reverse", device="cpu")
def translate(text): return translator.translate(text).text
print(translate("a b c"))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map_async(translate, ["a b", "b c d"]).get(timeout=60))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_can_translate() -> None:
    """PyTorch's threads do not exist in a forked process, which once waited for them forever."""
    command = [sys.executable, "-c", FORK]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout == "c b a\n['b a', 'd c b']\n"


def test_the_default_dtype_of_torch_does_not_matter(checkpoints: Path) -> None:
    folder = next(path.parent for path in sorted(checkpoints.rglob("model.safetensors")))

    def log_probabilities() -> list[float]:
        translator = Translator.load(folder, device="cpu")
        options: tuple[dict[str, Any], ...] = (
            {},
            {"beam_size": 3},
            {"method": "sample", "seed": 1},
        )
        assert translator.trace(TEXT, max_len=8).weights("cross", 0).dtype == "float32"
        return [translator.translate(TEXT, max_len=8, **o).log_probability for o in options]

    expected = log_probabilities()
    torch.set_default_dtype(torch.float64)
    try:
        assert log_probabilities() == pytest.approx(expected, rel=1e-5)
    finally:
        torch.set_default_dtype(torch.float32)
