"""Exported Marian folders give the same logits and texts in transformers and CTranslate2."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import ctranslate2
import pytest
import torch
from transformers import MarianMTModel

from tests.exchange import marian
from tests.model.small import make_model
from transformer.checkpoint import CheckpointError, load_checkpoint, load_languages, save_checkpoint
from transformer.cli import main
from transformer.exchange import export_marian, import_folder
from transformer.inference import Translator
from transformer.model import Transformer
from transformer.text import Vocabulary

DOCS = Path(__file__).parents[2] / "docs" / "import.md"
SENTENCES = ["The baker paints a boat today.", "She sells bread.", "Ünknown wörds 世界"]


def model_with_early_ends(model: Transformer) -> Transformer:
    """Return a model of the same size with random biases and LayerNorm weights, whose outputs end
    early."""
    copy = make_model(dtype=torch.float32, **{**model.config.to_dict(), "dropout": 0.0})
    with torch.no_grad():
        copy.embedding.weight.mul_(3)
    return copy


@pytest.fixture
def checkpoint(tiny_model: Transformer, vocabulary: Vocabulary, tmp_path: Path) -> Path:
    folder = tmp_path / "en-fr"
    card = "---\nlanguage: [en, fr]\nlicense: mit\n---\n\n# English to French\n"
    save_checkpoint(folder, model_with_early_ends(tiny_model), vocabulary, card)
    return folder


def save_again(folder: Path, out: Path) -> None:
    """Load the folder in transformers and save it, as after fine-tuning or a cast."""
    MarianMTModel.from_pretrained(folder).save_pretrained(out)
    marian.tokenizer(folder).save_pretrained(out)
    for name in ("source.spm", "target.spm", "vocab.json"):
        assert (out / name).is_file()


def assert_same_probabilities(folder: Path, translator: Translator) -> None:
    """Compare the probabilities of all tokens with those of transformers, and require that tokens
    that only one of the two has are improbable."""
    marian_model = MarianMTModel.from_pretrained(folder).eval()
    tokenizer = marian.tokenizer(folder)
    vocabulary, config = translator.vocabulary, translator.model.config
    columns = [vocabulary.id(p) for p in tokenizer.convert_ids_to_tokens([*range(len(tokenizer))])]
    assert sorted({*range(len(vocabulary))} - {*columns}) == [config.bos_id]
    start = marian_model.config.decoder_start_token_id
    for text in SENTENCES:
        ids = translator.translate(text, max_len=40).ids
        marian_src = tokenizer(text).input_ids
        assert [columns[id] for id in marian_src] == translator.vocabulary.encode(text)
        marian_ids = [columns.index(id) for id in ids]
        with torch.no_grad():
            logits = marian_model(
                input_ids=torch.tensor([marian_src]),
                decoder_input_ids=torch.tensor([[start, *marian_ids[:-1]]]),
            ).logits[0]
            own = translator.model(
                torch.tensor([vocabulary.encode(text)]), torch.tensor([[config.bos_id, *ids[:-1]]])
            )[0]
        own[:, [config.bos_id, config.pad_id]] = -torch.inf  # no output contains them
        probabilities = logits.double().softmax(-1)
        assert probabilities[:, tokenizer.pad_token_id].max() == 0
        expected = own.double().softmax(-1)[:, columns]
        torch.testing.assert_close(probabilities, expected, atol=1e-6, rtol=1e-5)


def assert_same_beam_texts(folder: Path, translator: Translator) -> None:
    marian_model = MarianMTModel.from_pretrained(folder).eval()
    tokenizer = marian.tokenizer(folder)
    for text, n_beams in itertools.product(SENTENCES, (1, 2, 4)):
        output = marian_model.generate(
            torch.tensor([tokenizer(text).input_ids]),
            num_beams=n_beams,
            length_penalty=0.0,
            max_length=41,
            forced_eos_token_id=None,
        )
        ours = translator.translate(text, beam_size=n_beams, length_penalty=0.0, max_len=40)
        assert tokenizer.decode(output[0], skip_special_tokens=True) == ours.text.strip()


def test_transformers_gives_the_same_probabilities_and_texts(
    checkpoint: Path, tmp_path: Path
) -> None:
    """Also after transformers has saved the exported model again, and after importing that."""
    export_marian(checkpoint, tmp_path / "marian")
    translator = Translator.load(checkpoint, "cpu")
    save_again(tmp_path / "marian", tmp_path / "again")
    for folder in (tmp_path / "marian", tmp_path / "again"):
        assert_same_probabilities(folder, translator)
        assert_same_beam_texts(folder, translator)
        import_folder(folder, tmp_path / f"{folder.name}-imported")
        imported = Translator.load(tmp_path / f"{folder.name}-imported", "cpu")
        assert_same_probabilities(folder, imported)
        assert_same_beam_texts(folder, imported)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_ctranslate2_gives_the_same_texts(checkpoint: Path, tmp_path: Path) -> None:
    """CTranslate2 starts from a zero vector; the converter of docs/import.md repairs that."""
    export_marian(checkpoint, tmp_path / "marian")
    documented = re.search(r"```py\n(from ctranslate2.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert documented
    code = documented[1].replace("en-fr-marian", str(tmp_path / "marian"))
    exec(code.replace("en-fr-ctranslate2", str(tmp_path / "converted")), {})
    engine = ctranslate2.Translator(str(tmp_path / "converted"), intra_threads=1)
    tokenizer = marian.tokenizer(tmp_path / "marian")
    translator = Translator.load(checkpoint, "cpu")
    for text in SENTENCES:
        source = tokenizer.convert_ids_to_tokens(tokenizer(text).input_ids)
        (result,) = engine.translate_batch([source], beam_size=1, max_decoding_length=40)
        expected = translator.translate(text, max_len=40)
        assert result.hypotheses[0] == [token for token in expected.tokens if token != "</s>"]


def test_exporting_and_importing_give_the_same_model(checkpoint: Path, tmp_path: Path) -> None:
    """The round trip keeps weights (and adds zero biases), languages and licence."""
    export_marian(checkpoint, tmp_path / "marian")
    import_folder(tmp_path / "marian", tmp_path / "reimported")
    original, vocabulary = load_checkpoint(checkpoint)
    reimported, reimported_vocabulary = load_checkpoint(tmp_path / "reimported")
    remaining_weights = dict(reimported.state_dict())
    tokens = reimported_vocabulary.tokens(range(len(reimported_vocabulary)))
    assert sorted(tokens) == sorted(vocabulary.tokens(range(len(vocabulary))))
    original_ids = [vocabulary.id(piece) for piece in tokens]
    for name, weight in original.state_dict().items():
        expected, actual = weight, remaining_weights.pop(name)
        if name == "embedding.weight":
            expected = weight[original_ids].clone()
            expected[reimported.config.pad_id] = expected[reimported.config.bos_id]
        assert torch.equal(actual, expected), name
    bias = remaining_weights.pop("output_bias")
    assert bias.nonzero().flatten().tolist() == [
        reimported.config.pad_id,
        reimported.config.bos_id,
    ]
    assert bias.min() == bias[bias.nonzero()].max() == -1000
    assert remaining_weights
    assert not any(weight.any() for weight in remaining_weights.values())
    assert load_languages(tmp_path / "reimported") == ("en", "fr")
    assert "license: mit" in (tmp_path / "reimported" / "README.md").read_text("utf-8")


def test_an_imported_model_is_exported_unchanged(tmp_path: Path) -> None:
    marian.save(tmp_path / "marian")
    import_folder(tmp_path / "marian", tmp_path / "imported")
    export_marian(tmp_path / "imported", tmp_path / "exported")
    import_folder(tmp_path / "exported", tmp_path / "reimported")
    imported, vocabulary = load_checkpoint(tmp_path / "imported")
    reimported, reimported_vocabulary = load_checkpoint(tmp_path / "reimported")
    assert vocabulary.sha256 == reimported_vocabulary.sha256
    for name, weight in imported.state_dict().items():
        assert torch.equal(weight, reimported.state_dict()[name]), name


@pytest.mark.parametrize(
    ("change", "message"),
    [({"score": "additive"}, "'scaled_dot'"), ({"positions": "learned"}, "'sinusoidal'")],
)
def test_models_that_marian_cannot_represent_are_refused(
    vocabulary: Vocabulary, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    model = make_model(dtype=torch.float32, vocab_size=len(vocabulary), **change)
    save_checkpoint(tmp_path / "model", model, vocabulary, "")
    with pytest.raises(CheckpointError, match=f"cannot be a Marian model: .*{message}"):
        export_marian(tmp_path / "model", tmp_path / "marian")


def test_the_commands_import_and_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marian.save(tmp_path / "opus-mt-en-fr")
    marian_folder, checkpoint_folder, exported_folder = (
        str(tmp_path / name) for name in ("opus-mt-en-fr", "imported", "exported")
    )
    assert main(["import", marian_folder, checkpoint_folder]) == 0
    assert "2 layers of 24, 4 heads, a vocabulary of 62 tokens" in capsys.readouterr().out
    assert load_languages(checkpoint_folder) == ("en", "fr")
    assert main(["export", checkpoint_folder, exported_folder, "--to", "marian"]) == 0
    assert (Path(exported_folder) / "vocab.json").is_file()
    command = [
        "translate",
        "The baker sells bread.",
        "--checkpoint",
        checkpoint_folder,
        "--max-len",
        "5",
    ]
    assert main(command) == 0
    translation = capsys.readouterr().out
    assert main([*command, "--into", "deu", "--json"]) == 0
    assert '">>deu<<"' in capsys.readouterr().out
    assert translation
    assert main([*command, "--into", "xyz"]) == 1
    assert "no token for the target language 'xyz'; it has fra, deu" in capsys.readouterr().err
    assert main(["import", str(tmp_path), checkpoint_folder]) == 1
    assert "has no config.json" in capsys.readouterr().err
