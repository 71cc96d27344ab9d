"""The subword vocabulary shared by both languages: SentencePiece, trained and loaded by us.

Unigram pieces (Kudo 2018, https://arxiv.org/abs/1804.10959) with byte fallback: a character that no
piece covers becomes its UTF-8 bytes, so no text is ever lost to `<unk>`.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, SupportsIndex

import sentencepiece

from transformer.config import ModelConfig
from transformer.text.files import atomic_path
from transformer.text.pair_pieces import MAGIC, PairPieces, load_processor
from transformer.text.symbols import SPECIAL, special_options, symbol_model

# A fixed number, not the machine's: SentencePiece writes it into the model, so the same text gives
# the same bytes (and the same hash) on every machine.
_TRAIN_THREADS = 4


class Vocabulary:
    """Text to piece ids and back. Safe to share between threads; it never changes once made."""

    def __init__(self, model: bytes) -> None:
        """Wrap a serialised SentencePiece model; `train`, `load` and `from_bytes` call this.

        Two models, one a side, come as `PairPieces.to_bytes` writes them.
        Raises ValueError if `model` is not one, or lacks one of the four special pieces.
        """
        pair = PairPieces.from_bytes(model) if model.startswith(MAGIC) else None
        self.pair = pair  # of two models, one a side
        self._model: Any = load_processor(model) if pair is None else pair
        self._bytes = model
        self.pad_id: int = self._model.pad_id()
        self.bos_id: int = self._model.bos_id()
        self.eos_id: int = self._model.eos_id()
        self.unk_id: int = self._model.unk_id()
        for kind in SPECIAL:
            if getattr(self, f"{kind}_id") < 0:
                raise ValueError(
                    f"The SentencePiece model has no {kind} piece; it needs pad, bos, eos and unk "
                    "(Vocabulary.train makes such a model)."
                )

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        size: int,
        *,
        model_type: str = "unigram",
        threads: int = 0,
        max_sentences: int = 1_000_000,
    ) -> Vocabulary:
        """Learn `size` pieces from a stream of sentences (both languages in one stream).

        `model_type` is "unigram" or "bpe". The result depends on the text alone, not on chance;
        `threads=0` means a fixed number, so that the file is the same on every machine. Of a stream
        longer than `max_sentences` an even sample of that many is kept in memory.
        Raises ValueError when the text is too small for `size`, or `size` for the text's letters;
        an error from `sentences` itself comes through unchanged.
        """
        if model_type not in ("unigram", "bpe"):
            raise ValueError(f'model_type is "{model_type}"; it must be "unigram" or "bpe".')
        if size < 1:
            raise ValueError(f"The vocabulary's size is {size}; it must be at least 1.")
        if max_sentences <= 100:  # SentencePiece samples no fewer
            raise ValueError(f"max_sentences is {max_sentences}; it must be more than 100.")
        stream = _Stream(sentences)
        buffer = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(stream),
                model_writer=buffer,
                model_type=model_type,
                vocab_size=size,
                byte_fallback=True,
                # Soft, so that a small text tells us how many pieces it can give.
                hard_vocab_limit=False,
                normalization_rule_name="nmt_nfkc",
                input_sentence_size=max_sentences,
                shuffle_input_sentence=True,
                num_threads=threads or _TRAIN_THREADS,
                minloglevel=2,
                **special_options(),
            )
        except RuntimeError as error:
            if stream.error is not None:
                raise stream.error from None
            raise _training_error(error, stream, size) from error
        vocabulary = cls(buffer.getvalue())
        if len(vocabulary) != size:
            raise ValueError(
                f"The text is too small for {size} pieces: its {stream.count} sentences give "
                f"{len(vocabulary)}; ask for {len(vocabulary)} or fewer, or give more text."
            )
        return vocabulary

    @classmethod
    def from_symbols(cls, symbols: Sequence[str]) -> Vocabulary:
        """One piece for each symbol after the four special ones: "3 a b" is three ids and `</s>`. A
        word that is no symbol becomes `<unk>`. Raises ValueError as `symbols.symbol_model` says."""
        return cls(symbol_model(symbols))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Read a vocabulary file. Raises FileNotFoundError, or ValueError if it is not one."""
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no vocabulary file at {path}.")
        try:
            return cls(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    @classmethod
    def from_bytes(cls, model: bytes) -> Vocabulary:
        """The inverse of `to_bytes`. Raises ValueError if these bytes are no vocabulary."""
        return cls(model)

    def to_bytes(self) -> bytes:
        """The serialised SentencePiece model, as `save` writes it."""
        return self._bytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to `path`, all of it or nothing."""
        with atomic_path(path) as temporary:
            temporary.write_bytes(self._bytes)

    @property
    def sha256(self) -> str:
        """The hash of the model's bytes: what ties a token store to its vocabulary."""
        return hashlib.sha256(self._bytes).hexdigest()

    def __len__(self) -> int:
        return len(self._model)

    def encode(self, text: str, *, target: bool = False) -> list[int]:
        """The ids of `text`, with `</s>` at the end and no `<s>`; empty text gives `[eos_id]`.

        Any text is taken: what no piece covers becomes bytes, and "</s>" typed by a user is four
        characters, never the control piece. `target` matters only to a vocabulary that cuts the
        two sides differently.
        """
        return self.encode_batch([text], threads=1, target=target)[0]

    def encode_batch(
        self, texts: Sequence[str], threads: int = 0, *, target: bool = False
    ) -> list[list[int]]:
        """`encode` for many texts at once, on `threads` threads (0: one a processor core)."""
        clean = [_clean(text) for text in texts]
        if self.pair is not None:
            encode = self.pair.encode_target if target else self.pair.encode_source
            return encode(clean, threads or -1)
        ids: list[list[int]] = self._model.encode(clean, add_eos=True, num_threads=threads or -1)
        return ids

    def sample_batch(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        """Encode each text with a segmentation drawn at random (subword regularisation, Kudo 2018).

        Args:
            alpha: exponent of a segmentation's probability: 0 draws all alike, large values nearly
                always the best one. The paper uses 0.1 to 0.5.
            seed: the same seed draws the same segmentations.

        Raises ValueError for a vocabulary of two models, which has no such draw here.
        """
        if self.pair is not None:
            raise ValueError("a vocabulary of two models, one a side, cannot sample segmentations")
        sentencepiece.set_random_generator_seed(seed % (1 << 31))
        ids: list[list[int]] = self._model.encode(
            [_clean(text) for text in texts],
            add_eos=True,
            enable_sampling=True,
            alpha=alpha,
            nbest_size=-1,
            num_threads=1,  # one generator a thread: more threads would draw in another order
        )
        return ids

    @property
    def target_languages(self) -> tuple[str, ...]:
        """Codes that a source can ask for by its first token, "fra" for ">>fra<<"; most have none.
        `>>fra<<` at the very beginning of a text is that token."""
        if self.pair is None:
            return ()
        return tuple(token[2:-2] for token in self.pair.languages())

    def split_language(self, text: str) -> tuple[str, str]:
        """The code that a text asks for by the token it begins with, "" if none, and the rest."""
        for code in self.target_languages:
            if text.startswith(token := f">>{code}<<"):
                return code, text.removeprefix(token).lstrip()
        return "", text

    def with_language(self, text: str, language: str) -> str:
        """`text` with the token for `language` before it, in place of one that is there; "" takes
        that away. Raises ValueError if there is no such token."""
        languages, text = self.target_languages, self.split_language(text)[1]
        if not language:
            return text
        if language not in languages:
            listed = f"it knows {', '.join(languages)}" if languages else "it has none"
            raise ValueError(
                f"The vocabulary has no token to ask for the language {language!r}; {listed}."
            )
        return f">>{language}<< {text}"

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of `ids` up to the first `</s>`; `<pad>` and `<s>` are skipped, `<unk>` is shown
        as " ⁇ ", and bytes that form no character as "�". Raises ValueError for an id out of range.
        """
        body = list(takewhile(lambda number: number != self.eos_id, self._checked(ids)))
        text: str = self._model.decode(body)  # shows no control pieces
        return text

    def token(self, id: SupportsIndex) -> str:
        """The piece with this id as people read it: "▁I", "</s>", "<0xE2>"."""
        return self.tokens([id])[0]

    def tokens(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """The pieces of these ids, one each. Raises ValueError for an id out of range."""
        return [self._model.id_to_piece(number) for number in self._checked(ids)]

    def id(self, piece: str) -> int:
        """The id of a piece, "▁I" say. Raises ValueError if the vocabulary does not hold it."""
        number: int = self._model.piece_to_id(_clean(piece))
        if number == self.unk_id and piece != self._model.id_to_piece(self.unk_id):
            raise ValueError(f'The vocabulary of {len(self)} pieces has no piece "{piece}".')
        return number

    def check(self, config: ModelConfig) -> None:
        """Raise ValueError if a model of this `config` cannot use this vocabulary."""
        if config.vocab_size != len(self):
            raise ValueError(
                f"The model was made for {config.vocab_size} pieces, the vocabulary has "
                f"{len(self)}; they must be the same."
            )
        for name in (f"{kind}_id" for kind in SPECIAL):
            expected, actual = getattr(config, name), getattr(self, name)
            if expected != actual:
                raise ValueError(
                    f"The model's {name} is {expected}, the vocabulary's is {actual}; "
                    "they must be the same."
                )

    def _checked(self, ids: Iterable[SupportsIndex]) -> Iterator[int]:
        for item in ids:
            number = item.__index__()
            if not 0 <= number < len(self):
                raise ValueError(f"Id {number} is outside the vocabulary's 0 to {len(self) - 1}.")
            yield number


class _Stream:
    """A stream of sentences that counts them and keeps the error that broke it, because
    SentencePiece turns every error of its iterator into a RuntimeError."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self._sentences = sentences
        self.count = 0
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            for sentence in self._sentences:
                self.count += 1
                yield _clean(sentence)
        except (Exception, KeyboardInterrupt) as error:
            self.error = error
            raise


def _training_error(error: RuntimeError, stream: _Stream, size: int) -> ValueError:
    if stream.count == 0:
        return ValueError(f"There is no text to learn {size} pieces from: 0 sentences were given.")
    needed = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
    if needed:
        return ValueError(
            f"A vocabulary of {size} pieces is too small: the special pieces, 256 bytes and the "
            f"text's letters alone are {needed[1]}; ask for at least {needed[1]}."
        )
    return ValueError(
        f"SentencePiece could not learn {size} pieces from {stream.count} sentences: {error}"
    )


def _clean(text: str) -> str:
    """`text` without lone surrogates, the only thing a str holds that UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
