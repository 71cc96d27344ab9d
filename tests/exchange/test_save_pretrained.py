"""`save_pretrained`: saved models load with equal weights, and model cards are valid on the hub."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard

from transformer.checkpoint import CheckpointError, load_languages, save_checkpoint
from transformer.exchange.model_card import licence_of
from transformer.inference import Translator
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXT = "The baker paints a boat today."
CARD = """---
language: [en, fr]
license: cc-by-2.0
datasets:
- tatoeba
- europarl
library_name: something
---

# English to French

language: not metadata
"""


@pytest.fixture
def translator(tiny_model: Transformer, vocabulary: Vocabulary, tmp_path: Path) -> Translator:
    save_checkpoint(tmp_path / "en-fr", tiny_model, vocabulary, CARD)
    return Translator.load(tmp_path / "en-fr", "cpu")


def test_a_saved_checkpoint_loads_with_equal_numbers(
    translator: Translator, tmp_path: Path
) -> None:
    translator.save_pretrained(tmp_path / "out")
    reloaded = Translator.load(tmp_path / "out", "cpu")
    for name, weight in translator.model.state_dict().items():
        assert torch.equal(weight, reloaded.model.state_dict()[name]), name
    assert (
        reloaded.translate(TEXT, max_len=12).tokens == translator.translate(TEXT, max_len=12).tokens
    )
    assert load_languages(tmp_path / "out") == ("en", "fr")
    translator.save_pretrained(tmp_path / "out", license="mit")  # the same model may be replaced
    assert licence_of((tmp_path / "out" / "README.md").read_text("utf-8")) == "mit"


@pytest.mark.parametrize(
    ("format", "library"), [("heads-up", "heads-up"), ("marian", "transformers")]
)
def test_the_model_card_is_valid_for_the_hub(
    translator: Translator, tmp_path: Path, format: str, library: str
) -> None:
    """The card is parsed by `huggingface_hub`."""
    translator.save_pretrained(tmp_path / "out", format=format)
    card = ModelCard((tmp_path / "out" / "README.md").read_text("utf-8"))
    assert card.data.to_dict() == {
        "library_name": library,
        "pipeline_tag": "translation",
        "language": ["en", "fr"],
        "license": "cc-by-2.0",
        "datasets": ["tatoeba", "europarl"],
    }
    assert card.text.strip() == "# English to French\n\nlanguage: not metadata"


def test_an_unsaved_model_gets_a_card_with_its_shape(
    tiny_model: Transformer, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    Translator(tiny_model, vocabulary).save_pretrained(tmp_path / "a", languages=("no", "pt-BR"))
    card = ModelCard((tmp_path / "a" / "README.md").read_text("utf-8"))
    assert card.data.to_dict()["language"] == ["no", "pt-BR"]
    assert card.data.to_dict()["license"] == "unknown"
    assert card.text.lstrip().startswith("# A translation model, Norwegian to Portuguese (BR)\n")
    assert "No licence is stated." in card.text


def test_saving_errors_are_one_sentence_and_leave_no_folder(
    translator: Translator, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for options, message in (
        ({"format": "marien"}, "'heads-up' or 'marian', not 'marien'; did you mean 'marian'?"),
        ({"languages": "en"}, "languages are two codes"),
        ({"license": "a licence\n---"}, "a licence is an identifier such as 'cc-by-2.0', not"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            translator.save_pretrained(out, **options)
        assert not out.exists()
    out.mkdir()
    with pytest.raises(CheckpointError, match="already exists"):
        translator.save_pretrained(out, format="marian")
