"""An imported vocabulary encodes and decodes like `MarianTokenizer`."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import MarianTokenizer

from tests.exchange import marian
from transformer.checkpoint import load_checkpoint
from transformer.exchange import import_folder
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
    path = tmp_path_factory.mktemp("marian") / "en-fr"
    marian.save(path)
    return path


@pytest.fixture(scope="module")
def marian_tokenizer(folder: Path) -> MarianTokenizer:
    return marian.tokenizer(folder)


@pytest.fixture(scope="module")
def imported_vocabulary(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    out = tmp_path_factory.mktemp("imported") / "model"
    import_folder(folder, out)
    return load_checkpoint(out)[1]


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


def test_a_language_code_is_one_token(imported_vocabulary: Vocabulary) -> None:
    assert imported_vocabulary.pair is not None
    assert imported_vocabulary.pair.languages() == marian.LANGUAGES
    first, *rest = imported_vocabulary.encode(">>fra<< The baker")
    assert imported_vocabulary.token(first) == ">>fra<<"
    assert rest == imported_vocabulary.encode("The baker")
    assert imported_vocabulary.token(imported_vocabulary.bos_id) == "<s>"


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
        Vocabulary.from_bytes(data[:end])
