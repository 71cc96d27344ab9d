"""Text to ids and back as `MarianTokenizer` does it."""

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
    found = tmp_path_factory.mktemp("marian") / "en-fr"
    marian.save(found)
    return found


@pytest.fixture(scope="module")
def theirs(folder: Path) -> MarianTokenizer:
    return marian.tokenizer(folder)


@pytest.fixture(scope="module")
def ours(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    out = tmp_path_factory.mktemp("imported") / "model"
    import_folder(folder, out)
    return load_checkpoint(out)[1]


def test_ids_of_sources_and_targets(theirs: MarianTokenizer, ours: Vocabulary) -> None:
    for text in TEXTS:
        assert ours.encode(text) == theirs(text).input_ids, text
        if not text.startswith(">>"):
            assert ours.encode(text, target=True) == theirs(text_target=text).input_ids, text
    assert ours.encode_batch(TEXTS) == [ours.encode(text) for text in TEXTS]
    english, french = marian.ENGLISH[0], marian.FRENCH[0]
    assert ours.encode(french) != ours.encode(french, target=True)
    assert ours.unk_id not in ours.encode(english)


def test_text_of_ids(theirs: MarianTokenizer, ours: Vocabulary) -> None:
    for text in marian.FRENCH[::5]:
        ids = ours.encode(text, target=True)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True) == text
    ids = ours.encode("Ελλε", target=True)
    assert ours.unk_id in ids
    assert "⁇" in ours.decode(ids)


def test_a_language_is_one_piece(ours: Vocabulary) -> None:
    assert ours.pair is not None
    assert ours.pair.languages() == marian.LANGUAGES
    first, *rest = ours.encode(">>fra<< The baker")
    assert ours.token(first) == ">>fra<<"
    assert rest == ours.encode("The baker")
    assert ours.token(ours.bos_id) == "<s>"


def test_a_language_is_asked_for_once(ours: Vocabulary) -> None:
    asked = ours.with_language("The baker", "fra")
    assert ours.split_language(asked) == ("fra", "The baker")
    assert ours.split_language("The baker >>fra<<") == ("", "The baker >>fra<<")
    assert ours.with_language(asked, "deu") == ">>deu<< The baker"
    assert ours.with_language(asked, "") == "The baker"


def test_bytes_and_back(ours: Vocabulary, tmp_path: Path) -> None:
    ours.save(tmp_path / "vocabulary.model")
    again = Vocabulary.load(tmp_path / "vocabulary.model")
    assert again.sha256 == ours.sha256
    assert again.encode_batch(TEXTS) == ours.encode_batch(TEXTS)


@pytest.mark.parametrize("cut", [1, 100, -1])
def test_bytes_that_are_cut_off(ours: Vocabulary, cut: int) -> None:
    data = ours.to_bytes()
    with pytest.raises(ValueError, match=r"cut off|no list"):
        Vocabulary.from_bytes(data[: len(data) - cut if cut > 0 else 40])


def test_a_list_that_does_not_fit() -> None:
    source, target = map(marian.sentence_pieces, (marian.ENGLISH, marian.FRENCH))
    with pytest.raises(ValueError, match="has no <pad>"):
        PairPieces(source, target, ["</s>", "<unk>"], 0)
    with pytest.raises(ValueError, match="start is piece 9 of a list of 3"):
        PairPieces(source, target, ["</s>", "<unk>", "<pad>"], 9)
    with pytest.raises(ValueError, match="target's 4 bytes are not a SentencePiece model"):
        PairPieces(source, b"\n\n\n\n", ["</s>", "<unk>", "<pad>"], 0)
