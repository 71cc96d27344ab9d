"""An imported Marian model gives the numbers, outputs and tokens of `transformers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import MarianMTModel, MarianTokenizer

from tests.exchange import marian
from transformer.exchange import import_folder
from transformer.inference import Translator
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXTS = [
    *marian.ENGLISH[::7],
    *marian.FRENCH[::11],
    "",
    " two  spaces ",
    "ﬁne № ½ ①",
    "Привет, 世界!",
    "a\tb\nc",
    ">>fra<< The baker sells bread.",
    ">>deu<<My aunt",
    ">>xyz<< not one of them",
    ">> no token",
    "in the middle >>fra<< of it",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("marian") / "opus-mt-en-fr"


@pytest.fixture(scope="module")
def marian_model(folder: Path) -> MarianMTModel:
    marian.save(folder, trained=True)
    return MarianMTModel.from_pretrained(folder, attn_implementation="eager").eval()


@pytest.fixture(scope="module")
def imported_translator(
    folder: Path, marian_model: MarianMTModel, tmp_path_factory: pytest.TempPathFactory
) -> Translator:
    out = tmp_path_factory.mktemp("imported") / "model"
    import_folder(folder, out)
    return Translator.load(out, "cpu")


@pytest.fixture(scope="module")
def marian_tokenizer(folder: Path, marian_model: MarianMTModel) -> MarianTokenizer:
    return marian.tokenizer(folder)


@pytest.fixture(scope="module")
def imported_vocabulary(imported_translator: Translator) -> Vocabulary:
    return imported_translator.vocabulary


def random_ids(config: Any, *lengths: int, seed: int = 3) -> torch.Tensor:
    """Return rows of ordinary tokens with `</s>` at the end, shorter ones padded."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.full((len(lengths), max(lengths)), config.pad_id)
    for row, length in zip(ids, lengths, strict=True):
        row[: length - 1] = torch.randint(2, 20, (length - 1,), generator=generator)
        row[length - 1] = config.eos_id
    return ids


@torch.no_grad()
def run_both(
    marian_model: MarianMTModel, imported_model: Transformer, src: torch.Tensor, tgt: torch.Tensor
) -> Any:
    """Return the output of transformers and the logits of the imported model; `tgt` begins with the
    decoder's start token."""
    config = imported_model.config
    imported_ids, decoder_ids = tgt.clone(), tgt.clone()
    imported_ids[:, 0], decoder_ids[:, 0] = config.bos_id, config.pad_id
    marian_output = marian_model(
        input_ids=src,
        attention_mask=(src != config.pad_id).long(),
        decoder_input_ids=decoder_ids,
        output_attentions=True,
    )
    return marian_output, imported_model(src, imported_ids)


@pytest.mark.parametrize("lengths", [(9, 4, 1), (60,)])
def test_logits_equal_transformers(
    marian_model: MarianMTModel, imported_translator: Translator, lengths: tuple[int, ...]
) -> None:
    """Some inputs are padded, and one has almost the maximum length."""
    config = imported_translator.model.config
    src, tgt = random_ids(config, *lengths), random_ids(config, *(50 for _ in lengths), seed=5)
    marian_output, logits = run_both(marian_model, imported_translator.model, src, tgt)
    torch.testing.assert_close(logits[..., :-1], marian_output.logits, atol=2e-5, rtol=1e-5)
    assert logits[..., -1].max() < -900
    probabilities = logits.softmax(-1)[..., :-1]
    torch.testing.assert_close(
        probabilities, marian_output.logits.softmax(-1), atol=1e-6, rtol=1e-5
    )


@pytest.mark.parametrize("activation", ["relu", "swish", "gelu"])
@pytest.mark.parametrize("scaled", [True, False])
def test_every_model_variant_equals_transformers(
    tmp_path: Path, activation: str, scaled: bool
) -> None:
    marian_variant = marian.save(
        tmp_path / "marian",
        seed=4,
        activation_function=activation,
        scale_embedding=scaled,
        d_model=30,
        encoder_attention_heads=5,
        decoder_attention_heads=5,
    )
    import_folder(tmp_path / "marian", tmp_path / "imported")
    model = Translator.load(tmp_path / "imported", "cpu").model
    config = model.config
    assert (config.activation, config.scale_embedding) == (activation, scaled)
    src, tgt = random_ids(config, 9, 4), random_ids(config, 7, 7, seed=5)
    marian_output, logits = run_both(marian_variant, model, src, tgt)
    torch.testing.assert_close(logits[..., :-1], marian_output.logits, atol=2e-5, rtol=1e-5)


def test_attention_weights_equal_transformers(
    marian_model: MarianMTModel, imported_translator: Translator
) -> None:
    source = "The baker paints a boat today."
    trace = imported_translator.trace(source, target="Ma tante vend du pain encore.")
    src, tgt = torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids])
    marian_output, _ = run_both(marian_model, imported_translator.model, src, tgt)
    for kind in ("encoder", "decoder", "cross"):
        for layer, weights in enumerate(marian_output[f"{kind}_attentions"]):
            torch.testing.assert_close(
                torch.tensor(trace.weights(kind, layer)), weights[0], atol=2e-6, rtol=1e-5
            )


def generate_ids(marian_model: MarianMTModel, src: torch.Tensor, **options: Any) -> list[list[int]]:
    """Return the output of `generate` up to `</s>`, without the start token."""
    config: Any = marian_model.config
    mask = (src != config.pad_token_id).long()
    with torch.no_grad():
        generated_ids = marian_model.generate(input_ids=src, attention_mask=mask, **options)
    outputs = []
    for row in generated_ids[:, 1:].tolist():
        end = row.index(config.eos_token_id) + 1 if config.eos_token_id in row else len(row)
        outputs.append(row[:end])
    return outputs


def test_greedy_outputs_equal_transformers(
    marian_model: MarianMTModel, imported_translator: Translator
) -> None:
    config = imported_translator.model.config
    src = random_ids(config, 12, 5, 9, 3, 40, 7)
    sources = [[id for id in row if id != config.pad_id] for row in src.tolist()]
    decoder = SequenceDecoder(imported_translator.model)
    decoded = decoder.run(sources, Decoding(max_len=30))
    expected = generate_ids(marian_model, src, num_beams=1, do_sample=False, max_length=31)
    assert [output.decoded.ids for output in decoded] == expected
    assert any(output.decoded.finished for output in decoded)
    assert len({tuple(ids) for ids in expected}) > 3


@pytest.mark.parametrize("max_len", [1, 2, 3, 4, 6, 30])
@pytest.mark.parametrize("beams", [2, 4])
def test_beam_search_without_length_penalty_equals_transformers(
    marian_model: MarianMTModel, imported_translator: Translator, beams: int, max_len: int
) -> None:
    """`transformers` divides scores by |Y|^p, this package by ((5 + |Y|)/6)^α. With p = α = 0 the
    scores are sums of log-probabilities, so the searches agree."""
    config = imported_translator.model.config
    src = random_ids(config, 12, 5, 9, 3, 40, 7)
    sources = [[id for id in row if id != config.pad_id] for row in src.tolist()]
    options = Decoding(beam_size=beams, length_penalty=0.0, max_len=max_len)
    decoder = SequenceDecoder(imported_translator.model)
    outputs = [result.decoded.ids for result in decoder.run(sources, options)]
    expected = generate_ids(
        marian_model,
        src,
        num_beams=beams,
        length_penalty=0.0,
        early_stopping="never",
        max_length=max_len + 1,
    )
    assert outputs == expected


def test_ids_equal_the_marian_tokenizer(
    marian_tokenizer: MarianTokenizer, imported_vocabulary: Vocabulary
) -> None:
    for text in TEXTS:
        assert imported_vocabulary.encode(text) == marian_tokenizer(text).input_ids, text
        if not text.startswith(">>"):
            assert (
                imported_vocabulary.encode(text, target=True)
                == marian_tokenizer(text_target=text).input_ids
            ), text
    assert imported_vocabulary.encode_batch(TEXTS) == [
        imported_vocabulary.encode(text) for text in TEXTS
    ]
    english, french = marian.ENGLISH[0], marian.FRENCH[0]
    assert imported_vocabulary.encode(french) != imported_vocabulary.encode(french, target=True)
    assert imported_vocabulary.unk_id not in imported_vocabulary.encode(english)


def test_decoded_text_equals_the_marian_tokenizer(
    marian_tokenizer: MarianTokenizer, imported_vocabulary: Vocabulary
) -> None:
    for text in marian.FRENCH[::5]:
        ids = imported_vocabulary.encode(text, target=True)
        assert (
            imported_vocabulary.decode(ids)
            == marian_tokenizer.decode(ids, skip_special_tokens=True)
            == text
        )
    ids = imported_vocabulary.encode("Ελλε", target=True)
    assert imported_vocabulary.unk_id in ids
    assert "⁇" in imported_vocabulary.decode(ids)


def test_the_vocabulary_survives_serialization(
    imported_vocabulary: Vocabulary, tmp_path: Path
) -> None:
    imported_vocabulary.save(tmp_path / "vocabulary.model")
    reloaded = Vocabulary.load(tmp_path / "vocabulary.model")
    assert reloaded.sha256 == imported_vocabulary.sha256
    assert reloaded.encode_batch(TEXTS) == imported_vocabulary.encode_batch(TEXTS)


@pytest.mark.parametrize("end", [-1, -100, 40])
def test_truncated_bytes_are_refused(imported_vocabulary: Vocabulary, end: int) -> None:
    data = imported_vocabulary.to_bytes()
    with pytest.raises(ValueError, match=r"is truncated|no list"):
        Vocabulary(data[:end])
