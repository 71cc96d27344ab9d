"""The browser's model equals the Python model: pieces, translations, traces."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from tests.figures.deno import SENTENCES, run_deno
from transformer.analysis.interventions.switching import switched_off, to_mean, uniform
from transformer.app_folders import APP_FOLDER
from transformer.checkpoint import save_checkpoint
from transformer.config import ModelConfig
from transformer.inference.translator import Translator
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import Vocabulary

PAIRS = ("en-fr", "en-de")
MAX_LOGIT_DIFFERENCE, MAX_WEIGHT_DIFFERENCE = 1e-3, 1e-4
"""Largest differences that are allowed."""
VARIED_TEXT = """
I am a student cat umbrella Straße café naïve déjà œuvre Ångström c'est aujourd'hui d’où Übung
2,000 3.14 1/2 ½ ² № ™ ﬁne ＡＢＣ １２３ カタカナ ﾊﾝｶｸ 漢字 中文 한국어 مرحبا שלום Привет γειά
ไทย हिन्दी 🎉 👩‍🚀 🇫🇷 ❤️ € … — “quoted” «guillemets» <b> </s> <unk> <s> <0x41> &amp; ㍿ Ⅷ ﷺ
x² H₂O don't a.b@c.de ▁ ▁▁ _under_ ~ ` | \\
"""
WORDS = VARIED_TEXT.split()
SPACES = ("\t", "\n", "\u00a0", "\u200b", "\u3000", "\u2028", "\ufeff", "\u00ad", "\x07", "\x00")
CODE_POINT_RANGES = (
    (0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x2000, 0x2FFF), (0x3040, 0x9FFF),
    (0xF900, 0xFFFD), (0x1F300, 0x1FAFF),
)  # fmt: skip


def varied_texts(count: int) -> list[str]:
    """Return lines with accents, emoji, many scripts, digits, control characters and odd spaces."""
    rng = random.Random(34)

    def part() -> str:
        kind = rng.random()
        if kind < 0.75:
            return rng.choice(WORDS)
        if kind < 0.85:
            return chr(rng.randint(*rng.choice(CODE_POINT_RANGES)))
        return str(rng.randint(0, 10**6)) if kind < 0.93 else rng.choice(SPACES)

    return [
        rng.choice((" ", "", "  ", " ")).join(part() for _ in range(rng.randint(0, 12)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("pair", PAIRS)
def test_pieces_are_equal_on_varied_text(pair: str, tmp_path: Path) -> None:
    folder = APP_FOLDER / "checkpoints" / pair
    vocabulary = Vocabulary.load(folder / "vocabulary.model")
    rng = random.Random(1)
    texts = varied_texts(2000)
    lists = [
        [rng.randrange(len(vocabulary)) for _ in range(rng.randint(0, 20))] for _ in range(500)
    ]
    (tmp_path / "cases.json").write_text(json.dumps({"texts": texts, "lists": lists}))
    js_results = run_deno("pieces", str(tmp_path), str(folder))
    assert js_results["ids"] == [vocabulary.encode(text) for text in texts]
    assert js_results["texts"] == [vocabulary.decode(ids) for ids in lists]


def _cases(translator: Translator, sentences: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return cases: greedy; and some with beam search, a forced token, or ablated heads (zero,
    uniform or mean)."""
    heads = [("cross", 0, 0), ("cross", 0, 1), ("encoder", 0, 1), ("decoder", 1, 0)]
    head_entries = [{"kind": kind, "layer": layer, "head": head} for kind, layer, head in heads]
    cases: list[dict[str, Any]] = [{"text": text, "options": {}} for text in sentences]
    cases += [{"text": text, "options": {"beamSize": 4}} for text in sentences[:3]]
    cases += [  # the search ends at the length limit
        {"text": text, "options": {"beamSize": 4, "maxLen": max_len}}
        for text in sentences[:1]
        for max_len in (1, 2, 4)
    ]
    cases += [
        {"text": sentences[0], "options": {}, "heads": head_entries, "how": removal}
        for removal in ("off", "uniform", "mean")
    ]
    config = translator.model.config
    for text in sentences[:2]:
        for beam_size, step in ((1, 0), (1, 2), (4, 0), (4, 2)):
            translation = translator.translate(text, beam_size=beam_size)
            row = translation.steps[min(step, len(translation.ids) - 1)]
            second_best = next(
                candidate.id for candidate in row.candidates if candidate.id != row.chosen.id
            )
            prefix = [*translation.ids[: min(step, len(translation.ids) - 1)], second_best]
            cases.append({"text": text, "options": {"prefix": prefix, "beamSize": beam_size}})
    for case in cases:
        hooks = None
        if case.get("how") == "mean":
            hooks = to_mean(config, heads, [translator.trace(case["text"])])
        elif "how" in case:
            hooks = {"off": switched_off, "uniform": uniform}[case["how"]](config, heads)
        case["trace"] = translator.trace(
            case["text"],
            hooks=hooks,
            beam_size=case["options"].get("beamSize", 1),
            prefix=case["options"].get("prefix"),
            max_len=case["options"].get("maxLen"),
        )
    return cases


def _compare(translator: Translator, folder: Path, cases: list[dict[str, Any]], out: Path) -> None:
    for number, case in enumerate(cases):
        tensors = {
            name: torch.tensor(case["trace"][name]).float().contiguous() for name in case["trace"]
        }
        save_file(tensors, out / f"{number}.safetensors")
    js_cases = [{name: value for name, value in case.items() if name != "trace"} for case in cases]
    (out / "cases.json").write_text(json.dumps(js_cases))
    for products in ("plain", "fast"):
        js_results = run_deno("traces", str(out), str(folder), products)
        assert len(js_results) == len(cases)
        for case, actual in zip(cases, js_results, strict=True):
            translation = case["trace"].translation
            label = (case["text"], case["options"], case.get("how"), products)
            assert actual["ids"] == list(translation.ids), label
            assert actual["text"] == translation.text
            assert actual["score"] == pytest.approx(translation.score, abs=1e-3)
            for name, difference in actual["differences"].items():
                limit = (
                    MAX_WEIGHT_DIFFERENCE if name.endswith("hook_weights") else MAX_LOGIT_DIFFERENCE
                )
                assert difference is not None, (label, name)
                assert difference <= limit, (label, name, difference)
            for step, row in zip(actual["steps"], translation.steps, strict=True):
                assert step["chosen"]["probability"] == pytest.approx(row.probability, abs=1e-3)
                assert [value["probability"] for value in step["candidates"]] == pytest.approx(
                    [value.probability for value in row.candidates], abs=1e-3
                )
            if translation.tree is None:
                assert actual["tree"] is None
                continue
            for column in ("parent", "depth", "token", "id", "status", "best"):
                assert actual["tree"][column] == [
                    getattr(node, column) for node in translation.tree.nodes
                ]
            scores = [node.score for node in translation.tree.nodes]
            assert actual["tree"]["score"] == pytest.approx(scores, abs=1e-3)


@pytest.mark.parametrize("pair", PAIRS)
def test_translations_and_every_site_are_equal(pair: str, tmp_path: Path) -> None:
    folder = APP_FOLDER / "checkpoints" / pair
    translator = Translator.load(folder, "cpu")
    sentences = SENTENCES[:6] if pair == PAIRS[0] else SENTENCES[:1]  # the same code, other weights
    _compare(translator, folder, _cases(translator, sentences), tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "learned", "score": "dot", "activation": "gelu"},
        {"positions": "none", "score": "additive", "activation": "swish", "biases": True},
        {"output_bias": True, "scale_embedding": False, "d_model": 36},
    ],
)
def test_every_configuration_of_the_model(
    changes: dict[str, Any], tmp_path: Path, vocabulary: Vocabulary
) -> None:
    """With random weights, as a trained model's confidence could hide differences."""
    torch.manual_seed(5)
    sizes = {"d_model": 32, "n_layers": 2, "n_heads": 4, "d_ff": 48, "max_len": 90, **changes}
    model = Transformer(ModelConfig(vocab_size=len(vocabulary), **sizes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    save_checkpoint(tmp_path / "made", model, vocabulary, "# made\n")
    translator = Translator.load(tmp_path / "made", "cpu")
    _compare(translator, tmp_path / "made", _cases(translator, ("She paints a boat.",)), tmp_path)
