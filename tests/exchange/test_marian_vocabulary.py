"""Encoding and decoding equal `MarianTokenizer`."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import MarianTokenizer

from tests.exchange import marian
from transformer.checkpoint import load_checkpoint
from transformer.exchange import import_folder
from transformer.text import Vocabulary
from transformer.text.pair_pieces import PairPieces

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
def our_vocabulary(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    out = tmp_path_factory.mktemp("imported") / "model"
    import_folder(folder, out)
    return load_checkpoint(out)[1]


def test_ids_equal_the_marian_tokenizer(
    marian_tokenizer: MarianTokenizer, our_vocabulary: Vocabulary
) -> None:
    for text in TEXTS:
        assert our_vocabulary.encode(text) == marian_tokenizer(text).input_ids, text
        if not text.startswith(">>"):
            assert (
                our_vocabulary.encode(text, target=True)
                == marian_tokenizer(text_target=text).input_ids
            ), text
    assert our_vocabulary.encode_batch(TEXTS) == [our_vocabulary.encode(text) for text in TEXTS]
    english, french = marian.ENGLISH[0], marian.FRENCH[0]
    assert our_vocabulary.encode(french) != our_vocabulary.encode(french, target=True)
    assert our_vocabulary.unk_id not in our_vocabulary.encode(english)


def test_decoded_text_equals_the_marian_tokenizer(
    marian_tokenizer: MarianTokenizer, our_vocabulary: Vocabulary
) -> None:
    for text in marian.FRENCH[::5]:
        ids = our_vocabulary.encode(text, target=True)
        assert (
            our_vocabulary.decode(ids)
            == marian_tokenizer.decode(ids, skip_special_tokens=True)
            == text
        )
    ids = our_vocabulary.encode("Ελλε", target=True)
    assert our_vocabulary.unk_id in ids
    assert "⁇" in our_vocabulary.decode(ids)


def test_a_language_code_is_one_token(our_vocabulary: Vocabulary) -> None:
    assert our_vocabulary.pair is not None
    assert our_vocabulary.pair.languages() == marian.LANGUAGES
    first, *rest = our_vocabulary.encode(">>fra<< The baker")
    assert our_vocabulary.token(first) == ">>fra<<"
    assert rest == our_vocabulary.encode("The baker")
    assert our_vocabulary.token(our_vocabulary.bos_id) == "<s>"


def test_an_existing_language_code_is_replaced(our_vocabulary: Vocabulary) -> None:
    text = our_vocabulary.with_language("The baker", "fra")
    assert our_vocabulary.split_language(text) == ("fra", "The baker")
    assert our_vocabulary.split_language("The baker >>fra<<") == ("", "The baker >>fra<<")
    assert our_vocabulary.with_language(text, "deu") == ">>deu<< The baker"
    assert our_vocabulary.with_language(text, "") == "The baker"


def test_the_vocabulary_survives_serialization(our_vocabulary: Vocabulary, tmp_path: Path) -> None:
    our_vocabulary.save(tmp_path / "vocabulary.model")
    reloaded = Vocabulary.load(tmp_path / "vocabulary.model")
    assert reloaded.sha256 == our_vocabulary.sha256
    assert reloaded.encode_batch(TEXTS) == our_vocabulary.encode_batch(TEXTS)


@pytest.mark.parametrize("cut", [1, 100, -1])
def test_truncated_bytes_are_refused(our_vocabulary: Vocabulary, cut: int) -> None:
    data = our_vocabulary.to_bytes()
    with pytest.raises(ValueError, match=r"is truncated|no list"):
        Vocabulary.from_bytes(data[: len(data) - cut if cut > 0 else 40])


def test_a_vocabulary_of_another_size_is_refused() -> None:
    source, target = map(marian.sentence_pieces, (marian.ENGLISH, marian.FRENCH))
    with pytest.raises(ValueError, match="has no <pad>"):
        PairPieces(source, target, ["</s>", "<unk>"], 0)
    with pytest.raises(ValueError, match="start id is 9; it must be from 0 to 2"):
        PairPieces(source, target, ["</s>", "<unk>", "<pad>"], 9)
    with pytest.raises(ValueError, match="target model's 4 bytes are not a SentencePiece model"):
        PairPieces(source, b"\n\n\n\n", ["</s>", "<unk>", "<pad>"], 0)
