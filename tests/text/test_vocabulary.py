"""The SentencePiece vocabulary: encoding, decoding, training, saving and threads."""

import io
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from transformer.text import Vocabulary

Pairs = list[tuple[str, str]]
# Letters, digits and marks of punctuation of every script, and plain spaces.
LETTERS = st.characters(categories=["Ll", "Lu", "Lo", "Nd", "Po"], max_codepoint=0x2FFF)
WORDS = st.lists(st.text(LETTERS, min_size=1), max_size=8).map(" ".join)


@given(text=st.text())
def test_any_text_is_encoded_without_specials_and_ends_once(
    vocabulary: Vocabulary, text: str
) -> None:
    *body, last = vocabulary.encode(text)
    assert last == vocabulary.eos_id
    assert all(4 <= number < len(vocabulary) for number in body)
    # Decoding gives the normalised text, which encodes to the same ids.
    normalised = vocabulary.decode([*body, last])
    assert vocabulary.decode(vocabulary.encode(normalised)) == normalised


@given(text=WORDS)
def test_decoded_text_is_in_unicode_normal_form(vocabulary: Vocabulary, text: str) -> None:
    expected = " ".join(unicodedata.normalize("NFKC", text).split())
    assert vocabulary.decode(vocabulary.encode(text)) == expected


@given(ids=st.lists(st.integers(0, 319)))
def test_any_ids_in_range_are_decoded_up_to_the_end(vocabulary: Vocabulary, ids: list[int]) -> None:
    text = vocabulary.decode(ids)
    assert vocabulary.decode([0, 1, *ids, 0, 2, 150, 3]) == text
    assert vocabulary.decode(np.array(ids, dtype=np.uint16)) == text


def test_decoding_shows_unknown_and_broken_bytes_but_no_other_special(
    vocabulary: Vocabulary,
) -> None:
    body = vocabulary.encode("a boat")[:-1]
    assert vocabulary.decode([1, *body, 0, 2, *body]) == "a boat"
    assert vocabulary.decode([*body, 3]) == "a boat ⁇ "
    assert vocabulary.decode([vocabulary.id("<0xE2>")]) == "�"


@pytest.mark.parametrize(
    "typed", ["</s>", "<s>", "<pad>", "<unk>", "<0xE2>", "a </s> b", "<s></s>"]
)
def test_control_pieces_typed_as_text_stay_text(vocabulary: Vocabulary, typed: str) -> None:
    *body, last = vocabulary.encode(typed)
    assert last == 2
    assert not {0, 1, 2, 3, vocabulary.id("<0xE2>")} & set(body)
    assert vocabulary.decode(body) == typed


def test_control_pieces_in_the_training_text_stay_control(pairs: Pairs) -> None:
    texts = [f"</s> {source} <s> {target} <unk>" for source, target in pairs]
    vocabulary = Vocabulary.train(texts, 310)
    assert vocabulary.tokens([0, 1, 2, 3]) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert not {0, 1, 2, 3} & set(vocabulary.encode(texts[0])[:-1])


def test_lone_surrogates_become_the_replacement_character(vocabulary: Vocabulary) -> None:
    assert vocabulary.encode("a\ud800b") == vocabulary.encode("a\ufffdb")
    # A valid pair of surrogates is joined.
    assert vocabulary.decode(vocabulary.encode("\ud83d\ude00")) == "😀"


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_a_batch_equals_its_texts_one_by_one(
    vocabulary: Vocabulary, pairs: Pairs, threads: int
) -> None:
    texts = [source for source, _ in pairs] + ["", "日本 ☃", "\ud800"]
    assert vocabulary.encode_batch(texts, threads) == [vocabulary.encode(text) for text in texts]
    assert vocabulary.encode_batch([], threads) == []


def test_encoding_equals_sentencepiece(vocabulary: Vocabulary, pairs: Pairs) -> None:
    reference = sentencepiece.SentencePieceProcessor(model_proto=vocabulary.to_bytes())
    for source, target in pairs:
        assert vocabulary.encode(source) == [*reference.encode(source), 2]
        assert vocabulary.tokens(vocabulary.encode(target)[:-1]) == reference.encode(
            target, out_type=str
        )


def test_pieces_and_ids_are_inverse(vocabulary: Vocabulary) -> None:
    pieces = vocabulary.tokens(range(len(vocabulary)))
    assert [vocabulary.id(piece) for piece in pieces] == list(range(len(vocabulary)))
    assert vocabulary.token(np.int64(2)) == "</s>"
    with pytest.raises(ValueError, match='320 pieces has no piece "▁zebra"'):
        vocabulary.id("▁zebra")


@pytest.mark.parametrize("number", [-1, 320])
def test_ids_out_of_range_are_refused(vocabulary: Vocabulary, number: int) -> None:
    with pytest.raises(ValueError, match=f"Id {number} is outside the vocabulary's 0 to 319"):
        vocabulary.decode([number])
    with pytest.raises(ValueError, match=f"Id {number} is outside"):
        vocabulary.token(number)


def test_training_is_reproducible(pairs: Pairs) -> None:
    texts = [source for source, _ in pairs]
    vocabularies = [Vocabulary.train(iter(texts), 290) for _ in range(2)]
    assert vocabularies[0].to_bytes() == vocabularies[1].to_bytes()
    assert vocabularies[0].sha256 == vocabularies[1].sha256


def test_no_text_and_no_pieces_are_refused() -> None:
    with pytest.raises(ValueError, match="0 sentences to learn 300 pieces from"):
        Vocabulary.train(iter([]), 300)
    with pytest.raises(ValueError, match="from 2 sentences"):
        Vocabulary.train(["", " "], 300)
    with pytest.raises(ValueError, match="size is 0; it must be at least 1"):
        Vocabulary.train(["a b"], 0)


def test_errors_of_the_text_stream_are_raised(pairs: Pairs) -> None:
    class BrokenError(Exception):
        pass

    def stream() -> Iterator[str]:
        yield pairs[0][0]
        raise BrokenError("line 2")

    with pytest.raises(BrokenError, match="line 2"):
        Vocabulary.train(stream(), 300)


def test_a_saved_vocabulary_can_be_loaded(vocabulary: Vocabulary, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "vocabulary.model"
    vocabulary.save(path)
    vocabulary.save(path)  # over the same file
    loaded = Vocabulary.load(path)
    assert loaded.to_bytes() == vocabulary.to_bytes() == path.read_bytes()
    assert loaded.encode("the cat") == vocabulary.encode("the cat")
    assert [file.name for file in path.parent.iterdir()] == ["vocabulary.model"]
    assert Vocabulary(vocabulary.to_bytes()).sha256 == vocabulary.sha256


def test_invalid_files_are_refused(vocabulary: Vocabulary, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no vocabulary file at .*absent\.model"):
        Vocabulary.load(tmp_path / "absent.model")
    with pytest.raises(FileNotFoundError, match="no vocabulary file"):
        Vocabulary.load(tmp_path)
    broken = tmp_path / "broken.model"
    for content in (b"", b"not a model", vocabulary.to_bytes()[:-7]):
        broken.write_bytes(content)
        with pytest.raises(
            ValueError, match=rf"broken\.model: These {len(content)} bytes are not a SentencePiece"
        ):
            Vocabulary.load(broken)


def test_a_model_without_padding_is_refused(pairs: Pairs) -> None:
    model_file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(source for source, _ in pairs),
        model_writer=model_file,
        vocab_size=40,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    with pytest.raises(ValueError, match="has no pad piece"):
        Vocabulary(model_file.getvalue())


def test_threads_may_share_one_vocabulary(vocabulary: Vocabulary, pairs: Pairs) -> None:
    expected = [vocabulary.encode(target) for _, target in pairs]

    def wrong_targets(_: int) -> list[str]:
        return [
            target
            for (_, target), ids in zip(pairs * 5, expected * 5, strict=True)
            if vocabulary.encode(target) != ids or vocabulary.decode(ids) != target
        ]

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(wrong_targets, range(4))] == [[]] * 4
